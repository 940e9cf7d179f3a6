from __future__ import annotations

import pandas as pd
import pytest

from evalnb.consensus import beside, people_values
from evalnb.ratings import HUMAN, JUDGE, AxisScale, ratings_frame

FIVE = AxisScale((1, 2, 3, 4, 5))
NAMES = AxisScale((0, 1, 2), ordered=False)


def ratings(people: dict[str, list[float | None]], judge: list[float | None]) -> pd.DataFrame:
    """Return ratings of the items a, b, … on one axis, by people and by the judge `gpt`."""
    rows = [
        {"item": "abcdefgh"[place], "axis": "tone", "rater": rater, "kind": kind, "value": value}
        for rater, values, kind in [
            *((name, values, HUMAN) for name, values in people.items()),
            ("gpt", judge, JUDGE),
        ]
        for place, value in enumerate(values)
    ]
    return ratings_frame(pd.DataFrame(rows))


THREE = ratings(
    {
        "scripted-ann": [1, 2, 5, None],
        "scripted-bo": [1, 5, 4, None],
        "scripted-cy": [4, 5, None, None],
    },
    [1] * 4,
)


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (None, [2, 4, 4.5, None]),
        ("mean", [2, 4, 4.5, None]),
        ("median", [1, 5, 4.5, None]),
        ("majority", [1, 5, None, None]),
        ("scripted-cy", [4, 5, None, None]),
    ],
)
def test_several_people_become_one_value(how: str | None, expected: list[float | None]) -> None:
    found = people_values(THREE, "tone", FIVE, how)
    index = pd.Index(["a", "b", "c", "d"], dtype="string", name="item")
    wanted = pd.Series(expected, index=index, dtype="Float64", name="people")
    pd.testing.assert_series_equal(found, wanted, check_index_type=False)


def test_without_an_order_the_majority_decides() -> None:
    frame = ratings(
        {"scripted-ann": [0, 1, 2], "scripted-bo": [0, 2, 2], "scripted-cy": [2, 0, 2]}, [0, 0, 0]
    )
    assert people_values(frame, "tone", NAMES).tolist() == [0, pd.NA, 2]
    with pytest.raises(ValueError, match="have no mean: use the majority or one rater"):
        people_values(frame, "tone", NAMES, "mean")


def test_two_levels_are_decided_by_the_majority_and_a_tie_by_nobody() -> None:
    frame = ratings({"scripted-ann": [0, 1], "scripted-bo": [1, 1]}, [0, 0])
    assert people_values(frame, "tone", AxisScale((0, 1))).tolist() == [pd.NA, 1]


def test_a_rater_that_nobody_is_is_refused() -> None:
    with pytest.raises(
        ValueError,
        match=r"one of mean, median, majority, scripted-ann, scripted-bo, scripted-cy\. Got 'dee'",
    ):
        people_values(THREE, "tone", FIVE, "dee")


def test_a_judge_stands_beside_people_with_levels_and_slices() -> None:
    frame = ratings({"scripted-ann": [1, 2, 3]}, [1.4, None, 4.5]).assign(
        language=["de", "de", "en"] * 2, cluster=["x", "x", "y"] * 2
    )
    found = beside(frame, "tone", "gpt", FIVE)
    assert list(found.columns) == [
        "item",
        "people",
        "judge",
        "people_level",
        "judge_level",
        "cluster",
        "language",
    ]
    assert found["judge"].tolist() == [1.4, pd.NA, 4.5]
    assert found["judge_level"].tolist() == [1, pd.NA, 5]
    assert found["language"].tolist() == ["de", "de", "en"]
    assert found["cluster"].tolist() == ["x", "x", "y"]


def test_items_of_one_side_alone_are_kept_with_a_gap() -> None:
    frame = ratings({"scripted-ann": [1, 2]}, [3, 4])
    one_sided = frame[~((frame["item"] == "a") & (frame["rater"] == "gpt"))]
    other = one_sided[~((one_sided["item"] == "b") & (one_sided["rater"] == "scripted-ann"))]
    found = beside(other, "tone", "gpt", FIVE)
    assert dict(zip(found["item"], found["people"], strict=True)) == {"a": 1, "b": pd.NA}
    assert dict(zip(found["item"], found["judge"], strict=True)) == {"a": pd.NA, "b": 4}


@pytest.mark.parametrize(
    ("axis", "judge", "message"),
    [
        ("pace", "gpt", "no ratings on the axis 'pace'. There are: tone"),
        ("tone", "scripted-ann", "no judge 'scripted-ann' rated 'tone'. There are: gpt"),
    ],
)
def test_what_is_not_there_is_said(axis: str, judge: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        beside(THREE, axis, judge, FIVE)

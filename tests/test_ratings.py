from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.ratings import HUMAN, JUDGE, RATINGS, AxisScale, raters, ratings_frame, slice_columns

FIVE = AxisScale((1, 2, 3, 4, 5))


def test_a_value_between_levels_goes_to_the_nearest_and_halves_go_up() -> None:
    values = pd.Series([1.0, 1.4999, 1.5, 4.5, 5.0, 0.9, 5.1, None], dtype="Float64")
    expected = pd.Series([1, 1, 2, 5, 5, None, None, None], dtype="Float64")
    pd.testing.assert_series_equal(FIVE.nearest(values), expected)


def test_levels_need_not_be_one_apart() -> None:
    assert AxisScale((0, 5, 10)).nearest(pd.Series([2.4, 2.5, 7.6])).tolist() == [0, 5, 10]


@given(st.lists(st.floats(1, 5), min_size=1))
def test_no_level_is_nearer(values: list[float]) -> None:
    found = FIVE.nearest(pd.Series(values)).tolist()
    for value, level in zip(values, found, strict=True):
        assert abs(value - level) == min(abs(value - other) for other in FIVE.levels)


@pytest.mark.parametrize("levels", [(1,), (), (2, 1), (1, 1, 2)])
def test_levels_ascend(levels: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="two levels or more, ascending"):
        AxisScale(levels)


def test_weights_are_quadratic_where_distance_means_something() -> None:
    assert FIVE.weights == "quadratic"
    assert AxisScale((0, 1)).weights is None
    assert AxisScale((0, 1, 2), ordered=False).weights is None


def test_a_level_has_a_name_or_its_number() -> None:
    scale = AxisScale((0, 1), names={0: "wrong"})
    assert [scale.name(level) for level in scale.levels] == ["wrong", "1"]


def test_columns_that_are_lacking_are_missing_and_slices_are_kept() -> None:
    frame = pd.DataFrame(
        {
            "item": ["a", "a"],
            "axis": ["tone", "tone"],
            "rater": ["scripted-ann", "gpt"],
            "kind": [HUMAN, JUDGE],
            "value": [1, None],
            "language": ["de", "de"],
            "other": [1, 2],
        }
    )
    found = ratings_frame(frame, slices=["language"])
    assert list(found.columns) == [*RATINGS.columns, "language"]
    assert slice_columns(found) == ["language"]
    assert found["reason"].isna().all()
    assert raters(found, JUDGE) == ["gpt"]
    assert raters(found, HUMAN, "pace") == []
    with pytest.raises(ValueError, match="one row for each key"):
        ratings_frame(pd.concat([frame, frame]))

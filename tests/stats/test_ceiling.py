"""What people reach among themselves, beside a judge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

from evalnb.frames import METRICS
from evalnb.stats.raters import human_ceiling
from tests.stats.reference import interval_of, metric

FIVE = [1, 2, 3, 4, 5]


def people_and_judge(n: int = 80) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    truth = rng.integers(1, 6, n)
    ratings = [np.clip(truth + rng.integers(-1, 2, n), 1, 5) for _ in range(4)]
    return np.column_stack(ratings[:3]), ratings[3]


def kappa(one: np.ndarray, other: np.ndarray) -> float:
    return float(cohen_kappa_score(one, other, labels=FIVE, weights="quadratic"))


def ceiling(people: Any, judge: Any, **options: Any) -> pd.DataFrame:
    found = human_ceiling(people, judge, levels=FIVE, **options)
    METRICS.check(found)
    assert list(found["metric"]) == ["human_human", "judge_human", "difference"]
    return found


def test_both_are_means_over_pairs_as_scikit_learn_has_them() -> None:
    people, judge = people_and_judge()
    found = ceiling(people, judge)
    a, b, c = people.T
    human = (kappa(a, b) + kappa(a, c) + kappa(b, c)) / 3
    by_judge = (kappa(a, judge) + kappa(b, judge) + kappa(c, judge)) / 3
    assert metric(found, "human_human")["estimate"] == pytest.approx(human)
    assert metric(found, "judge_human")["estimate"] == pytest.approx(by_judge)
    row = metric(found, "difference")
    assert row["estimate"] == pytest.approx(by_judge - human)
    assert row["ci_low"] < row["estimate"] < row["ci_high"]
    assert row["ci_high"] - row["ci_low"] == pytest.approx(3.92 * row["se"], rel=0.15)


def test_a_judge_that_is_one_of_the_people_reaches_what_they_do() -> None:
    people, _ = people_and_judge()
    found = ceiling(people[:, :2], people[:, 2])
    row = metric(found, "difference")
    assert row["ci_low"] < 0 < row["ci_high"]


def test_neither_the_order_of_people_nor_that_of_items_matters() -> None:
    people, judge = people_and_judge(40)
    order = np.random.default_rng(1).permutation(40)
    one, other = ceiling(people, judge), ceiling(people[order][:, [2, 0, 1]], judge[order])
    for name in ("estimate", "se"):
        assert one[name].tolist() == pytest.approx(other[name].tolist())
    for row in one["metric"]:
        assert interval_of(metric(one, row)) == pytest.approx(
            interval_of(metric(other, row)), abs=0.03
        )
    pd.testing.assert_frame_equal(one, ceiling(people, judge))


def test_items_that_too_few_rated_are_left_out_and_counted() -> None:
    people, judge = people_and_judge(20)
    rows = [*map(list, people), [1, None, None], [1, 2, 3], [None] * 3]
    verdicts = [*judge.tolist(), 1, None, 2]
    found = ceiling(rows, verdicts)
    assert set(found["n"]) == {20}
    assert set(found["n_left_out"]) == {3}
    expected = ceiling(people, judge)["estimate"].tolist()
    assert found["estimate"].tolist() == pytest.approx(expected)


def test_people_who_share_no_item_are_no_pair() -> None:
    # a with b on three items, b with c on three; a and c have none in common
    people = [[1, 1, None], [2, 2, None], [3, 2, None], [None, 1, 1], [None, 3, 3], [None, 2, 2]]
    found = ceiling(people, [1, 2, 3, 1, 3, 2])
    row = metric(found, "human_human")
    expected = (kappa(np.array([1, 2, 3]), np.array([1, 2, 2])) + 1) / 2
    assert row["estimate"] == pytest.approx(expected)
    assert row["warnings"] == ["no_overlap"]


def test_resamples_that_say_the_same_show_no_spread() -> None:
    found = ceiling([[1, 1], [2, 2], [3, 3]], [1, 2, 3])
    assert found["estimate"].tolist() == [1, 1, 0]
    assert set(found["reason"]) == {"no_variance"}
    assert found[["ci_low", "ci_high"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("people", "judge", "reason"),
    [
        ([], [], "no_overlap"),
        ([[1], [2]], [1, 2], "no_overlap"),
        ([[1, 2], [2, None]], [1, 2], "too_few"),
        ([[1, 1], [1, 1]], [1, 1], "one_category"),
    ],
)
def test_too_little_is_missing_with_its_reason(people: Any, judge: Any, reason: str) -> None:
    found = ceiling(people, judge)
    assert found[["estimate", "ci_low", "ci_high", "se"]].isna().all(axis=None)
    assert set(found["reason"]) == {reason}


@pytest.mark.parametrize(
    ("people", "judge", "message"),
    [
        ([[1, 1], [2, 2]], [1], "Got 2 and 1"),
        ([[1, 9]], [1], "`ratings` must be of the levels.*Got 9"),
        ([[1, 1]], [9], "`judge` must be of the levels.*Got 9"),
    ],
)
def test_what_cannot_be_says_why(people: Any, judge: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ceiling(people, judge)

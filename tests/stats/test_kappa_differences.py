"""Two judges on the same labels."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from evalnb.frames import METRICS
from evalnb.stats.kappa import Weights, cohen_kappa, kappa_difference
from tests.stats.reference import interval_of, metric, reference

NEAR = 1e-6
FIVE = [1, 2, 3, 4, 5]
DECIDED = ["difference", "lower_one_sided"]

three = st.lists(
    st.tuples(st.sampled_from(FIVE), st.sampled_from(FIVE), st.sampled_from(FIVE)),
    min_size=2,
    max_size=25,
)


def difference(items: list[tuple[Any, ...]], **options: Any) -> pd.DataFrame:
    sides = [[item[rater] for item in items] for rater in range(3)]
    found = kappa_difference(*sides, **{"levels": FIVE, **options})
    METRICS.check(found)
    assert list(found["metric"]) == ["kappa_a", "kappa_b", *DECIDED]
    return found


def many(n: int, *, noise: float, seed: int = 1) -> list[tuple[int, int, int]]:
    """Items of a person, a judge that is one level off at times, and one that is so more often."""
    rng = np.random.default_rng(seed)
    human = rng.integers(1, 6, n)
    near, far = (
        np.clip(human + np.where(rng.random(n) < share, rng.choice([-1, 1], n), 0), 1, 5)
        for share in (0.2, noise)
    )
    return list(zip(human.tolist(), near.tolist(), far.tolist(), strict=True))


def test_reference() -> None:
    inputs, expected = reference("kappa_difference_same_items_12")
    found = kappa_difference(**inputs)
    for name in ("kappa_a", "kappa_b", "difference"):
        assert metric(found, name)["estimate"] == pytest.approx(expected[name], abs=NEAR)
    assert metric(found, "difference")["se"] == pytest.approx(expected["jackknife_se"], abs=NEAR)


@given(three, st.sampled_from(cast("list[Weights]", [None, "linear", "quadratic"])))
def test_kappas_are_those_of_scikit_learn_and_swapping_turns_the_difference(
    items: list[tuple[int, int, int]], weights: Weights
) -> None:
    found = difference(items, weights=weights)
    human, judge_a, judge_b = zip(*items, strict=True)
    for name, judge in (("kappa_a", judge_a), ("kappa_b", judge_b)):
        row = metric(found, name)
        if pd.notna(row["estimate"]):
            expected = cohen_kappa_score(human, judge, labels=FIVE, weights=weights)
            assert row["estimate"] == pytest.approx(expected, abs=1e-9)
    there = metric(found, "difference")
    back = metric(difference([(h, b, a) for h, a, b in items], weights=weights), "difference")
    assert pd.isna(there["estimate"]) == pd.isna(back["estimate"])
    if pd.notna(there["estimate"]):
        assert there["estimate"] == pytest.approx(-back["estimate"], abs=1e-12)
    if pd.notna(there["ci_low"]):
        assert -2 <= there["ci_low"] <= there["ci_high"] <= 2
        assert interval_of(there) == pytest.approx([-x for x in interval_of(back)[::-1]], abs=0.25)


def test_a_clear_difference_is_decided() -> None:
    found = difference(many(400, noise=0.9))
    row = metric(found, "difference")
    assert row["ci_low"] > 0.05
    assert row["not_worse"]
    back = difference([(h, b, a) for h, a, b in many(400, noise=0.9)])
    assert not metric(back, "difference")["not_worse"]
    # one-sided at 5%: between the two-sided end and the estimate
    bound = metric(found, "lower_one_sided")["estimate"]
    assert row["ci_low"] < bound < row["estimate"]
    # few resamples aside the standard error spans the interval
    assert row["ci_high"] - row["ci_low"] == pytest.approx(3.92 * row["se"], rel=0.1)


def test_items_in_common_make_it_shorter_than_the_two_intervals() -> None:
    items = many(300, noise=0.25)
    human, *judges = zip(*items, strict=True)
    widths = [
        float(np.diff(interval_of(cohen_kappa(human, judge, levels=FIVE).iloc[0]))[0])
        for judge in judges
    ]
    together = float(np.diff(interval_of(metric(difference(items), "difference")))[0])
    assert together < sum(widths)


def test_the_margin_decides() -> None:
    items = many(200, noise=0.3)
    back = [(h, b, a) for h, a, b in items]
    bound = metric(difference(back), "lower_one_sided")["estimate"]
    assert bound < 0
    for margin, decided in ((-bound + 0.01, True), (-bound - 0.001, False)):
        found = difference(back, margin=margin)
        assert [metric(found, name)["not_worse"] for name in DECIDED] == [decided, decided]


def test_a_seed_gives_the_same_frame_whatever_the_order_of_items() -> None:
    items = many(60, noise=0.5)
    pd.testing.assert_frame_equal(difference(items, seed=3), difference(items[::-1], seed=3))
    one, other = (metric(difference(items, seed=seed), "difference") for seed in (3, 4))
    assert interval_of(one) != interval_of(other)


def test_items_that_one_did_not_rate_are_left_out_and_counted() -> None:
    items = many(30, noise=0.5)
    found = difference([*items, (None, 1, 2), (1, pd.NA, 2), (1, 2, float("nan"))])
    assert set(found["n"]) == {30}
    assert set(found["n_left_out"]) == {3}
    expected = difference(items)
    pd.testing.assert_frame_equal(
        found.drop(columns="n_left_out"), expected.drop(columns="n_left_out")
    )


def test_conversations_are_resampled_whole() -> None:
    items = many(40, noise=0.7)
    alone = metric(difference(items), "difference")
    again = metric(difference(items * 4, clusters=[*range(40)] * 4), "difference")
    assert again["method"] == "bootstrap over clusters"
    assert interval_of(again) == pytest.approx(interval_of(alone), abs=0.02)
    assert again["se"] == pytest.approx(alone["se"])


def test_equal_verdicts_say_no_more_than_so_few_items_can() -> None:
    found = difference([(1, 1, 1), (2, 3, 3), (5, 5, 5)] * 7)
    row = metric(found, "difference")
    assert row["estimate"] == 0
    assert row["method"] == "exact bound at equal verdicts"
    assert row["warnings"] == ["no_variance"]
    assert row["ci_low"] == -row["ci_high"] < 0


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        ([(1, 1, 2), (1, 2, 3), (1, 3, 3)], "constant_rater"),  # the person
        ([(1, 1, 2), (2, 1, 2), (3, 1, 2)], "constant_rater"),  # both judges
        ([(1, 1, 2), (2, 2, 1)], "no_variance"),  # every resample that is defined says 2
    ],
)
def test_what_no_resample_can_vary_decides_nothing(
    items: list[tuple[int, int, int]], reason: str
) -> None:
    found = difference(items)
    row = metric(found, "difference")
    assert pd.notna(row["estimate"])
    assert row[["ci_low", "ci_high"]].isna().all()
    assert pd.isna(metric(found, "lower_one_sided")["estimate"])
    for name in DECIDED:
        assert (metric(found, name)["reason"], pd.isna(metric(found, name)["not_worse"])) == (
            reason,
            True,
        )


def test_one_constant_judge_is_a_warning() -> None:
    row = metric(difference([(h, 3, b) for h, _, b in many(50, noise=0.2)]), "difference")
    assert row["warnings"] == ["constant_rater"]
    assert row["ci_high"] < 0


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        ([], "no_overlap"),
        ([(None, 1, 1), (1, None, 1)], "no_overlap"),
        ([(1, 2, 3)], "too_few"),
        ([(1, 1, 1), (1, 1, 2)], "one_category"),
    ],
)
def test_too_little_is_missing_with_its_reason(items: list[tuple[Any, ...]], reason: str) -> None:
    found = difference(items)
    for name in DECIDED:
        row = metric(found, name)
        assert row[["estimate", "ci_low", "ci_high", "not_worse"]].isna().all()
        assert row["reason"] == reason


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: kappa_difference([1], [1, 2], [1], levels=FIVE), "Got 1, 2 and 1 ratings"),
        (lambda: kappa_difference([1], [1], [9], levels=FIVE), "`judge_b` must be.*Got 9"),
        (lambda: difference([(1, 1, 1)], margin=-0.1), "`margin` must be a number from 0.*-0.1"),
        (lambda: difference([(1, 1, 1)], margin=float("nan")), "`margin`.*Got nan"),
        (lambda: difference([(1, 1, 1)], weights="lin"), "Got 'lin'"),
    ],
)
def test_what_cannot_be_says_why(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()

from __future__ import annotations

from typing import Any, cast, get_args

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from evalnb.frames import METRICS
from evalnb.stats.estimates import wilson
from evalnb.stats.rates import (
    RateMethod,
    failure_bound,
    na_bounds,
    pass_rate,
    rate_of_counts,
    zero_failures_bound,
)
from tests.stats.reference import interval_of, reference

NEAR = 1e-6
METHODS = get_args(RateMethod)

counts = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(
    "case_id", ["pass_rate_81_of_263", "pass_rate_0_of_20", "pass_rate_57_of_60"]
)
@pytest.mark.parametrize("method", METHODS)
def test_reference_rates(case_id: str, method: RateMethod) -> None:
    inputs, expected = reference(case_id)
    passes, n = inputs["passes"], inputs["n"]
    assert set(expected) == {"rate", *(f"{name}_ci" for name in METHODS)}
    for found in (
        rate_of_counts(passes, n, method=method),
        pass_rate([True] * passes + [False] * (n - passes), method=method),
    ):
        row = found.iloc[0]
        assert row["estimate"] == pytest.approx(expected["rate"], abs=NEAR)
        assert interval_of(row) == pytest.approx(expected[f"{method}_ci"], abs=NEAR)
        assert (row["n"], row["n_left_out"], row["method"]) == (n, 0, method)


@given(counts, st.sampled_from([("wilson", "wilson"), ("clopper_pearson", "beta")]))
def test_intervals_are_those_of_statsmodels(
    counted: tuple[int, int], names: tuple[RateMethod, str]
) -> None:
    found = rate_of_counts(*counted, method=names[0]).iloc[0]
    expected = proportion_confint(*counted, method=names[1])
    assert interval_of(found) == pytest.approx(list(expected), abs=1e-9)


@given(counts)
def test_jeffreys_is_that_of_statsmodels_but_at_the_ends(counted: tuple[int, int]) -> None:
    passes, n = counted
    low, high = interval_of(rate_of_counts(passes, n, method="jeffreys").iloc[0])
    expected_low, expected_high = proportion_confint(passes, n, method="jeffreys")
    assert low == (0 if passes == 0 else pytest.approx(expected_low, abs=1e-9))
    assert high == (1 if passes == n else pytest.approx(expected_high, abs=1e-9))


@pytest.mark.parametrize(
    "flags",
    [
        [True, False, None, True],
        [1, 0, pd.NA, 1],
        np.array([1.0, 0.0, np.nan, 1.0]),
        pd.Series([True, False, pd.NA, True], dtype="boolean"),
        pd.Series([1, 0, None, 1], dtype="Int64", index=[7, 7, 8, 9]),
        [np.True_, np.False_, np.nan, np.True_],
        pd.Series([True, False, None, True], dtype="object"),
    ],
)
def test_flags_come_in_many_shapes(flags: Any) -> None:
    row = pass_rate(flags).iloc[0]
    assert row["estimate"] == pytest.approx(2 / 3)
    assert (row["n"], row["n_left_out"]) == (3, 1)
    # if the missing one had failed 2/4, if it had passed 3/4
    assert (row["bound_low"], row["bound_high"]) == (0.5, 0.75)


def test_missing_verdicts_leave_the_rate_and_make_bounds() -> None:
    inputs, expected = reference("na_bounds_60")
    row = na_bounds(inputs["passes"], inputs["fails"], inputs["na"]).iloc[0]
    assert row["estimate"] == pytest.approx(expected["rate"], abs=NEAR)
    assert row["n"] == expected["n"]
    assert row["n"] + row["n_left_out"] == expected["planned"]
    bounds = (expected["bound_low"], expected["bound_high"])
    assert (row["bound_low"], row["bound_high"]) == pytest.approx(bounds, abs=NEAR)
    assert set(expected) == {"rate", "n", "planned", "bound_low", "bound_high"}


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_bounds_enclose_whatever_the_missing_would_have_been(
    passes: int, fails: int, missing: int
) -> None:
    row = na_bounds(passes, fails, missing).iloc[0]
    if passes + fails + missing == 0:
        assert pd.isna(row["bound_low"])
        return
    for hits in (0, missing // 2, missing):
        rate = (passes + hits) / (passes + fails + missing)
        assert row["bound_low"] <= rate <= row["bound_high"]


@pytest.mark.parametrize("flags", [[], [None, None], pd.Series([], dtype="boolean")])
@pytest.mark.parametrize("method", METHODS)
def test_a_rate_of_nothing_is_missing(flags: Any, method: RateMethod) -> None:
    found = pass_rate(flags, method=method)
    row = found.iloc[0]
    assert row[["estimate", "ci_low", "ci_high"]].isna().all()
    assert (row["reason"], row["n"], row["n_left_out"]) == ("too_few", 0, len(flags))
    METRICS.check(found)


def test_no_failure_is_not_none_to_come() -> None:
    inputs, expected = reference("zero_failures_300")
    row = zero_failures_bound(inputs["n"]).iloc[0]
    assert row["ci_high"] == pytest.approx(expected["exact_upper_95_one_sided"], abs=NEAR)
    assert row["rule_of_three"] == pytest.approx(expected["rule_of_three"], abs=NEAR)
    assert wilson(inputs["failures"], inputs["n"]).ci_high == pytest.approx(
        expected["wilson_upper_two_sided"], abs=NEAR
    )
    assert len(expected) == 3
    assert (row["estimate"], row["ci_low"]) == (0, 0)


@given(st.integers(1, 5000), st.sampled_from([0.9, 0.95, 0.99]))
def test_the_bound_without_failures_has_a_closed_form(n: int, level: float) -> None:
    found = zero_failures_bound(n, level=level).loc[0, "ci_high"]
    assert found == pytest.approx(1 - (1 - level) ** (1 / n), rel=1e-9)


@given(counts)
def test_a_one_sided_bound_is_half_of_a_two_sided_interval(counted: tuple[int, int]) -> None:
    # a two-sided 90% interval leaves 5% above
    expected = proportion_confint(*counted, alpha=0.1, method="beta")[1]
    found = failure_bound(*counted).loc[0, "ci_high"]
    assert found == pytest.approx(expected, abs=1e-9)


def test_nothing_tried_bounds_nothing() -> None:
    row = zero_failures_bound(0).iloc[0]
    assert pd.isna(row["ci_high"])
    assert row["reason"] == "too_few"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pass_rate([True, 2]), r"`passed` must be True or False \(1 or 0\).*Got 2"),
        (lambda: pass_rate(["yes"]), "`passed` must be numbers, NA where missing. Got 'yes'"),
        (lambda: pass_rate(pd.Series(["1"], dtype="string")), "`passed` must be numbers"),
        (lambda: pass_rate([True], method=cast("RateMethod", "wald")), "one of wilson.*Got 'wald'"),
        (lambda: rate_of_counts(3, 2), "`passes` must be at most n = 2. Got 3"),
        (lambda: na_bounds(1, -1, 0), "`fails` must be a whole number from 0 on. Got -1"),
        (lambda: rate_of_counts(cast("int", 0.5), 2), "`passes` must be a whole number"),
        (lambda: zero_failures_bound(10, level=1), "`level` must lie between 0 and 1. Got 1"),
        (lambda: failure_bound(11, 10), "`failures` must be at most n = 10. Got 11"),
    ],
)
def test_what_is_no_rate_says_why(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from evalnb.stats.multiplicity import adjusted, reachable
from tests.stats.reference import reference

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=30)
methods = st.sampled_from(["holm", "fdr_bh"])


@pytest.mark.parametrize("method", ["holm", "fdr_bh"])
def test_the_example_of_benjamini_and_hochberg(method: Any) -> None:
    given_, expected = reference("multiple_testing_15")
    found = adjusted(given_["p_values"], method=method)
    assert list(found["p_adjusted"]) == pytest.approx(expected[f"{method}_adjusted"], abs=1e-9)
    assert found["rejected"].sum() == expected[f"{method}_rejected"]


@given(p_values)
def test_the_false_discovery_rate_is_that_of_scipy(values: list[float]) -> None:
    found = adjusted(values, method="fdr_bh")["p_adjusted"].to_numpy("float64")
    assert found == pytest.approx(false_discovery_control(values), abs=1e-12)


@given(p_values, methods)
def test_adjusted_values_are_no_smaller_and_in_the_same_order(
    values: list[float], method: Any
) -> None:
    found = adjusted(values, method=method)["p_adjusted"].to_numpy("float64")
    assert (found >= np.array(values) - 1e-12).all()
    assert (found <= 1).all()
    assert (np.diff(found[np.argsort(values)]) >= -1e-12).all()


@given(p_values, methods)
def test_undefined_tests_count_for_nothing(values: list[float], method: Any) -> None:
    alone = adjusted(values, method=method)
    among = adjusted([None, *values, pd.NA], method=method)
    assert list(among["p_adjusted"].dropna()) == list(alone["p_adjusted"])
    assert among["rejected"].isna().sum() == 2


def test_no_test_at_all() -> None:
    for values in ([], [None]):
        found = adjusted(values)
        assert found["p_adjusted"].isna().all()
        assert len(found) == len(values)


def test_one_test_stays_as_it_is() -> None:
    assert list(adjusted([0.04])["p_adjusted"]) == [0.04]


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([0.5, 1.5], {}, r"`p_values` must be in \[0, 1\]"),
        ([0.5], {"method": "bonferroni"}, "`method` must be holm or fdr_bh"),
        ([0.5], {"level": 0}, "`level` must lie between 0 and 1"),
    ],
)
def test_what_cannot_be_is_named(values: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        adjusted(values, **options)


def test_what_cannot_reach_the_level_is_left_out() -> None:
    # 0.05/1: three reach it; 0.05/2: two do, 0.02 and 0.001.
    assert reachable([0.04, 0.001, 0.02, 0.5]).tolist() == [False, True, True, False]
    assert reachable([0.5, 0.25]).tolist() == [False, False]
    assert reachable([]).tolist() == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_what_is_left_out_could_not_have_been_rejected(least: list[float]) -> None:
    near = reachable(least)
    kept = [p for p, is_near in zip(least, near, strict=True) if is_near]
    assert all(p <= 0.05 for p in kept)
    # Bonferroni over all rejects no test that was left out, whatever its p-value.
    out = [p for p, is_near in zip(least, near, strict=True) if not is_near]
    assert all(p > 0.05 / len(least) for p in out)

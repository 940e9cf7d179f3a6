from __future__ import annotations

from math import comb

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from evalnb.stats.single_case import case_flip
from tests.stats.reference import reference


def test_a_case_of_three_repeats_says_little() -> None:
    given_, expected = reference("single_case_flip_3")
    repeats = given_["repeats"]
    row = case_flip(
        given_["baseline_passes"],
        repeats,
        given_["candidate_passes"],
        repeats,
        cases=given_["cases_in_family"],
    ).loc[0]
    assert row["p_less"] == pytest.approx(expected["fisher_one_sided_p"], abs=1e-9)
    assert row["p_bonferroni"] == pytest.approx(expected["bonferroni_p"], abs=1e-9)


@pytest.mark.parametrize(("repeats", "enough"), [(6, False), (7, True)])
def test_among_60_cases_it_takes_seven_repeats(repeats: int, enough: bool) -> None:
    row = case_flip(repeats, repeats, 0, repeats, cases=60).loc[0]
    assert row["p_less"] == pytest.approx(1 / comb(2 * repeats, repeats))
    assert (row["p_bonferroni"] < 0.05) == enough


@given(st.integers(0, 8), st.integers(0, 8), st.integers(0, 8), st.integers(0, 8))
def test_fishers_test_is_that_of_scipy(one: int, fails: int, two: int, other_fails: int) -> None:
    before, now = one + fails, two + other_fails
    row = case_flip(one, before, two, now, cases=1).loc[0]
    if before and now:
        table = [[two, other_fails], [one, fails]]
        assert row["p_less"] == pytest.approx(fisher_exact(table, alternative="less")[1])
    else:
        assert row["reason"] == "too_few"
        assert pd.isna(row["p_less"])


def test_no_more_can_pass_than_there_are() -> None:
    with pytest.raises(ValueError, match=r"Got 4"):
        case_flip(4, 3, 0, 3, cases=60)

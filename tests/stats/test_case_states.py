from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from evalnb.stats.case_states import FLAKY, CaseState, case_state, flaky_cases
from evalnb.stats.single_case import repeats_to_tell


def history(*runs: tuple[str, int, int]) -> pd.DataFrame:
    return pd.DataFrame(runs, columns=["case_id", "n_passed", "n_scored"])


@pytest.mark.parametrize(
    ("passes", "scored", "needed", "state"),
    [
        (3, 3, None, CaseState.PASS),
        (2, 3, None, CaseState.UNSTABLE),
        (0, 3, None, CaseState.FAIL),
        (2, 3, 2, CaseState.PASS),
        (1, 3, 2, CaseState.UNSTABLE),
        (0, 0, None, None),
        (2, 2, 3, None),  # the third, not scored, decides
        (1, 2, 3, CaseState.UNSTABLE),
    ],
)
def test_states(passes: int, scored: int, needed: int | None, state: CaseState | None) -> None:
    assert case_state(passes, scored, needed) == state


def test_the_posterior_is_a_beta() -> None:
    row = flaky_cases(history(("a", 6, 10))).loc[0]
    assert [row["ci_low"], row["ci_high"]] == pytest.approx(beta.ppf([0.05, 0.95], 6.5, 4.5))
    assert row["flaky"]


def test_two_flips_in_the_last_runs_are_flaky() -> None:
    steady = [("a", 3, 3)] * 40
    assert not flaky_cases(history(*steady)).loc[0, "flaky"]
    flipped = flaky_cases(history(*steady, ("a", 0, 3), ("a", 3, 3))).loc[0]
    # 3 of 126 fail: the interval reaches above 0.95.
    assert (flipped["flips"], flipped["flaky"]) == (2, True)
    assert flipped["ci_high"] > 0.95
    long_ago = flaky_cases(history(*steady, ("a", 0, 3), *steady)).loc[0]
    assert (long_ago["flips"], long_ago["flaky"]) == (0, False)


def test_what_was_never_scored_is_not_known() -> None:
    row = flaky_cases(history(("a", 0, 0))).loc[0]
    assert pd.isna(row["flaky"])
    assert row["reason"] == "too_few"


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=8))
def test_counts_are_kept(runs: list[tuple[int, int]]) -> None:
    found = flaky_cases(history(*(("a", passes, passes + fails) for passes, fails in runs)))
    FLAKY.check(found)
    if runs:
        row = found.loc[0]
        assert row["n"] == sum(map(sum, runs))
        assert row["n_passed"] == sum(passes for passes, _ in runs)


def test_among_60_cases_it_takes_seven_repeats_to_tell() -> None:
    assert repeats_to_tell(60) == 7  # C(12, 6) = 924 < 1200 <= C(14, 7)
    assert repeats_to_tell(1) == 3  # C(6, 3) = 20
    with pytest.raises(ValueError, match=r"`alpha` must lie between 0 and 1"):
        repeats_to_tell(3, alpha=0)


def test_bad_counts_are_named() -> None:
    with pytest.raises(ValueError, match=r"Got 4 of 3"):
        case_state(4, 3)
    with pytest.raises(ValueError, match=r"no more repeats can pass"):
        flaky_cases(history(("a", 2, 1)))
    with pytest.raises(ValueError, match=r"Missing: \['n_scored'\]"):
        flaky_cases(history(("a", 1, 1)).drop(columns="n_scored"))

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evalnb.stats.effects import EFFECTS
from evalnb.stats.win_rates import win_rate, win_rate_of_counts
from tests.stats.reference import interval_of, metric, reference

preference = st.sampled_from([0.0, 0.25, 0.5, 1.0, None])


def test_wins_ties_and_losses_of_the_reference() -> None:
    given_, expected = reference("win_rate_80")
    frame = win_rate_of_counts(**given_)
    row, share = metric(frame, "win_rate"), metric(frame, "win_share_without_ties")
    assert row["estimate"] == pytest.approx(expected["win_rate"], abs=1e-9)
    assert row["se"] == pytest.approx(expected["se"], abs=1e-9)
    assert row["p_value"] == pytest.approx(expected["sign_test_p"], abs=1e-9)
    assert interval_of(row) == pytest.approx(expected["t_ci"], abs=1e-9)
    assert share["estimate"] == pytest.approx(expected["win_share_without_ties"], abs=1e-9)
    assert interval_of(share) == pytest.approx(expected["wilson_ci_without_ties"], abs=1e-9)
    assert (share["n"], share["n_left_out"]) == (63, 17)


@given(st.lists(preference, max_size=30))
def test_the_two_rates_of_a_pair_of_systems_add_up(values: list[float | None]) -> None:
    one = EFFECTS.check(win_rate(values))
    other = win_rate([None if value is None else 1 - value for value in values])
    if one.loc[0, "n"]:
        assert one["estimate"].tolist()[0] + other["estimate"].tolist()[0] == pytest.approx(1)
        assert one.loc[0, "p_value"] == pytest.approx(other.loc[0, "p_value"])
    else:
        assert list(one["reason"]) == ["too_few", "too_few"]
        assert one["estimate"].isna().all()


def test_a_system_against_itself_ties_throughout() -> None:
    frame = win_rate([0.5] * 10)
    row = metric(frame, "win_rate")
    assert (row["estimate"], row["p_value"], row["reason"]) == (0.5, 1, "no_variance")
    assert metric(frame, "win_share_without_ties")["reason"] == "too_few"


def test_pairs_of_a_case_are_no_independent_observations() -> None:
    # Each case's pairs say the same: the error is that of the cases' means.
    wins = np.array([1.0, 0, 1, 1, 0, 1, 1, 1, 0.5, 1, 1, 0])
    frame = win_rate(np.repeat(wins, 4), clusters=np.repeat(np.arange(12), 4))
    row = metric(frame, "win_rate")
    assert row["se"] == pytest.approx(wins.std(ddof=1) / np.sqrt(12))
    assert row["p_value"] == pytest.approx(stats.ttest_1samp(wins, 0.5).pvalue)
    assert metric(frame, "win_share_without_ties")["n_clusters"] == 11


def test_a_preference_is_a_share() -> None:
    with pytest.raises(ValueError, match=r"`preference` must be in \[0, 1\].* Got 2"):
        win_rate([2, 1])
    with pytest.raises(ValueError, match="Got `preference` 2, `clusters` 1"):
        win_rate([1, 1], clusters=pd.Series(["a"]))

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import expit

from evalnb.stats.effects import EFFECTS
from evalnb.stats.length_control import length_controlled_win_rate
from tests.stats.reference import interval_of, metric, reference

FITTED = ["length_controlled_win_rate", "intercept", "length_coefficient"]

pair = st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(-300, 300))


def test_pairs_of_the_reference() -> None:
    given_, expected = reference("length_controlled_40")
    frame = EFFECTS.check(length_controlled_win_rate(**given_))
    controlled = metric(frame, "length_controlled_win_rate")
    a, b = metric(frame, "intercept"), metric(frame, "length_coefficient")
    found = {
        "n": controlled["n"],
        "raw_win_rate": metric(frame, "raw_win_rate")["estimate"],
        "length_sd": metric(frame, "length_sd")["estimate"],
        "intercept": a["estimate"],
        "length_coefficient": b["estimate"],
        "intercept_robust_se": a["se"],
        "length_robust_se": b["se"],
        "length_controlled_win_rate": controlled["estimate"],
        "length_p": b["p_value"],
    }
    assert found == pytest.approx({key: expected[key] for key in found}, abs=1e-8)
    assert interval_of(controlled) == pytest.approx(expected["lc_ci"], abs=1e-8)
    assert {*found, "lc_ci"} == set(expected)


@given(st.lists(pair, min_size=12, max_size=40))
def test_the_fit_is_the_maximum_of_the_likelihood(pairs: list[Any]) -> None:
    wins, apart = np.array(pairs).T
    frame = length_controlled_win_rate(wins, apart)
    a, b = metric(frame, "intercept"), metric(frame, "length_coefficient")
    assume(pd.isna(a["reason"]))
    x = np.tanh(apart / apart.std(ddof=1))
    design = np.column_stack([np.ones_like(x), x])
    p = expit(design @ [a["estimate"], b["estimate"]])
    assert design.T @ (wins - p) == pytest.approx([0, 0], abs=1e-5)  # the score equations
    # The sandwich by hand: (X'WX)^-1 X' r^2 X (X'WX)^-1.
    bread = np.linalg.inv(design.T @ (design * (p * (1 - p))[:, None]))
    meat = design.T @ (design * ((wins - p) ** 2)[:, None])
    errors = np.sqrt(np.diag(bread @ meat @ bread))
    assert [a["se"], b["se"]] == pytest.approx(errors, rel=1e-3)


def test_repeated_cases_are_clusters() -> None:
    given_, _ = reference("length_controlled_40")
    wins, apart = given_["preference"], given_["length_difference"]
    once = length_controlled_win_rate(wins, apart, clusters=range(40))
    twice = length_controlled_win_rate(wins * 2, apart * 2, clusters=[*range(40)] * 2)
    alone = length_controlled_win_rate(wins * 2, apart * 2)
    names = ["length_controlled_win_rate", "length_coefficient"]
    for name in names:
        # The same pairs again tell nothing new but for the factor of few rows and sd(d).
        assert width(twice, name) == pytest.approx(width(once, name), rel=0.03)
        assert width(alone, name) < 0.75 * width(once, name)
    assert metric(twice, "length_coefficient")["n_clusters"] == 40


def width(frame: pd.DataFrame, name: str) -> float:
    low, high = interval_of(metric(frame, name))
    return high - low


@given(st.lists(pair, max_size=12))
def test_whatever_comes_a_statistic_is_there_or_says_why(pairs: list[Any]) -> None:
    frame = length_controlled_win_rate([win for win, _ in pairs], [apart for _, apart in pairs])
    EFFECTS.check(frame)
    fitted = frame[frame["metric"].isin(FITTED)]
    assert (fitted["estimate"].isna() == fitted["reason"].notna()).all()
    controlled = metric(frame, "length_controlled_win_rate")
    if pd.notna(controlled["estimate"]):
        assert 0 <= controlled["ci_low"] <= controlled["estimate"] <= controlled["ci_high"] <= 1


@pytest.mark.parametrize(
    ("wins", "apart", "reason"),
    [
        ([], [], "too_few"),
        ([1, 0], [3, 1], "too_few"),
        ([1, 0, 0.5, 1], [7, 7, 7, 7], "no_variance"),
        ([1, 1, 1, 1], [1, 2, 3, 4], "one_category"),
        ([0.5, 0.5, 0.5], [1, 2, 3], "one_category"),
        ([1, 1, 0, 0], [4, 3, 2, 1], "no_overlap"),
        ([0, 0, 1, 1, 1], [4, 3, 3, 2, 1], "no_overlap"),
        # differences that are all far from 0 by their own spread
        ([0, 0, 0.5], [140, 157, 151], "no_variance"),
        # a coefficient so steep, between -41 and -37, that all else is certain
        ([1, 0.5, 0.5, 1, 0, 1, 1], [46, -41, -37, 0, -41, 0, -3], "no_overlap"),
        # preferences that are, but for 0.01, the tanh of the length
        ([0.1, 0.3, 0.5, 0.7, 0.9], [-20, -8, 0, 8, 20], "no_overlap"),
    ],
)
def test_what_length_alone_decides_is_undefined(
    wins: list[float], apart: list[float], reason: str
) -> None:
    frame = length_controlled_win_rate(wins, apart).set_index("metric")
    assert set(frame.loc[FITTED, "reason"]) == {reason}
    assert frame.loc[FITTED, ["estimate", "ci_low", "ci_high", "p_value"]].isna().all(axis=None)
    if len(wins) > 1:
        assert frame.loc["raw_win_rate", "estimate"] == pytest.approx(np.mean(wins))


def test_pairs_that_lack_a_side_are_left_out_and_counted() -> None:
    given_, expected = reference("length_controlled_40")
    frame = length_controlled_win_rate(
        [*given_["preference"], None, 1.0], [*given_["length_difference"], 10.0, None]
    )
    row = metric(frame, "length_controlled_win_rate")
    assert (row["n"], row["n_left_out"]) == (40, 2)
    assert row["estimate"] == pytest.approx(expected["length_controlled_win_rate"], abs=1e-8)


def test_what_cannot_be_is_named() -> None:
    with pytest.raises(ValueError, match=r"`preference` must be in \[0, 1\]"):
        length_controlled_win_rate([1.5], [3])
    with pytest.raises(ValueError, match="Got `preference` 1, `length_difference` 2"):
        length_controlled_win_rate([1], [3, 4])

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wilcoxon

from evalnb.stats.hodges_lehmann import hodges_lehmann
from evalnb.stats.mean_differences import (
    DIFFERENCES,
    MARGINS,
    mean_difference,
    mean_noninferiority,
)
from tests.stats.reference import interval_of, metric, reference

differences = st.lists(st.one_of(st.none(), st.sampled_from([-1, -0.5, 0, 0.5, 1])), max_size=12)


def test_twelve_differences_of_the_reference() -> None:
    given_, expected = reference("sign_flip_12")
    found = mean_difference(given_["differences"])
    row = metric(found, "mean_difference")
    assert row["estimate"] == pytest.approx(expected["mean_difference"], abs=1e-9)
    assert row["se"] == pytest.approx(expected["se"], abs=1e-9)
    assert interval_of(row) == pytest.approx(expected["t_ci"], abs=1e-9)
    assert row["p_t"] == pytest.approx(expected["t_p"], abs=1e-9)
    assert row["p_less"] == pytest.approx(expected["sign_flip_p_less"], abs=1e-9)
    assert row["p_two_sided"] == pytest.approx(expected["sign_flip_p_two_sided"], abs=1e-9)
    middle = metric(found, "hodges_lehmann")
    assert middle["estimate"] == pytest.approx(expected["hodges_lehmann"], abs=1e-9)
    beside = metric(found, "mean_difference_bootstrap")
    assert interval_of(beside) == pytest.approx(interval_of(row), abs=0.05)


def test_a_margin_of_the_reference() -> None:
    given_, expected = reference("noninferiority_60")
    row = mean_noninferiority(given_["differences"], margin=given_["margin"]).iloc[0]
    for name, column in {
        "mean_difference": "estimate",
        "t": "t",
        "df": "df",
        "p_noninferior": "p_noninferior",
        "p_drop_exceeds_margin": "p_drop_exceeds_margin",
        "lower_95_one_sided": "ci_low",
        "upper_95_one_sided": "ci_high",
    }.items():
        assert float(row[column]) == pytest.approx(expected[name], abs=1e-9), name


@given(differences)
def test_whatever_comes_a_value_is_there_or_says_why(values: list[Any]) -> None:
    found = DIFFERENCES.check(mean_difference(values))
    assert (found["ci_low"].isna() == found["reason"].notna()).all()
    known = [value for value in values if value is not None]
    assert (found["n"] == len(known)).all()
    assert (found["n_left_out"] == len(values) - len(known)).all()
    MARGINS.check(mean_noninferiority(values, margin=0.02))


def test_repeats_of_a_cluster_tell_nothing_new() -> None:
    once = metric(mean_difference([-0.5, 0.0, -0.25, 0.5]), "mean_difference")
    twice = metric(
        mean_difference([-0.5, 0.0, -0.25, 0.5] * 2, clusters=["a", "b", "c", "d"] * 2),
        "mean_difference",
    )
    assert interval_of(twice) == pytest.approx(interval_of(once))
    assert twice["p_less"] == once["p_less"]


def test_from_30_cases_on_there_is_no_bootstrap() -> None:
    rows = mean_difference(np.linspace(-1, 1, 30))["metric"].tolist()
    assert rows == ["mean_difference", "hodges_lehmann"]


def test_a_margin_is_no_gain() -> None:
    with pytest.raises(ValueError, match=r"at least 0\. Got -0\.1"):
        mean_noninferiority([0.1, 0.2], margin=-0.1)


def test_the_middle_of_pairs_is_the_median_of_their_means() -> None:
    rng = np.random.default_rng(2)
    for n in (1, 2, 7, 30, 120):
        values = rng.normal(size=n)
        pairs = [(a + b) / 2 for i, a in enumerate(values) for b in values[i:]]
        assert hodges_lehmann(values).estimate == pytest.approx(np.median(pairs), abs=1e-9)


def test_its_interval_ends_where_signed_ranks_turn() -> None:
    values = np.random.default_rng(3).normal(size=15)
    found = hodges_lehmann(values)
    assert found.ci_low is not None
    assert found.ci_high is not None

    def p(middle: float) -> float:
        return float(wilcoxon(values - middle, mode="exact").pvalue)

    assert p(found.ci_low - 1e-6) <= 0.05 < p(found.ci_low + 1e-6)
    assert p(found.ci_high + 1e-6) <= 0.05 < p(found.ci_high - 1e-6)


def test_below_six_no_interval_reaches_95_percent() -> None:
    row = metric(mean_difference([-0.5, 0.1, 0.2, 0.3, 0.4]), "hodges_lehmann")
    assert pd.isna(row["ci_low"])
    assert row["reason"] == "too_few"

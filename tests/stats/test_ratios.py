"""Tokens, cost and time: ratios and percentiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from evalnb.stats.percentiles import case_percentiles
from evalnb.stats.ratios import RATIOS, geometric_mean_ratio
from tests.stats.reference import interval_of, metric

sizes = st.lists(st.tuples(st.floats(0.1, 1e4), st.floats(0.1, 1e4)), min_size=2, max_size=12)


@given(sizes)
def test_it_is_the_t_test_of_logarithms(pairs: list[tuple[float, float]]) -> None:
    before, now = np.array(pairs).T
    row = RATIOS.check(geometric_mean_ratio(before, now)).iloc[0]
    logs = np.log(now / before)
    assert row["estimate"] == pytest.approx(np.exp(logs.mean()))
    if pd.isna(row["reason"]) and np.ptp(logs) > 1e-6:
        expected = ttest_1samp(logs, 0, alternative="greater")
        assert row["p_greater"] == pytest.approx(expected.pvalue, abs=1e-6)
        low, high = np.exp(ttest_1samp(logs, 0).confidence_interval())
        assert interval_of(row) == pytest.approx([low, high], rel=1e-5)
        turned = geometric_mean_ratio(now, before).iloc[0]
        assert turned["estimate"] == pytest.approx(1 / row["estimate"])
        assert turned["p_less"] == pytest.approx(row["p_greater"])


def test_two_percent_more_is_seen() -> None:
    rng = np.random.default_rng(3)
    before = rng.lognormal(5, 1, 200)
    now = before * 1.02 * rng.lognormal(0, 0.05, 200)
    row = geometric_mean_ratio(before, now).iloc[0]
    assert row["p_greater"] < 0.001
    assert row["ci_low"] < 1.02 < row["ci_high"]
    assert geometric_mean_ratio(before, now, ratio=1.2)["p_greater"].tolist()[0] > 0.999


def test_what_has_no_logarithm_is_left_out() -> None:
    row = geometric_mean_ratio([10, 0, 10, None], [20, 5, 0, 7]).iloc[0]
    assert row[["n", "n_left_out", "reason"]].tolist() == [1, 3, "too_few"]
    assert row["estimate"] == pytest.approx(2)
    assert geometric_mean_ratio([10, 20], [20, 40]).loc[0, "reason"] == "no_variance"
    assert pd.isna(geometric_mean_ratio([], [])["estimate"].tolist()[0])


def test_clusters_are_the_unit() -> None:
    before, now = [10, 20, 30], [12, 21, 40]
    once = geometric_mean_ratio(before, now).iloc[0]
    twice = geometric_mean_ratio(before * 2, now * 2, clusters=["a", "b", "c"] * 2).iloc[0]
    assert interval_of(twice) == pytest.approx(interval_of(once))
    assert twice["p_greater"] == pytest.approx(once["p_greater"])


def test_percentiles_are_those_of_numpy() -> None:
    rng = np.random.default_rng(4)
    values = rng.lognormal(6, 1, 300)
    found = case_percentiles(np.repeat(np.arange(100), 3), values)
    for name, share in (("p50", 0.5), ("p95", 0.95)):
        row = metric(found, name)
        assert row["estimate"] == np.quantile(values, share, method="inverted_cdf")
        assert row["ci_low"] < row["estimate"] < row["ci_high"]
        assert row["n"] == 100


def test_intervals_of_the_median_cover_it() -> None:
    rng = np.random.default_rng(5)
    hits = 0
    for seed in range(100):
        low, high = interval_of(
            metric(case_percentiles(range(40), rng.normal(size=40), seed=seed), "p50")
        )
        hits += low <= 0 <= high
    assert hits >= 88  # 95% less three standard errors


def test_repeats_of_a_case_are_drawn_together() -> None:
    values = np.random.default_rng(6).normal(size=60)
    cases = list(range(60))
    once = case_percentiles(cases, values)
    thrice = case_percentiles(cases * 3, list(values) * 3)
    for name in ("p50", "p95"):
        assert interval_of(metric(thrice, name)) == interval_of(metric(once, name))


@pytest.mark.parametrize(
    ("values", "reasons"),
    [
        ([], ["too_few", "too_few"]),
        ([5.0], ["too_few", "too_few"]),
        ([5.0] * 70, ["no_variance", "no_variance"]),
        (list(range(59)), [None, "too_few"]),
        (list(range(60)), [None, None]),
    ],
)
def test_from_60_cases_on_the_95th_percentile_is_shown(values: list[Any], reasons: Any) -> None:
    found = case_percentiles(range(len(values)), values)
    assert [None if pd.isna(r) else r for r in found["reason"]] == reasons


def test_bad_values_are_named() -> None:
    with pytest.raises(ValueError, match=r"`ratio` must be above 0\. Got 0"):
        geometric_mean_ratio([1], [1], ratio=0)
    with pytest.raises(ValueError, match=r"`baseline` 1, `candidate` 2"):
        geometric_mean_ratio([1], [1, 2])
    with pytest.raises(ValueError, match=r"`cases` 1, `values` 2"):
        case_percentiles(["a"], [1, 2])

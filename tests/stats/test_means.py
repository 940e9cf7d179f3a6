from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.regression.linear_model import OLS

from evalnb.frames import METRICS
from evalnb.stats.means import mean_over_repeats, mean_score
from tests.stats.reference import interval_of, reference

clustered_values = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 5).map(float)), min_size=2, max_size=25
).filter(lambda rows: len({c for c, _ in rows}) > 1 and len({v for _, v in rows}) > 1)


def test_reference_clusters() -> None:
    inputs, expected = reference("clustered_mean_6")
    row = mean_score(inputs["values"], clusters=inputs["clusters"]).iloc[0]
    columns = {
        "mean": "estimate",
        "n": "n",
        "clusters": "n_clusters",
        "se_independent": "se_independent",
        "se_clustered_cr0": "se_miller",
        "se_clustered": "se",
        "design_effect": "design_effect",
    }
    assert set(expected) == {*columns, "ci"}
    for name, column in columns.items():
        assert row[column] == pytest.approx(expected[name], abs=1e-6), name
    assert interval_of(row) == pytest.approx(expected["ci"], abs=1e-6)
    assert row["warnings"] == ["few_clusters"]


@given(clustered_values)
def test_clusters_are_those_of_statsmodels(rows: list[tuple[int, float]]) -> None:
    clusters, values = np.array([c for c, _ in rows]), np.array([v for _, v in rows])
    found = mean_score(values, clusters=clusters).iloc[0]
    if pd.isna(found["se"]):
        totals = pd.Series(values - values.mean()).groupby(clusters).sum()
        assert totals.abs().max() == pytest.approx(0, abs=1e-9)
        return
    n, groups = len(values), len(set(clusters))
    fit = OLS(values, np.ones(n)).fit(
        cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": False}, use_t=True
    )
    expected = float(fit.bse[0]) * math.sqrt(groups / (groups - 1))
    assert found["se"] == pytest.approx(expected, rel=1e-7)
    half = stats.t.ppf(0.975, groups - 1) * expected
    assert interval_of(found) == pytest.approx([values.mean() - half, values.mean() + half])


@given(clustered_values, st.integers(2, 4), st.randoms())
def test_splitting_the_rows_of_clusters_changes_no_error(
    rows: list[tuple[int, float]], times: int, random: Any
) -> None:
    split = random.sample(rows * times, len(rows) * times)
    one, other = (
        mean_score([v for _, v in each], clusters=[f"c{c}" for c, _ in each]).iloc[0]
        for each in (rows, split)
    )
    for name in ("estimate", "se", "ci_low", "ci_high"):
        assert pd.isna(one[name]) == pd.isna(other[name])
        if pd.notna(one[name]):
            assert other[name] == pytest.approx(one[name], rel=1e-9)


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=20))
def test_a_cluster_a_case_is_no_cluster(values: list[float]) -> None:
    alone = mean_score(values).iloc[0]
    for clusters in (list(range(len(values))), [None] * len(values)):
        row = mean_score(values, clusters=clusters).iloc[0]
        if pd.notna(alone["se"]) and alone["se"] > 1e-6:
            assert row["se"] == pytest.approx(alone["se"])
            assert row["design_effect"] == pytest.approx(1)


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=20))
def test_means_of_cases_have_the_t_interval_of_scipy(values: list[float]) -> None:
    row = mean_score([*values, None]).iloc[0]
    assert row["n_left_out"] == 1
    if pd.notna(row["se"]) and row["se"] > 1e-6:
        expected = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
        assert interval_of(row) == pytest.approx(list(expected))


@pytest.mark.parametrize(
    ("values", "clusters", "estimate", "reason"),
    [
        ([], None, pd.NA, "too_few"),
        ([None], None, pd.NA, "too_few"),
        ([3], None, 3, "too_few"),
        ([0.1, 0.1, 0.1], None, 0.1, "no_variance"),
        ([], [], pd.NA, "too_few"),
        ([1, 2, None], ["a", "a", "b"], 1.5, "too_few"),
        ([2, 2], ["a", "b"], 2, "no_variance"),
        # both clusters have the mean of all
        ([1, 3, 3, 1], ["a", "a", "b", "b"], 2, "no_variance"),
    ],
)
def test_an_undefined_mean_or_interval_says_why(
    values: list[Any], clusters: list[Any] | None, estimate: Any, reason: str
) -> None:
    found = mean_score(values, clusters=clusters)
    row = found.iloc[0]
    assert row["estimate"] is estimate or row["estimate"] == estimate
    assert row[["ci_low", "ci_high", "se"]].isna().all()
    assert row["reason"] == reason
    METRICS.check(found)


def test_intervals_stop_at_the_range() -> None:
    row = mean_score([0, 1, 1, 1], low=0, high=1).iloc[0]
    # mean 0.75, sd 0.5, half width 3.182446 * 0.25 = 0.795612
    assert interval_of(row) == [0, 1]


def test_ten_clusters_are_no_few() -> None:
    found = mean_score([0, 1] * 10, clusters=[i // 4 * 2 + i % 2 for i in range(20)])
    assert found.loc[0, "n_clusters"] == 10
    assert found["warnings"].isna().all()


def test_repeats_are_averaged_within_their_case_first() -> None:
    inputs, expected = reference("repeats_shrout_fleiss")
    rows = [(i, v) for i, row in enumerate(inputs["cases_by_repeats"]) for v in row]
    row = mean_over_repeats([i for i, _ in rows], [v for _, v in rows]).iloc[0]
    assert row["estimate"] == pytest.approx(expected["mean"], abs=1e-6)
    assert row["se"] == pytest.approx(expected["se_by_case"], abs=1e-6)
    assert (row["n"], row["n_left_out"]) == (6, 0)


def test_cases_count_alike_however_often_they_ran() -> None:
    cases = ["a", "b", "a", "b", "b", "c", "c"]
    values = [True, False, True, True, None, None, None]
    row = mean_over_repeats(cases, values).iloc[0]
    # a 2 of 2, b 1 of 2, c never scored
    assert (row["estimate"], row["n"], row["n_left_out"]) == (0.75, 2, 1)


def test_cases_of_one_conversation_are_a_cluster() -> None:
    cases, clusters = ["a", "a", "b", "b", "c", "d"], ["x", "x", "x", "x", "y", None]
    found = mean_over_repeats(cases, [1, 0, 0, 0, 1, 1], clusters=clusters)
    expected = mean_score([0.5, 0, 1, 1], clusters=["x", "x", "y", None])
    pd.testing.assert_frame_equal(found, expected)
    assert found.loc[0, "n_clusters"] == 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mean_score([1, 2], clusters=["a"]), "`clusters` must have one entry a value, 2"),
        (lambda: mean_score([1, 6], low=1, high=5), "must lie between 1 and 5. Got 6"),
        (lambda: mean_score([1, math.inf]), "`values` must be finite. Got inf"),
        (lambda: mean_over_repeats(["a"], [1, 2]), "`cases` must have one entry a value, 2"),
        (lambda: mean_over_repeats(["a", None], [1, 2]), "`cases` must name the case"),
        (
            lambda: mean_over_repeats(["a", "a"], [1, 2], clusters=["x", "y"]),
            "`clusters` must be the same in all rows of a case",
        ),
    ],
)
def test_what_is_no_mean_says_why(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()

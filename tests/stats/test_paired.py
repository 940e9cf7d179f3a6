from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.api import OLS

from evalnb.stats.mcnemar import mcnemar
from evalnb.stats.noninferiority import NONINFERIORITY, paired_noninferiority
from evalnb.stats.paired import PAIRED, paired_difference, paired_difference_of_counts
from evalnb.stats.paired_counts import PairedCounts
from tests.stats.reference import interval_of, metric, reference

flag = st.sampled_from([True, False, None])


@pytest.mark.parametrize("name", ["mcnemar_21", "mcnemar_1600", "paired_no_discordant"])
def test_tables_of_the_reference(name: str) -> None:
    table, expected = reference(name)
    cells = (table[key] for key in ("both_pass", "only_first", "only_second", "neither"))
    frame = paired_difference_of_counts(PairedCounts(*cells))
    difference, odds = metric(frame, "difference"), metric(frame, "matched_odds_ratio")
    found = {
        "difference": difference["estimate"],
        "mcnemar_exact_p": difference["p_exact"],
        "tango_ci": interval_of(difference),
    }
    if "wald_se" in expected:
        found |= {
            "mcnemar_mid_p": difference["p_value"],
            "wald_se": difference["se"],
            "matched_odds_ratio": odds["estimate"],
        }
    for key, value in found.items():
        assert value == pytest.approx(expected[key], abs=1e-9)


def test_a_phrase_before_and_after() -> None:
    given_, expected = reference("phrase_change_a")
    frame = paired_difference_of_counts(
        PairedCounts(
            both=given_["both"],
            only_first=given_["after_only"],
            only_second=given_["before_only"],
            neither=given_["neither"],
        )
    )
    difference = metric(frame, "difference")
    assert {
        "rate_before": metric(frame, "rate_second")["estimate"],
        "rate_after": metric(frame, "rate_first")["estimate"],
        "difference": difference["estimate"],
        "mcnemar_exact_p": difference["p_exact"],
    } == pytest.approx({k: v for k, v in expected.items() if k != "tango_ci"}, abs=1e-9)
    assert interval_of(difference) == pytest.approx(expected["tango_ci"], abs=1e-9)


def test_a_margin_of_the_reference() -> None:
    given_, expected = reference("noninferiority_binary_200")
    b, c = given_["only_candidate"], given_["only_baseline"]
    counts = PairedCounts(given_["n"] - b - c, only_first=b, only_second=c, neither=0)
    row = metric(paired_noninferiority(counts, margin=given_["margin"]), "difference")
    found = {key: row[key] for key in ("score_z", "p_noninferior", "p_drop_exceeds_margin")}
    assert found == pytest.approx({key: expected[key] for key in found}, abs=1e-9)
    assert row["estimate"] == pytest.approx(expected["difference"])
    assert interval_of(row) == pytest.approx(expected["tango_ci_90"], abs=1e-9)


@given(*(st.integers(0, 30) for _ in range(4)), st.floats(0, 0.3))
def test_shown_not_to_be_worse_just_where_the_interval_is_above_the_margin(
    both: int, first: int, second: int, neither: int, margin: float
) -> None:
    counts = PairedCounts(both, first, second, neither)
    frame = NONINFERIORITY.check(paired_noninferiority(counts, margin=margin))
    row = metric(frame, "difference")
    if not counts.n:
        assert row["reason"] == "too_few"
        assert pd.isna(row["p_noninferior"])
        return
    if abs(row["ci_low"] + margin) > 1e-9:
        assert (row["p_noninferior"] < 0.05) == (row["ci_low"] > -margin)
    assert row["p_noninferior"] + row["p_drop_exceeds_margin"] == pytest.approx(1)


def test_a_margin_is_a_share() -> None:
    with pytest.raises(ValueError, match=r"`margin` must be in \[0, 1\). Got -0.1"):
        paired_noninferiority(PairedCounts(1, 1, 1, 1), margin=-0.1)


def test_flags_are_counted_in_pairs() -> None:
    first = [True, True, True, False, False, None, True, None]
    second = [True, False, False, True, False, True, None, None]
    assert PairedCounts.of(first, second) == PairedCounts(1, 2, 1, 1, n_left_out=3)
    frame = paired_difference(first, second)
    assert list(frame["metric"]) == [
        "rate_first",
        "rate_second",
        "difference",
        "matched_odds_ratio",
    ]
    assert list(frame["estimate"]) == pytest.approx([3 / 5, 2 / 5, 1 / 5, 2])
    assert set(frame["n"]) == {5}
    assert set(frame["n_left_out"]) == {3}


@given(st.lists(st.tuples(flag, flag), max_size=40), st.randoms())
def test_flags_and_their_counts_say_the_same_in_any_order(pairs: list[Any], random: Any) -> None:
    shuffled = random.sample(pairs, len(pairs))
    first = pd.Series([one for one, _ in shuffled], dtype="boolean")
    second = pd.Series([two for _, two in shuffled], dtype="boolean")
    counts = PairedCounts.of([one for one, _ in pairs], [two for _, two in pairs])
    expected = PAIRED.check(paired_difference_of_counts(counts))
    pd.testing.assert_frame_equal(paired_difference(first, second), expected)


@given(st.lists(flag, max_size=30))
def test_a_side_against_itself_differs_in_nothing(flags: list[bool | None]) -> None:
    row = metric(paired_difference(flags, flags), "difference")
    if row["n"]:
        assert (row["estimate"], row["p_value"], row["p_exact"]) == (0, 1, 1)
    else:
        assert row["reason"] == "too_few"
        assert pd.isna(row["estimate"])


def test_an_alternative_is_that_of_the_tests() -> None:
    frame = paired_difference([True] * 5 + [False], [False] * 5 + [True], alternative="greater")
    row = metric(frame, "difference")
    assert row["p_exact"] == mcnemar(5, 1, method="exact", alternative="greater")
    assert row["p_value"] == mcnemar(5, 1, alternative="greater")
    assert row["method"] == "tango, p one-sided greater"


def test_no_case_that_passed_on_the_second_side_alone_leaves_no_odds_ratio() -> None:
    row = metric(paired_difference([True, True], [False, True]), "matched_odds_ratio")
    assert pd.isna(row["estimate"])
    assert row["reason"] == "no_variance"


def test_clusters_have_the_errors_of_statsmodels() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.random((2, 60)) < [[0.8], [0.6]]
    clusters = np.repeat(np.arange(20), 3)
    row = metric(paired_difference(first, second, clusters=clusters), "difference")
    fit = OLS(first.astype(float) - second.astype(float), np.ones(60)).fit(
        cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True
    )
    assert row["estimate"] == pytest.approx(fit.params[0])
    assert row["se"] == pytest.approx(fit.bse[0], rel=1e-9)
    assert row["p_value"] == pytest.approx(fit.pvalues[0], rel=1e-6)
    assert interval_of(row) == pytest.approx(fit.conf_int()[0], rel=1e-9)
    assert pd.isna(row["p_exact"])
    assert row["n_clusters"] == 20


@pytest.mark.parametrize(
    ("first", "second", "clusters", "message"),
    [
        ([True], [True, False], None, "Got `first` 1, `second` 2"),
        ([True, False], [True, False], ["a"], "Got `first` 2, `clusters` 1"),
        ([2], [True], None, "`first` must be True or False"),
    ],
)
def test_what_cannot_be_is_named(first: Any, second: Any, clusters: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        paired_difference(first, second, clusters=clusters)

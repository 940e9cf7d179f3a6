from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.frames import METRICS
from evalnb.stats.numbers import number_statistics

PAIRS = st.lists(st.tuples(st.floats(1, 5), st.floats(1, 5)), min_size=1, max_size=30)


def row(frame: pd.DataFrame, name: str) -> pd.Series:
    return frame[frame["metric"] == name].iloc[0]


def test_the_four_rows_of_a_small_example() -> None:
    # differences 1, 0, -1, 2, 0: mean 0.4, mean of sizes 0.8; sd of differences 1.140175
    found = number_statistics([1, 2, 3, 2, 5], [2, 2, 2, 4, 5])
    assert row(found, "bias")["estimate"] == pytest.approx(0.4)
    assert row(found, "mean_absolute_difference")["estimate"] == pytest.approx(0.8)
    # t with 4 degrees 2.776445; 2.776445 * 1.140175 / sqrt(5) = 1.415710
    assert row(found, "bias")["ci_low"] == pytest.approx(0.4 - 1.415710, abs=1e-5)
    # ranks 1 2.5 4 2.5 5 and 2 2 2 4 5: products sum to 5, squares to 9.5 and 8
    assert row(found, "spearman")["estimate"] == pytest.approx(5 / (9.5 * 8) ** 0.5)
    # of 10 pairs 5 concordant, 1 discordant; 1 tied in the first, 3 in the second: 4 / sqrt(9 * 7)
    assert row(found, "kendall_tau_b")["estimate"] == pytest.approx(4 / 63**0.5)


def test_intervals_of_correlations_are_those_of_their_sources() -> None:
    # n = 5: Spearman 0.9; atanh 1.472219; se sqrt((1 + 0.405) / 2) = 0.838153
    found = number_statistics([1, 2, 3, 4, 5], [1, 3, 2, 4, 5])
    spearman = row(found, "spearman")
    assert (spearman["ci_low"], spearman["ci_high"]) == pytest.approx((-0.169, 0.9960), abs=2e-3)
    # Kendall 0.8; atanh 1.098612; se sqrt(0.437) = 0.661060
    kendall = row(found, "kendall_tau_b")
    assert (kendall["ci_low"], kendall["ci_high"]) == pytest.approx((-0.1949, 0.9837), abs=2e-3)


def test_missing_ratings_are_left_out_and_counted() -> None:
    found = number_statistics([1, None, 3, 4], pd.array([2, 2, None, 4], dtype="Float64"))
    assert set(found["n"]) == {2}
    assert set(found["n_left_out"]) == {2}
    assert row(found, "bias")["estimate"] == 0.5


@pytest.mark.parametrize(
    ("first", "second", "mean_reason", "correlation_reason"),
    [
        ([], [], "no_overlap", "no_overlap"),
        ([1, None], [None, 2], "no_overlap", "no_overlap"),
        ([1], [3], "too_few", "too_few"),
        ([1, 1, 1], [1, 2, 3], None, "no_variance"),
        ([1, 2, 3], [2, 3, 4], "no_variance", "too_few"),
        ([1, 2, 3, 4, 5], [2, 3, 4, 5, 6], "no_variance", "no_variance"),
    ],
)
def test_what_is_undefined_has_a_reason(
    first: list[float | None],
    second: list[float | None],
    mean_reason: str | None,
    correlation_reason: str,
) -> None:
    found = number_statistics(first, second)
    assert METRICS.check(found) is not None
    for name, reason in (("bias", mean_reason), ("spearman", correlation_reason)):
        got = row(found, name)["reason"]
        assert (None if pd.isna(got) else got) == reason
    assert row(found, "spearman")[["ci_low", "ci_high"]].isna().all()


def test_items_of_one_conversation_are_one_observation() -> None:
    # differences 1 1 0 0 in two clusters: sums about the mean 1 and -1, so that the standard error
    # is sqrt(2 / 1 * 2) / 4 = 0.5; t with one degree 12.7062
    found = number_statistics([1, 1, 1, 1], [2, 2, 1, 1], clusters=["x", "x", "y", "y"])
    bias = row(found, "bias")
    assert bias["estimate"] == 0.5
    assert (bias["ci_low"], bias["ci_high"]) == pytest.approx(
        (0.5 - 6.3531, 0.5 + 6.3531), abs=1e-4
    )
    one = number_statistics([1, 2], [2, 2], clusters=["x", "x"])
    assert row(one, "bias")["reason"] == "too_few"
    long = number_statistics([1, 2, 3, 4, 5], [1, 3, 2, 4, 5], clusters=list("abcde"))
    assert row(long, "spearman")["reason"] == "too_few"
    assert row(long, "spearman")["estimate"] == pytest.approx(0.9)


def test_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="Got 2 and 1 ratings"):
        number_statistics([1, 2], [1])


@given(PAIRS)
def test_swapping_the_raters_turns_the_bias_alone(pairs: list[tuple[float, float]]) -> None:
    first, second = zip(*pairs, strict=True)
    one, other = number_statistics(first, second), number_statistics(second, first)
    assert row(one, "bias")["estimate"] == pytest.approx(-row(other, "bias")["estimate"])
    for name in ("mean_absolute_difference", "spearman", "kendall_tau_b"):
        here, there = row(one, name)["estimate"], row(other, name)["estimate"]
        assert pd.isna(here) == pd.isna(there)
        assert pd.isna(here) or here == pytest.approx(there)

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from evalnb.stats.estimates import Estimate, wilson
from evalnb.stats.paired_counts import PairedCounts
from evalnb.stats.paired_intervals import newcombe_paired_interval, tango_interval, tango_z
from tests.stats.reference import reference

cells = st.integers(0, 40)
tables = st.builds(PairedCounts, cells, cells, cells, cells).filter(lambda counts: counts.n > 0)


def counts_of(table: dict[str, int]) -> PairedCounts:
    return PairedCounts(
        table["both_pass"], table["only_first"], table["only_second"], table["neither"]
    )


def ends(found: Estimate) -> tuple[float, float]:
    assert found.ci_low is not None
    assert found.ci_high is not None
    return found.ci_low, found.ci_high


@pytest.mark.parametrize(
    ("name", "level", "key"),
    [
        ("mcnemar_21", 0.95, "tango_ci"),
        ("mcnemar_21", 0.90, "tango_ci_90"),
        ("mcnemar_1600", 0.95, "tango_ci"),
        ("mcnemar_1600", 0.90, "tango_ci_90"),
        ("paired_no_discordant", 0.95, "tango_ci"),
    ],
)
def test_tango_of_the_reference(name: str, level: float, key: str) -> None:
    given_, expected = reference(name)
    counts = counts_of(given_)
    found = tango_interval(counts.only_first, counts.only_second, counts.n, level=level)
    assert found.estimate == pytest.approx(expected["difference"], abs=1e-9)
    assert ends(found) == pytest.approx(expected[key], abs=1e-9)


@pytest.mark.parametrize("name", ["mcnemar_21", "mcnemar_1600"])
def test_newcombe_of_the_reference(name: str) -> None:
    given_, expected = reference(name)
    found = newcombe_paired_interval(counts_of(given_))
    assert ends(found) == pytest.approx(expected["newcombe_paired_ci"], abs=1e-9)


def test_newcombe_of_his_own_example() -> None:
    # Newcombe (1998), Statistics in Medicine 17:2635, table III, method 10: counts 36, 12, 2, 0.
    low, high = ends(newcombe_paired_interval(PairedCounts(36, 12, 2, 0)))
    assert (low, high) == pytest.approx((0.0569, 0.3404), abs=5e-5)


@given(tables)
def test_intervals_hold_the_difference_and_stay_in_range(counts: PairedCounts) -> None:
    for found in (
        tango_interval(counts.only_first, counts.only_second, counts.n),
        newcombe_paired_interval(counts),
    ):
        low, high = ends(found)
        assert found.estimate is not None
        assert found.estimate == counts.difference
        assert -1 <= low <= found.estimate + 1e-12
        assert found.estimate - 1e-12 <= high <= 1


@given(tables)
def test_turned_round_the_interval_is_mirrored(counts: PairedCounts) -> None:
    turned = PairedCounts(counts.both, counts.only_second, counts.only_first, counts.neither)
    for one, other in (
        (newcombe_paired_interval(counts), newcombe_paired_interval(turned)),
        (
            tango_interval(counts.only_first, counts.only_second, counts.n),
            tango_interval(counts.only_second, counts.only_first, counts.n),
        ),
    ):
        low, high = ends(one)
        assert ends(other) == pytest.approx((-high, -low), abs=1e-12)


@given(tables)
def test_the_score_at_the_ends_is_the_quantile(counts: PairedCounts) -> None:
    b, c, n = counts.only_first, counts.only_second, counts.n
    low, high = ends(tango_interval(b, c, n))
    if low > -1 + 1e-9:
        assert tango_z(b, c, n, low) == pytest.approx(norm.ppf(0.975), abs=1e-5)
    if high < 1 - 1e-9:
        assert tango_z(b, c, n, high) == pytest.approx(-norm.ppf(0.975), abs=1e-5)


@given(st.integers(0, 50), st.integers(1, 50))
def test_changes_one_way_have_wilsons_interval(changed: int, others: int) -> None:
    expected = wilson(changed, changed + others)
    low, high = ends(tango_interval(changed, 0, changed + others))
    # Of changes one way alone, the likelihood is largest without any the other way from a difference
    # of b/(2n - b) on: there the slope b/d - 2(n - b)/(1 - d) at q = 0 is not above 0.
    assert high == pytest.approx(expected.ci_high, abs=1e-9)
    if low > changed / (changed + 2 * others):
        assert low == pytest.approx(expected.ci_low, abs=1e-9)


@given(st.integers(0, 20), st.integers(0, 20), st.integers(1, 40), st.floats(-0.9, 0.9))
def test_the_score_is_that_of_the_profile_likelihood(b: int, c: int, rest: int, d: float) -> None:
    n = b + c + rest
    low, high = max(-d, 0.0), (1 - d) / 2

    def minus_log_likelihood(q: float) -> float:
        shares = ((b, q + d), (c, q), (rest, 1 - 2 * q - d))
        return -sum(count * math.log(max(share, 1e-300)) for count, share in shares if count)

    q = minimize_scalar(
        minus_log_likelihood, bounds=(low, high), method="bounded", options={"xatol": 1e-12}
    ).x
    variance = n * (2 * q + d * (1 - d))
    if variance > 1e-3:
        expected = (b - c - n * d) / math.sqrt(variance)
        assert tango_z(b, c, n, d) == pytest.approx(expected, rel=1e-3, abs=1e-3)


def test_without_a_case_nothing_is_known() -> None:
    assert tango_interval(0, 0, 0) == Estimate(None, None, None)
    assert newcombe_paired_interval(PairedCounts(0, 0, 0, 0)) == Estimate(None, None, None)


def test_what_cannot_be_is_named() -> None:
    with pytest.raises(ValueError, match=r"at most n = 5 cases can be discordant. Got 6"):
        tango_interval(3, 3, 5)
    with pytest.raises(ValueError, match=r"`level` must lie between 0 and 1. Got 1.5"):
        tango_interval(3, 3, 10, level=1.5)

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import binomtest

from evalnb.stats.estimates import Estimate, mean_interval, t_quantile, wilson


@pytest.mark.parametrize(
    ("passes", "n", "low", "high"),
    [
        # Newcombe (1998), Statistics in Medicine 17:857-872, table I, method 3, to 4 digits;
        # the further digits by statsmodels 0.15.0 and scipy 1.12.0.
        (81, 263, 0.255288519878, 0.366209576983),
        (0, 20, 0.0, 0.161125158053),
        # By statsmodels 0.15.0.
        (57, 60, 0.862994835237, 0.982850497836),
        (37, 80, 0.357479935628, 0.570956424087),
    ],
)
def test_published_intervals(passes: int, n: int, low: float, high: float) -> None:
    found = wilson(passes, n)
    assert (found.estimate, found.ci_low, found.ci_high) == pytest.approx(
        (passes / n, low, high), abs=1e-9
    )


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_intervals_agree_with_scipy(counts: tuple[int, int]) -> None:
    passes, n = counts
    found, expected = wilson(passes, n), binomtest(passes, n).proportion_ci(method="wilson")
    assert (found.ci_low, found.ci_high) == pytest.approx((expected.low, expected.high), abs=1e-9)


@pytest.mark.parametrize("n", [1, 3, 7, 20, 1000])
def test_the_ends_are_exact(n: int) -> None:
    assert wilson(0, n).ci_low == 0
    assert wilson(n, n).ci_high == 1


def test_a_rate_of_nothing_is_undefined() -> None:
    assert wilson(0, 0) == Estimate(None, None, None)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_rates_over_repeats_stay_within_bounds(rates: list[float]) -> None:
    found = wilson(sum(rates), len(rates))
    assert found.estimate is not None
    assert found.ci_low is not None
    assert found.ci_high is not None
    assert 0 <= found.ci_low <= found.estimate + 1e-12
    assert found.estimate - 1e-12 <= found.ci_high <= 1


# Means


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 9, 10, 59, 100, 999, 1000, 2000, 2001, 10**6])
@pytest.mark.parametrize("level", [0.6, 0.95, 0.975, 0.995])
def test_quantiles_of_t_are_those_of_scipy(degrees: int, level: float) -> None:
    assert t_quantile(degrees, level) == pytest.approx(stats.t.ppf(level, degrees), rel=1e-9)


def test_students_own_data() -> None:
    # Student (1908), section IX: additional hours of sleep by hyoscyamine of ten patients, minus
    # those by another isomer; mean 1.58, and t.interval of scipy over them.
    hours = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
    found = mean_interval(hours)
    assert found.estimate == pytest.approx(1.58)
    low, high = stats.t.interval(0.95, 9, 1.58, stats.sem(hours))
    assert (found.ci_low, found.ci_high) == pytest.approx((low, high), abs=1e-9)


def test_an_interval_stays_in_the_range_of_its_values() -> None:
    # mean 0.5, sd 0.40825, half width 3.182446 * 0.40825 / 2 = 0.649614
    values = [0.0, 0.5, 1.0, 0.5]
    assert mean_interval(values, low=0.0, high=1.0) == Estimate(0.5, 0.0, 1.0)
    found = mean_interval(values)
    assert (found.ci_low, found.ci_high) == pytest.approx((-0.149614, 1.149614), abs=1e-6)


@pytest.mark.parametrize(
    ("values", "estimate"), [([], None), ([0.25], 0.25), ([1.0] * 9, 1.0), ([0.1] * 3, 0.1)]
)
def test_an_interval_that_nothing_is_known_of_is_none(
    values: list[float], estimate: float | None
) -> None:
    found = mean_interval(values)
    assert found.estimate == pytest.approx(estimate)
    assert (found.ci_low, found.ci_high) == (None, None)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20), st.randoms())
def test_a_mean_is_within_its_interval_whatever_the_order(
    values: list[float], random: Random
) -> None:
    found = mean_interval(values, low=0.0, high=1.0)
    shuffled = random.sample(values, len(values))
    assert mean_interval(shuffled, low=0.0, high=1.0) == found
    if found.ci_low is not None and found.ci_high is not None and found.estimate is not None:
        assert 0 <= found.ci_low <= found.estimate + 1e-12
        assert found.estimate - 1e-12 <= found.ci_high <= 1

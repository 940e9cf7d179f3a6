from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from evalnb.stats.estimates import Estimate, wilson


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

"""The bootstrap by tables beside one that draws items."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import bootstrap as scipy_bootstrap

from evalnb.stats.resampling import (
    RESAMPLES,
    Patterns,
    bootstrap,
    jackknife,
    percentile_interval,
    percentiles,
    quantiles,
)

VALUES = np.array([1, 1, 2, 3, 3, 3, 5, 8, 9, 9])


def mean_of(patterns: Patterns) -> Callable[[np.ndarray], np.ndarray]:
    return lambda counts: counts @ patterns.rows[:, 0] / counts.sum(axis=1)


@pytest.mark.parametrize("times", [1, 20])  # few alike are drawn singly, many as a table
def test_the_mean_has_the_error_that_scipy_finds(times: int) -> None:
    values = np.tile(VALUES, times)
    patterns = Patterns.of(values[:, None])
    drawn = bootstrap(patterns, mean_of(patterns), seed=1)
    assert len(drawn) == RESAMPLES
    expected = scipy_bootstrap((values,), np.mean, method="percentile", rng=2)
    assert drawn.std() == pytest.approx(expected.standard_error, rel=0.05)
    low, high = quantiles(drawn, 0.025, 0.975)
    interval = expected.confidence_interval
    width = interval.high - interval.low
    assert (low, high) == pytest.approx((interval.low, interval.high), abs=0.05 * width)
    # sd with n in the denominator over the root of n
    assert drawn.std() == pytest.approx(values.std() / np.sqrt(len(values)), rel=0.05)


def test_every_resample_has_as_many_items_as_there_are() -> None:
    for values in (VALUES, np.tile(VALUES, 50)):
        patterns = Patterns.of(values[:, None])
        parts = np.concatenate([*patterns.resampled(0, 200)])
        assert parts.shape == (200, 6)
        assert set(parts.sum(axis=1)) == {len(values)}


def test_clusters_are_drawn_whole() -> None:
    # clusters of 1, 2 and 3 items, all of their own values
    patterns = Patterns.of(np.array([[1], [2], [2], [3], [3], [3]]), np.array([0, 1, 1, 2, 2, 2]))
    parts = np.concatenate([*patterns.resampled(0, 500)])
    assert (parts % [1, 2, 3] == 0).all()
    assert set((parts / [1, 2, 3]).sum(axis=1)) == {3}
    assert patterns.counts.tolist() == [1, 2, 3]


def test_the_jackknife_of_a_mean_is_its_standard_error() -> None:
    patterns = Patterns.of(VALUES[:, None])
    expected = VALUES.std(ddof=1) / np.sqrt(len(VALUES))
    assert jackknife(patterns, mean_of(patterns)) == pytest.approx(expected)


def test_what_has_no_spread_has_no_interval() -> None:
    assert percentile_interval(np.ones(100)) == {"reason": "no_variance"}
    assert percentile_interval(np.full(100, np.nan)) == {"reason": "no_variance"}
    one = Patterns.of(np.array([[1]]))
    assert percentiles(one, mean_of(one), 0) == {"reason": "too_few"}
    assert jackknife(one, mean_of(one)) is None


def test_a_seed_draws_the_same_whatever_the_order_of_rows() -> None:
    one, other = (Patterns.of(values[:, None]) for values in (VALUES, VALUES[::-1]))
    first, second = (bootstrap(given, mean_of(given), seed=3) for given in (one, other))
    assert first.tolist() == second.tolist()

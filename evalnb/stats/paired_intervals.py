"""Intervals of the difference of two pass rates over the same cases."""

from __future__ import annotations

import math
from dataclasses import astuple
from functools import lru_cache
from typing import TYPE_CHECKING

from evalnb.stats.estimates import Estimate, wilson
from evalnb.stats.values import check_count

if TYPE_CHECKING:
    from evalnb.stats.paired_counts import PairedCounts

__all__ = ["newcombe_paired_interval", "tango_interval", "tango_z"]

_ROUNDING = 1e-13


def tango_z(only_first: int, only_second: int, n: int, difference: float) -> float:
    """Return Tango's score of a supposed difference, about standard normal if that is the true one.

    Parameters
    ----------
    only_first, only_second : numbers of discordant cases
    n : number of all cases
    difference : supposed pass rate of the first side minus that of the second, in [-1, 1]

    Returns
    -------
    positive where the observed difference is larger; infinite where the supposed one could not
    have given these counts

    References
    ----------
    Tango (1998), Statistics in Medicine 17:891-908.

    Examples
    --------
    >>> round(tango_z(3, 6, 200, -0.05), 6)  # of a non-inferiority margin of 5 points
    1.914269
    """
    above = only_first - only_second - n * difference
    b = -only_first - only_second + (2 * n - only_first + only_second) * difference
    c = -only_second * difference * (1 - difference)
    a = 2 * n
    root = math.sqrt(max(b * b - 4 * a * c, 0.0))
    # Of two equal forms the one that subtracts nothing of like size.
    q = -2 * c / (b + root) if b > 0 else (root - b) / (2 * a)
    variance = n * (2 * q + difference * (1 - difference))
    if abs(above) < _ROUNDING * n:
        return 0.0
    return above / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, above)


def tango_interval(only_first: int, only_second: int, n: int, *, level: float = 0.95) -> Estimate:
    """Return the difference of two paired pass rates with its score interval.

    Parameters
    ----------
    only_first, only_second : numbers of discordant cases
    n : number of all cases
    level : in (0, 1), two-sided

    Returns
    -------
    estimate, ci_low, ci_high in [-1, 1]; undefined for n = 0
        The differences that Tango's score does not speak against. Without a discordant case it is
        from -z^2 / (n + z^2) to z^2 / (n + z^2).

    Raises
    ------
    ValueError
        If more cases are discordant than there are, or `level` is outside (0, 1).

    References
    ----------
    Tango (1998), Statistics in Medicine 17:891-908.

    Examples
    --------
    >>> interval = tango_interval(1, 7, 21)
    >>> round(interval.ci_low, 4), round(interval.ci_high, 4)
    (-0.5172, -0.026)
    """
    first = check_count(only_first, "only_first")
    second = check_count(only_second, "only_second")
    total = check_count(n, "n")
    if first + second > total:
        raise ValueError(f"at most n = {total} cases can be discordant. Got {first + second}.")
    z = _normal_quantile(level)
    if total == 0:
        return Estimate(None, None, None)
    low = -_tango_upper(second, first, total, z)
    return Estimate((first - second) / total, low, _tango_upper(first, second, total, z))


def newcombe_paired_interval(counts: PairedCounts) -> Estimate:
    """Return the difference of two paired pass rates with Newcombe's square-and-add interval.

    Parameters
    ----------
    counts : how the flags fall together

    Returns
    -------
    estimate, ci_low, ci_high in [-1, 1]; undefined without a case
        The Wilson intervals of the two rates, joined by their correlation phi; phi is corrected
        for continuity where positive, and 0 where a rate is 0 or 1.

    References
    ----------
    Newcombe (1998), Statistics in Medicine 17:2635-2650, method 10.

    Examples
    --------
    >>> from evalnb.stats.paired_counts import PairedCounts
    >>> interval = newcombe_paired_interval(PairedCounts(1, 1, 7, 12))
    >>> round(interval.ci_low, 4), round(interval.ci_high, 4)
    (-0.5069, -0.0256)
    """
    n, apart = counts.n, counts.difference
    if apart is None:
        return Estimate(None, None, None)
    one, two = counts.passes_first, counts.passes_second
    below_1, above_1 = _distances(one, n)
    below_2, above_2 = _distances(two, n)
    phi = _phi(counts)
    low = apart - _joined(below_1, above_2, phi)
    high = apart + _joined(above_1, below_2, phi)
    return Estimate(apart, max(low, -1.0), min(high, 1.0))


@lru_cache(maxsize=4096)
def _tango_upper(first: int, second: int, n: int, z: float) -> float:
    """Return the largest difference whose score is at least -z; the score falls with it."""
    low, high = (first - second) / n, 1.0
    while high - low > 1e-14 and low < (middle := (low + high) / 2) < high:
        if tango_z(first, second, n, middle) >= -z:
            low = middle
        else:
            high = middle
    return high


def _normal_quantile(level: float) -> float:
    from scipy.special import ndtri

    if not 0 < level < 1:
        raise ValueError(f"`level` must lie between 0 and 1. Got {level}.")
    return float(ndtri((1 + level) / 2))


def _distances(passes: int, n: int) -> tuple[float, float]:
    """Return how far a rate lies from the ends of its Wilson interval."""
    rate, low, high = astuple(wilson(passes, n))
    return rate - low, high - rate


def _joined(one: float, two: float, phi: float) -> float:
    return math.sqrt(max(one * one - 2 * phi * one * two + two * two, 0.0))


def _phi(counts: PairedCounts) -> float:
    one, two, n = counts.passes_first, counts.passes_second, counts.n
    product = one * (n - one) * two * (n - two)
    if product == 0:
        return 0.0
    cross = counts.both * counts.neither - counts.only_first * counts.only_second
    if cross > 0:
        return max(cross - n / 2, 0.0) / math.sqrt(product)
    return cross / math.sqrt(product)

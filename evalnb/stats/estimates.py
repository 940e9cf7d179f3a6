"""Estimates of rates and means, with intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Z_975",
    "Estimate",
    "clopper_pearson",
    "difference_of_rates",
    "jeffreys",
    "mean_interval",
    "t_quantile",
    "wilson",
]

Z_975 = 1.959963984540054
"""The 97.5% quantile of the standard normal distribution."""

_MANY_DEGREES = 2000  # from where the sum of terms takes longer than to load scipy


@dataclass(frozen=True)
class Estimate:
    """A statistic with its 95% interval; None where they are undefined."""

    estimate: float | None
    ci_low: float | None
    ci_high: float | None


def wilson(passes: float, n: float) -> Estimate:
    """95% score interval of a pass rate.

    Parameters
    ----------
    passes : number of passes, or the sum of pass rates of `n` cases
    n : number of cases

    Returns
    -------
    estimate, ci_low, ci_high in [0, 1]; undefined for n = 0
        For pass rates over repeats the interval is on the safe side: their variance is at most
        that of single passes.

    References
    ----------
    Wilson (1927), Journal of the American Statistical Association 22(158),
    doi:10.1080/01621459.1927.10502953.

    Examples
    --------
    >>> interval = wilson(9, 10)
    >>> round(interval.ci_low, 4), round(interval.ci_high, 4)
    (0.5958, 0.9821)
    """
    if n == 0:
        return Estimate(None, None, None)
    z2 = Z_975**2
    centre = (passes + z2 / 2) / (n + z2)
    half = Z_975 / (n + z2) * math.sqrt(max(passes * (n - passes) / n, 0) + z2 / 4)
    # Exact at the ends, where rounding leaves 1e-17.
    low = 0.0 if passes == 0 else max(centre - half, 0.0)
    high = 1.0 if passes == n else min(centre + half, 1.0)
    return Estimate(passes / n, low, high)


def jeffreys(passes: float, n: int) -> Estimate:
    """95% interval of a pass rate by Jeffreys' prior, Beta(1/2, 1/2).

    Parameters
    ----------
    passes, n : number of passes and of cases

    Returns
    -------
    estimate, ci_low, ci_high in [0, 1]; undefined for n = 0
        The lower limit is 0 where nothing passed, the upper one 1 where everything did.

    References
    ----------
    Brown, Cai & DasGupta (2001), Statistical Science 16(2), doi:10.1214/ss/1009213286.

    Examples
    --------
    >>> interval = jeffreys(0, 20)
    >>> interval.ci_low, round(interval.ci_high, 4)
    (0.0, 0.1166)
    """
    return _beta_interval(passes, n, (0.5, 0.5), (0.5, 0.5))


def clopper_pearson(passes: float, n: int) -> Estimate:
    """95% interval of a pass rate that covers in at least 95% of samples, whatever the rate.

    It is wider than it need be: for rates that a guarantee is stated of.

    Parameters
    ----------
    passes, n : number of passes and of cases

    Returns
    -------
    estimate, ci_low, ci_high in [0, 1]; undefined for n = 0

    References
    ----------
    Clopper & Pearson (1934), Biometrika 26(4), doi:10.1093/biomet/26.4.404.

    Examples
    --------
    >>> interval = clopper_pearson(0, 20)
    >>> interval.ci_low, round(interval.ci_high, 4)
    (0.0, 0.1684)
    """
    return _beta_interval(passes, n, (0.0, 1.0), (1.0, 0.0))


def _beta_interval(
    passes: float, n: int, low: tuple[float, float], high: tuple[float, float]
) -> Estimate:
    """Limits that are quantiles of Beta(passes + first, fails + second), exact at the ends."""
    from scipy.special import betaincinv

    if n == 0:
        return Estimate(None, None, None)
    fails = n - passes
    return Estimate(
        passes / n,
        0.0 if passes == 0 else float(betaincinv(passes + low[0], fails + low[1], 0.025)),
        1.0 if fails == 0 else float(betaincinv(passes + high[0], fails + high[1], 0.975)),
    )


def difference_of_rates(passes: float, n: int, other_passes: float, other_n: int) -> Estimate:
    """Difference of two pass rates over different cases, with its 95% interval.

    Parameters
    ----------
    passes, n : passes (or the sum of pass rates) and number of cases of the first
    other_passes, other_n : the same of the second, which is subtracted

    Returns
    -------
    estimate, ci_low, ci_high in [-1, 1]; undefined where one side has no cases
        The interval squares and adds the distances to the ends of the two Wilson intervals.

    References
    ----------
    Newcombe (1998), Statistics in Medicine 17:873-890, method 10.

    Examples
    --------
    >>> interval = difference_of_rates(56, 70, 48, 80)
    >>> round(interval.ci_low, 4), round(interval.ci_high, 4)
    (0.0524, 0.3339)
    """
    one, two = wilson(passes, n), wilson(other_passes, other_n)
    if (
        one.estimate is None
        or one.ci_low is None
        or one.ci_high is None
        or two.estimate is None
        or two.ci_low is None
        or two.ci_high is None
    ):
        return Estimate(None, None, None)
    apart = one.estimate - two.estimate
    below = math.hypot(one.estimate - one.ci_low, two.ci_high - two.estimate)
    above = math.hypot(one.ci_high - one.estimate, two.estimate - two.ci_low)
    return Estimate(apart, apart - below, apart + above)


def mean_interval(
    values: Sequence[float], *, low: float = -math.inf, high: float = math.inf
) -> Estimate:
    """Mean with its 95% t interval.

    Parameters
    ----------
    values : one a case; repeats of a case are its mean
    low, high : range of the values, beyond which the interval does not go

    Returns
    -------
    estimate, ci_low, ci_high
        Without a value all are undefined; the interval is too where there is one value, or where
        all are the same, since nothing is known of their spread then.

    References
    ----------
    Student (1908), Biometrika 6(1), doi:10.2307/2331554.

    Examples
    --------
    >>> interval = mean_interval([0.0, 0.5, 1.0, 0.5])
    >>> round(interval.ci_low, 4), round(interval.ci_high, 4)
    (-0.1496, 1.1496)
    """
    n = len(values)
    if n == 0:
        return Estimate(None, None, None)
    mean = math.fsum(values) / n
    if n == 1 or min(values) == max(values):
        return Estimate(mean, None, None)
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    half = t_quantile(n - 1) * math.sqrt(variance / n)
    return Estimate(mean, max(mean - half, low), min(mean + half, high))


@lru_cache(maxsize=256)
def t_quantile(degrees: int, level: float = 0.975) -> float:
    """Quantile of Student's t distribution.

    Parameters
    ----------
    degrees : of freedom, at least 1
    level : in (0.5, 1)

    References
    ----------
    Abramowitz & Stegun (1964), Handbook of Mathematical Functions, 26.7.3 and 26.7.4.

    Examples
    --------
    >>> round(t_quantile(9), 6)
    2.262157
    """
    if degrees > _MANY_DEGREES:
        from scipy.special import stdtrit

        return float(stdtrit(degrees, level))
    low, high = 0.0, math.pi / 2  # of the angle whose tangent is t over the root of the degrees
    for _ in range(60):
        middle = (low + high) / 2
        if _within(middle, degrees) < 2 * level - 1:
            low = middle
        else:
            high = middle
    return math.tan(low) * math.sqrt(degrees)


def _within(angle: float, degrees: int) -> float:
    """Probability that |t| is at most that of an angle."""
    odd = degrees % 2
    square = math.cos(angle) ** 2
    term = math.cos(angle) if odd else 1.0
    total = term if degrees > 1 else 0.0
    for power in range(2 + odd, degrees - 1, 2):
        term *= square * (power - 1) / power
        total += term
    if odd:
        return 2 / math.pi * (angle + math.sin(angle) * total)
    return math.sin(angle) * total

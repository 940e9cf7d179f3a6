"""Estimates of rates, with intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Estimate", "wilson"]

_Z_975 = 1.959963984540054
"""The 97.5% quantile of the standard normal distribution."""


@dataclass(frozen=True)
class Estimate:
    """A statistic with its 95% interval; all None where it is undefined."""

    estimate: float | None
    ci_low: float | None
    ci_high: float | None


def wilson(passes: float, n: int) -> Estimate:
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
    z2 = _Z_975**2
    centre = (passes + z2 / 2) / (n + z2)
    half = _Z_975 / (n + z2) * math.sqrt(max(passes * (n - passes) / n, 0) + z2 / 4)
    # Exact at the ends, where rounding leaves 1e-17.
    low = 0.0 if passes == 0 else max(centre - half, 0.0)
    high = 1.0 if passes == n else min(centre + half, 1.0)
    return Estimate(passes / n, low, high)

"""McNemar's tests: do as many cases pass on one side alone as on the other."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal, TypeAlias

from evalnb.stats.values import check_count

__all__ = ["Alternative", "McNemarMethod", "mcnemar"]

Alternative: TypeAlias = Literal["two-sided", "greater", "less"]
"""What is looked for: any difference, the first side higher, the first side lower."""

McNemarMethod: TypeAlias = Literal["mid_p", "exact", "asymptotic"]


def mcnemar(
    only_first: int,
    only_second: int,
    *,
    method: McNemarMethod = "mid_p",
    alternative: Alternative = "two-sided",
) -> float:
    """Return the p-value that cases pass on one side alone as often as on the other.

    Parameters
    ----------
    only_first, only_second : numbers of discordant cases
    method : {"mid_p", "exact", "asymptotic"}
        `exact` keeps any level, at a cost in power; `mid_p` keeps it on average over the last
        outcome; `asymptotic` is the root of chi-squared without correction, against the normal.
    alternative : {"two-sided", "greater", "less"}
        "greater" looks for more passes on the first side.

    Returns
    -------
    in [0, 1]; 1 without a discordant case

    Raises
    ------
    ValueError
        If a count is no whole number, or a method or alternative is unknown.

    References
    ----------
    McNemar (1947), Psychometrika 12(2); Fagerland, Lydersen & Laake (2013), BMC Medical Research
    Methodology 13:91, doi:10.1186/1471-2288-13-91, by which the two-sided mid-p of equal counts is
    1 minus half their probability.

    Examples
    --------
    >>> round(mcnemar(1, 7, method="exact"), 4), round(mcnemar(1, 7), 4)
    (0.0703, 0.0391)
    """
    first = check_count(only_first, "only_first")
    second = check_count(only_second, "only_second")
    if alternative not in ("two-sided", "greater", "less"):
        raise ValueError(f"`alternative` must be two-sided, greater or less. Got {alternative!r}.")
    if method not in ("mid_p", "exact", "asymptotic"):
        raise ValueError(f"`method` must be mid_p, exact or asymptotic. Got {method!r}.")
    if first + second == 0:
        return 1.0
    if method == "asymptotic":
        return _asymptotic(first, second, alternative)
    return _conditional(first, second, alternative, mid=method == "mid_p")


@lru_cache(maxsize=4096)
def _conditional(first: int, second: int, alternative: Alternative, *, mid: bool) -> float:
    from scipy.stats import binom

    n = first + second
    point = float(binom.pmf(first, n, 0.5)) if mid else 0.0
    if alternative == "greater":
        return float(binom.sf(first - 1, n, 0.5)) - point / 2
    if alternative == "less":
        return float(binom.cdf(first, n, 0.5)) - point / 2
    if first == second:
        return 1.0 - point / 2
    return 2 * float(binom.cdf(min(first, second), n, 0.5)) - point


def _asymptotic(first: int, second: int, alternative: Alternative) -> float:
    from scipy.special import ndtr

    z = (first - second) / math.sqrt(first + second)
    if alternative == "two-sided":
        return 2 * float(ndtr(-abs(z)))
    return float(ndtr(-z if alternative == "greater" else z))

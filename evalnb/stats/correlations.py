"""How alike two raters order items, with the intervals of these correlations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from evalnb.stats.estimates import Z_975

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Correlation", "correlation_row"]

Correlation: TypeAlias = Literal["spearman", "kendall_tau_b", "pearson"]

_FEWEST = 5
"""Items from which on the variances are of use."""

_VARIANCES: dict[str, Callable[[float, int], float]] = {
    "spearman": lambda found, n: (1 + found**2 / 2) / (n - 3),
    "kendall_tau_b": lambda _, n: 0.437 / (n - 4),
    "pearson": lambda _, n: 1 / (n - 3),
}


def correlation_row(
    name: Correlation, one: np.ndarray, other: np.ndarray, *, independent: bool
) -> dict[str, Any]:
    """Return the row of a correlation.

    Parameters
    ----------
    one, other : numbers of the same items, none missing
    independent : whether no two items share a conversation; else there is no interval

    Returns
    -------
    estimate in [-1, 1], and an interval that is normal on the scale of atanh
        NA `no_overlap` without an item, `too_few` for one, `no_variance` where a side is constant;
        the interval alone is NA `too_few` below five items or where these are not independent,
        `no_variance` for a correlation of 1 or -1.

    References
    ----------
    Bonett & Wright (2000), Psychometrika 65(1), doi:10.1007/BF02294183, for Spearman; Fieller,
    Hartley & Pearson (1957), Biometrika 44(3/4), doi:10.1093/biomet/44.3-4.470, for Kendall; Fisher
    (1921), Metron 1, for Pearson.
    """
    n = len(one)
    row: dict[str, Any] = {"metric": name, "method": "normal on the scale of atanh"}
    if n < 2:
        return {**row, "reason": "too_few" if n else "no_overlap"}
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return {**row, "reason": "no_variance"}
    found = _correlation(name, one, other)
    row["estimate"] = found
    if n < _FEWEST or not independent:
        return {**row, "reason": "too_few"}
    if abs(found) > 1 - 1e-9:
        return {**row, "reason": "no_variance"}
    centre, half = math.atanh(found), Z_975 * math.sqrt(_VARIANCES[name](found, n))
    return {**row, "ci_low": math.tanh(centre - half), "ci_high": math.tanh(centre + half)}


def _correlation(name: Correlation, one: np.ndarray, other: np.ndarray) -> float:
    from scipy.stats import kendalltau, pearsonr, spearmanr

    of = {"spearman": spearmanr, "kendall_tau_b": kendalltau, "pearson": pearsonr}[name]
    return float(np.clip(of(one, other).statistic, -1, 1))

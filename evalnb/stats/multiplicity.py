"""Several p-values, one error rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from evalnb.stats.values import numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalnb.stats.values import Floats

__all__ = ["Adjustment", "adjusted", "reachable"]

Adjustment: TypeAlias = Literal["holm", "fdr_bh"]


def adjusted(
    p_values: Sequence[Any] | pd.Series | np.ndarray,
    *,
    method: Adjustment = "holm",
    level: float = 0.05,
) -> pd.DataFrame:
    """Adjust p-values for their number.

    Parameters
    ----------
    p_values : in [0, 1]; NA where a test is undefined, which then counts for nothing
    method : {"holm", "fdr_bh"}
        `holm` bounds the chance of any false rejection, whatever depends on what; `fdr_bh`
        (Benjamini and Hochberg) the expected share of false ones among the rejected.
    level : in (0, 1), the error rate of all together

    Returns
    -------
    p_value, p_adjusted, rejected : a row a test, in the order given; NA where the p-value is

    Raises
    ------
    ValueError
        If a p-value or the level is out of range, or the method is unknown.

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6(2); Benjamini & Hochberg (1995), Journal of
    the Royal Statistical Society B 57(1).

    Examples
    --------
    >>> adjusted([0.01, 0.04, None])["p_adjusted"].tolist()
    [0.02, 0.04, <NA>]
    """
    found = numbers(p_values, "p_values")
    known = ~np.isnan(found)
    wrong = found[known & ((found < 0) | (found > 1))]
    if len(wrong):
        raise ValueError(f"`p_values` must be in [0, 1], NA where missing. Got {wrong[0]:g}.")
    if method not in ("holm", "fdr_bh"):
        raise ValueError(f"`method` must be holm or fdr_bh. Got {method!r}.")
    if not 0 < level < 1:
        raise ValueError(f"`level` must lie between 0 and 1. Got {level}.")
    raised = np.full(len(found), np.nan)
    if known.any():
        raised[known] = _raised(found[known], method)
    p_adjusted = pd.Series(raised).astype("Float64").mask(~known)
    return pd.DataFrame(
        {
            "p_value": pd.Series(found).astype("Float64").mask(~known),
            "p_adjusted": p_adjusted,
            "rejected": p_adjusted <= level,
        }
    )


def reachable(
    least: Sequence[float] | Floats, *, level: float = 0.05
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Tell which tests can reach the level at all, and need be adjusted for.

    Parameters
    ----------
    least : the smallest p-value that each test could have had, from what does not depend on the
        direction of the differences, such as how many cases differ
    level : in (0, 1), of all tests together

    Returns
    -------
    True where `least` is at most level/k, for the smallest k that no more than k tests reach so
        The others can be left out of `adjusted`: they are never rejected.

    References
    ----------
    Tarone (1990), Biometrics 46(2), doi:10.2307/2531456.

    Examples
    --------
    >>> reachable([0.001, 0.02, 0.125, 0.25]).tolist()
    [True, True, False, False]
    """
    found = np.asarray(least, dtype="float64")
    for count in range(1, len(found) + 1):
        near = found <= level / count
        if near.sum() <= count:
            return np.asarray(near)
    return np.zeros(len(found), dtype=bool)


def _raised(p_values: Floats, method: Adjustment) -> Floats:
    order = np.argsort(p_values, kind="stable")
    n, place = len(p_values), np.arange(len(p_values))
    if method == "holm":
        steps = np.maximum.accumulate(p_values[order] * (n - place))
    else:
        falling = (p_values[order] * n / (place + 1))[::-1]
        steps = np.minimum.accumulate(falling)[::-1]
    raised = np.empty(n)
    raised[order] = np.minimum(steps, 1.0)
    return raised

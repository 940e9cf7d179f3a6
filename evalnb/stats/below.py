"""Whether a mean over cases lies below a given value, by more than chance."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.stats.values import numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

__all__ = ["p_mean_below"]

_ROUNDING = 1e-12


def p_mean_below(values: Sequence[Any] | pd.Series | np.ndarray, bound: float) -> float | None:
    """Return the one-sided p-value of "the mean is at least this".

    Parameters
    ----------
    values : one a case, the mean over its repeats, in [0, 1]; NA where there is none
    bound : in [0, 1]

    Returns
    -------
    of the exact binomial test where all values are 0 or 1, else of Student's t; 1 where the mean is
    not below `bound`; None without a value
        Where all values are the same and below, nothing is known of their spread: p is then the
        chance that none of so many cases, each 1 or that value, is a 1.

    References
    ----------
    Student (1908), Biometrika 6(1), doi:10.2307/2331554.

    Examples
    --------
    >>> round(p_mean_below([1, 1, 0, 0, 0, 1], 0.9), 5)  # P(Binomial(6, 0.9) <= 3)
    0.01585
    """
    from scipy.special import bdtr, stdtr

    if not 0 <= bound <= 1:
        raise ValueError(f"`bound` must be in [0, 1]. Got {bound}.")
    found = numbers(values, "values")
    found = found[~np.isnan(found)]
    n = len(found)
    if not n:
        return None
    mean = float(found.mean())
    if mean >= bound - _ROUNDING:
        return 1.0
    if np.isin(found, (0.0, 1.0)).all():
        return float(bdtr(int(found.sum()), n, bound))
    if np.ptp(found) < _ROUNDING:
        return float((1 - (bound - mean) / (1 - mean)) ** n)
    t = (mean - bound) / (float(found.std(ddof=1)) / math.sqrt(n))
    return float(stdtr(n - 1, t))

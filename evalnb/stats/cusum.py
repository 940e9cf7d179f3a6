"""Slow drift of a figure over time: the cumulative sum chart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.stats.values import Floats, numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

__all__ = ["Cusum", "cusum"]


@dataclass(frozen=True)
class Cusum:
    """Sums of what lies above and below a target, less the slack, and never under 0.

    Attributes
    ----------
    upper, lower : after each value
    alarm : the number of the first value at which a sum is above the limit, None without one
    """

    upper: Floats
    lower: Floats
    alarm: int | None


def cusum(
    values: Sequence[Any] | pd.Series | np.ndarray,
    *,
    target: float,
    slack: float = 0.5,
    limit: float = 5.0,
) -> Cusum:
    """Watch values for a lasting shift.

    Parameters
    ----------
    values : in order of time, without NA; standardised ones for `slack` and `limit` as they are
    target : what they should be
    slack : half of the shift that is to be seen soon
    limit : above this a sum raises the alarm

    References
    ----------
    Page (1954), Biometrika 41(1-2), doi:10.1093/biomet/41.1-2.100; Montgomery, Introduction to
    Statistical Quality Control, the tabular cusum.

    Examples
    --------
    >>> cusum([1, 1, 1, 1], target=0, limit=1.5).alarm
    4
    """
    found = numbers(values, "values")
    if np.isnan(found).any():
        raise ValueError("`values` must be without NA: leave out what was not measured.")
    if slack < 0 or limit <= 0:
        raise ValueError(
            f"`slack` must be at least 0 and `limit` above 0. Got {slack} and {limit}."
        )
    upper, lower = _sums(found - target - slack), _sums(target - found - slack)
    above = np.maximum(upper, lower) > limit
    return Cusum(upper, lower, int(above.argmax()) + 1 if above.any() else None)


def _sums(steps: Floats) -> Floats:
    found, total = np.empty(len(steps)), 0.0
    for number, step in enumerate(steps):
        total = max(0.0, total + float(step))
        found[number] = total
    return found

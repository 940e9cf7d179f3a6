"""Whether the gap between dev and holdout has grown, whatever it was to begin with."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.frames import METRICS
from evalnb.stats.values import numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

__all__ = ["gap_change"]

_FEWEST = 2


def gap_change(
    dev: Sequence[Any] | pd.Series | np.ndarray, holdout: Sequence[Any] | pd.Series | np.ndarray
) -> pd.DataFrame:
    """Return how far the gap between dev and holdout has changed.

    The splits may differ in hardness, so that a gap says little. That it grows says that what was
    done helps the cases that were looked at, and not the others.

    Parameters
    ----------
    dev, holdout : how far each case's pass rate has risen since the first baseline, NA where it
        was not scored then or now

    Returns
    -------
    one row, `gap_change` : mean of dev less mean of holdout, in [-2, 2]
        With Welch's t interval, the two splits being different cases. NA `no_overlap` where one
        side has no case; the interval is NA `too_few` below two on a side, and `no_variance` where
        no side varies.

    Raises
    ------
    ValueError
        If a value is no number.

    References
    ----------
    Welch (1947), The generalization of "Student's" problem when several different population
    variances are involved, Biometrika 34(1/2), doi:10.1093/biomet/34.1-2.28.

    Examples
    --------
    >>> row = gap_change([0.5, 0.5, 1.0, 0.0], [0.0, 0.0, -0.5, 0.5]).iloc[0]
    >>> [round(float(row[name]), 3) for name in ("estimate", "ci_low", "ci_high")]
    [0.5, -0.206, 1.206]
    """
    sides = [numbers(dev, "dev"), numbers(holdout, "holdout")]
    known = [side[~np.isnan(side)] for side in sides]
    sizes = [len(side) for side in known]
    row: dict[str, Any] = {
        "metric": "gap_change",
        "n": sum(sizes),
        "n_left_out": sum(map(len, sides)) - sum(sizes),
        "method": "difference of differences, Welch",
    }
    if not min(sizes):
        return METRICS.build([row | {"reason": "no_overlap"}])
    row["estimate"] = float(known[0].mean() - known[1].mean())
    if min(sizes) < _FEWEST:
        return METRICS.build([row | {"reason": "too_few"}])
    from scipy.special import stdtrit

    parts = [float(side.var(ddof=1)) / len(side) for side in known]
    if not sum(parts):
        return METRICS.build([row | {"reason": "no_variance"}])
    df = sum(parts) ** 2 / sum(p**2 / (size - 1) for p, size in zip(parts, sizes, strict=True))
    half = float(stdtrit(df, 0.975)) * math.sqrt(sum(parts))
    return METRICS.build(
        [row | {"ci_low": row["estimate"] - half, "ci_high": row["estimate"] + half}]
    )

"""How much a verdict moves per unit of dose."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evalnb.stats.estimates import Estimate, t_quantile

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["slope_through_origin"]

_METHOD = "line through the origin, t over clusters"


def slope_through_origin(
    dose: pd.Series, shift: pd.Series, clusters: pd.Series
) -> tuple[Estimate, str]:
    """Return the slope of a line through no dose and no shift, with its 95% interval.

    Parameters
    ----------
    dose, shift : numbers, NA where missing
    clusters : what rows share

    Returns
    -------
    the estimate and the name of the method
        Undefined without a dose; the interval is too below two clusters, or where no point is off
        the line. se^2 = G/(G-1) sum over clusters (sum d (s - b d))^2 / (sum d^2)^2, t with G - 1
        degrees of freedom.

    References
    ----------
    Liang & Zeger (1986), Biometrika 73(1), doi:10.1093/biomet/73.1.13.
    """
    known = dose.notna() & shift.notna()
    d, s, g = dose[known].astype(float), shift[known].astype(float), clusters[known]
    squares = float((d * d).sum())
    if not squares:
        return Estimate(None, None, None), _METHOD
    slope = float((d * s).sum()) / squares
    scores = (d * (s - slope * d)).groupby(g, sort=False).sum()
    n = len(scores)
    if n < 2 or not float((scores**2).sum()):
        return Estimate(slope, None, None), _METHOD
    se = math.sqrt(n / (n - 1) * float((scores**2).sum())) / squares
    half = t_quantile(n - 1) * se
    return Estimate(slope, slope - half, slope + half), _METHOD

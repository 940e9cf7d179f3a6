"""Agreement of two raters whose ratings are numbers: levels, or means that lie between levels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalnb.frames import METRICS
from evalnb.stats.estimates import mean_interval

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["number_statistics"]

_Z_975 = 1.959963984540054


def number_statistics(first: Iterable[Any], second: Iterable[Any]) -> pd.DataFrame:
    """Say how far two raters' numbers lie apart, and how alike they order the items.

    Parameters
    ----------
    first, second : numbers for the same items in the same order
        Items that one of them did not rate are left out and counted.

    Returns
    -------
    a metrics frame with these rows; NA `no_overlap` without a common item
        `mean_absolute_difference` and `bias`, the mean of second less first, both with a t
        interval, which is NA `too_few` for a single item, `no_variance` where all differ alike.
        `spearman` and `kendall_tau_b` in [-1, 1], ties averaged or corrected; NA `too_few` for one
        item, `no_variance` where a rater gives one number throughout. Their intervals are normal
        on the scale of atanh, NA `too_few` for fewer than five items, and `no_variance` for
        perfect order.

    References
    ----------
    Intervals: Bonett & Wright (2000), Psychometrika 65(1), doi:10.1007/BF02294183, for Spearman;
    Fieller, Hartley & Pearson (1957), Biometrika 44(3/4), doi:10.1093/biomet/44.3-4.470, for
    Kendall.

    Examples
    --------
    >>> found = number_statistics([1, 2, 3, 4, 5], [1.0, 2.5, 2.0, 4.5, 5.0])
    >>> found.set_index("metric")["estimate"].round(2).to_dict()  # doctest: +NORMALIZE_WHITESPACE
    {'mean_absolute_difference': 0.4, 'bias': 0.0, 'spearman': 0.9, 'kendall_tau_b': 0.8}
    """
    numbers = [
        pd.Series(list(side), dtype="Float64").to_numpy(dtype="float64", na_value=np.nan)
        for side in (first, second)
    ]
    if len(numbers[0]) != len(numbers[1]):
        raise ValueError(
            f"both raters rate the same items. Got {len(numbers[0])} and {len(numbers[1])} ratings."
        )
    both = ~np.isnan(numbers[0]) & ~np.isnan(numbers[1])
    one, other = (side[both] for side in numbers)
    shared = {"n": int(both.sum()), "n_left_out": int((~both).sum())}
    apart = other - one
    rows = [
        {"metric": "mean_absolute_difference", **_mean(np.abs(apart), low=0.0)},
        {"metric": "bias", **_mean(apart)},
        {"metric": "spearman", **_correlation("spearman", one, other)},
        {"metric": "kendall_tau_b", **_correlation("kendall_tau_b", one, other)},
    ]
    return METRICS.build({**row, **shared} for row in rows)


def _mean(values: np.ndarray, low: float = -math.inf) -> dict[str, Any]:
    if not len(values):
        return {"method": "t interval", "reason": "no_overlap"}
    found = mean_interval(values.tolist(), low=low)
    why = None if found.ci_low is not None else "too_few" if len(values) < 2 else "no_variance"
    return {
        "estimate": found.estimate,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "method": "t interval",
        "reason": why,
    }


def _correlation(name: str, one: np.ndarray, other: np.ndarray) -> dict[str, Any]:
    from scipy.stats import kendalltau, spearmanr

    n = len(one)
    row = {"method": "normal on the scale of atanh"}
    if n < 2:
        return {**row, "reason": "too_few" if n else "no_overlap"}
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return {**row, "reason": "no_variance"}
    function = spearmanr if name == "spearman" else kendalltau
    found = float(function(one, other).statistic)
    if n < 5:
        return {**row, "estimate": found, "reason": "too_few"}
    if abs(found) > 1 - 1e-9:
        return {**row, "estimate": found, "reason": "no_variance"}
    variance = (1 + found**2 / 2) / (n - 3) if name == "spearman" else 0.437 / (n - 4)
    centre, half = math.atanh(found), _Z_975 * math.sqrt(variance)
    return {
        **row,
        "estimate": found,
        "ci_low": math.tanh(centre - half),
        "ci_high": math.tanh(centre + half),
    }

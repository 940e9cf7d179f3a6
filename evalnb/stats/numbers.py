"""Agreement of two raters whose ratings are numbers: levels, or means that lie between levels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalnb.frames import METRICS
from evalnb.stats.estimates import t_quantile
from evalnb.stats.scales import cluster_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["number_statistics"]

_Z_975 = 1.959963984540054
_NO_SPREAD = 1e-9
"""A standard error below this is one of 0."""


def number_statistics(
    first: Iterable[Any], second: Iterable[Any], *, clusters: Iterable[Any] | None = None
) -> pd.DataFrame:
    """Say how far two raters' numbers lie apart, and how alike they order the items.

    Parameters
    ----------
    first, second : numbers for the same items in the same order
        Items that one of them did not rate are left out and counted.
    clusters : the conversation of each item; an item without one stands for itself

    Returns
    -------
    a metrics frame with these rows; NA `no_overlap` without a common item
        `mean_absolute_difference` and `bias`, the mean of second less first, both with a t interval
        (over clusters where there are any), which is NA `too_few` for a single item or cluster,
        `no_variance` where all differ alike.
        `spearman` and `kendall_tau_b` in [-1, 1], ties averaged or corrected; NA `too_few` for one
        item, `no_variance` where a rater gives one number throughout. Their intervals are normal
        on the scale of atanh, NA `too_few` for fewer than five items or with clusters, and
        `no_variance` for perfect order.

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
    groups = None if clusters is None else cluster_numbers(clusters, len(both))[both]
    apart = other - one
    independent = groups is None
    rows = [
        {"metric": "mean_absolute_difference", **_mean(np.abs(apart), groups)},
        {"metric": "bias", **_mean(apart, groups)},
        {"metric": "spearman", **_correlation("spearman", one, other, independent)},
        {"metric": "kendall_tau_b", **_correlation("kendall_tau_b", one, other, independent)},
    ]
    return METRICS.build({**row, **shared} for row in rows)


def _mean(values: np.ndarray, clusters: np.ndarray | None) -> dict[str, Any]:
    row: dict[str, Any] = {"method": "t" if clusters is None else "t over clusters"}
    if not len(values):
        return {**row, "reason": "no_overlap"}
    mean = math.fsum(values) / len(values)
    _, which = np.unique(
        np.arange(len(values)) if clusters is None else clusters, return_inverse=True
    )
    sums = np.bincount(which, weights=values - mean)
    n_units = len(sums)
    if n_units < 2:
        return {**row, "estimate": mean, "reason": "too_few"}
    error = math.sqrt(n_units / (n_units - 1) * float(sums @ sums)) / len(values)
    if error < _NO_SPREAD:
        return {**row, "estimate": mean, "reason": "no_variance"}
    half = t_quantile(n_units - 1) * error
    return {**row, "estimate": mean, "ci_low": mean - half, "ci_high": mean + half}


def _correlation(
    name: str, one: np.ndarray, other: np.ndarray, independent: bool
) -> dict[str, Any]:
    from scipy.stats import kendalltau, spearmanr

    n = len(one)
    row = {"method": "normal on the scale of atanh"}
    if n < 2:
        return {**row, "reason": "too_few" if n else "no_overlap"}
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return {**row, "reason": "no_variance"}
    function = spearmanr if name == "spearman" else kendalltau
    found = float(function(one, other).statistic)
    if n < 5 or not independent:
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

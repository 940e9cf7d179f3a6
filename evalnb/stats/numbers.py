"""Agreement of two raters whose ratings are numbers: levels, or means that lie between levels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.frames import METRICS
from evalnb.stats.correlations import correlation_row
from evalnb.stats.estimates import t_quantile
from evalnb.stats.scales import cluster_numbers, in_order
from evalnb.stats.values import numbers

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

__all__ = ["number_statistics"]

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

    Raises
    ------
    ValueError
        If a rating is no finite number, or lengths differ.

    References
    ----------
    Intervals of correlations: see `evalnb.stats.correlations.correlation_row`.

    Examples
    --------
    >>> found = number_statistics([1, 2, 3, 4, 5], [1.0, 2.5, 2.0, 4.5, 5.0])
    >>> found.set_index("metric")["estimate"].round(2).to_dict()  # doctest: +NORMALIZE_WHITESPACE
    {'mean_absolute_difference': 0.4, 'bias': 0.0, 'spearman': 0.9, 'kendall_tau_b': 0.8}
    """
    sides = [
        numbers(list(in_order(side, f"`{name}`")), name)
        for name, side in (("first", first), ("second", second))
    ]
    if len(sides[0]) != len(sides[1]):
        raise ValueError(
            f"both raters rate the same items. Got {len(sides[0])} and {len(sides[1])} ratings."
        )
    both = ~np.isnan(sides[0]) & ~np.isnan(sides[1])
    one, other = (side[both] for side in sides)
    shared = {"n": int(both.sum()), "n_left_out": int((~both).sum())}
    groups = None if clusters is None else cluster_numbers(clusters, len(both))[both]
    apart = other - one
    independent = groups is None
    rows = [
        {"metric": "mean_absolute_difference", **_not_below_0(_mean(np.abs(apart), groups))},
        {"metric": "bias", **_mean(apart, groups)},
        correlation_row("spearman", one, other, independent=independent),
        correlation_row("kendall_tau_b", one, other, independent=independent),
    ]
    return METRICS.build({**row, **shared} for row in rows)


def _not_below_0(row: dict[str, Any]) -> dict[str, Any]:
    return row if "ci_low" not in row else {**row, "ci_low": max(row["ci_low"], 0.0)}


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

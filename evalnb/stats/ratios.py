"""Ratios of what the same cases took on two sides: tokens, cost, service time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.frames import METRICS, FrameSchema
from evalnb.stats.effects import check_lengths
from evalnb.stats.means import mean_score_row
from evalnb.stats.scales import cluster_numbers
from evalnb.stats.values import numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

__all__ = ["RATIOS", "geometric_mean_ratio"]

_ROUNDING = 1e-12

RATIOS = FrameSchema(
    "ratios",
    {**METRICS.columns, "se_log": "Float64", "p_greater": "Float64", "p_less": "Float64"},
    key=METRICS.key,
)
"""A metrics frame; `se_log` is the standard error of the mean log ratio, `p_greater` is small where
the second side took more, `p_less` where it took less, both one-sided."""


def geometric_mean_ratio(
    baseline: Sequence[Any] | pd.Series | np.ndarray,
    candidate: Sequence[Any] | pd.Series | np.ndarray,
    *,
    clusters: Sequence[Any] | pd.Series | np.ndarray | None = None,
    ratio: float = 1.0,
) -> pd.DataFrame:
    """Return how many times as much the candidate took, by paired logarithms.

    Tokens and costs are skewed: a mean of ratios, or a ratio of means, hangs on the longest few.

    Parameters
    ----------
    baseline, candidate : by position, the mean over the repeats of each case; NA where there is none
        What is replayed repeats what was recorded: there is no time to compare in it.
    clusters : what each case shares with others; NA for a case alone
    ratio : what the p-values hold the ratio against

    Returns
    -------
    one row, `geometric_mean_ratio`, as `RATIOS` says
        e to the mean of log(candidate/baseline), with e to its t interval and Student's p-values.
        Pairs that lack a side, or have a value that is not above 0, are left out and counted. NA
        `too_few` without a pair; interval and p-values are NA `too_few` below two (or clusters)
        and `no_variance` where all ratios are the same.

    Raises
    ------
    ValueError
        If lengths differ, a value is no number, or `ratio` is not above 0.

    References
    ----------
    Armitage, Berry & Matthews (2002), Statistical Methods in Medical Research, section 10.8.

    Examples
    --------
    >>> row = geometric_mean_ratio([100, 200, 400], [110, 230, 420]).loc[0]
    >>> round(float(row["estimate"]), 4), round(float(row["ci_low"]), 4)
    (1.0992, 0.9818)
    """
    from scipy.special import stdtr

    if not 0 < ratio < math.inf:
        raise ValueError(f"`ratio` must be above 0. Got {ratio}.")
    before, now = numbers(baseline, "baseline"), numbers(candidate, "candidate")
    check_lengths(baseline=before, candidate=now, clusters=clusters)
    usable = (before > 0) & (now > 0)
    logs = np.full(len(before), np.nan)
    logs[usable] = np.log(now[usable] / before[usable])
    if usable.any() and np.ptp(logs[usable]) < _ROUNDING:
        logs[usable] = logs[usable][0]
    groups = None if clusters is None else cluster_numbers(clusters, len(logs))
    found = mean_score_row(logs, clusters=groups)
    row: dict[str, Any] = {
        "metric": "geometric_mean_ratio",
        "n": found["n"],
        "n_left_out": found["n_left_out"],
        "method": f"log ratios, {found['method']}",
        "reason": found.get("reason"),
        "warnings": found.get("warnings"),
        "se_log": found.get("se"),
    }
    for name in ("estimate", "ci_low", "ci_high"):
        row[name] = None if found.get(name) is None else math.exp(found[name])
    if found.get("se") is not None:
        df = (found["n"] if groups is None else found["n_clusters"]) - 1
        t = (found["estimate"] - math.log(ratio)) / found["se"]
        row |= {"p_greater": float(stdtr(df, -t)), "p_less": float(stdtr(df, t))}
    return RATIOS.build([row])

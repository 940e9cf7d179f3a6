"""Means of scores over cases, over cases that share a conversation, and over repeats."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalnb.frames import METRICS, FrameSchema
from evalnb.stats.estimates import t_quantile
from evalnb.stats.values import Floats, numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FEW_CLUSTERS", "MEANS", "mean_over_repeats", "mean_score", "mean_score_row"]

FEW_CLUSTERS = 10
"""Below so many clusters their standard error is itself uncertain."""

_ROUNDING = 1e-9

MEANS = FrameSchema(
    "means",
    {
        **METRICS.columns,
        "se": "Float64",
        "se_independent": "Float64",
        "se_miller": "Float64",
        "n_clusters": "Int64",
        "design_effect": "Float64",
    },
    key=METRICS.key,
)
"""A metrics frame of means.

`se` is the standard error that the interval rests on. With clusters, `se_independent` is what it
would be if their values told nothing of each other, `design_effect` the ratio of the two
variances, `se_miller` the clustered one without the factor for few clusters.
"""


def mean_score(
    values: Sequence[Any] | pd.Series | np.ndarray,
    *,
    clusters: Sequence[Any] | pd.Series | np.ndarray | None = None,
    low: float | None = None,
    high: float | None = None,
) -> pd.DataFrame:
    """Return the mean of scores with its 95% t interval.

    Parameters
    ----------
    values : one a case, NA where there is none; repeats of a case are its mean
    clusters : what each case shares with others, such as its conversation; NA for a case alone
        With clusters, se^2 = (G/(G-1)) sum over clusters of (sum of deviations)^2 / n^2, and t has
        G - 1 degrees of freedom.
    low, high : range of the values, beyond which the interval does not go

    Returns
    -------
    one row, `mean`, as `MEANS` says; `n` counts values, `n_left_out` NAs
        NA `too_few` without a value. The interval is NA `too_few` below two values, or clusters,
        and `no_variance` where nothing varies. Warning `few_clusters` below 10 clusters.

    Raises
    ------
    ValueError
        If a value is no number or beyond `low` or `high`, or `clusters` has another length.

    References
    ----------
    Student (1908), Biometrika 6(1), doi:10.2307/2331554; Liang & Zeger (1986), Biometrika 73(1),
    doi:10.1093/biomet/73.1.13; Miller (2024), arXiv:2411.00640.

    Examples
    --------
    >>> found = mean_score([1, 1, 0, 1, None], clusters=["a", "a", "b", "c", "c"])
    >>> found[["estimate", "n_clusters", "n_left_out", "warnings"]].values.tolist()
    [[0.75, 3, 1, ['few_clusters']]]
    """
    return MEANS.build([mean_score_row(values, clusters=clusters, low=low, high=high)])


def mean_score_row(
    values: Sequence[Any] | pd.Series | np.ndarray,
    *,
    clusters: Sequence[Any] | pd.Series | np.ndarray | None = None,
    low: float | None = None,
    high: float | None = None,
) -> dict[str, Any]:
    """Return the row of `mean_score`; for hundreds of means, frames take longer than the means."""
    found = numbers(values, "values")
    _check_range(found, low, high)
    usable = ~np.isnan(found)
    row: dict[str, Any] = {
        "metric": "mean",
        "n": int(usable.sum()),
        "n_left_out": int((~usable).sum()),
        "method": "t" if clusters is None else "t over clusters",
    }
    kept = found[usable]
    if clusters is None:
        row |= _independent(kept)
    else:
        if len(clusters) != len(found):
            raise ValueError(
                f"`clusters` must have one entry a value, {len(found)}. Got {len(clusters)}."
            )
        row |= _clustered(kept, pd.Series(clusters).reset_index(drop=True)[usable])
    if row.get("ci_low") is not None:
        row["ci_low"] = row["ci_low"] if low is None else max(row["ci_low"], low)
        row["ci_high"] = row["ci_high"] if high is None else min(row["ci_high"], high)
    return row


def mean_over_repeats(
    cases: Sequence[Any] | pd.Series | np.ndarray,
    values: Sequence[Any] | pd.Series | np.ndarray,
    *,
    clusters: Sequence[Any] | pd.Series | np.ndarray | None = None,
    low: float | None = None,
    high: float | None = None,
) -> pd.DataFrame:
    """Return the mean over cases of their means over repeats.

    Repeats of a case are no independent observations, so a pass rate over repeats is no binomial
    of cases times repeats: here the cases are the unit.

    Parameters
    ----------
    cases : the case of each value
    values : a score or pass flag a case and repeat, NA where there is none
    clusters : what the case shares with others, the same in each of its rows
    low, high : as in `mean_score`

    Returns
    -------
    one row, `mean`, as `mean_score` gives it
        `n` counts cases with a value, `n_left_out` those without any; a case with some NAs is the
        mean of the others.

    Raises
    ------
    ValueError
        As `mean_score`, or if a case is in two clusters or has no name.

    Examples
    --------
    >>> found = mean_over_repeats(["a", "a", "b", "b"], [True, False, True, None])
    >>> found[["estimate", "n"]].values.tolist()
    [[0.75, 2]]
    """
    found = numbers(values, "values")
    _check_range(found, low, high)
    columns = {"case": cases, "cluster": cases if clusters is None else clusters}
    for name, column in columns.items():
        if len(column) != len(found):
            raise ValueError(
                f"`{name}s` must have one entry a value, {len(found)}. Got {len(column)}."
            )
    frame = pd.DataFrame({name: pd.Series(c).to_numpy() for name, c in columns.items()})
    if frame["case"].isna().any():
        raise ValueError("`cases` must name the case of each value. Got NA.")
    groups = frame.assign(value=found).groupby("case", sort=False)
    if frame.drop_duplicates()["case"].duplicated().any():
        raise ValueError("`clusters` must be the same in all rows of a case.")
    return mean_score(
        groups["value"].mean(),
        clusters=None if clusters is None else groups["cluster"].first(),
        low=low,
        high=high,
    )


def _check_range(values: Floats, low: float | None, high: float | None) -> None:
    beyond = values < (-math.inf if low is None else low - _ROUNDING)
    beyond |= values > (math.inf if high is None else high + _ROUNDING)
    if beyond.any():
        raise ValueError(f"values must lie between {low} and {high}. Got {values[beyond][0]:g}.")


def _independent(values: Floats) -> dict[str, Any]:
    n = len(values)
    if n == 0:
        return {"reason": "too_few"}
    mean = float(values.mean())
    if n == 1:
        return {"estimate": mean, "reason": "too_few"}
    if values.min() == values.max():
        return {"estimate": float(values[0]), "reason": "no_variance"}
    se = float(values.std(ddof=1)) / math.sqrt(n)
    if not se:  # differences that vanish when squared
        return {"estimate": mean, "reason": "no_variance"}
    half = t_quantile(n - 1) * se
    return {"estimate": mean, "ci_low": mean - half, "ci_high": mean + half, "se": se}


def _clustered(values: Floats, clusters: pd.Series) -> dict[str, Any]:
    row = _independent(values)
    codes, names = pd.factorize(clusters)
    alone = codes < 0
    codes[alone] = len(names) + np.arange(alone.sum())
    n, n_clusters = len(values), len(names) + int(alone.sum())
    shared: dict[str, Any] = {
        "n_clusters": n_clusters,
        "warnings": ["few_clusters"] if 0 < n_clusters < FEW_CLUSTERS else None,
    }
    if "se" not in row:
        return row | shared
    independent = row["se"]
    shared |= {"estimate": row["estimate"], "se_independent": independent}
    if n_clusters < 2:
        return shared | {"reason": "too_few"}
    totals = np.bincount(codes, weights=values - values.mean())
    miller = math.sqrt(float((totals**2).sum())) / n
    se = miller * math.sqrt(n_clusters / (n_clusters - 1))
    if se < 1e-12 * independent:  # clusters that are all alike
        return shared | {"reason": "no_variance"}
    half = t_quantile(n_clusters - 1) * se
    return shared | {
        "ci_low": row["estimate"] - half,
        "ci_high": row["estimate"] + half,
        "se": se,
        "se_miller": miller,
        "design_effect": (se / independent) ** 2,
    }

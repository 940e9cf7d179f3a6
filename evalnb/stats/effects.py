"""The frame of effects, and rows of rates and means in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalnb.frames import METRICS, FrameSchema
from evalnb.stats.estimates import wilson
from evalnb.stats.means import mean_score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalnb.stats.values import Floats

__all__ = ["EFFECTS", "check_lengths", "mean_row", "rate_row", "share_row"]

EFFECTS = FrameSchema(
    "effects",
    {**METRICS.columns, "se": "Float64", "p_value": "Float64", "n_clusters": "Int64"},
    key=METRICS.key,
)
"""A metrics frame of effects.

`se` is the standard error where the interval rests on one, `p_value` that of "no effect", two-sided
unless `method` says otherwise, `n_clusters` how many clusters the rows fell into, NA where each row
stands for itself.
"""


def rate_row(metric: str, hits: float, n: int, n_left_out: int = 0) -> dict[str, Any]:
    """Return a row of a rate with its Wilson interval; NA `too_few` where `n` is 0."""
    return {
        "metric": metric,
        **vars(wilson(hits, n)),
        "n": n,
        "n_left_out": n_left_out,
        "method": "wilson",
        "reason": None if n else "too_few",
    }


def mean_row(
    metric: str,
    values: Floats,
    clusters: Sequence[Any] | pd.Series | np.ndarray | None = None,
    *,
    low: float | None = None,
    high: float | None = None,
) -> dict[str, Any]:
    """Return a row of a mean as `mean_score` gives it, with Student's p-value of a mean of 0."""
    from scipy.stats import t

    found = mean_score(values, clusters=clusters, low=low, high=high).loc[0]
    row = {name: found[name] for name in EFFECTS.columns if name in found} | {"metric": metric}
    if not pd.isna(row["se"]):
        units = row["n"] if clusters is None else row["n_clusters"]
        row["p_value"] = 2 * float(t.sf(abs(row["estimate"] / row["se"]), units - 1))
    return row


def share_row(
    metric: str, hits: Floats, clusters: Sequence[Any] | pd.Series | np.ndarray | None = None
) -> dict[str, Any]:
    """Return a row of a rate of hits (1, 0 or NaN): Wilson, or t over clusters if there are any."""
    if clusters is not None:
        return mean_row(metric, hits, clusters, low=0.0, high=1.0) | {"p_value": None}
    known = hits[~np.isnan(hits)]
    return rate_row(metric, float(known.sum()), len(known), len(hits) - len(known))


def check_lengths(**columns: Any) -> None:
    """Check that sequences, but for those that are None, have one length.

    Raises
    ------
    ValueError
        If they have not.
    """
    lengths = {name: len(column) for name, column in columns.items() if column is not None}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"`{name}` {length}" for name, length in lengths.items())
        raise ValueError(f"each must have one entry an item. Got {shown}.")

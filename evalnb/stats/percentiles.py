"""Percentiles of a skewed figure, such as service time, with intervals over cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.frames import METRICS
from evalnb.stats.effects import check_lengths
from evalnb.stats.resampling import RESAMPLES
from evalnb.stats.scales import cluster_numbers
from evalnb.stats.values import Floats, numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

__all__ = ["FEWEST_FOR_P95", "case_percentiles"]

FEWEST_FOR_P95 = 60
"""With fewer cases the 95th percentile is that of three answers or less."""

_MOST_CELLS = 2_000_000
_SHARES = {"p50": 0.5, "p95": 0.95}


def case_percentiles(
    cases: Sequence[Any] | pd.Series | np.ndarray,
    values: Sequence[Any] | pd.Series | np.ndarray,
    *,
    seed: int = 0,
) -> pd.DataFrame:
    """Return the median and the 95th percentile of values, by resampling cases.

    Parameters
    ----------
    cases : the case of each value; all its repeats are drawn together
    values : such as the service time in ms, without the time that a request waited in line for
        a place or for a retry; NA where there is none
        Of live runs alone: a replayed call repeats the time that was recorded.
    seed : of resampling

    Returns
    -------
    a metrics frame with rows `p50` and `p95`; `n` counts cases, `n_left_out` those without a value
        A percentile is the smallest value that at least this share of values does not exceed.
        Percentile bootstrap, 10,000 resamples of cases. NA `too_few` without a value, and `p95`
        below 60 cases; intervals are NA `too_few` below two cases and `no_variance` where all
        values are the same.

    Raises
    ------
    ValueError
        If lengths differ or a value is no number.

    References
    ----------
    Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapter 13.

    Examples
    --------
    >>> found = case_percentiles(["a", "a", "b", "c"], [100, 300, 200, 900])
    >>> float(found.loc[0, "estimate"]), found.loc[1, "reason"]
    (200.0, 'too_few')
    """
    found = numbers(values, "values")
    check_lengths(cases=cases, values=found)
    codes = cluster_numbers(cases, len(found))
    known = ~np.isnan(found)
    n_all = len(np.unique(codes))
    order = np.argsort(found[known], kind="stable")
    ordered = found[known][order]
    _, owners = np.unique(codes[known][order], return_inverse=True)
    n = int(owners.max(initial=-1)) + 1
    intervals = _intervals(ordered, owners, n, seed) if n > 1 else {}
    rows = []
    for metric, share in _SHARES.items():
        row: dict[str, Any] = {
            "metric": metric,
            "n": n,
            "n_left_out": n_all - n,
            "method": f"percentile bootstrap over cases, {RESAMPLES:,} resamples",
        }
        if not n or (metric == "p95" and n < FEWEST_FOR_P95):
            rows.append(row | {"reason": "too_few"})
            continue
        row["estimate"] = float(ordered[_place(np.arange(1, len(ordered) + 1), share)])
        if n == 1 or ordered[0] == ordered[-1]:
            row["reason"] = "too_few" if n == 1 else "no_variance"
        else:
            row |= intervals[metric]
        rows.append(row)
    return METRICS.build(rows)


def _place(reached: np.ndarray, share: float) -> int:
    return int(np.searchsorted(reached, share * reached[-1] - 1e-9))


def _intervals(
    ordered: Floats, owners: np.ndarray, n: int, seed: int
) -> dict[str, dict[str, float]]:
    drawn: dict[str, list[float]] = {metric: [] for metric in _SHARES}
    for counts in _resampled(n, len(ordered), seed):
        reached = np.cumsum(counts[:, owners], axis=1)
        for metric, share in _SHARES.items():
            enough = reached >= (share * reached[:, -1] - 1e-9)[:, None]
            drawn[metric] += ordered[enough.argmax(axis=1)].tolist()
    found = {}
    for metric, values in drawn.items():
        low, high = np.quantile(values, [0.025, 0.975])
        found[metric] = {"ci_low": float(low), "ci_high": float(high)}
    return found


def _resampled(n: int, width: int, seed: int) -> Iterator[np.ndarray]:
    """Yield how often each case was drawn: resample x case, a part at a time."""
    rng = np.random.default_rng(seed)
    part = max(1, _MOST_CELLS // max(width, n))
    for start in range(0, RESAMPLES, part):
        size = min(part, RESAMPLES - start)
        places = rng.integers(0, n, size=(size, n)) + n * np.arange(size)[:, None]
        yield np.bincount(places.ravel(), minlength=size * n).reshape(size, n)

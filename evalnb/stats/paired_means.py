"""Means of the same cases on two sides: rows of their difference and of their ratio."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalnb.stats.effects import mean_row
from evalnb.stats.paired_intervals import tango_interval
from evalnb.stats.sign_flip import sign_flip

if TYPE_CHECKING:
    from evalnb.stats.values import Floats

__all__ = ["paired_mean_row", "paired_ratio_row"]

_KEPT = ("estimate", "ci_low", "ci_high", "reason", "warnings")
_NO_ROUNDING = 1e-12


def paired_mean_row(
    metric: str, first: Floats, second: Floats, *, is_share: bool = False, seed: int = 0
) -> dict[str, Any]:
    """Return a row of the mean difference of cases, second minus first.

    Parameters
    ----------
    metric : name of the row
    first, second : the same cases' values; NaN where there is none, and such cases are left out
    is_share : whether values lie in [0, 1]
    seed : of the signs drawn

    Returns
    -------
    metric, mean_a, mean_b, estimate, ci_low, ci_high, p_value, n, n_left_out, method, reason
        The interval is Student's over cases; of shares where every case changed wholly or not at
        all Tango's, which stays informative where nothing changed. The p-value is by flipping the
        signs of cases, two-sided. NA `too_few` without a case.

    Examples
    --------
    >>> row = paired_mean_row("passed", np.array([1.0, 1.0]), np.array([1.0, 0.0]), is_share=True)
    >>> row["estimate"], row["p_value"], row["n"]
    (-0.5, 1.0, 2)
    """
    known = ~(np.isnan(first) | np.isnan(second))
    one, two = first[known], second[known]
    row: dict[str, Any] = {"metric": metric, "n": len(one), "n_left_out": int((~known).sum())}
    if not len(one):
        return row | {"reason": "too_few"}
    apart = two - one
    row |= {
        "mean_a": float(one.mean()),
        "mean_b": float(two.mean()),
        "p_value": sign_flip(apart, seed=seed).p_two_sided,
    }
    if is_share and bool(np.isin(apart, (-1, 0, 1)).all()):
        interval = tango_interval(int((apart == 1).sum()), int((apart == -1).sum()), len(apart))
        return row | {**vars(interval), "method": "tango, p by sign flip"}
    low, high = (-1.0, 1.0) if is_share else (None, None)
    found = mean_row(metric, apart, low=low, high=high)
    return row | {key: found[key] for key in _KEPT} | {"method": "t, p by sign flip"}


def paired_ratio_row(
    metric: str, first: Floats, second: Floats, *, seed: int = 0
) -> dict[str, Any]:
    """Return a row of the geometric mean of cases' ratios, second over first.

    Parameters
    ----------
    metric : name of the row
    first, second : the same cases' values; a case with NaN or 0 on a side is left out
    seed : of the signs drawn

    Returns
    -------
    as `paired_mean_row` gives it; 1 is no change
        The interval is Student's of the logarithms, NA `no_variance` where all ratios are alike.

    Examples
    --------
    >>> round(paired_ratio_row("tokens", np.array([1.0, 1.0]), np.array([2.0, 8.0]))["estimate"], 9)
    4.0
    """
    known = (np.nan_to_num(first) > 0) & (np.nan_to_num(second) > 0)
    one, two = first[known], second[known]
    row: dict[str, Any] = {"metric": metric, "n": len(one), "n_left_out": int((~known).sum())}
    if not len(one):
        return row | {"reason": "too_few"}
    logs = np.log(two / one)
    found = mean_row(metric, logs)
    return row | {
        "mean_a": float(one.mean()),
        "mean_b": float(two.mean()),
        "p_value": sign_flip(
            np.where(np.abs(logs) < _NO_ROUNDING, 0.0, logs), seed=seed
        ).p_two_sided,
        "estimate": _exp(found["estimate"]),
        "ci_low": _exp(found["ci_low"]),
        "ci_high": _exp(found["ci_high"]),
        "reason": found["reason"],
        "warnings": found["warnings"],
        "method": "geometric mean, t of logarithms, p by sign flip",
    }


def _exp(logarithm: Any) -> float | None:
    return None if pd.isna(logarithm) else math.exp(logarithm)

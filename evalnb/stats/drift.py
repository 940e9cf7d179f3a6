"""Whether traffic has another mix of categories than the golden set."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalnb.frames import METRICS, FrameSchema

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["DRIFT", "MIX", "category_drift", "category_mix"]

DRIFT = FrameSchema(
    "drift",
    {**METRICS.columns, "p_value": "Float64", "expected_without_drift": "Float64"},
    key=METRICS.key,
)
"""A metrics frame; `expected_without_drift` is about what the estimate is where nothing drifted."""

MIX = FrameSchema(
    "mix",
    {
        "category": "string",
        "n_golden": "Int64",
        "n_traffic": "Int64",
        "share_golden": "Float64",
        "share_traffic": "Float64",
        "difference": "Float64",
        "ci_low": "Float64",
        "ci_high": "Float64",
    },
    key=("category",),
)
"""A row a category: `difference` is its share of traffic less its share of the golden set, with
Newcombe's 95% interval."""

_RESAMPLES = 10_000
_FEW_EXPECTED = 5
_TOLERANCE = 1e-9


def category_drift(golden: Iterable[Any], traffic: Iterable[Any], *, seed: int = 0) -> pd.DataFrame:
    """Compare the categories of a golden set with those of traffic.

    Parameters
    ----------
    golden, traffic : the category of each case, of each conversation
        NAs are left out and counted.
    seed : of resampling

    Returns
    -------
    a drift frame with these rows; NA `too_few` where a side is empty, `one_category` where all
    are of one
        `chi_squared` of the table of two rows, at least 0, with its p-value, by 10,000 permutations
        where an expected count is below 5; no interval. `cramers_v` in [0, 1].
        `js_divergence_bits`, the Jensen-Shannon divergence in [0, 1], with a bootstrap interval
        (percentiles of 10,000, both sides resampled; it leans upwards in small samples).
        `psi`, the population stability index with one half added to each cell; without drift it is
        about (k - 1)(1/n + 1/m), which is what to compare it with.

    References
    ----------
    Lin (1991), IEEE Transactions on Information Theory 37(1), for the divergence; Yurdakul (2018),
    Statistical Properties of Population Stability Index.

    Examples
    --------
    >>> rows = category_drift("aab", "abbbbb").set_index("metric")
    >>> round(float(rows.loc["js_divergence_bits", "estimate"]), 4)
    0.1957
    """
    first, second, n_left_out = _counts(golden, traffic)
    n, m = int(first.sum()), int(second.sum())
    common = {"n": n + m, "n_left_out": n_left_out}
    reason = "too_few" if not (n and m) else "one_category" if len(first) == 1 else None
    if reason:
        return DRIFT.build({"metric": name, "reason": reason, **common} for name in _METRICS)
    table = np.stack([first, second])
    chi = float(_chi_squared(first[None], first + second)[0])
    p_value, method = _p_value(first, second, chi, seed)
    low, high = _js_interval(first, second, seed)
    rows = [
        {"metric": "chi_squared", "estimate": chi, "p_value": p_value, "method": method}
        | {"expected_without_drift": float(len(first) - 1)},
        {"metric": "cramers_v", "estimate": float(np.sqrt(chi / table.sum())), "method": method},
        {
            "metric": "js_divergence_bits",
            "estimate": float(_js_bits(first / n, second / m)),
            "ci_low": low,
            "ci_high": high,
            "method": "bootstrap",
        },
        {
            "metric": "psi",
            "estimate": _psi(first, second),
            "expected_without_drift": (len(first) - 1) * (1 / n + 1 / m),
            "method": "half added to each cell",
        },
    ]
    return DRIFT.build({**common, **row} for row in rows)


def category_mix(golden: Iterable[Any], traffic: Iterable[Any]) -> pd.DataFrame:
    """Return the share of each category in a golden set and in traffic, and how they differ.

    Parameters
    ----------
    golden, traffic : the category of each case, of each conversation; NAs are left out

    Returns
    -------
    a frame as `MIX` says, what the golden set lacks most first
        Differences are NA where a side is empty.

    References
    ----------
    Newcombe (1998), Statistics in Medicine 17:873-890, method 10.
    """
    names = _names(golden := list(golden), traffic := list(traffic))
    first, second, _ = _counts(golden, traffic)
    n, m = int(first.sum()), int(second.sum())
    rows = []
    for name, one, other in zip(names, first.tolist(), second.tolist(), strict=True):
        row = {"category": name, "n_golden": one, "n_traffic": other}
        if n and m:
            low, high = _newcombe(other, m, one, n)
            row |= {
                "share_golden": one / n,
                "share_traffic": other / m,
                "difference": other / m - one / n,
                "ci_low": low,
                "ci_high": high,
            }
        rows.append(row)
    rows.sort(key=lambda row: (-row.get("difference", 0.0), row["category"]))
    return MIX.build(rows)


_METRICS = ("chi_squared", "cramers_v", "js_divergence_bits", "psi")


def _present(values: Iterable[Any]) -> list[str]:
    return [str(value) for value in values if not pd.isna(value)]


def _names(golden: list[Any], traffic: list[Any]) -> list[str]:
    return sorted({*_present(golden), *_present(traffic)})


def _counts(golden: Iterable[Any], traffic: Iterable[Any]) -> tuple[np.ndarray, np.ndarray, int]:
    golden, traffic = list(golden), list(traffic)
    names = _names(golden, traffic)
    sides = [Counter(_present(side)) for side in (golden, traffic)]
    first, second = (np.array([side[name] for name in names], dtype=np.int64) for side in sides)
    return first, second, len(golden) + len(traffic) - int(first.sum() + second.sum())


def _chi_squared(first: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Return the statistic of many tables that have the same margins; `first` is table x category."""
    n, size = first.sum(axis=1, keepdims=True), total.sum()
    expected = total * n / size
    excess = (first - expected) ** 2
    return (excess / expected + excess / (total - expected)).sum(axis=1)


def _p_value(first: np.ndarray, second: np.ndarray, chi: float, seed: int) -> tuple[float, str]:
    total = first + second
    smallest = min(first.sum(), second.sum()) * total.min() / total.sum()
    if smallest >= _FEW_EXPECTED:
        from scipy.stats import chi2

        return float(chi2.sf(chi, len(first) - 1)), "chi squared"
    draws = np.random.default_rng(seed).multivariate_hypergeometric(
        total, int(first.sum()), size=_RESAMPLES, method="marginals"
    )
    hits = int((_chi_squared(draws, total) >= chi - _TOLERANCE).sum())
    return (hits + 1) / (_RESAMPLES + 1), "permutation"


def _js_bits(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    middle = (p + q) / 2
    return (_information(p, middle) + _information(q, middle)) / 2


def _information(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    ratio = np.divide(p, q, out=np.ones_like(p), where=(p > 0) & (q > 0))
    return (p * np.log2(ratio)).sum(axis=-1)


def _js_interval(first: np.ndarray, second: np.ndarray, seed: int) -> tuple[float, float]:
    draw = np.random.default_rng(seed)
    sides = [
        draw.multinomial(side.sum(), side / side.sum(), size=_RESAMPLES) / side.sum()
        for side in (first, second)
    ]
    low, high = np.quantile(_js_bits(*sides), [0.025, 0.975])
    return float(low), float(high)


def _psi(first: np.ndarray, second: np.ndarray) -> float:
    p, q = (side + 0.5 for side in (first, second))
    p, q = p / p.sum(), q / q.sum()
    return float(((p - q) * np.log(p / q)).sum())


def _newcombe(one: int, n: int, other: int, m: int) -> tuple[float, float]:
    from statsmodels.stats.proportion import confint_proportions_2indep

    low, high = confint_proportions_2indep(one, n, other, m, method="newcomb", compare="diff")
    return float(low), float(high)

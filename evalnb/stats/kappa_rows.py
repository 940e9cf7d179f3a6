"""Rows of a metrics frame about Cohen's kappa, from ratings that are paired already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from evalnb.frames import METRICS
from evalnb.stats.estimates import Estimate
from evalnb.stats.kappa_tables import KappaTable, Method, kappas
from evalnb.stats.resampling import Patterns, bootstrap, quantiles

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from evalnb.stats.scales import PairedRatings, Weights

__all__ = ["kappa_max_row", "kappa_name", "kappa_row", "with_figures"]

_FEW_CLUSTERS = 10
_OVER_CLUSTERS = "bootstrap over clusters"
_EXACT = "exact bound at perfect agreement"


def kappa_row(
    pairs: PairedRatings, weights: Weights, *, method: Method = "fisher_t", seed: int = 0
) -> dict[str, Any]:
    """Return the row of kappa for ratings that are paired already; see `cohen_kappa`."""
    shared = {"metric": kappa_name(weights), "n": pairs.n, "n_left_out": pairs.n_left_out}
    if pairs.why_none:
        KappaTable.of(pairs, weights)
        return {**shared, "method": method, "reason": pairs.why_none}
    interval = _interval(pairs, weights, method, seed)
    warnings = ["constant_rater"] if pairs.is_constant else []
    if pairs.clusters is not None and pairs.n_units < _FEW_CLUSTERS:
        warnings.append("few_clusters")
    return {
        **shared,
        "estimate": interval.found.estimate,
        "ci_low": interval.found.ci_low,
        "ci_high": interval.found.ci_high,
        "method": interval.method,
        "reason": interval.reason,
        "warnings": warnings or None,
        "se": KappaTable.of(pairs, weights).standard_error,
    }


def kappa_name(weights: Weights) -> str:
    """Return what kappa with these weights is called in a metrics frame.

    Examples
    --------
    >>> kappa_name("linear"), kappa_name(None)
    ('kappa_linear', 'kappa')
    """
    return f"kappa_{weights}" if weights else "kappa"


def with_figures(rows: Iterable[dict[str, Any]], *names: str) -> pd.DataFrame:
    """Return a metrics frame that has further columns of numbers at the right."""
    frame = METRICS.build(rows)
    ordered = [name for name in frame if name not in names]
    return frame.reindex(columns=[*ordered, *names]).astype(dict.fromkeys(names, "Float64"))


def kappa_max_row(pairs: PairedRatings, weights: Weights) -> dict[str, Any]:
    """Return the row of the largest kappa for ratings that are paired already."""
    text = f"{weights} weights" if weights else "no weights"
    row = {"metric": "kappa_max", "n": pairs.n, "n_left_out": pairs.n_left_out, "method": text}
    disagreement = pairs.scale.disagreement(weights)
    if pairs.why_none:
        return {**row, "reason": pairs.why_none}
    counts = _best_match(pairs.table, weighted=weights is not None)
    return {**row, "estimate": KappaTable(counts, disagreement).kappa}


def _best_match(table: np.ndarray, *, weighted: bool) -> np.ndarray:
    """Return the table of most agreement with the same margins."""
    size, rows, columns = len(table), table.sum(axis=1), table.sum(axis=0)
    places = np.arange(size)
    best = np.zeros_like(table)
    if not weighted:  # as many as can agree do; where the rest falls is all the same
        best[places, places] = np.minimum(rows, columns)
        rows, columns = rows - best.sum(axis=1), columns - best.sum(axis=0)
    np.add.at(best, (np.repeat(places, rows), np.repeat(places, columns)), 1)
    return best


@dataclass(frozen=True)
class _Interval:
    """Kappa with its interval, how that came, and why it did not."""

    found: Estimate
    method: str
    reason: str | None = None


def _interval(pairs: PairedRatings, weights: Weights, method: Method, seed: int) -> _Interval:
    """Return kappa of two raters with its interval.

    Parameters
    ----------
    pairs : of two items or more and two levels or more

    Raises
    ------
    ValueError
        If there is no such method.
    """
    if method not in get_args(Method):
        allowed = ", ".join(map(repr, get_args(Method)))
        raise ValueError(f"`method` must be one of {allowed}. Got {method!r}.")
    table = KappaTable.of(pairs, weights)
    if pairs.is_constant:
        return _without_interval(table, method, "constant_rater")
    if pairs.clusters is not None and pairs.n_units < 2:
        return _without_interval(table, _OVER_CLUSTERS, "too_few")
    if table.is_perfect:
        return _Interval(table.perfect_interval(pairs.n_units), _EXACT)
    if pairs.clusters is not None or method == "bootstrap":
        text = method if pairs.clusters is None else _OVER_CLUSTERS
        return _Interval(_bootstrapped(pairs, table, seed), text)
    found = table.interval(method)
    return _Interval(found, method, "no_variance" if found.ci_low is None else None)


def _without_interval(table: KappaTable, method: str, reason: str) -> _Interval:
    return _Interval(Estimate(table.kappa, None, None), method, reason)


def _bootstrapped(pairs: PairedRatings, table: KappaTable, seed: int) -> Estimate:
    patterns = Patterns.of(np.column_stack([pairs.first, pairs.second]), pairs.clusters)
    first, second = patterns.rows.T
    values = bootstrap(
        patterns, lambda counts: kappas(counts, first, second, table.disagreement), seed=seed
    )
    return Estimate(table.kappa, *quantiles(values, 0.025, 0.975))

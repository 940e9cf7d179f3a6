"""A judge as a classifier: what people said is taken for the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.frames import METRICS
from evalnb.stats.estimates import wilson
from evalnb.stats.resampling import Patterns, bootstrap, quantiles
from evalnb.stats.scales import PairedRatings, paired_ratings

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

__all__ = ["classification_statistics", "scott_pi"]

_PERCENTILES = "percentiles of 10,000 resamples"


def classification_statistics(
    truth: Iterable[Any], verdicts: Iterable[Any], *, levels: Iterable[Any], seed: int = 0
) -> pd.DataFrame:
    """Accuracy and macro-averaged precision, recall and F1, as papers on judges print them.

    They correct for no chance and for no order of levels: agreement beyond chance is in
    `evalnb.stats.kappa`.

    Parameters
    ----------
    truth, verdicts : of the same items in the same order
        Items that lack one of them are left out and counted.
    levels : all that either may say
    seed : of the bootstrap

    Returns
    -------
    a metrics frame with the rows `accuracy`, `macro_precision`, `macro_recall`, `macro_f1`
        Means over the levels that occur on either side, each counting alike. NA `no_overlap`
        without a common item. Where a level occurs on one side only, its precision or recall is
        undefined and so is the mean: NA `no_relevant`; its F1 is 0. Intervals are Wilson's for
        accuracy, else percentiles of resampled items, of which those count where it is defined.

    References
    ----------
    Sokolova & Lapalme (2009), Information Processing and Management 45(4),
    doi:10.1016/j.ipm.2009.03.002, with macro F1 as the mean of the levels' F1.

    Examples
    --------
    >>> found = classification_statistics([1, 1, 2, 2], [1, 2, 2, 2], levels=[1, 2])
    >>> found.set_index("metric")["estimate"].round(3).to_dict()
    {'accuracy': 0.75, 'macro_precision': 0.833, 'macro_recall': 0.75, 'macro_f1': 0.733}
    """
    pairs = paired_ratings(truth, verdicts, levels)
    shared = {"n": pairs.n, "n_left_out": pairs.n_left_out}
    hits = int((pairs.first == pairs.second).sum())
    accuracy = wilson(hits, pairs.n)
    rows: list[dict[str, Any]] = [
        {
            "metric": "accuracy",
            "estimate": accuracy.estimate,
            "ci_low": accuracy.ci_low,
            "ci_high": accuracy.ci_high,
            "method": "Wilson",
            "reason": None if pairs.n else "no_overlap",
        },
        *_macro_rows(pairs, seed),
    ]
    return METRICS.build({**row, **shared} for row in rows)


def scott_pi(
    first: Iterable[Any], second: Iterable[Any], *, levels: Iterable[Any], seed: int = 0
) -> pd.DataFrame:
    """Agreement corrected for what two raters who share one taste would agree on by chance.

    Cohen's kappa lets each rater have a taste of their own; where they differ, pi is the smaller.

    Parameters
    ----------
    first, second, levels : as `evalnb.stats.kappa.cohen_kappa` takes them
    seed : of the bootstrap

    Returns
    -------
    a metrics frame of one row, `scott_pi`, in [-1, 1]
        NA `no_overlap`, `too_few` or `one_category` as kappa is; percentiles of 10,000 resamples.

    References
    ----------
    Scott (1955), Public Opinion Quarterly 19(3), doi:10.1086/266577.

    Examples
    --------
    >>> found = scott_pi([1, 1, 2, 2], [1, 2, 2, 2], levels=[1, 2])
    >>> round(float(found.loc[0, "estimate"]), 4)
    0.4667
    """
    pairs = paired_ratings(first, second, levels)
    row = {"metric": "scott_pi", "n": pairs.n, "n_left_out": pairs.n_left_out}
    if pairs.why_none:
        return METRICS.build([{**row, "method": _PERCENTILES, "reason": pairs.why_none}])
    size = len(pairs.scale.levels)
    estimate = float(_pis(pairs.table.reshape(1, -1), size)[0])
    low, high = quantiles(_resampled(pairs, _pis, seed), 0.025, 0.975)
    return METRICS.build(
        [{**row, "estimate": estimate, "ci_low": low, "ci_high": high, "method": _PERCENTILES}]
    )


def _macro_rows(pairs: PairedRatings, seed: int) -> list[dict[str, Any]]:
    names = ("macro_precision", "macro_recall", "macro_f1")
    if not pairs.n:
        return [{"metric": name, "method": _PERCENTILES, "reason": "no_overlap"} for name in names]
    size = len(pairs.scale.levels)
    estimates = _macros(pairs.table.reshape(1, -1), size)[0]
    resampled = _resampled(pairs, _macros, seed)
    rows: list[dict[str, Any]] = []
    for column, name in enumerate(names):
        if np.isnan(estimates[column]):
            rows.append({"metric": name, "method": _PERCENTILES, "reason": "no_relevant"})
            continue
        low, high = quantiles(resampled[:, column], 0.025, 0.975)
        rows.append(
            {
                "metric": name,
                "estimate": float(estimates[column]),
                "ci_low": low,
                "ci_high": high,
                "method": _PERCENTILES,
            }
        )
    return rows


def _resampled(pairs: PairedRatings, statistic: Any, seed: int) -> np.ndarray:
    """Return a statistic of resampled tables, given as cells side by side."""
    size = len(pairs.scale.levels)
    patterns = Patterns.of(np.column_stack([pairs.first, pairs.second]))
    cells = np.eye(size * size)[patterns.rows[:, 0] * size + patterns.rows[:, 1]]
    return bootstrap(patterns, lambda counts: statistic(counts @ cells, size), seed=seed)


def _macros(cells: np.ndarray, size: int) -> np.ndarray:
    """Return macro precision, recall and F1 of tables, truth by verdict."""
    tables = cells.reshape(-1, size, size)
    hits = tables[:, np.arange(size), np.arange(size)]
    true, said = tables.sum(axis=2), tables.sum(axis=1)
    occurs = true + said > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.stack([hits / said, hits / true, 2 * hits / (true + said)], axis=1)
    counted = np.where(occurs[:, None, :], shares, 0.0)
    found: np.ndarray = counted.sum(axis=2) / occurs.sum(axis=1)[:, None]
    return found


def _pis(cells: np.ndarray, size: int) -> np.ndarray:
    tables = cells.reshape(-1, size, size)
    n = tables.sum(axis=(1, 2))
    observed = tables[:, np.arange(size), np.arange(size)].sum(axis=1) / n
    shares = (tables.sum(axis=1) + tables.sum(axis=2)) / (2 * n[:, None])
    expected = (shares**2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: np.ndarray = np.where(expected < 1, (observed - expected) / (1 - expected), np.nan)
    return found

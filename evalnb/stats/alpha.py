"""Krippendorff's alpha, of counts and of resampled counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from evalnb.stats.resampling import Patterns, percentiles

if TYPE_CHECKING:
    from evalnb.stats.scales import Scale

__all__ = ["AlphaMetric", "alpha_row", "check_alpha_metric"]

AlphaMetric: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]
"""What the distance of two values is."""


def check_alpha_metric(metric: str) -> None:
    """Raise ValueError where there is no such metric."""
    if metric not in get_args(AlphaMetric):
        allowed = ", ".join(map(repr, get_args(AlphaMetric)))
        raise ValueError(f"`metric` must be one of {allowed}. Got {metric!r}.")


def alpha_row(
    items: np.ndarray,
    scale: Scale | None,
    metric: AlphaMetric,
    *,
    clusters: np.ndarray | None = None,
    seed: int = 0,
    interval: bool = True,
) -> dict[str, Any]:
    """Return the row of alpha.

    Parameters
    ----------
    items : item x rater
        Positions on the scale, -1 where missing; without a scale values, NaN where missing.
    scale : None for values of no scale, which take the metric `interval`
    metric, clusters, seed, interval : as `evalnb.stats.raters.krippendorff_alpha` takes them
    """
    usable = _there(items, scale).sum(axis=1) > 1
    row = {
        "metric": f"krippendorff_alpha_{metric}",
        "n": int(usable.sum()),
        "n_left_out": int((~usable).sum()),
        "method": "bootstrap" if clusters is None else "bootstrap over clusters",
    }
    items, groups = items[usable], None if clusters is None else clusters[usable]
    values = items[_there(items, scale)]
    if len(items) < 2:
        return {**row, "reason": "too_few" if len(items) else "no_overlap"}
    if values.min() == values.max():
        return {**row, "reason": "one_category"}
    alpha: _Moments | _Levels
    if scale is None:
        alpha = _Moments.of(items, groups)
    else:
        alpha = _Levels.of(items, scale, metric, groups)
    estimate = float(alpha(alpha.patterns.counts[None, :])[0])
    if not interval:
        return {**row, "estimate": estimate, "method": "no interval"}
    return {**row, "estimate": estimate, **percentiles(alpha.patterns, alpha, seed, alpha.width)}


def _there(items: np.ndarray, scale: Scale | None) -> np.ndarray:
    return ~np.isnan(items) if scale is None else items >= 0


@dataclass(frozen=True)
class _Levels:
    """Alpha of ratings on a scale: patterns are how many raters chose each level."""

    patterns: Patterns
    distances: np.ndarray | None
    """Squared, level x level; None where they depend on how often levels occur."""

    @classmethod
    def of(
        cls, items: np.ndarray, scale: Scale, metric: AlphaMetric, clusters: np.ndarray | None
    ) -> _Levels:
        used = np.unique(items[items >= 0])
        chosen = (items[:, :, None] == used).sum(axis=1)
        return cls(Patterns.of(chosen, clusters), _distances(scale.numbers[used], metric))

    @property
    def width(self) -> int:
        return int(self.patterns.rows.shape[1])

    def __call__(self, counts: np.ndarray) -> np.ndarray:
        chosen = self.patterns.rows.astype("float64")
        values = counts @ chosen
        if self.distances is None:
            ranks = np.cumsum(values, axis=1) - values / 2
            within = _apart(chosen.sum(axis=1), ranks @ chosen.T, ranks**2 @ chosen.T)
            ranked = values * ranks
            expected = _apart(values.sum(axis=1), ranked.sum(axis=1), (ranked * ranks).sum(axis=1))
        else:
            within = ((chosen @ self.distances) * chosen).sum(axis=1)[None, :]
            expected = ((values @ self.distances) * values).sum(axis=1)
        observed = (counts * within / (chosen.sum(axis=1) - 1)).sum(axis=1)
        return _alpha(observed, expected, values.sum(axis=1))


@dataclass(frozen=True)
class _Moments:
    """Alpha of numbers by squared distance: patterns are what an item adds to four sums."""

    patterns: Patterns
    width = 4

    @classmethod
    def of(cls, items: np.ndarray, clusters: np.ndarray | None) -> _Moments:
        there = ~np.isnan(items)
        centred = np.where(there, items - np.nanmean(items), 0.0)
        centred /= np.abs(centred).max()  # so that what is nearly 0 does not depend on the unit
        n, total, squares = there.sum(axis=1), centred.sum(axis=1), (centred**2).sum(axis=1)
        means = (total / n)[:, None]
        within = 2 * n * (there * (centred - means) ** 2).sum(axis=1) / (n - 1)
        return cls(Patterns.of(np.column_stack([n, total, squares, within]), clusters))

    def __call__(self, counts: np.ndarray) -> np.ndarray:
        n, total, squares, within = (counts @ self.patterns.rows).T
        return _alpha(within, _apart(n, total, squares), n)


def _apart(n: np.ndarray, total: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Return the sum of squared distances over all ordered pairs of `n` numbers."""
    return 2 * (n * squares - total**2)


def _alpha(observed: np.ndarray, expected: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return alpha from sums over pairs of values, within items and over all."""
    tiny = 1e-12 * np.maximum(n, 1.0) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(expected > tiny, 1 - (n - 1) * observed / expected, np.nan)


def _distances(values: np.ndarray, metric: AlphaMetric) -> np.ndarray | None:
    if metric == "ordinal":
        return None
    apart = values[:, None] - values[None, :]
    if metric == "nominal":
        return (apart != 0).astype("float64")
    if metric == "ratio":
        sums = np.abs(values[:, None] + values[None, :])
        apart = np.divide(apart, sums, out=np.zeros_like(apart), where=apart != 0)
    return np.square(apart / np.abs(apart).max())

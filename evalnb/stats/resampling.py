"""Bootstrap by tables: what is resampled is how often each kind of item occurs.

A statistic of ratings depends on the counts of the distinct rows only. 10,000 tables of counts are
a matrix, and the statistic of all of them a few products of matrices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["RESAMPLES", "Patterns", "bootstrap", "jackknife", "percentiles", "quantiles"]

RESAMPLES = 10_000
_MOST_CELLS = 2_000_000
"""Numbers held at once."""
_NO_SPREAD = 1e-9


@dataclass(frozen=True)
class Patterns:
    """The distinct rows of ratings, and how often each unit of resampling holds them.

    Attributes
    ----------
    rows : pattern x rater
    units : distinct unit x pattern, counts of the items of a cluster; None where a unit is an item
    n_of_unit : how many units are alike
    """

    rows: np.ndarray
    units: np.ndarray | None
    n_of_unit: np.ndarray

    @classmethod
    def of(cls, ratings: np.ndarray, clusters: np.ndarray | None = None) -> Patterns:
        """Count the rows of `ratings` (item x rater), by cluster where there are any.

        Neither the order of items nor the names of clusters matter.
        """
        rows, which = np.unique(ratings, axis=0, return_inverse=True)
        which = which.reshape(-1)  # numpy 2.0 has a second dimension here
        if clusters is None:
            return cls(rows, None, np.bincount(which, minlength=len(rows)))
        _, cluster = np.unique(clusters, return_inverse=True)
        n_clusters = int(cluster.max(initial=-1)) + 1
        cells = np.bincount(cluster * len(rows) + which, minlength=n_clusters * len(rows))
        units, n_of_unit = np.unique(
            cells.reshape(n_clusters, len(rows)), axis=0, return_counts=True
        )
        return cls(rows, units.astype("float64"), n_of_unit)

    @property
    def counts(self) -> np.ndarray:
        """How often each row occurs."""
        return self._of_units(self.n_of_unit)

    @property
    def n_units(self) -> int:
        """Number of units, alike or not."""
        return int(self.n_of_unit.sum())

    def resampled(
        self, seed: int, resamples: int = RESAMPLES, *, width: int = 1
    ) -> Iterator[np.ndarray]:
        """Yield counts of units drawn with replacement: resample x pattern, a part at a time.

        Parameters
        ----------
        width : how many numbers a resample becomes in what follows, which must fit in memory too
        """
        rng = np.random.default_rng(seed)
        n, kinds = self.n_units, len(self.n_of_unit)
        # Drawing one unit after another is faster than a table once few of them are alike.
        singly = kinds * 4 > n
        part = max(1, _MOST_CELLS // max(n if singly else kinds, width, 1))
        for start in range(0, resamples, part):
            size = min(part, resamples - start)
            drawn = self._singly(rng, size) if singly else self._tables(rng, size)
            yield self._of_units(drawn)

    def left_out(self) -> Iterator[np.ndarray]:
        """Yield counts without one of the units: distinct unit x pattern, a part at a time."""
        kinds = len(self.n_of_unit)
        part = max(1, _MOST_CELLS // max(len(self.rows), kinds, 1))
        for start in range(0, kinds, part):
            one = np.arange(start, min(start + part, kinds))[:, None] == np.arange(kinds)
            yield self.counts - self._of_units(one)

    def _of_units(self, n_of_unit: np.ndarray) -> np.ndarray:
        counts = n_of_unit.astype("float64")
        return counts if self.units is None else np.asarray(counts @ self.units)

    def _tables(self, rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.multinomial(self.n_units, self.n_of_unit / self.n_units, size=size)

    def _singly(self, rng: np.random.Generator, size: int) -> np.ndarray:
        kinds = len(self.n_of_unit)
        kind_of = np.repeat(np.arange(kinds), self.n_of_unit)
        drawn = kind_of[rng.integers(0, self.n_units, size=(size, self.n_units))]
        places = drawn + kinds * np.arange(size)[:, None]
        return np.bincount(places.ravel(), minlength=size * kinds).reshape(size, kinds)


def bootstrap(
    patterns: Patterns,
    statistic: Callable[[np.ndarray], np.ndarray],
    *,
    seed: int,
    resamples: int = RESAMPLES,
    width: int = 1,
) -> np.ndarray:
    """Return a statistic of resampled counts.

    Parameters
    ----------
    patterns : what is resampled
    statistic : from counts (resample x pattern) to values (resample first), NaN where undefined
    width : how many numbers it needs for a resample

    Returns
    -------
    a value, or a row of values, for each resample

    References
    ----------
    Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapter 13.
    """
    parts = patterns.resampled(seed, resamples, width=width)
    return np.concatenate([statistic(part) for part in parts])


def quantiles(values: np.ndarray, *levels: float) -> tuple[float | None, ...]:
    """Return quantiles of the values that are defined, None where there is none."""
    defined = values[~np.isnan(values)]
    if not len(defined):
        return (None,) * len(levels)
    return tuple(map(float, np.quantile(defined, levels)))


def percentiles(
    patterns: Patterns, statistic: Callable[[np.ndarray], np.ndarray], seed: int, width: int = 1
) -> dict[str, Any]:
    """Return `ci_low` and `ci_high` of the percentile bootstrap, or the `reason` for none.

    Returns
    -------
    `too_few` for fewer than two units; `no_variance` where every resample says the same, as where
    all raters agree: nothing is known of the spread then
    """
    if patterns.n_units < 2:
        return {"reason": "too_few"}
    low, high = quantiles(bootstrap(patterns, statistic, seed=seed, width=width), 0.025, 0.975)
    if low is None or high is None or high - low < _NO_SPREAD:
        return {"reason": "no_variance"}
    return {"ci_low": low, "ci_high": high}


def jackknife(patterns: Patterns, statistic: Callable[[np.ndarray], np.ndarray]) -> float | None:
    """Return the standard error of a statistic by leaving out one unit at a time.

    Returns
    -------
    None where a statistic without one of the units is undefined

    References
    ----------
    Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapter 11.
    """
    values, n = np.concatenate([*map(statistic, patterns.left_out())]), patterns.n_units
    if n < 2 or np.isnan(values).any():
        return None
    mean = float(values @ patterns.n_of_unit) / n
    squares = float((values - mean) ** 2 @ patterns.n_of_unit)
    return math.sqrt((n - 1) / n * squares)

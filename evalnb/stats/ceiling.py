"""What people reach among themselves, beside what a judge reaches with them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.stats.kappa_rows import with_figures
from evalnb.stats.kappa_tables import kappas
from evalnb.stats.resampling import Patterns, bootstrap, jackknife, quantiles
from evalnb.stats.scales import Scale, cluster_numbers, rated_items

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from evalnb.stats.scales import Weights

__all__ = ["human_ceiling"]

_NAMES = ("human_human", "judge_human", "difference")
_NO_SPREAD = 1e-9


def human_ceiling(
    human_ratings: Any,
    judge: Iterable[Any],
    *,
    levels: Iterable[Any],
    weights: Weights = "quadratic",
    clusters: Iterable[Any] | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Say how well people agree with each other, and a judge with them, on the same items.

    A judge that agrees with people as well as they agree with each other cannot be improved by
    a better prompt.

    Parameters
    ----------
    human_ratings : a frame or rows of values: a row an item, a column a person; missing allowed
    judge : ratings of the same items in the same order
    levels, weights, clusters, seed : as `evalnb.stats.kappa.cohen_kappa` takes them

    Returns
    -------
    a metrics frame with the rows `human_human`, `judge_human`, `difference`, and a column `se`
        Mean kappa over the pairs of people, mean kappa of the judge over people, and the second
        less the first. Only items that the judge and two people or more rated are used, the others
        are left out and counted. A pair of raters of which kappa is undefined is no part of its
        mean, with the warning `no_overlap` (no item in common) or `one_category`. Intervals are of
        percentiles of 10,000 resamples of items, `se` of leaving out one at a time. NA `no_overlap`
        without such an item, `too_few` with one, `one_category` where no kappa is defined; an
        interval alone is NA `no_variance` where every resample says the same.

    Raises
    ------
    ValueError
        If a value is none of the levels, or lengths differ.
    """
    scale = Scale.of(levels)
    people, verdicts = rated_items(human_ratings, scale), scale.codes(judge, "`judge`")
    if len(people) != len(verdicts):
        raise ValueError(
            "`human_ratings` and `judge` rate the same items. "
            f"Got {len(people)} and {len(verdicts)}."
        )
    usable = ((people >= 0).sum(axis=1) > 1) & (verdicts >= 0)
    items = np.column_stack([people, verdicts])[usable]
    groups = None if clusters is None else cluster_numbers(clusters, len(verdicts))[usable]
    means = _Means(Patterns.of(items, groups), scale.disagreement(weights))
    return with_figures(
        _rows(means, int((~usable).sum()), seed, by_cluster=groups is not None), "se"
    )


@dataclass(frozen=True)
class _Means:
    """Mean kappas of resampled counts; the last column of the patterns is the judge's."""

    patterns: Patterns
    disagreement: np.ndarray

    def __call__(self, counts: np.ndarray) -> np.ndarray:
        """Return human-human, judge-human and their difference for each row of counts."""
        people, judge = _mean(self.people(counts)), _mean(self.judge(counts))
        return np.column_stack([people, judge, judge - people])

    @property
    def n_people(self) -> int:
        """Number of people."""
        return int(self.patterns.rows.shape[1]) - 1

    def people(self, counts: np.ndarray) -> list[np.ndarray]:
        """Return kappas of all pairs of people."""
        return [self._kappas(counts, *pair) for pair in combinations(range(self.n_people), 2)]

    def judge(self, counts: np.ndarray) -> list[np.ndarray]:
        """Return kappas of the judge with each person."""
        return [self._kappas(counts, person, self.n_people) for person in range(self.n_people)]

    def warnings(self, n_of: np.ndarray) -> list[str]:
        """Return why some pairs are no part of the means."""
        all_pairs = combinations(range(self.n_people + 1), 2)
        apart = [pair for pair in all_pairs if not n_of[self._both(*pair)].any()]
        found = [*self.people(n_of[None, :]), *self.judge(n_of[None, :])]
        undefined = sum(bool(np.isnan(values).any()) for values in found)
        names = ["no_overlap"] if apart else []
        return names + (["one_category"] if undefined > len(apart) else [])

    def _kappas(self, counts: np.ndarray, one: int, other: int) -> np.ndarray:
        both = self._both(one, other)
        first, second = self.patterns.rows[both][:, one], self.patterns.rows[both][:, other]
        return kappas(counts[:, both], first, second, self.disagreement)

    def _both(self, one: int, other: int) -> np.ndarray:
        return np.asarray((self.patterns.rows[:, [one, other]] >= 0).all(axis=1))


def _mean(values: list[np.ndarray]) -> np.ndarray:
    """Return the mean over pairs of what is defined."""
    table = np.array(values)
    defined = (~np.isnan(table)).sum(axis=0)
    sums = np.nansum(table, axis=0)
    return np.where(defined > 0, sums / np.maximum(defined, 1), np.nan)


def _rows(means: _Means, n_left_out: int, seed: int, *, by_cluster: bool) -> list[dict[str, Any]]:
    n = int(means.patterns.counts.sum())
    text = "bootstrap over clusters" if by_cluster else "bootstrap"
    shared: dict[str, Any] = {"n": n, "n_left_out": n_left_out, "method": text}
    if n < 2:
        reason = "too_few" if n else "no_overlap"
        return [{"metric": name, **shared, "reason": reason} for name in _NAMES]
    shared["warnings"] = means.warnings(means.patterns.counts) or None
    estimates = means(means.patterns.counts[None, :])[0]
    drawn = bootstrap(means.patterns, means, seed=seed)
    return [
        {"metric": name, **shared, **_estimate(means, column, estimates[column], drawn[:, column])}
        for column, name in enumerate(_NAMES)
    ]


def _estimate(means: _Means, column: int, estimate: float, drawn: np.ndarray) -> dict[str, Any]:
    if np.isnan(estimate):
        return {"reason": "one_category"}
    found = {
        "estimate": float(estimate),
        "se": jackknife(means.patterns, lambda counts: means(counts)[:, column]),
    }
    low, high = quantiles(drawn, 0.025, 0.975)
    if low is None or high is None or high - low < _NO_SPREAD:
        return {**found, "reason": "no_variance"}
    return {**found, "ci_low": low, "ci_high": high}

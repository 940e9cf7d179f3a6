"""Two judges on the same labels: the difference of their kappas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalnb.stats.kappa_rows import kappa_row, with_figures
from evalnb.stats.kappa_tables import KappaTable, disagreement_upper, kappas
from evalnb.stats.resampling import Patterns, bootstrap, jackknife, quantiles
from evalnb.stats.scales import PairedRatings, Scale, cluster_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evalnb.stats.scales import Weights

__all__ = ["kappa_difference"]


def kappa_difference(
    human: Iterable[Any],
    judge_a: Iterable[Any],
    judge_b: Iterable[Any],
    *,
    levels: Iterable[Any],
    weights: Weights = "quadratic",
    margin: float = 0.05,
    clusters: Iterable[Any] | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Say whether one judge agrees with a person less than another does, on the same items.

    Parameters
    ----------
    human, judge_a, judge_b : ratings of the same items in the same order
        Items that one of the three did not rate are left out and counted.
    levels, weights, clusters : as `evalnb.stats.kappa.cohen_kappa` takes them
    margin : what kappa of `judge_a` may be lower by, and not be worse
    seed : of the bootstrap

    Returns
    -------
    a metrics frame with the rows `kappa_a`, `kappa_b`, `difference`, `lower_one_sided`
        `difference` is kappa of `judge_a` less that of `judge_b`, its interval the percentiles of
        10,000 resamples of items (or of clusters), all three ratings of an item together.
        `lower_one_sided` is the lower one-sided 95% bound of the difference. The column `se` has
        the standard error of the difference by leaving out one item (cluster) at a time, the column
        `not_worse` beside both whether the bound is above -`margin`; NA where it is undefined.
        All are NA `no_overlap`, `too_few` or `one_category` as kappa is. Two judges of which
        every verdict is the same differ by 0, as far as so few items can tell: the interval is
        that of the disagreements that may have been missed, with the warning `no_variance`.

    Raises
    ------
    ValueError
        As `cohen_kappa` has it.

    References
    ----------
    Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapters 11 and 13.
    """
    scale = Scale.of(levels)
    codes = [
        scale.codes(human, "`human`"),
        scale.codes(judge_a, "`judge_a`"),
        scale.codes(judge_b, "`judge_b`"),
    ]
    together = _Three.of(scale, codes, clusters)
    rows = [
        kappa_row(together.pairs(1), weights) | {"metric": "kappa_a"},
        kappa_row(together.pairs(2), weights) | {"metric": "kappa_b"},
        *together.difference_rows(weights, margin, seed),
    ]
    decided = pd.array([row.get("not_worse", pd.NA) for row in rows], dtype="boolean")
    return with_figures(rows, "se").assign(not_worse=decided)


@dataclass(frozen=True)
class _Three:
    """Positions on a scale that a person and two judges gave to the same items."""

    scale: Scale
    codes: np.ndarray  # item x rater
    clusters: np.ndarray | None
    n_left_out: int

    @classmethod
    def of(cls, scale: Scale, codes: list[np.ndarray], clusters: Iterable[Any] | None) -> _Three:
        lengths = [len(ratings) for ratings in codes]
        if len(set(lengths)) > 1:
            raise ValueError(
                "`human`, `judge_a` and `judge_b` rate the same items. "
                f"Got {lengths[0]}, {lengths[1]} and {lengths[2]} ratings."
            )
        table = np.column_stack(codes)
        there = (table >= 0).all(axis=1)
        groups = None if clusters is None else cluster_numbers(clusters, len(table))[there]
        return cls(scale, table[there], groups, int((~there).sum()))

    def pairs(self, judge: int) -> PairedRatings:
        """Return the ratings of the person and of one judge."""
        human, other = self.codes[:, 0], self.codes[:, judge]
        return PairedRatings(self.scale, human, other, self.clusters, self.n_left_out)

    @property
    def why_none(self) -> str | None:
        """Why the difference is undefined, None where it is defined."""
        one, other = self.pairs(1), self.pairs(2)
        if one.n_units < 2:
            return "too_few" if one.n else "no_overlap"
        return one.why_none or other.why_none

    @property
    def is_same(self) -> bool:
        """Whether every verdict of the two judges is the same."""
        return np.array_equal(self.codes[:, 1], self.codes[:, 2])

    def difference_rows(self, weights: Weights, margin: float, seed: int) -> list[dict[str, Any]]:
        """Return the rows of the difference and of its lower bound."""
        text = "bootstrap" if self.clusters is None else "bootstrap over clusters"
        shared = {"n": len(self.codes), "n_left_out": self.n_left_out, "method": text}
        if self.why_none:
            shared["reason"] = self.why_none
            return [{"metric": name, **shared} for name in ("difference", "lower_one_sided")]
        found = _Difference(Patterns.of(self.codes, self.clusters), self.scale, weights)
        if self.is_same:
            ends: tuple[float | None, ...] = self._missed(weights)
            shared |= {"method": "exact bound at equal verdicts", "warnings": ["no_variance"]}
        else:
            values = bootstrap(found.patterns, found, seed=seed)
            ends = quantiles(values, 0.025, 0.05, 0.975)
        low, bound, high = ends
        shared["not_worse"] = bound is not None and bound > -margin
        estimate = {
            "estimate": float(found(found.patterns.counts[None, :])[0]),
            "ci_low": low,
            "ci_high": high,
            "se": jackknife(found.patterns, found),
        }
        return [
            {"metric": "difference", **estimate, **shared},
            {"metric": "lower_one_sided", "estimate": bound, **shared},
        ]

    def _missed(self, weights: Weights) -> tuple[float, float, float]:
        """Return two-sided low, one-sided low, two-sided high of what equal verdicts may hide."""
        pairs = self.pairs(1)
        expected = KappaTable.of(pairs, weights).expected_disagreement
        both, one = (
            min(disagreement_upper(pairs.n_units, level) / expected, 2.0) for level in (0.975, 0.95)
        )
        return -both, -one, both


@dataclass(frozen=True)
class _Difference:
    """Difference of two kappas, from counts of resampled patterns."""

    patterns: Patterns
    scale: Scale
    weights: Weights

    def __call__(self, counts: np.ndarray) -> np.ndarray:
        human, judge_a, judge_b = self.patterns.rows.T
        disagreement = self.scale.disagreement(self.weights)
        kappa_a = kappas(counts, human, judge_a, disagreement)
        kappa_b = kappas(counts, human, judge_b, disagreement)
        return np.subtract(kappa_a, kappa_b)

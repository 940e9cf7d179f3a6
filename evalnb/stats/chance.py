"""Agreement of any number of raters beyond chance, by what chance is taken to be.

All three have the same agreement between two ratings of an item; they differ in how often two
ratings would agree by chance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from evalnb.stats.kappa_tables import disagreement_upper
from evalnb.stats.resampling import Patterns, percentiles

if TYPE_CHECKING:
    from evalnb.stats.scales import Scale, Weights

__all__ = ["ChanceAgreement", "agreement_weights", "chance_row", "levels_chosen"]

Chance: TypeAlias = Literal["gwet", "brennan_prediger", "fleiss"]


def levels_chosen(items: np.ndarray, n_levels: int) -> np.ndarray:
    """Count how many raters chose each level: item x level, from positions item x rater."""
    return (items[:, :, None] == np.arange(n_levels)).sum(axis=1)


def agreement_weights(scale: Scale, weights: Weights) -> np.ndarray:
    """Return how much each pair of levels agrees: level x level, in [0, 1]."""
    disagreement = scale.disagreement(weights)
    return 1 - disagreement / disagreement.max()


def chance_row(
    metric: str,
    chosen: np.ndarray,
    chance: Chance,
    weights: np.ndarray,
    *,
    clusters: np.ndarray | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Return the row of one of the statistics.

    Parameters
    ----------
    metric : what the row is called
    chosen : item x level, how many raters chose it
    chance : what chance is taken to be
    weights : level x level, how much two levels agree
    """
    n_ratings = chosen.sum(axis=1)
    n = int((n_ratings > 1).sum())
    row = {
        "metric": metric,
        "n": n,
        "n_left_out": len(chosen) - n,
        "method": "bootstrap" if clusters is None else "bootstrap over clusters",
    }
    used = n_ratings > 0
    chosen, groups = chosen[used], None if clusters is None else clusters[used]
    if n < 2:
        return {**row, "reason": "too_few" if n else "no_overlap"}
    one_category = int((chosen.sum(axis=0) > 0).sum()) == 1
    if one_category and chance == "fleiss":
        return {**row, "reason": "one_category"}
    found = ChanceAgreement(Patterns.of(chosen, groups), weights, chance)
    row |= {"estimate": found.estimate, "warnings": ["one_category"] if one_category else None}
    if chance == "gwet":
        row["se"] = found.standard_error
    if found.is_perfect:
        low = 1 - disagreement_upper(found.patterns.n_units) * found.step / (1 - found.expected)
        return {
            **row,
            "ci_low": max(low, -1.0),
            "ci_high": 1.0,
            "method": "exact bound at perfect agreement",
        }
    return row | percentiles(found.patterns, found, seed)


@dataclass(frozen=True)
class ChanceAgreement:
    """Agreement beyond chance, from counts of patterns.

    Attributes
    ----------
    patterns : rows are how many raters of an item chose each level, one or more in all
    weights : level x level
    chance : what chance is taken to be
    """

    patterns: Patterns
    weights: np.ndarray
    chance: Chance

    def __call__(self, counts: np.ndarray) -> np.ndarray:
        """Return the statistic of each row of counts, NaN where it is undefined."""
        observed, expected = self._parts(counts)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(expected < 1, (observed - expected) / (1 - expected), np.nan)

    @property
    def estimate(self) -> float:
        """The statistic of the ratings as they are."""
        return float(self(self._all)[0])

    @property
    def expected(self) -> float:
        """Agreement by chance."""
        return float(self._parts(self._all)[1][0])

    @property
    def step(self) -> float:
        """How much neighbouring levels disagree."""
        return float(1 - self.weights[0, 1])

    @property
    def is_perfect(self) -> bool:
        """Whether all raters of an item agree, on every item."""
        return bool(((self.patterns.rows > 0).sum(axis=1) == 1).all())

    @property
    def standard_error(self) -> float:
        """Standard error of Gwet's coefficient over items, for these raters."""
        n_of, n = self.patterns.counts, float(self.patterns.counts.sum())
        (observed,), (expected,) = self._parts(self._all)
        estimate = (observed - expected) / (1 - expected)
        pairable = self._n_ratings > 1
        share = n / n_of[pairable].sum()
        own = share * np.where(pairable, self._agreement - expected, 0.0) / (1 - expected)
        prevalence = n_of @ self._shares / n
        by_item = self.weights.sum() / self._cells * (self._shares @ (1 - prevalence))
        own -= 2 * (1 - estimate) * (by_item - expected) / (1 - expected)
        return math.sqrt(float(n_of @ (own - estimate) ** 2) / (n * (n - 1)))

    @property
    def _all(self) -> np.ndarray:
        return self.patterns.counts[None, :]

    @property
    def _cells(self) -> int:
        return len(self.weights) * (len(self.weights) - 1)

    @property
    def _n_ratings(self) -> np.ndarray:
        return np.asarray(self.patterns.rows.sum(axis=1))

    @property
    def _shares(self) -> np.ndarray:
        return np.asarray(self.patterns.rows / self._n_ratings[:, None])

    @property
    def _agreement(self) -> np.ndarray:
        """Agreement between two ratings of an item; 0 where there is one."""
        rows, n = self.patterns.rows, self._n_ratings
        agreeing = (rows * (rows @ self.weights - 1)).sum(axis=1)
        return np.where(n > 1, agreeing / np.maximum(n * (n - 1), 1), 0.0)

    def _parts(self, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return agreement observed and expected."""
        with np.errstate(divide="ignore", invalid="ignore"):
            observed = counts @ self._agreement / (counts @ (self._n_ratings > 1))
        prevalence = counts @ self._shares / counts.sum(axis=1, keepdims=True)
        if self.chance == "gwet":
            spread = (prevalence * (1 - prevalence)).sum(axis=1)
            return observed, self.weights.sum() / self._cells * spread
        if self.chance == "fleiss":
            return observed, ((prevalence @ self.weights) * prevalence).sum(axis=1)
        return observed, np.full(len(counts), self.weights.sum() / len(self.weights) ** 2)

"""A judge's scores of all cases and people's of some, by stratum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.stats.strata import Strata, find_strata
from evalnb.stats.values import numbers

if TYPE_CHECKING:
    from evalnb.stats.values import Floats

__all__ = ["LabelledScores", "labelled_scores"]


@dataclass(frozen=True)
class LabelledScores:
    """Scores of the cases with a verdict."""

    judged: Floats
    labels: Floats
    strata: Strata
    low: float
    high: float
    n_left_out: int

    def each(self) -> list[tuple[Floats, Floats, Floats]]:
        """Return labels, scores of the labelled and scores of the others, a tuple a stratum."""
        labelled = ~np.isnan(self.labels)
        masks = [self.strata.codes == code for code in range(len(self.strata.names))]
        return [
            (self.labels[m & labelled], self.judged[m & labelled], self.judged[m & ~labelled])
            for m in masks
        ]

    def pairs(self) -> tuple[Floats, Floats]:
        """Return labels and scores of the labelled cases."""
        labelled = ~np.isnan(self.labels)
        return self.labels[labelled], self.judged[labelled]

    def shares(self, *, known: bool) -> tuple[Floats, int | None]:
        """Return the share of each stratum, and of how many cases where these are a sample."""
        drawn = not known and self.strata.weights is None
        return self.strata.shares(), len(self.judged) if drawn else None


def labelled_scores(
    judged: Any, labels: Any, strata: Any, weights: Any, low: float | None, high: float | None
) -> LabelledScores:
    """Return the scores of the cases with a verdict; arguments as in `corrected_mean`."""
    scores, people = numbers(judged, "judged"), numbers(labels, "labels")
    if len(scores) != len(people):
        raise ValueError(
            f"`judged` and `labels` must be of the same cases. Got {len(scores)} and {len(people)}."
        )
    floor, ceiling = (-math.inf if low is None else low), (math.inf if high is None else high)
    for name, values in (("judged", scores), ("labels", people)):
        beyond = values[(values < floor) | (values > ceiling)]
        if len(beyond):
            raise ValueError(f"`{name}` must lie in [{low}, {high}]. Got {beyond[0]:g}.")
    usable = ~np.isnan(scores)
    groups = find_strata(strata, weights, usable)
    n_left_out = int((~usable).sum())
    return LabelledScores(scores[usable], people[usable], groups, floor, ceiling, n_left_out)

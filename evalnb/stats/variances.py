"""Variance between and within groups, and what it makes of a mean's error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["VarianceSplit", "mean_error", "split_variance", "squares_about_mean"]


def mean_error(
    variance_between: float, variance_within: float, n_cases: int, n_repeats: float
) -> float:
    """Return the standard error of a mean over cases and repeats.

    Its square is (variance_between + variance_within / n_repeats) / n_cases: more repeats help
    until the second part is small against the first, only more cases lower the first.

    Parameters
    ----------
    variance_between, variance_within : as `variance_split` gives them
    n_cases : at least 1
    n_repeats : of each case, at least 1; `math.inf` for the floor

    References
    ----------
    Miller (2024), arXiv:2411.00640.

    Examples
    --------
    >>> mean_error(0.09, 0.16, 25, 1), mean_error(0.09, 0.16, 25, float("inf"))
    (0.1, 0.06)
    """
    if n_cases < 1 or n_repeats < 1:
        raise ValueError(
            f"`n_cases` and `n_repeats` must be at least 1. Got {n_cases} and {n_repeats}."
        )
    return math.sqrt((variance_between + variance_within / n_repeats) / n_cases)


@dataclass(frozen=True)
class VarianceSplit:
    """Variance between and within items: mean squares, and repeats an item."""

    between: float
    within: float
    n_items: int
    n_values: int
    repeats: float

    @property
    def variance_between(self) -> float:
        """Return the variance of the items' true means, 0 where it would be negative."""
        return max(0.0, (self.between - self.within) / self.repeats)

    @property
    def icc(self) -> float:
        """Return ICC(1), which may be negative."""
        return self._icc(self.between / self.within) if self.within else 1.0

    def interval(self) -> tuple[float, float]:
        """Return the 95% interval of the ICC."""
        from scipy.stats import f

        if not self.within:
            return 1.0, 1.0
        ratio, above = self.between / self.within, self.n_items - 1
        below = self.n_values - self.n_items
        low = ratio / float(f.ppf(0.975, above, below))
        high = ratio * float(f.ppf(0.975, below, above))
        return self._icc(low), self._icc(high)

    def _icc(self, ratio: float) -> float:
        return (ratio - 1) / (ratio + self.repeats - 1)


def split_variance(groups: Sequence[np.ndarray]) -> VarianceSplit:
    """Return the mean squares of two groups or more.

    Raises
    ------
    ValueError
        If there are fewer than two groups.
    """
    if len(groups) < 2:
        raise ValueError(f"variance is split between two groups or more. Got {len(groups)}.")
    values = np.concatenate(groups)
    sizes = np.array([len(group) for group in groups])
    means = np.array([group.mean() for group in groups])
    total, n_items = int(sizes.sum()), len(groups)
    varies = values.min() < values.max()
    between = float((sizes * (means - values.mean()) ** 2).sum()) / (n_items - 1) if varies else 0.0
    within = math.fsum(map(squares_about_mean, groups)) / (total - n_items)
    repeats = (total - float((sizes**2).sum()) / total) / (n_items - 1)
    return VarianceSplit(between, within, n_items, total, repeats)


def squares_about_mean(values: np.ndarray) -> float:
    """Return the sum of squares about the mean, just 0 where no value differs from another."""
    if values.min() == values.max():
        return 0.0
    return float(((values - values.mean()) ** 2).sum())

"""Cohen's kappa of tables of counts: estimates by the thousand, standard error, intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from evalnb.stats.estimates import Estimate

if TYPE_CHECKING:
    from evalnb.stats.scales import PairedRatings, Weights

__all__ = ["KappaTable", "Method", "disagreement_upper", "kappas"]

Method: TypeAlias = Literal["fisher_t", "fisher_z", "wald", "bootstrap"]

_Z_975 = 1.959963984540054
_NO_ERROR = 1e-9
"""A standard error below this is one of 0."""


def kappas(
    counts: np.ndarray, first: np.ndarray, second: np.ndarray, disagreement: np.ndarray
) -> np.ndarray:
    """Return kappa of each row of counts.

    Parameters
    ----------
    counts : table x pattern
    first, second : levels of each pattern, by position
    disagreement : level x level, as `Scale.disagreement` gives it

    Returns
    -------
    1 - observed / expected disagreement; NaN where no disagreement is expected
        Sums are of whole numbers: kappa of a constant rater is 0 and no rounding error.
    """
    size = len(disagreement)
    rows, columns = counts @ np.eye(size)[first], counts @ np.eye(size)[second]
    observed = counts @ disagreement[first, second]
    expected = ((rows @ disagreement) * columns).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(expected > 0, 1 - counts.sum(axis=1) * observed / expected, np.nan)


def disagreement_upper(n: int, level: float = 0.975) -> float:
    """Return the upper bound of the rate of what was seen in none of `n` items.

    References
    ----------
    Clopper & Pearson (1934), Biometrika 26(4), doi:10.1093/biomet/26.4.404.

    Examples
    --------
    >>> round(disagreement_upper(20), 6)
    0.168433
    """
    return float(1 - (1 - level) ** (1 / n))


@dataclass(frozen=True)
class KappaTable:
    """A table of counts of two raters with how much each of its cells disagrees.

    Attributes
    ----------
    counts : level x level, of two items or more and of two levels or more
    disagreement : level x level, 1 for neighbours
    """

    counts: np.ndarray
    disagreement: np.ndarray

    @classmethod
    def of(cls, pairs: PairedRatings, weights: Weights) -> KappaTable:
        """Make the table of two raters."""
        return cls(pairs.table, pairs.scale.disagreement(weights))

    @property
    def n(self) -> int:
        """Number of items."""
        return int(self.counts.sum())

    @property
    def kappa(self) -> float:
        """Kappa; NaN where both raters use one same level."""
        first, second = np.indices(self.counts.shape).reshape(2, -1)
        return float(kappas(self.counts.reshape(1, -1), first, second, self.disagreement)[0])

    @property
    def expected_disagreement(self) -> float:
        """Mean disagreement by chance, in steps between neighbours."""
        rows, columns = self.counts.sum(axis=1), self.counts.sum(axis=0)
        return float(rows @ self.disagreement @ columns) / self.n**2

    @property
    def is_perfect(self) -> bool:
        """Whether the raters agree on every item."""
        return not (self.counts * self.disagreement).any()

    @property
    def standard_error(self) -> float:
        """Standard error for many items, by Fleiss, Cohen & Everitt."""
        shares = self.counts / self.n
        weights = 1 - self.disagreement / self.disagreement.max()
        rows, columns = shares.sum(axis=1), shares.sum(axis=0)
        observed = float((weights * shares).sum())
        expected = float(rows @ weights @ columns)
        means = (weights @ columns)[:, None] + (rows @ weights)[None, :]
        squares = shares * (weights * (1 - expected) - means * (1 - observed)) ** 2
        variance = float(squares.sum()) - (observed * expected - 2 * expected + observed) ** 2
        return math.sqrt(max(variance, 0.0) / self.n) / (1 - expected) ** 2

    def interval(self, method: Method) -> Estimate:
        """Return kappa with an analytic interval, undefined where the standard error is 0."""
        kappa, error = self.kappa, self.standard_error
        if error < _NO_ERROR or not -1 < kappa < 1:
            return Estimate(kappa, None, None)
        if method == "wald":
            return Estimate(kappa, kappa - _Z_975 * error, kappa + _Z_975 * error)
        centre, half = math.atanh(kappa), self._quantile(method) * error / (1 - kappa**2)
        return Estimate(kappa, math.tanh(centre - half), math.tanh(centre + half))

    def perfect_interval(self, n_units: int) -> Estimate:
        """Return the interval where all items agree: the disagreements that may have been missed.

        Parameters
        ----------
        n_units : how many items, or clusters of items, agree
            The bound of their rate times a disagreement between neighbours.
        """
        low = 1 - disagreement_upper(n_units) / self.expected_disagreement
        return Estimate(1.0, max(low, -1.0), 1.0)

    def _quantile(self, method: Method) -> float:
        from scipy.special import stdtrit

        return float(stdtrit(self.n - 1, 0.975)) if method == "fisher_t" else _Z_975

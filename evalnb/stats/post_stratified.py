"""Pass rates from counts of cells: cases, and what labels say of some of them.

Arrays have the axes (…, strata, verdicts): a cell is a stratum and a verdict of the judge. Labels
tell the pass rate within each cell, all cases tell how large each cell is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from evalnb.stats.values import Floats

__all__ = ["DRAWS", "Cells"]

DRAWS = 100_000

_LEAST_PART = 1e-3  # of a prior, so that a cell without cases has one too


@dataclass(frozen=True)
class Cells:
    """Counts by stratum and verdict.

    Attributes
    ----------
    cases : shape (…, strata, verdicts), number of cases of each cell
    passes, fails : the same shape, number of its labels that say so
    weights : shape (strata,), known shares of the strata; None where their counts of cases tell
    """

    cases: Floats
    passes: Floats
    fails: Floats
    weights: Floats | None = None

    def rate(self) -> Floats:
        """Return the pass rate: the sum over cells of share times rate; NaN without a label.

        Returns
        -------
        shape (…); a cell without cases needs no label
        """
        shares = self.shares()
        rate: Floats = np.where(shares > 0, shares * self._rates(), 0.0).sum((-2, -1))
        return rate

    def error(self, *, drawn: bool) -> Floats:
        """Return the standard error of `rate` by the delta method.

        Parameters
        ----------
        drawn : whether the cases are a sample themselves, so that the shares vary too
        """
        shares, rates = self.shares(), self._rates()
        spread = np.where(shares > 0, shares**2 * rates * (1 - rates) / self._labels(), 0.0)
        variance: Floats = spread.sum((-2, -1))
        return np.sqrt(variance + self._variance_of_shares() if drawn else variance)

    def interval(
        self, rng: np.random.Generator, *, drawn: bool, draws: int = DRAWS
    ) -> tuple[Floats, Floats]:
        """Return the 95% interval of `rate`.

        The shares, where `drawn`, and the rates are drawn from their posteriors; the limits are
        quantiles of the sum. They always enclose `rate`. The priors are Jeffreys': half a pass and
        half a fail for each verdict, which its cells divide by their sizes. Half of each for
        every cell would, with many strata, outweigh the labels.

        Parameters
        ----------
        rng : draws from it
        drawn : as in `error`
        draws : how many
        """
        prior = self._prior()
        size = (draws, *self.passes.shape)
        rates = rng.beta(self.passes + prior, self.fails + prior, size=size)
        shares = self._drawn_shares(rng, draws) if drawn else self.shares()
        low, high = np.quantile((shares * rates).sum((-2, -1)), [0.025, 0.975], axis=0)
        rate = self.rate()
        return np.fmin(low, rate), np.fmax(high, rate)

    def shares(self) -> Floats:
        """Return the share of all that each cell is."""
        strata = self.cases.sum(-1, keepdims=True)
        within = self.cases / np.where(strata > 0, strata, 1)
        return within * self._stratum_shares()[..., None]

    def without_labels(self) -> np.ndarray:
        """Tell which cells have cases and no label."""
        lacking: np.ndarray = (self.shares() > 0) & (self._labels() == 0)
        return lacking

    def _stratum_shares(self) -> Floats:
        if self.weights is not None:
            return self.weights
        strata: Floats = self.cases.sum(-1)
        shares: Floats = strata / strata.sum(-1, keepdims=True)
        return shares

    def _labels(self) -> Floats:
        return self.passes + self.fails

    def _rates(self) -> Floats:
        labels = self._labels()
        rates = np.full(labels.shape, np.nan)
        np.divide(self.passes, labels, out=rates, where=labels > 0)
        return rates

    def _variance_of_shares(self) -> Floats:
        """Return the variance that the counts of cases add to the sum."""
        shares = self.shares()
        rates = np.where(shares > 0, self._rates(), 0.0)
        strata: Floats = self.cases.sum(-1)
        variance: Floats
        if self.weights is None:
            mean = (shares * rates).sum((-2, -1))
            variance = ((shares * rates**2).sum((-2, -1)) - mean**2) / strata.sum(-1)
        else:
            within = self.cases / strata[..., None]
            mean = (within * rates).sum(-1)
            each = ((within * rates**2).sum(-1) - mean**2) / strata
            variance = (self.weights**2 * each).sum(-1)
        return np.maximum(variance, 0.0)  # rounding may leave a little below 0

    def _prior(self) -> Floats:
        """Return the passes, and the fails, that each cell starts from."""
        shares = self.shares()
        verdicts = np.broadcast_to(shares.sum(-2, keepdims=True), shares.shape)
        part = np.full(shares.shape, 1 / shares.shape[-2])  # of a verdict that was never given
        np.divide(shares, verdicts, out=part, where=verdicts > 0)
        prior: Floats = 0.5 * np.maximum(part, _LEAST_PART)
        return prior

    def _drawn_shares(self, rng: np.random.Generator, draws: int) -> Floats:
        strata = np.maximum(self.shares().sum(-1, keepdims=True), _LEAST_PART)
        within = _dirichlet(rng, self.cases + 0.5 * strata, draws)
        if self.weights is not None:
            return within * self.weights[:, None]
        counts: Floats = self.cases.sum(-1)
        return within * _dirichlet(rng, counts + 0.5 / counts.shape[-1], draws)[..., None]


def _dirichlet(rng: np.random.Generator, counts: Floats, draws: int) -> Floats:
    """Draw shares along the last axis, which add up to 1."""
    if counts.shape[-1] == 1:
        return np.ones((draws, *counts.shape))
    gammas = rng.standard_gamma(counts, size=(draws, *counts.shape))
    shares: Floats = gammas / gammas.sum(-1, keepdims=True)
    return shares

"""Prediction-powered inference: a mean from verdicts on all cases and labels of some.

Arrays hold cases on their last axis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from evalnb.stats.estimates import Z_975

if TYPE_CHECKING:
    from evalnb.stats.values import Floats

__all__ = ["Interval", "PredictionPowered", "StratumMeans", "tuned_lambda"]

Interval: TypeAlias = Literal["t", "normal"]


@dataclass(frozen=True)
class PredictionPowered:
    """The mean lam * mean(unlabelled) + mean(labels - lam * judged), and its error.

    Attributes
    ----------
    labels : shape (…, n), what people say of the labelled cases
    judged : shape (…, n), what the judge says of them
    unlabelled : shape (…, n_unlabelled), what the judge says of the other cases
    lam : how far the judge is followed; 0 leaves the labels alone
    """

    labels: Floats
    judged: Floats
    unlabelled: Floats
    lam: Any = 1.0

    def mean(self) -> Floats:
        """Return the estimate, shape (…)."""
        rest: Floats = (self.labels - _column(self.factor) * self.judged).mean(-1)
        return rest + self.factor * self.unlabelled.mean(-1) if self._n_unlabelled > 1 else rest

    def variance(self, *, ddof: int = 1) -> Floats:
        """Return lam^2 var(unlabelled) / n_unlabelled + var(labels - lam judged) / n, shape (…)."""
        found = _spread(self.labels - _column(self.factor) * self.judged, ddof)
        if self._n_unlabelled > 1:
            found = found + np.square(self.factor) * _spread(self.unlabelled, ddof)
        return found

    @property
    def factor(self) -> Any:
        """Return `lam`, or 0 below two unlabelled cases, for the judge has little to tell then."""
        return self.lam if self._n_unlabelled > 1 else 0.0

    @property
    def _n_unlabelled(self) -> int:
        return int(self.unlabelled.shape[-1])


@dataclass(frozen=True)
class StratumMeans:
    """Means of strata, to be summed by their shares.

    Attributes
    ----------
    shares, means, variances, sizes : shape (strata,); variances of the means, number of labels
    n_drawn : of how many cases the shares are, where these are a sample; None for known shares
    """

    shares: Floats
    means: Floats
    variances: Floats
    sizes: np.ndarray
    n_drawn: int | None

    def row(self, interval: Interval, low: float, high: float) -> dict[str, Any]:
        """Return estimate, interval, se and why there is none, cut to a range."""
        used = self.shares > 0
        if not used.any() or np.isnan(self.means[used]).any():
            return {"reason": "too_few"}
        shares, means, sizes = self.shares[used], self.means[used], self.sizes[used]
        mean = float(shares @ means)
        cut = min(max(mean, low), high)
        row = {"estimate": cut, "warnings": None if cut == mean else ["outside_range"]}
        parts = shares**2 * self.variances[used]
        total = float(parts.sum())
        if math.isnan(total):
            return {**row, "reason": "too_few"}
        between = float(shares @ (means - mean) ** 2) / self.n_drawn if self.n_drawn else 0.0
        se = math.sqrt(total + between)
        if se < 1e-12 * (1 + abs(mean)):
            return {**row, "reason": "no_variance"}
        half = se * (Z_975 if interval == "normal" else _t(parts, sizes - 1))
        ends = min(max(mean - half, low), cut), max(min(mean + half, high), cut)
        return {**row, "ci_low": ends[0], "ci_high": ends[1], "se": se}


def _t(parts: Floats, degrees: np.ndarray) -> float:
    """Return the quantile of t for a sum of variances, each with its degrees of freedom."""
    from scipy.special import stdtrit

    total = float(parts.sum())
    return float(
        stdtrit(total**2 / float((parts**2 / degrees).sum()) if total else degrees.sum(), 0.975)
    )


def tuned_lambda(labels: Floats, judged: Floats, unlabelled: Floats) -> Floats:
    """Return the lambda of least estimated variance, cut to [0, 1].

    Parameters
    ----------
    labels, judged, unlabelled : as in `PredictionPowered`

    Returns
    -------
    cov(labels, judged) / ((1 + n / n_unlabelled) var(judged and unlabelled)), shape (…)
        0 for a constant judge, or without unlabelled cases. The covariance is divided by n, the
        variance by one less than its number of cases, as in ppi-python.

    References
    ----------
    Angelopoulos, Duchi & Zrnic (2023), arXiv:2311.01453.
    """
    n, n_unlabelled = labels.shape[-1], unlabelled.shape[-1]
    if not n_unlabelled:
        return np.zeros(labels.shape[:-1])
    apart = labels - labels.mean(-1, keepdims=True)
    covariance = (apart * (judged - judged.mean(-1, keepdims=True))).mean(-1)
    variance = np.concatenate([judged, unlabelled], axis=-1).var(-1, ddof=1)
    scale = (1 + n / n_unlabelled) * variance
    ratio = np.divide(covariance, scale, out=np.zeros_like(covariance), where=variance > 0)
    lam: Floats = np.clip(ratio, 0.0, 1.0)
    return lam


def _column(lam: Any) -> Any:
    """Make a lambda for each sample fit the axis of cases."""
    return lam if np.ndim(lam) == 0 else np.asarray(lam)[..., None]


def _spread(values: Floats, ddof: int) -> Floats:
    """Return the variance of the mean; NaN for a single value, of which nothing is known."""
    n = values.shape[-1]
    if n < 2:
        return np.full(values.shape[:-1], math.nan)
    spread: Floats = values.var(-1, ddof=ddof) / n
    return spread

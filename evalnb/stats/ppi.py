"""Prediction-powered inference: a mean from verdicts on all cases and labels of some.

Arrays hold cases on their last axis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from evalnb.stats.values import Floats

__all__ = ["Interval", "PredictionPowered", "tuned_lambda"]

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
        rest = (self.labels - _column(self.lam) * self.judged).mean(-1)
        return rest if not self._n_unlabelled else self.lam * self.unlabelled.mean(-1) + rest

    def variance(self, *, ddof: int = 1) -> Floats:
        """Return lam^2 var(unlabelled) / n_unlabelled + var(labels - lam judged) / n, shape (…)."""
        found = _spread(self.labels - _column(self.lam) * self.judged, ddof)
        if self._n_unlabelled:
            found = found + np.square(self.lam) * _spread(self.unlabelled, ddof)
        return found

    @property
    def _n_unlabelled(self) -> int:
        return self.unlabelled.shape[-1]


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
    return np.clip(ratio, 0.0, 1.0)


def _column(lam: Any) -> Any:
    """Make a lambda for each sample fit the axis of cases."""
    return lam if np.ndim(lam) == 0 else np.asarray(lam)[..., None]


def _spread(values: Floats, ddof: int) -> Floats:
    """Return the variance of the mean; NaN for a single value, of which nothing is known."""
    n = values.shape[-1]
    if n < 2:
        return np.full(values.shape[:-1], math.nan)
    return values.var(-1, ddof=ddof) / n

"""A share of answers, where an item may have several: its interval, its bound, its p."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from evalnb.stats.estimates import Estimate, t_quantile, wilson

__all__ = ["Share", "spread"]

_CLOSE = 1e-9
_LEVEL = 0.05


@dataclass(frozen=True)
class Share:
    """A mean of values in [0, 1], and how many independent answers tell as much.

    Attributes
    ----------
    mean : the share
    size : the effective number of answers, from the number of items to that of answers
        Korn & Graubard (1998), Survey Methodology 24(2): what the spread over items leaves of the
        number, less for few items. Where nothing varies it is the number of items.
    n : the number of answers
    """

    mean: float
    size: float
    n: int

    @classmethod
    def of(cls, values: np.ndarray, items: np.ndarray) -> Share:
        """Return the share of some answers.

        Parameters
        ----------
        values : in [0, 1], not empty
        items : what each answer is of
        """
        n, mean, n_items = len(values), float(values.mean()), len(set(items))
        return cls(mean, _effective_size(values, items, n_items), n)

    def wilson(self) -> Estimate:
        """Return the 95% interval of Wilson."""
        return wilson(self.mean * self.size, self.size)

    def upper(self) -> float:
        """Return the one-sided 95% upper bound of Clopper and Pearson.

        Examples
        --------
        >>> round(Share(0.0, 29, 29).upper(), 3)  # 1 - 0.05^(1/29)
        0.098
        """
        from scipy.stats import beta

        hits = self.mean * self.size
        if hits > self.size - _CLOSE:
            return 1.0
        return float(beta.ppf(1 - _LEVEL, hits + 1, self.size - hits))

    def p_above(self, rate: float) -> float:
        """Return the p of a true share of `rate` or less: binomial, on the effective number.

        Examples
        --------
        >>> round(Share(0.3, 10, 10).p_above(0.05), 4)  # three or more of ten at 5% each
        0.0115
        """
        from scipy.stats import beta

        hits = self.mean * self.size
        if hits < _CLOSE:
            return 1.0
        return float(beta.cdf(rate, hits, self.size - hits + 1))


def spread(centred: np.ndarray, items: np.ndarray) -> float:
    """Return the sum over items of the squares of their sums."""
    codes, _ = pd.factorize(items)
    return float((np.bincount(codes, weights=centred) ** 2).sum())


def _effective_size(values: np.ndarray, items: np.ndarray, n_items: int) -> float:
    n, mean = len(values), float(values.mean())
    if n == n_items:
        return n
    around = spread(values - mean, items)
    if n_items < 2 or mean in {0.0, 1.0}:
        return n_items
    if around < _CLOSE:
        return n
    variance = n_items / (n_items - 1) * around / n**2
    few = (t_quantile(n - 1) / t_quantile(n_items - 1)) ** 2
    return min(max(few * mean * (1 - mean) / variance, n_items), n)

"""Wald's sequential test, for where both rates are known in advance, as in smoke tests."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.stats.values import Floats, flags

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

__all__ = ["Sprt", "sprt"]


@dataclass(frozen=True)
class Sprt:
    """A sequential test of two rates.

    Attributes
    ----------
    upper, lower : bounds of the log likelihood ratio; from `upper` on the lower rate is taken, from
        `lower` down the higher one
    log_ratios : after each flag
    """

    upper: float
    lower: float
    log_ratios: Floats

    @property
    def stopped_at(self) -> int | None:
        """Number of flags after which it ends, None while it goes on."""
        outside = (self.log_ratios >= self.upper) | (self.log_ratios <= self.lower)
        return int(outside.argmax()) + 1 if outside.any() else None


def sprt(
    passes: Sequence[Any] | pd.Series | np.ndarray,
    *,
    good: float,
    bad: float,
    alpha: float = 0.05,
    beta: float = 0.10,
) -> Sprt:
    """Test pass flags as they come: a good rate against a bad one.

    Parameters
    ----------
    passes : in order
    good, bad : pass rates in (0, 1), `bad` the lower
    alpha, beta : chances to take a good system for bad, and a bad one for good

    References
    ----------
    Wald (1945), Annals of Mathematical Statistics 16(2), doi:10.1214/aoms/1177731118.

    Examples
    --------
    >>> found = sprt([False, False, False], good=0.9, bad=0.7)
    >>> round(found.upper, 4), found.stopped_at
    (2.8904, 3)
    """
    if not 0 < bad < good < 1:
        raise ValueError(f"rates must be in order, 0 < bad < good < 1. Got {bad} and {good}.")
    found = flags(passes, "passes")
    if np.isnan(found).any():
        raise ValueError("`passes` must be True or False for each case. Got NA.")
    steps = np.where(found == 1, math.log(bad / good), math.log((1 - bad) / (1 - good)))
    return Sprt(math.log((1 - beta) / alpha), math.log(beta / (1 - alpha)), np.cumsum(steps))

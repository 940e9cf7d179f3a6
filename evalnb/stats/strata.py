"""Strata that labels were drawn in, with their shares of all cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evalnb.stats.values import Floats

__all__ = ["Strata", "find_strata"]


@dataclass(frozen=True)
class Strata:
    """The stratum of each case.

    Attributes
    ----------
    codes : shape (cases,), which of `names` a case is in
    names : the strata
    weights : shape (strata,), their known shares, adding up to 1; None where the cases tell
    """

    codes: np.ndarray
    names: tuple[Any, ...]
    weights: Floats | None

    def shares(self) -> Floats:
        """Return the share of each stratum, by its weight or else by its cases."""
        if self.weights is not None:
            return self.weights
        return self.counts() / max(len(self.codes), 1)

    def counts(self, where: np.ndarray | None = None) -> Floats:
        """Return how many cases each stratum has, of those at a mask."""
        codes = self.codes if where is None else self.codes[where]
        return np.bincount(codes, minlength=len(self.names)).astype("float64")


def find_strata(
    strata: Sequence[Any] | pd.Series | np.ndarray | None,
    weights: Mapping[Any, float] | pd.Series | None,
    usable: np.ndarray,
) -> Strata:
    """Return the strata of the usable cases.

    Parameters
    ----------
    strata : a stratum a case; None where labels were drawn from all cases alike
    weights : stratum to its share of what the estimate is of; None for the shares among the cases
    usable : mask of the cases

    Raises
    ------
    ValueError
        If a case has no stratum, or the weights are not those of the strata or do not add up to 1.
    """
    if strata is None:
        if weights is not None:
            raise ValueError("`weights` are shares of strata: give the `strata` of the cases too.")
        return Strata(np.zeros(int(usable.sum()), dtype=int), ("all",), None)
    if len(strata) != len(usable):
        raise ValueError(f"`strata` must have one entry a case, {len(usable)}. Got {len(strata)}.")
    found, occurring = pd.factorize(pd.Series(strata).reset_index(drop=True)[usable])
    if (found < 0).any():
        raise ValueError("`strata` must name the stratum of each case. Got NA.")
    # In an order of their own, so that draws do not hang on the order of cases.
    order = np.array(sorted(range(len(occurring)), key=lambda i: str(occurring[i])), dtype=int)
    codes, names = np.argsort(order)[found], occurring[order]
    known = None if weights is None else _weights_of(dict(weights), names)
    return Strata(codes, tuple(names), known)


def _weights_of(weights: dict[Any, float], names: pd.Index) -> Floats:
    if set(weights) != set(names):
        apart = sorted(map(str, set(weights) ^ set(names)))
        raise ValueError(
            f"`weights` must name the strata that the cases are in, no more and no fewer. "
            f"On one side only: {', '.join(apart)}."
        )
    found: Floats = np.array([float(weights[name]) for name in names])
    if (found < 0).any() or abs(found.sum() - 1) > 1e-6:
        raise ValueError(f"`weights` must be shares that add up to 1. Got {found.tolist()}.")
    found /= found.sum()
    return found

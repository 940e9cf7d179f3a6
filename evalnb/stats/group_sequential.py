"""Looks at a run in parts: how far out a test must be at each look to keep its level over all."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np

from evalnb.stats.values import check_count

__all__ = ["Boundary", "group_sequential"]

Boundary: TypeAlias = Literal["obrien_fleming", "pocock"]

_POINTS = 1201


@lru_cache(maxsize=64)
def group_sequential(
    looks: int, *, alpha: float = 0.05, boundary: Boundary = "obrien_fleming"
) -> tuple[float, ...]:
    """Return the bounds of |z| at equally spaced looks.

    Parameters
    ----------
    looks : from 1 on, the last with all cases
    alpha : two-sided level over all looks
    boundary : {"obrien_fleming", "pocock"}
        High at first and near the fixed test at the end, or the same at each look.

    References
    ----------
    Jennison & Turnbull (2000), Group Sequential Methods, tables 2.1 and 2.3; O'Brien & Fleming
    (1979), Biometrics 35(3); Pocock (1977), Biometrika 64(2).

    Examples
    --------
    >>> [round(z, 3) for z in group_sequential(5)]
    [4.562, 3.226, 2.634, 2.281, 2.04]
    """
    from scipy.optimize import brentq

    check_count(looks, "looks", at_least=1)
    if not 0 < alpha < 1:
        raise ValueError(f"`alpha` must lie between 0 and 1. Got {alpha}.")
    if boundary not in ("obrien_fleming", "pocock"):
        raise ValueError(f"`boundary` must be obrien_fleming or pocock. Got {boundary!r}.")
    number = np.arange(1, looks + 1)
    shape = np.sqrt(looks / number) if boundary == "obrien_fleming" else np.ones(looks)
    constant = brentq(lambda c: _stays_inside(c * shape) - (1 - alpha), 0.1, 10.0, xtol=1e-10)
    return tuple(float(bound) for bound in constant * shape)


def _stays_inside(bounds: np.ndarray) -> float:
    """Return the chance that no look is outside, by integrating one step after the other.

    The sum of k parts is z_k times the root of k, and its steps are standard normal.
    """
    from scipy.integrate import simpson

    limits = bounds * np.sqrt(np.arange(1, len(bounds) + 1))
    points = np.linspace(-limits[0], limits[0], _POINTS)
    density = _normal(points)
    for limit in limits[1:]:
        following = np.linspace(-limit, limit, _POINTS)
        density = simpson(_normal(following[:, None] - points) * density, x=points, axis=1)
        points = following
    return float(simpson(density, x=points))


def _normal(values: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(-(values**2) / 2) / math.sqrt(2 * math.pi))

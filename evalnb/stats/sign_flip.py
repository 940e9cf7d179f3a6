"""The sign-flip test of the mean of paired differences.

Where nothing changed, a difference is as likely to be -d as d. What was seen is compared with all
ways to give the differences their signs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from evalnb.stats.values import Floats

__all__ = ["DRAWS", "SignFlip", "sign_flip"]

DRAWS = 10_000
"""So many patterns of signs are drawn where they cannot all be looked at."""

_MOST_ENUMERATED = 16
_TOLERANCE = 1e-9
_CHUNK = 1_000


@dataclass(frozen=True)
class SignFlip:
    """P-values of a sign-flip test.

    Attributes
    ----------
    p_less, p_greater : one-sided, small where the mean is below or above 0
    p_two_sided : small where it is apart from 0
    method : whether all patterns of signs were looked at, or how many were drawn
    """

    p_less: float
    p_greater: float
    p_two_sided: float
    method: str


def sign_flip(
    differences: Floats, codes: np.ndarray | None = None, *, seed: int = 0, draws: int = DRAWS
) -> SignFlip:
    """Test whether the mean of differences is 0.

    Exact for up to 16 differences other than 0. Else patterns of signs are drawn, and p is
    (hits + 1)/(draws + 1). Sums that rounding alone keeps apart are the same.

    Parameters
    ----------
    differences : one a case, without NaN
    codes : the cluster of each case, whose signs flip together; None for cases by themselves
    seed, draws : of the patterns drawn

    Returns
    -------
    all p are 1 where nothing differs

    References
    ----------
    Fisher (1935), The Design of Experiments, section 21; Phipson & Smyth (2010), Statistical
    Applications in Genetics and Molecular Biology 9(1), doi:10.2202/1544-6115.1585.

    Examples
    --------
    >>> sign_flip(np.array([-3.0, -1.0, -1.0, 0.0])).p_less  # one of eight
    0.125
    """
    codes = np.arange(len(differences)) if codes is None else codes
    sums = np.bincount(codes, weights=differences).astype("float64")
    tolerance = _TOLERANCE * float(np.abs(sums).max(initial=0.0))
    sums = sums[np.abs(sums) > tolerance]
    if not len(sums):
        return SignFlip(1.0, 1.0, 1.0, "sign flip, exact")
    if len(sums) <= _MOST_ENUMERATED:
        patterns = np.arange(1 << len(sums))[:, None] >> np.arange(len(sums))
        return SignFlip(
            *_shares((1 - 2 * (patterns & 1)) @ sums, sums, tolerance, 0), "sign flip, exact"
        )
    rng = np.random.default_rng(seed)
    parts = [min(_CHUNK, draws - start) for start in range(0, draws, _CHUNK)]
    drawn = [(1 - 2 * rng.integers(0, 2, size=(part, len(sums)))) @ sums for part in parts]
    method = f"sign flip, {draws:,} draws"
    return SignFlip(*_shares(np.concatenate(drawn), sums, tolerance, 1), method)


def _shares(
    flipped: Floats, sums: Floats, tolerance: float, more: int
) -> tuple[float, float, float]:
    """Return how many sums are at least as far out: below, above and either way."""
    seen, total = float(sums.sum()), len(flipped) + more
    less = int((flipped <= seen + tolerance).sum()) + more
    greater = int((flipped >= seen - tolerance).sum()) + more
    either = int((np.abs(flipped) >= abs(seen) - tolerance).sum()) + more
    return less / total, greater / total, either / total

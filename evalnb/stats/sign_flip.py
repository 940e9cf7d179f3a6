"""The sign-flip test of the mean of paired differences.

Where nothing changed, a difference is as likely to be -d as d. What was seen is compared with all
ways to give the differences their signs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from evalnb.stats.values import Floats

__all__ = ["DRAWS", "SignFlip", "sign_flip", "sign_flips"]

DRAWS = 10_000
"""So many patterns of signs are drawn where they cannot all be looked at."""

_MOST_ENUMERATED = 16
_MOST_STEPS = 50_000
_TOLERANCE = 1e-9
_DUST = 1e-12
_SMALLEST = 1e-12
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
    """Test whether the mean of differences is 0; see `sign_flips`.

    Parameters
    ----------
    differences : one a case, without NaN
    codes : the cluster of each case, whose signs flip together; None for cases by themselves
    seed, draws : of the patterns drawn

    Examples
    --------
    >>> sign_flip(np.array([-3.0, -1.0, -1.0, 0.0])).p_less  # one of eight
    0.125
    """
    codes = np.arange(len(differences)) if codes is None else codes
    sums: Floats = np.bincount(codes, weights=differences).astype("float64")
    return sign_flips(sums[:, None], seed=seed, draws=draws)[0]


def sign_flips(sums: Floats, *, seed: int = 0, draws: int = DRAWS) -> list[SignFlip]:
    """Test for several sets of differences whether their mean is 0.

    Exact for up to 16 differences other than 0, and for any number of them that are multiples of
    one step, as means of passes over repeats are. Else patterns of signs are drawn, the same for
    all sets, and p is (hits + 1)/(draws + 1). Sums that rounding alone keeps apart are the same.

    Parameters
    ----------
    sums : shape (units, sets), the sum of differences in each case or cluster; 0 where a set has
        no such unit
    seed, draws : of the patterns drawn

    Returns
    -------
    one a set; all p are 1 where nothing differs

    References
    ----------
    Fisher (1935), The Design of Experiments, section 21; Phipson & Smyth (2010), Statistical
    Applications in Genetics and Molecular Biology 9(1), doi:10.2202/1544-6115.1585.
    """
    columns = [_without_zeros(column) for column in sums.T]
    found = [_exact(column) for column in columns]
    left = [number for number, result in enumerate(found) if result is None]
    if left:
        drawn = _drawn(sums[:, left], seed, draws)
        for number, result in zip(left, drawn, strict=True):
            found[number] = result
    return [result for result in found if result is not None]


def _without_zeros(values: Floats) -> Floats:
    largest = np.abs(values).max(initial=0.0)
    return values[np.abs(values) > max(_DUST, _TOLERANCE * largest)]


def _exact(values: Floats) -> SignFlip | None:
    if not len(values):
        return SignFlip(1.0, 1.0, 1.0, "sign flip, exact")
    if len(values) <= _MOST_ENUMERATED:
        return _of_sums(_all_sums(values), float(values.sum()), _tolerance(values))
    steps = _steps(np.abs(values))
    return None if steps is None else _of_steps(steps, np.sign(values))


def _tolerance(values: Floats) -> float:
    return _TOLERANCE * min(1.0, float(np.abs(values).max()))


def _all_sums(values: Floats) -> Floats:
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums - value, sums + value])
    return sums


def _of_sums(sums: Floats, seen: float, tolerance: float) -> SignFlip:
    return SignFlip(
        float((sums <= seen + tolerance).mean()),
        float((sums >= seen - tolerance).mean()),
        float((np.abs(sums) >= abs(seen) - tolerance).mean()),
        "sign flip, exact",
    )


def _steps(sizes: Floats) -> np.ndarray | None:
    """Return sizes as multiples of their largest common step, None where that is too small."""
    least = float(sizes.sum()) / _MOST_STEPS
    step = 0.0
    for size in np.unique(sizes):
        step = _common_step(float(size), step, _TOLERANCE * float(sizes.max()))
        if step < least:
            return None
    multiples = sizes / step
    whole = np.rint(multiples)
    return whole.astype(int) if np.abs(multiples - whole).max() < 1e-6 else None


def _common_step(one: float, other: float, tolerance: float) -> float:
    """Return the largest number that both are multiples of, by Euclid's algorithm."""
    while other > tolerance:
        one, other = other, abs(one - round(one / other) * other)
    return one


def _of_steps(steps: np.ndarray, signs: Floats) -> SignFlip:
    """Return p-values from the whole distribution of the sum.

    The sum of s_i z_i has the characteristic function of the product of cos(z_i t).
    """
    total, seen = int(steps.sum()), int((steps * signs).sum())
    length = 2 * total + 1
    angles = 2 * math.pi / length * np.arange(total + 1)
    spectrum = np.ones(total + 1)
    for size, count in zip(*np.unique(steps, return_counts=True), strict=True):
        spectrum *= np.cos(angles * size) ** count
    shares = np.fft.irfft(spectrum, n=length)
    # At 0 comes the sum 0, then 1, 2, ..., total; what is below 0 is the same again.
    above = float(shares[abs(seen) : total + 1].sum())
    least = max(_SMALLEST, 0.5 ** len(steps))
    tail = min(max(above, least), 1.0)
    other = min(max(1 - above + float(shares[abs(seen)]), least), 1.0)
    less, greater = (tail, other) if seen < 0 else (other, tail)
    two_sided = 1.0 if seen == 0 else min(2 * tail, 1.0)
    return SignFlip(less, greater, two_sided, "sign flip, exact")


def _drawn(sums: Floats, seed: int, draws: int) -> list[SignFlip]:
    rng = np.random.default_rng(seed)
    seen = sums.sum(axis=0)
    tolerance = np.array([_tolerance(column) for column in sums.T])
    hits = np.zeros((3, sums.shape[1]))
    for start in range(0, draws, _CHUNK):
        drawn = _signs(rng, min(_CHUNK, draws - start), len(sums)) @ sums
        hits[0] += (drawn <= seen + tolerance).sum(axis=0)
        hits[1] += (drawn >= seen - tolerance).sum(axis=0)
        hits[2] += (np.abs(drawn) >= np.abs(seen) - tolerance).sum(axis=0)
    shares = (hits + 1) / (draws + 1)
    method = f"sign flip, {draws:,} draws"
    return [SignFlip(less, more, both, method) for less, more, both in shares.T.tolist()]


def _signs(rng: np.random.Generator, n: int, units: int) -> Floats:
    bits = np.unpackbits(np.frombuffer(rng.bytes(-(-n * units // 8)), dtype=np.uint8))
    return np.asarray(bits[: n * units].reshape(n, units) * 2.0 - 1.0, dtype="float64")

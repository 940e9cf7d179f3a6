"""The sign-flip test of whole numbers, exact for any number of cases."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evalnb.stats.values import Floats

__all__ = ["signed_sum_p", "smallest_p"]

_NEGLIGIBLE = 1e-60


def signed_sum_p(differences: Iterable[int] | np.ndarray) -> float:
    """Return the two-sided p-value that differences of whole numbers have either sign alike.

    All ways to give the differences their signs are looked at, by adding up how often each size
    occurs; so p is exact however many there are. Where all differences are of one size it is
    McNemar's exact test.

    Parameters
    ----------
    differences : whole numbers, one a case; zeros have no part

    Returns
    -------
    in (0, 1]; 1 where nothing differs or the sum is 0

    Raises
    ------
    ValueError
        If one is no whole number.

    References
    ----------
    Fisher (1935), The Design of Experiments, section 21; the distribution by convolution as in
    Pagano & Tritchler (1983), Journal of the American Statistical Association 78(382).

    Examples
    --------
    >>> signed_sum_p([3, 1, 1, 0])  # two patterns of eight are as far out
    0.25
    >>> round(signed_sum_p([1] * 13), 6)  # 2 / 2^13
    0.000244
    """
    values = np.asarray(
        list(differences) if not isinstance(differences, np.ndarray) else differences
    )
    if values.size == 0:
        return 1.0
    if not np.issubdtype(values.dtype, np.integer):
        raise ValueError(f"`differences` must be whole numbers. Got dtype {values.dtype}.")
    seen = abs(int(values.sum()))
    if seen == 0:
        return 1.0
    sizes, counts = np.unique(np.abs(values[values != 0]), return_counts=True)
    divisor = int(np.gcd.reduce(sizes))
    return _p(tuple((sizes // divisor).tolist()), tuple(counts.tolist()), seen // divisor)


def smallest_p(n: int) -> float:
    """Return the smallest two-sided p-value that so many differing cases can give: 2^(1 - n)."""
    return 2.0 ** (1 - n) if n else 1.0


@lru_cache(maxsize=65_536)
def _p(sizes: tuple[int, ...], counts: tuple[int, ...], seen: int) -> float:
    """Add up how likely sums at least as far out are; both tails are alike."""
    total = sum(size * count for size, count in zip(sizes, counts, strict=True))
    start, weights = 0, np.ones(1)
    for size, count in zip(sizes, counts, strict=True):
        first, likely = _binomial(count)
        spread = np.zeros((len(likely) - 1) * size + 1)
        spread[::size] = likely
        start += first * size
        weights = np.convolve(weights, spread)
    # The sum is 2 * positive - total, so that it is at least `seen` from here on.
    lowest = (seen + total + 1) // 2
    tail = float(weights[max(lowest - start, 0) :].sum())
    return min(1.0, max(2.0 * tail, np.finfo(float).tiny))


@lru_cache(maxsize=4_096)
def _binomial(n: int) -> tuple[int, Floats]:
    """Return how likely each number of heads is, without ends that have no weight."""
    # Whole numbers of any length, so that nothing is lost far out.
    ways, coefficient = [], 1
    for heads in range(n + 1):
        ways.append(coefficient)
        coefficient = coefficient * (n - heads) // (heads + 1)
    likely = np.array([number / (1 << n) for number in ways])
    kept = np.flatnonzero(likely > min(_NEGLIGIBLE, float(likely.max()) / 2))
    return int(kept[0]), likely[kept[0] : kept[-1] + 1]

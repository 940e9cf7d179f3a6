"""Near-duplicates among many texts, by MinHash and then exactly."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evalnb.curation.candidates.vectors import gram_sets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["THRESHOLD", "Pair", "chance_found", "duplicate_pairs", "jaccard"]

THRESHOLD = 0.8
"""From this share of common n-grams on, two texts are near-duplicates."""

_ROWS, _BANDS = 5, 25
_LARGE = 30
_SEED = 20260301
_PRIME_MIX = np.uint64(0x9E3779B97F4A7C15)


class Pair(NamedTuple):
    """Positions of two texts, `first` below `second`, and the share of n-grams they have in common."""

    first: int
    second: int
    similarity: float


def duplicate_pairs(texts: Sequence[str], threshold: float = THRESHOLD) -> list[Pair]:
    """Return the pairs of texts that are near-duplicates.

    Their sets of character 3- to 5-grams have a Jaccard similarity of at least `threshold`. Pairs
    are found by MinHash with 25 bands of 5 hashes, which overlooks one in 20,000 at 0.8
    (`chance_found`), and then compared exactly, up to collisions among 2^20 hashed n-grams.

    Parameters
    ----------
    texts : any
    threshold : in (0, 1]

    References
    ----------
    Broder (1997), On the resemblance and containment of documents.

    Examples
    --------
    >>> duplicate_pairs(["Where is my order?", "where is  my order", "Cancel it."])
    [Pair(first=0, second=1, similarity=0.8333333333333334)]
    """
    if not texts:
        return []
    sets = gram_sets(texts)
    found = (
        Pair(first, second, jaccard(sets, first, second)) for first, second in _suspected(sets)
    )
    return [pair for pair in found if pair.similarity >= threshold]


def chance_found(similarity: float) -> float:
    """Return the chance that MinHash suspects a pair of this Jaccard similarity.

    Examples
    --------
    >>> round(1 / (1 - chance_found(0.8)), -3)
    20000.0
    """
    return float(1 - (1 - similarity**_ROWS) ** _BANDS)


def jaccard(sets: Any, first: int, second: int) -> float:
    """Return the Jaccard similarity of two rows of `gram_sets`."""
    one = sets.indices[sets.indptr[first] : sets.indptr[first + 1]]
    other = sets.indices[sets.indptr[second] : sets.indptr[second + 1]]
    common = len(np.intersect1d(one, other, assume_unique=True))
    either = len(one) + len(other) - common
    return common / either if either else 1.0


def _suspected(sets: Any) -> list[tuple[int, int]]:
    pairs: set[tuple[int, int]] = set()
    hashed = _mixed(sets.indices.astype(np.uint64))
    salts = np.random.default_rng(_SEED).integers(
        1, 2**63, size=(_BANDS, _ROWS), dtype=np.uint64, endpoint=False
    )
    for band in salts:
        signature = np.column_stack([_smallest(hashed, sets.indptr, salt) for salt in band])
        pairs.update(_equal_rows(signature))
    return sorted(pairs)


def _mixed(values: np.ndarray) -> np.ndarray:
    """Spread numbers over 64 bits (the finalizer of splitmix64)."""
    mixed = values * _PRIME_MIX
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _smallest(hashed: np.ndarray, starts: np.ndarray, salt: np.uint64) -> np.ndarray:
    """Return the least hash of each row's set under one salt."""
    salted = ((hashed ^ salt) * (salt | np.uint64(1))) >> np.uint64(32)
    return np.minimum.reduceat(salted.astype(np.uint32), starts[:-1])


def _equal_rows(signature: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield pairs of equal rows; of a large group each with the first and with the one before it.

    Such a group is of texts that are all the same or nearly so, and the first stands for them.
    """
    _, group = np.unique(signature, axis=0, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    ordered = group.ravel()[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    for start, end in zip(starts, np.r_[starts[1:], len(order)], strict=True):
        members = order[start:end].tolist()
        if len(members) <= _LARGE:
            yield from combinations(members, 2)
        else:
            yield from ((members[0], member) for member in members[1:])
            yield from pairwise(members[1:])

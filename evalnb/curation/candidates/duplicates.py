"""Near-duplicates among many texts, by MinHash and then exactly."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evalnb.curation.candidates.vectors import gram_sets, mixed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["THRESHOLD", "Pair", "chance_found", "duplicate_pairs", "jaccard"]

THRESHOLD = 0.8
"""From this share of common n-grams on, two texts are near-duplicates."""

_ROWS, _BANDS = 5, 25
_LARGE = 30
_SEED = 20260301


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


def chance_found(similarity: float, *, rows: int = _ROWS, bands: int = _BANDS) -> float:
    """Return the chance that MinHash suspects a pair of this Jaccard similarity.

    It is 1 - (1 - s^rows)^bands.

    Examples
    --------
    >>> round(1 / (1 - chance_found(0.8)), -3)
    20000.0
    """
    return float(1 - (1 - similarity**rows) ** bands)


def jaccard(sets: Any, first: int, second: int) -> float:
    """Return the Jaccard similarity of two rows of `gram_sets`."""
    one = sets.indices[sets.indptr[first] : sets.indptr[first + 1]]
    other = sets.indices[sets.indptr[second] : sets.indptr[second + 1]]
    common = len(np.intersect1d(one, other, assume_unique=True))
    either = len(one) + len(other) - common
    return common / either if either else 1.0


def _suspected(sets: Any) -> list[tuple[int, int]]:
    pairs: set[tuple[int, int]] = set()
    hashed = (mixed(sets.indices.astype(np.uint64)) >> np.uint64(32)).astype(np.uint32)
    salts = np.random.default_rng(_SEED).integers(2**32, size=(_BANDS, _ROWS, 2), dtype=np.uint32)
    for band in salts:
        signature = np.zeros(sets.shape[0], dtype=np.uint64)
        for salt, factor in band:
            least = _smallest(hashed, sets.indptr, salt, factor | np.uint32(1))
            signature = mixed(signature ^ least.astype(np.uint64))
        pairs.update(_equal(signature))
    return sorted(pairs)


def _smallest(
    hashed: np.ndarray, starts: np.ndarray, salt: np.uint32, factor: np.uint32
) -> np.ndarray:
    """Return the least hash of each row's set, for one way of hashing anew."""
    return np.minimum.reduceat((hashed ^ salt) * factor, starts[:-1])


def _equal(signature: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield pairs of equal signatures; of a large group each with the first and with the one before it.

    Such a group is of texts that are all the same or nearly so, and the first stands for them.
    """
    order = np.argsort(signature, kind="stable")
    ordered = signature[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    ends = np.r_[starts[1:], len(order)]
    several = ends - starts > 1
    for start, end in zip(starts[several], ends[several], strict=True):
        members = order[start:end].tolist()
        if len(members) <= _LARGE:
            yield from combinations(members, 2)
        else:
            yield from ((members[0], member) for member in members[1:])
            yield from pairwise(members[1:])

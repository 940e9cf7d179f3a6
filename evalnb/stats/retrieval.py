"""Retrieval metrics of one case: a ranking against graded relevance.

All are in [0, 1]. Without a relevant id they are undefined, None, never 0 and never 1; nothing
retrieved is 0. An id that stands twice in a ranking counts once, at its first place.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "average_precision",
    "hit_rate_at",
    "ndcg_at",
    "precision_at",
    "recall_at",
    "reciprocal_rank",
]


def precision_at(k: int, ranked: Sequence[str], relevance: Mapping[str, float]) -> float | None:
    """Share of relevant ids among the first `k` places; a ranking shorter than `k` has gaps.

    Parameters
    ----------
    k : at least 1
    ranked : retrieved ids, best first
    relevance : id to grade

    Examples
    --------
    >>> precision_at(4, ["a", "b"], {"a": 1})
    0.25
    """
    return _over(k, sum(_hits(k, ranked, relevance)), relevance)


def recall_at(k: int, ranked: Sequence[str], relevance: Mapping[str, float]) -> float | None:
    """Share of the relevant ids that are among the first `k` places; see `precision_at`."""
    return _over(len(_relevant(relevance)), sum(_hits(k, ranked, relevance)), relevance)


def hit_rate_at(k: int, ranked: Sequence[str], relevance: Mapping[str, float]) -> float | None:
    """1 where any relevant id is among the first `k` places, else 0; see `precision_at`."""
    return _over(1, float(any(_hits(k, ranked, relevance))), relevance)


def reciprocal_rank(ranked: Sequence[str], relevance: Mapping[str, float]) -> float | None:
    """One over the place of the first relevant id; its mean over cases is the MRR."""
    hits = _hits(len(ranked), ranked, relevance)
    return _over(1, 1 / (hits.index(True) + 1) if True in hits else 0.0, relevance)


def average_precision(ranked: Sequence[str], relevance: Mapping[str, float]) -> float | None:
    """Mean, over the relevant ids, of the precision at the place of each; 0 for one not found."""
    hits = _hits(len(ranked), ranked, relevance)
    found = [sum(hits[: place + 1]) / (place + 1) for place, hit in enumerate(hits) if hit]
    return _over(len(_relevant(relevance)), sum(found), relevance)


def ndcg_at(
    k: int, ranked: Sequence[str], relevance: Mapping[str, float], *, exponential: bool = False
) -> float | None:
    """Discounted gain of the first `k` places over that of the best possible ranking.

    The gain of an id is its grade, or 2^grade - 1 where it is `exponential`, its discount the
    binary logarithm of its place plus 1; the best ranking is over all judged ids, retrieved or
    not. See `precision_at`.

    References
    ----------
    Järvelin & Kekäläinen (2002), ACM Transactions on Information Systems 20(4),
    doi:10.1145/582415.582418.
    """
    gains = [max(relevance.get(entry, 0.0), 0.0) for entry in dict.fromkeys(ranked)]
    ideal = sorted(_relevant(relevance).values(), reverse=True)
    if not ideal:
        return None
    if exponential:
        gains, ideal = ([2**gain - 1 for gain in grades] for grades in (gains, ideal))
    return _discounted(gains[:k]) / _discounted(ideal[:k])


def _relevant(relevance: Mapping[str, float]) -> dict[str, float]:
    return {name: grade for name, grade in relevance.items() if grade > 0}


def _hits(k: int, ranked: Sequence[str], relevance: Mapping[str, float]) -> list[bool]:
    if k < 1 and ranked:
        raise ValueError(f"k must be at least 1. Got {k}.")
    relevant = _relevant(relevance)
    return [entry in relevant for entry in dict.fromkeys(ranked)][:k]


def _over(whole: int, part: float, relevance: Mapping[str, float]) -> float | None:
    return part / whole if _relevant(relevance) else None


def _discounted(gains: Sequence[float]) -> float:
    return math.fsum(gain / math.log2(place + 2) for place, gain in enumerate(gains))

"""Which phrase came in the place of another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evalnb.phrases.corpus import BREAK

if TYPE_CHECKING:
    from evalnb.phrases.corpus import Corpus, Ints
    from evalnb.phrases.folding import Family
    from evalnb.phrases.grams import Grams

__all__ = ["replacements"]

_SAME_CASES = 1 / 3
"""Of the cases that lost a phrase, or of those that gained another, so many must be the same."""

_SAME_NEIGHBOURS = 0.5
"""So many of the words before them, or after them, must be the same."""


def replacements(corpus: Corpus, grams: Grams, families: list[Family]) -> dict[int, int]:
    """Pair what became rarer with what became more frequent in its place.

    A phrase is in the place of another where at least a third of the cases that gained it, or
    of those that lost the other, are the same cases, and where the two share a word or stand beside
    the same words.

    Parameters
    ----------
    corpus, grams : the answers and their phrases
    families : what changed

    Returns
    -------
    position in `families` of the one to that of the other, each in one pair at most
    """
    lost = [number for number, family in enumerate(families) if not family.gains]
    gained = [number for number, family in enumerate(families) if family.gains]
    if not lost or not gained:
        return {}
    changes = [_changes(corpus, grams, family.phrase) for family in families]
    before = np.array([changes[number] < 0 for number in lost], "int64")
    after = np.array([changes[number] > 0 for number in gained], "int64")
    common = before @ after.T
    most = np.minimum(before.sum(axis=1)[:, None], after.sum(axis=1)[None, :])
    shares = common / np.maximum(most, 1)
    candidates = sorted(
        ((-int(common[i, j]), i, j) for i, j in np.argwhere(shares >= _SAME_CASES).tolist()),
    )
    pairs: dict[int, int] = {}
    for _, i, j in candidates:
        one, other = lost[i], gained[j]
        if one in pairs or other in pairs.values():
            continue
        if _in_place_of(corpus, grams, families[one].phrase, families[other].phrase):
            pairs[one] = other
    return pairs


def _changes(corpus: Corpus, grams: Grams, phrase: int) -> Ints:
    return corpus.changes(np.unique(corpus.answers[grams.places(phrase)]))


def _in_place_of(corpus: Corpus, grams: Grams, lost: int, gained: int) -> bool:
    if set(grams.tokens[lost]) & set(grams.tokens[gained]):
        return True
    before, after = (_neighbours(corpus, grams, phrase) for phrase in (lost, gained))
    return any(
        _overlap(one, other) >= _SAME_NEIGHBOURS for one, other in zip(before, after, strict=True)
    )


def _neighbours(corpus: Corpus, grams: Grams, phrase: int) -> tuple[Ints, Ints]:
    """Return the tokens before and after each occurrence, where there are any."""
    places, size = grams.places(phrase), len(grams.tokens[phrase])
    after = np.minimum(places + size, len(corpus.tokens) - 1)
    beside = corpus.tokens[places - 1], corpus.tokens[after]
    return beside[0], np.where(places + size < len(corpus.tokens), beside[1], BREAK)


def _overlap(one: Ints, other: Ints) -> float:
    """Return which share of two sets of neighbours is common; breaks are neighbours of nothing."""
    shares = []
    length = int(max(one.max(initial=0), other.max(initial=0))) + 1
    for tokens in (one, other):
        counts = np.bincount(tokens[tokens != BREAK], minlength=length)
        shares.append(counts / max(len(tokens), 1))
    return float(np.minimum(*shares).sum())

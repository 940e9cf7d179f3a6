"""Overlapping phrases that changed as one: the most telling of them, with the others folded in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from evalnb.stats.signed_sums import signed_sum_p

if TYPE_CHECKING:
    from evalnb.phrases.corpus import Corpus, Ints
    from evalnb.phrases.grams import Grams
    from evalnb.phrases.testing import Changed, Tested

__all__ = ["Family", "fold"]

_NONE = -1
_NEARLY = 0.8


@dataclass
class Family:
    """A phrase that changed, and those whose change is a part of its own.

    Attributes
    ----------
    head : the phrase itself first, then those that stand in exactly the same answers
    folded : numbers of the other phrases
    """

    head: Changed
    folded: list[int] = field(default_factory=list)

    @property
    def phrase(self) -> int:
        """Number of the most telling phrase."""
        return self.head.phrases[0]

    @property
    def gains(self) -> bool:
        """Whether more answers of the second side hold it."""
        return self.head.size > 0


def fold(corpus: Corpus, grams: Grams, tested: Tested) -> list[Family]:
    """Fold phrases into those that explain their change.

    From the smallest p-value on, a phrase takes the places where it stands. One that comes later
    and has changed no more in the places that are left is folded into the one that took most of
    its own. What is folded takes places too where it stands in nearly the same answers; else one
    phrase would draw in all that ever stood beside it, and what stood beside that.

    Parameters
    ----------
    corpus, grams : the answers and their phrases
    tested : those that changed

    Returns
    -------
    in the order of their p-values
    """
    owners = np.full(len(corpus.tokens), _NONE, "int64")
    families: list[Family] = []
    for changed in tested.changed:
        places = _covered(grams, changed.phrases[0])
        taken = owners[places]
        touched = (taken != _NONE).any(axis=1)
        if touched.any() and not _still_changed(corpus, places[~touched, 0], changed, tested.p_cut):
            owner = int(np.bincount(taken[taken != _NONE]).argmax())
            families[owner].folded += changed.phrases
            if not _same_answers(grams, changed.phrases[0], families[owner].phrase):
                continue
        else:
            owner = len(families)
            families.append(Family(changed, list(changed.phrases[1:])))
        for phrase in changed.phrases:
            covered = _covered(grams, phrase).ravel()
            owners[covered[owners[covered] == _NONE]] = owner
    return families


def _covered(grams: Grams, phrase: int) -> np.ndarray:
    """Return the positions of all tokens of a phrase; shape (n_occurrences, n_tokens)."""
    covered: np.ndarray = grams.places(phrase)[:, None] + np.arange(len(grams.tokens[phrase]))
    return covered


def _same_answers(grams: Grams, one: int, other: int) -> bool:
    first, second = (
        np.unique(grams.corpus.answers[grams.places(phrase)]) for phrase in (one, other)
    )
    common = len(np.intersect1d(first, second, assume_unique=True))
    return common >= _NEARLY * (len(first) + len(second) - common)


def _still_changed(corpus: Corpus, starts: Ints, changed: Changed, p_cut: float) -> bool:
    units = corpus.in_units(corpus.changes(np.unique(corpus.answers[starts])))
    left = corpus.by_cluster(units)
    return int(left.sum()) * changed.size > 0 and signed_sum_p(left) <= p_cut

"""Which phrases changed by more than chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evalnb.stats.multiplicity import adjusted
from evalnb.stats.signed_sums import signed_sum_p, smallest_p

if TYPE_CHECKING:
    from evalnb.phrases.corpus import Corpus, Ints
    from evalnb.phrases.grams import Grams

__all__ = ["Changed", "Tested", "fewest_cases", "test_grams"]


@dataclass(frozen=True)
class Changed:
    """Phrases that stand in exactly the same answers, and changed.

    Attributes
    ----------
    phrases : numbers of the phrases, the most telling first
    p_value, p_adjusted : that nothing changed, alone and among all that were tried
    size : how far the mean over cases moved, counted in parts of the corpus' unit; signed
    """

    phrases: tuple[int, ...]
    p_value: float
    p_adjusted: float
    size: int


@dataclass(frozen=True)
class Tested:
    """What was tried and what was found.

    Attributes
    ----------
    changed : the smallest p-value first
    n_tried : tests that could have reached the level
    p_cut : the largest p-value that counts as found; 0 without any
    """

    changed: tuple[Changed, ...]
    n_tried: int
    p_cut: float


def fewest_cases(level: float) -> int:
    """Return in how many cases, or conversations, a phrase has to change before p reaches a level.

    Examples
    --------
    >>> fewest_cases(0.05), fewest_cases(0.01)
    (6, 8)
    """
    n = 1
    while smallest_p(n) > level:
        n += 1
    return n


def test_grams(corpus: Corpus, grams: Grams, level: float) -> Tested:
    """Test every phrase that could have changed.

    Cases, and those of one conversation together, have their signs flipped whole
    (`evalnb.stats.signed_sums`), and Benjamini and Hochberg's
    adjustment is over all tests. Phrases that stand in exactly the same answers are one test, and
    those that differ in too few cases to reach the level none: neither depends on which side an
    answer is of, so that the error rate holds.

    Parameters
    ----------
    corpus, grams : the answers and their phrases
    level : share of false findings among the found
        A change within its own standard deviation is given p = 1 without a closer look.
    """
    if not len(grams):
        return Tested((), 0, 0.0)
    phrases, answers = grams.holding()
    bounds, units = _differences(corpus, phrases, answers)
    able = np.diff(bounds) >= fewest_cases(level)
    groups = _groups(np.flatnonzero(able), _signatures(phrases, answers))
    sums = [units[bounds[group[0]] : bounds[group[0] + 1]] for group in groups]
    p_values = [_p_value(differences) for differences in sums]
    corrected = adjusted(p_values, method="fdr_bh", level=level)
    found = np.flatnonzero(corrected["rejected"].to_numpy(bool, na_value=False))
    changed = [
        Changed(
            tuple(sorted(groups[number], key=lambda phrase: _telling(grams, phrase))),
            p_values[number],
            float(corrected["p_adjusted"].iloc[number]),
            int(sums[number].sum()),
        )
        for number in found.tolist()
    ]
    changed.sort(key=lambda one: (one.p_value, -abs(one.size), _telling(grams, one.phrases[0])))
    return Tested(tuple(changed), len(groups), max((one.p_value for one in changed), default=0.0))


def _differences(corpus: Corpus, phrases: Ints, answers: Ints) -> tuple[Ints, Ints]:
    """Return the differences other than 0, phrase after phrase, and where each phrase's begin.

    One a conversation, of the sum of its cases; of a case by itself where it shares none.
    """
    pairs, place = np.unique(phrases * corpus.n_cases + corpus.cases[answers], return_inverse=True)
    net = np.bincount(place, corpus.sides[answers]).astype("int64")
    units = corpus.in_units(net, pairs % corpus.n_cases)
    of_case, in_phrase = corpus.clusters[pairs % corpus.n_cases], pairs // corpus.n_cases
    sums, place = np.unique(in_phrase * corpus.n_clusters + of_case, return_inverse=True)
    units = np.rint(np.bincount(place, units)).astype("int64")
    differs = units != 0
    numbers = (sums // corpus.n_clusters)[differs]
    bounds = np.searchsorted(numbers, np.arange(int(phrases[-1]) + 2))
    return bounds.astype("int64"), units[differs]


def _signatures(phrases: Ints, answers: Ints) -> np.ndarray:
    """Return a number a phrase, equal where the same answers hold it."""
    labels = np.random.default_rng(0).integers(
        0, 2**64, size=int(answers.max()) + 1, dtype="uint64"
    )
    starts = np.searchsorted(phrases, np.arange(int(phrases[-1]) + 1))
    return np.add.reduceat(labels[answers], starts)


def _groups(able: Ints, signatures: np.ndarray) -> list[list[int]]:
    groups: dict[int, list[int]] = {}
    for phrase, signature in zip(able.tolist(), signatures[able].tolist(), strict=True):
        groups.setdefault(signature, []).append(phrase)
    return list(groups.values())


def _p_value(differences: Ints) -> float:
    if int(differences.sum()) ** 2 <= int((differences**2).sum()):
        return 1.0
    return signed_sum_p(differences)


def _telling(grams: Grams, phrase: int) -> tuple[bool, int, int, int, int]:
    """Order phrases that say the same: two words before three, rare words before frequent ones.

    A word alone says less than with its neighbour; of signs, the longest is most of a word. Words
    that say little are short as well; what is left goes by the place where it stands first.
    """
    tokens, rarity = grams.tokens[phrase], grams.commonness(phrase)
    first = int(grams.places(phrase)[0])
    if grams.corpus.is_sign[tokens[0]]:
        return False, -len(tokens), rarity, 0, first
    return len(tokens) == 1, len(tokens), rarity, -len(grams.text(phrase)), first

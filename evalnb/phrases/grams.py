"""Words and phrases that enough cases hold, with the places where they stand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from evalnb.phrases.corpus import BREAK, Corpus, Ints, distinct
from evalnb.phrases.tokens import Kind, joined

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MOST_SIGNS", "MOST_WORDS", "Grams", "find_grams"]

MOST_WORDS = 4
"""A phrase has so many words at most."""

MOST_SIGNS = 5
"""A phrase of a script without spaces has from two up to so many signs."""


@dataclass(frozen=True)
class Grams:
    """Phrases, by number.

    Attributes
    ----------
    corpus : the answers
    tokens : each phrase's tokens
    starts : where phrases stand, sorted by phrase; shape (n_occurrences,)
    offsets : where in `starts` each phrase begins; shape (n_phrases + 1,)
    """

    corpus: Corpus
    tokens: tuple[tuple[int, ...], ...]
    starts: Ints
    offsets: Ints

    def __len__(self) -> int:
        return len(self.tokens)

    def places(self, phrase: int) -> Ints:
        """Return the positions of a phrase's first token."""
        return self.starts[self.offsets[phrase] : self.offsets[phrase + 1]]

    def text(self, phrase: int) -> str:
        """Return a phrase to be read."""
        tokens = self.tokens[phrase]
        kind: Kind = "sign" if self.corpus.is_sign[tokens[0]] else "word"
        return joined(tuple(self.corpus.vocabulary[token] for token in tokens), kind)

    def commonness(self, phrase: int) -> int:
        """Return how often the tokens of a phrase occur anywhere, added up."""
        return sum(int(self._frequencies[token]) for token in self.tokens[phrase])

    @cached_property
    def _frequencies(self) -> Ints:
        tokens = self.corpus.tokens
        return np.bincount(tokens[tokens != BREAK]).astype("int64")

    def holding(self) -> tuple[Ints, Ints]:
        """Return phrase and answer of all pairs of which the answer holds the phrase."""
        phrases = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        n_answers = max(len(self.corpus.cases), 1)
        pairs = distinct(phrases * n_answers + self.corpus.answers[self.starts])
        return pairs // n_answers, pairs % n_answers


def find_grams(corpus: Corpus, at_least: int) -> Grams:
    """Find the phrases that stand in the answers to enough cases, either side's.

    Parameters
    ----------
    corpus : the answers
    at_least : how many cases
        A phrase is in no more cases than its parts are, so that what grows from a rare one is
        never looked at.
    """
    found: list[tuple[int, ...]] = []
    starts: list[Ints] = []
    sizes: list[int] = []
    for tokens, places in _levels(corpus, at_least):
        found += tokens
        starts += places
        sizes += [len(place) for place in places]
    return Grams(
        corpus,
        tuple(found),
        np.concatenate([np.empty(0, "int64"), *starts]),
        np.concatenate([[0], np.cumsum(np.array(sizes, "int64"))]),
    )


def _levels(corpus: Corpus, at_least: int) -> Iterator[tuple[list[tuple[int, ...]], list[Ints]]]:
    """Yield the phrases of one token, of two and so on, with their places."""
    n_tokens, n_words = len(corpus.tokens), max(len(corpus.vocabulary), 1)
    if not len(corpus.vocabulary):
        return
    grams = corpus.tokens
    spelled: list[tuple[int, ...]] = [(word,) for word in range(n_words)]
    is_sign = np.where(corpus.tokens == BREAK, False, corpus.is_sign[corpus.tokens])
    for size in range(1, MOST_SIGNS + 1):
        if size > 1:
            keys = np.full(n_tokens, BREAK, "int64")
            reach = n_tokens - size + 1
            tail = corpus.tokens[size - 1 :]
            goes_on = (grams[:reach] != BREAK) & (grams[1 : reach + 1] != BREAK)
            if size > MOST_WORDS:
                goes_on &= is_sign[:reach]
            keys[:reach][goes_on] = (grams[:reach] * n_words + tail)[goes_on]
            known, grams = _numbered(keys)
            spelled = [(*spelled[key // n_words], key % n_words) for key in known.tolist()]
        grams, spelled = _frequent(corpus, grams, spelled, at_least)
        if not spelled:
            return
        order = np.argsort(grams, kind="stable")
        bounds = np.searchsorted(grams[order], np.arange(len(spelled) + 1))
        places = [order[begin:end] for begin, end in pairwise(bounds)]
        shown = [
            number
            for number, tokens in enumerate(spelled)
            if size > 1 or not corpus.is_sign[tokens[0]]
        ]
        yield [spelled[number] for number in shown], [places[number] for number in shown]


def _numbered(keys: Ints) -> tuple[Ints, Ints]:
    """Give keys numbers from 0; `BREAK` stays as it is."""
    known, numbers = np.unique(keys, return_inverse=True)
    if len(known) and known[0] == BREAK:
        return known[1:], numbers - 1
    return known, numbers


def _frequent(
    corpus: Corpus, grams: Ints, spelled: list[tuple[int, ...]], at_least: int
) -> tuple[Ints, list[tuple[int, ...]]]:
    """Keep the grams that enough cases hold, numbered anew."""
    used = grams != BREAK
    cases = corpus.cases[corpus.answers[used]]
    pairs = distinct(grams[used] * corpus.n_cases + cases)
    n_cases = np.bincount(pairs // max(corpus.n_cases, 1), minlength=len(spelled))
    kept = np.flatnonzero(n_cases >= at_least)
    numbers = np.full(len(spelled) + 1, BREAK, "int64")
    numbers[kept] = np.arange(len(kept))
    return numbers[grams], [spelled[number] for number in kept.tolist()]

"""The answers of two sides to the same cases, as one long row of tokens."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from evalnb.phrases.tokens import Token, kind_of, pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

__all__ = ["BREAK", "Corpus", "Ints", "distinct", "n_clusters", "read_corpus"]

Ints: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int64]]"

BREAK = -1
"""Stands between tokens that no phrase reaches over."""

_FINEST = 60
"""Shares of repeats are whole numbers of this at most: exact up to six repeats."""


def distinct(numbers: Ints) -> Ints:
    """Return each number once, sorted; `numpy.unique` takes three times as long for millions."""
    ordered = np.sort(numbers)
    kept: Ints = ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)]]
    return kept


@dataclass(frozen=True)
class Corpus:
    """Answers of two sides to the same cases.

    Attributes
    ----------
    tokens : index into `vocabulary`, or `BREAK`; shape (n_tokens,)
    answers : which answer a token is of; shape (n_tokens,)
    vocabulary : the tokens' texts
    is_sign : whether a token of the vocabulary is a sign of a script without spaces
    case_ids : the cases that both sides answered
    cases : position of each answer's case; shape (n_answers,)
    sides : -1 for an answer of the first side, 1 for one of the second
    repeats : how many answers of a case count on each side; shape (n_cases,)
    clusters : number of each case's conversation, its own where it shares none; shape (n_cases,)
    n_left_out : cases that one side has no answer to
    """

    tokens: Ints
    answers: Ints
    vocabulary: tuple[str, ...]
    is_sign: np.ndarray
    case_ids: tuple[str, ...]
    cases: Ints
    sides: Ints
    repeats: Ints
    clusters: Ints
    n_left_out: int

    @property
    def n_cases(self) -> int:
        """Number of cases that both sides answered."""
        return len(self.case_ids)

    @property
    def n_clusters(self) -> int:
        """Number of conversations, cases that share none among them: what is flipped as a whole."""
        return int(self.clusters.max(initial=-1)) + 1

    @property
    def unit(self) -> int:
        """Differences of rates are counted in this part of one; see `weights`."""
        return min(math.lcm(*np.unique(self.repeats).tolist()), _FINEST) if self.n_cases else 1

    def changes(self, answers: Ints) -> Ints:
        """Return by how many answers each case changed, given the answers that hold a phrase.

        Parameters
        ----------
        answers : positions of answers, each once

        Returns
        -------
        second minus first; shape (n_cases,)
        """
        net = np.bincount(self.cases[answers], self.sides[answers], minlength=self.n_cases)
        return net.astype("int64")

    def in_units(self, changes: Ints, cases: Ints | slice = slice(None)) -> Ints:
        """Return changes of answers as differences of rates, counted in parts of `unit`."""
        return np.rint(changes * self.unit / self.repeats[cases]).astype("int64")

    def by_cluster(self, units: Ints) -> Ints:
        """Return the sum of each conversation's differences, given those of all cases in units."""
        sums = np.bincount(self.clusters, units, minlength=self.n_clusters)
        return np.rint(sums).astype("int64")

    def rate(self, answers: Ints, side: int) -> float:
        """Return the mean over cases of the share of a side's answers that hold a phrase."""
        of_side = answers[self.sides[answers] == side]
        held = np.bincount(self.cases[of_side], minlength=self.n_cases)
        return float((held / self.repeats).mean())


def read_corpus(
    first: pd.DataFrame, second: pd.DataFrame, clusters: Mapping[str, str] | None = None
) -> Corpus:
    """Read the answers of both sides.

    Parameters
    ----------
    first, second : columns case_id, repeat, text, na_reason
        An answer without text, such as a tool call, holds no phrase; a missing one, with
        `na_reason`, does not count. Of each case as many repeats count on either side as both
        have, the first ones: only then is either sign of a difference as likely where nothing
        changed.
    clusters : case id to its conversation, of those that share one
    """
    sides = [_answers(side) for side in (first, second)]
    both = sorted(sides[0].keys() & sides[1].keys())
    used: list[tuple[int, int, str]] = []
    repeats = []
    for number, case_id in enumerate(both):
        n = min(len(side[case_id]) for side in sides)
        repeats.append(n)
        for sign, side in zip((-1, 1), sides, strict=True):
            used += [(number, sign, text) for text in side[case_id][:n]]
    tokens, answers, vocabulary, is_sign = _encoded([text for _, _, text in used])
    return Corpus(
        tokens=tokens,
        answers=answers,
        vocabulary=vocabulary,
        is_sign=is_sign,
        case_ids=tuple(both),
        cases=np.array([number for number, _, _ in used], "int64"),
        sides=np.array([sign for _, sign, _ in used], "int64"),
        repeats=np.array(repeats, "int64"),
        clusters=np.array(_cluster_numbers(both, clusters or {}), "int64"),
        n_left_out=len({*sides[0], *sides[1]}) - len(both),
    )


def n_clusters(case_ids: Iterable[str], clusters: Mapping[str, str]) -> int:
    """Return how many conversations cases are of, each by itself one that shares none."""
    return len(set(_cluster_numbers(case_ids, clusters)))


def _cluster_numbers(case_ids: Iterable[str], clusters: Mapping[str, str]) -> list[int]:
    numbers: dict[tuple[bool, str], int] = {}
    # A conversation may be called as a case is that has none.
    named = [(case_id in clusters, clusters.get(case_id, case_id)) for case_id in case_ids]
    return [numbers.setdefault(name, len(numbers)) for name in named]


def _answers(outputs: pd.DataFrame) -> dict[str, list[str]]:
    """Return case id to texts in the order of repeats."""
    given = outputs[outputs["na_reason"].isna()] if "na_reason" in outputs else outputs
    ordered = given.sort_values("repeat", kind="stable")
    found: dict[str, list[str]] = {case_id: [] for case_id in given["case_id"]}
    texts = ordered["text"].fillna("").tolist()
    for case_id, text in zip(ordered["case_id"].tolist(), texts, strict=True):
        found[case_id].append(text)
    return found


class _Numbers(dict[str, int]):
    """Pieces of text to the numbers of their tokens, given as they come."""

    def __init__(self) -> None:
        super().__init__()
        self.vocabulary: dict[Token, int] = {}

    def __missing__(self, piece: str) -> int:
        token = kind_of(piece)
        if token.kind == "break":
            number = BREAK
        else:
            number = self.vocabulary.setdefault(token, len(self.vocabulary))
        self[piece] = number
        return number


def _encoded(texts: list[str]) -> tuple[Ints, Ints, tuple[str, ...], np.ndarray]:
    numbers = _Numbers()
    tokens: list[int] = []
    lengths: list[int] = []
    for text in texts:
        found = pieces(text)
        tokens.append(BREAK)
        tokens += map(numbers.__getitem__, found)
        lengths.append(len(found) + 1)
    row = np.array(tokens, "int64")
    answers = np.repeat(np.arange(len(texts)), lengths)
    is_sign = np.array([token.kind == "sign" for token in numbers.vocabulary], bool)
    if is_sign.any():
        # No phrase goes on from words to signs.
        signs = np.where(row == BREAK, False, is_sign[row])
        turns = 1 + np.flatnonzero(
            (signs[1:] != signs[:-1]) & (row[1:] != BREAK) & (row[:-1] != BREAK)
        )
        answers = np.insert(answers, turns, answers[turns])
        row = np.insert(row, turns, BREAK)
    return row, answers, tuple(token.text for token in numbers.vocabulary), is_sign

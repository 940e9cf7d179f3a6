"""The words and phrases whose rate over cases differs between two sets of answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.frames import PHRASES
from evalnb.phrases.corpus import read_corpus
from evalnb.phrases.detectable import smallest_rate
from evalnb.phrases.folding import fold
from evalnb.phrases.grams import find_grams
from evalnb.phrases.replacing import replacements
from evalnb.phrases.testing import fewest_cases, test_grams
from evalnb.stats.effects import mean_row
from evalnb.stats.paired_intervals import tango_interval

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import pandas as pd

    from evalnb.phrases.corpus import Corpus, Ints
    from evalnb.phrases.folding import Family
    from evalnb.phrases.grams import Grams

__all__ = ["LEVEL", "PhraseStudy", "phrase_changes"]

LEVEL = 0.05
"""Share of false findings among the phrases found, where nothing else is said."""

_EXAMPLES = 5


@dataclass(frozen=True)
class PhraseStudy:
    """What was said on one side and not on the other, and what could have been seen.

    Attributes
    ----------
    changes : a phrases frame, the surest change first
    n_cases : cases that both sides answered
    n_repeats : answers of a case that count on each side, at most
    n_left_out : cases that one side has no answer to
    n_tried : phrases tested
    level : share of false findings among the found
    smallest_rate : share of answers from which on a new wording is found in 8 of 10 runs; None
        where the cases are too few for any
    """

    changes: pd.DataFrame
    n_cases: int
    n_repeats: int
    n_left_out: int
    n_tried: int
    level: float
    smallest_rate: float | None


def phrase_changes(
    first: pd.DataFrame,
    second: pd.DataFrame,
    *,
    level: float = LEVEL,
    hidden: Collection[str] = (),
    clusters: Mapping[str, str] | None = None,
) -> PhraseStudy:
    """Find the words and phrases whose rate over cases changed.

    Phrases have one to four words; of scripts without spaces, two to five signs. Whether an answer
    holds one is a matter of yes or no, however often. The cases are the unit: the repeats of a case
    make up its rate, and its difference keeps or changes its sign as a whole.

    Parameters
    ----------
    first, second : outputs frames, or columns case_id, repeat, text
        Of cases that both have, as many repeats count as both have.
    level : in (0, 1)
        Share of false findings among the found (Benjamini and Hochberg). Where nothing changed, it
        is the chance that anything is found.
    hidden : ids of cases
        They count like others, and are no examples. What only their answers say is not quoted: such
        a phrase has a number in its place, and is folded into nothing.
    clusters : case id to its conversation, of cases that share one
        They are one unit: their differences keep or change their signs together.

    Returns
    -------
    the study; without a case that both have, its frame is empty
        Intervals are Tango's where every case is by itself and changed wholly or not at all, else
        Student's over cases or conversations; they are 95%, each by itself.

    Raises
    ------
    ValueError
        If `level` is outside (0, 1).

    References
    ----------
    Fisher (1935), The Design of Experiments, section 21; Benjamini & Hochberg (1995), Journal of
    the Royal Statistical Society B 57(1); Tarone (1990), Biometrics 46(2), for leaving out the
    tests that cannot reach the level; Tango (1998), Statistics in Medicine 17:891-908.

    Examples
    --------
    >>> import pandas as pd
    >>> before = pd.DataFrame(
    ...     {"case_id": list("abcdefgh"), "repeat": 1, "text": "Your order number, please."}
    ... )
    >>> after = before.assign(text="Your inquiry number, please.")
    >>> row = phrase_changes(before, after).changes.loc[0]
    >>> row["phrase"], row["change"], row["replaced_by"]
    ('order number', 'replaced', 'inquiry number')
    """
    if not 0 < level < 1:
        raise ValueError(f"`level` must lie between 0 and 1. Got {level}.")
    corpus = read_corpus(first, second, clusters)
    n_repeats = int(corpus.repeats.max(initial=0))
    grams = find_grams(corpus, fewest_cases(level))
    tested = test_grams(corpus, grams, level)
    families = fold(corpus, grams, tested)
    return PhraseStudy(
        changes=PHRASES.build(_rows(corpus, grams, families, _Quotes(corpus, grams, hidden))),
        n_cases=corpus.n_cases,
        n_repeats=n_repeats,
        n_left_out=corpus.n_left_out,
        n_tried=tested.n_tried,
        level=level,
        smallest_rate=smallest_rate(corpus.n_clusters, n_repeats, tested.n_tried, level),
    )


class _Quotes:
    """What may be quoted: phrases of some case that is not hidden."""

    def __init__(self, corpus: Corpus, grams: Grams, hidden: Collection[str]) -> None:
        self._corpus = corpus
        self._grams = grams
        self._cases = np.array([case_id not in hidden for case_id in corpus.case_ids], bool)
        self._n_hidden = 0

    def allow(self, phrase: int) -> bool:
        """Tell whether a phrase may be quoted."""
        answers = self._corpus.answers[self._grams.places(phrase)]
        return bool(self._cases[self._corpus.cases[answers]].any())

    def examples(self, cases: Sequence[int]) -> list[str]:
        """Return the ids of those cases that may be named, in their order."""
        ids = self._corpus.case_ids
        return [ids[place] for place in cases if self._cases[place]]

    def text(self, phrase: int) -> str:
        """Return a phrase, or what stands in its place."""
        if self.allow(phrase):
            return self._grams.text(phrase)
        self._n_hidden += 1
        return f"(wording {self._n_hidden} of holdout cases alone)"


def _rows(
    corpus: Corpus, grams: Grams, families: Sequence[Family], quotes: _Quotes
) -> list[dict[str, Any]]:
    pairs = replacements(corpus, grams, list(families))
    replacing = set(pairs.values())
    rows = []
    for number, family in enumerate(families):
        if number in replacing:
            continue
        row = _row(corpus, grams, family, quotes)
        if number in pairs:
            other = _row(corpus, grams, families[pairs[number]], quotes)
            row |= {
                "change": "replaced",
                "replaced_by": other["phrase"],
                "replacement_rate_a": other["rate_a"],
                "replacement_rate_b": other["rate_b"],
                "folded": [*row["folded"], *other["folded"]],
            }
        rows.append(row)
    return rows


def _row(corpus: Corpus, grams: Grams, family: Family, quotes: _Quotes) -> dict[str, Any]:
    answers = np.unique(corpus.answers[grams.places(family.phrase)])
    changes = corpus.changes(answers)
    before, after = corpus.rate(answers, -1), corpus.rate(answers, 1)
    furthest = np.argsort(-np.abs(changes / corpus.repeats), kind="stable")
    changed = [place for place in furthest.tolist() if changes[place] * family.head.size > 0]
    return {
        "phrase": quotes.text(family.phrase),
        "change": "appeared" if before == 0 else "vanished" if after == 0 else "shifted",
        "rate_a": before,
        "rate_b": after,
        "p_value": family.head.p_value,
        "p_adjusted": family.head.p_adjusted,
        "n_cases": corpus.n_cases,
        "n_changed": int((changes != 0).sum()),
        "folded": [grams.text(phrase) for phrase in family.folded if quotes.allow(phrase)],
        "examples": quotes.examples(changed)[:_EXAMPLES],
        **_difference(corpus, changes),
    }


def _difference(corpus: Corpus, changes: Ints) -> dict[str, Any]:
    """Return the mean difference of rates with its interval."""
    repeats, shared = corpus.repeats, corpus.n_clusters < corpus.n_cases
    if not shared and bool((np.abs(changes) == repeats)[changes != 0].all()):
        gained, lost = int((changes > 0).sum()), int((changes < 0).sum())
        found: dict[str, Any] = vars(tango_interval(gained, lost, len(changes)))
        method = "tango"
    else:
        clusters = corpus.clusters if shared else None
        found = mean_row("difference", changes / repeats, clusters, low=-1.0, high=1.0)
        method = str(found["method"])
    return {
        "difference": found["estimate"],
        "ci_low": found["ci_low"],
        "ci_high": found["ci_high"],
        "method": f"{method}, p by exact sign flip",
    }

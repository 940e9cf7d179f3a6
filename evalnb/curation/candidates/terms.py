"""Words that answers which users liked have in common, as keywords that a case might expect."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from evalnb.curation.candidates.conversations import conversations
from evalnb.curation.candidates.kinds import kinds_of
from evalnb.frames import LOGS, FrameSchema, to_records
from evalnb.matching import normalize

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import pandas as pd

__all__ = ["LEAST_GOOD", "TERMS", "good_answer_terms"]

TERMS = FrameSchema(
    "terms",
    {
        "conversation_id": "string",
        "kind": "string",
        "term": "string",
        "n_with": "Int64",
        "n_good": "Int64",
        "share_elsewhere": "Float64",
    },
    key=("conversation_id", "term"),
)
"""A row a term suggested for a conversation, the best first: `n_with` of the `n_good` other
well-rated conversations of its `kind` have it in an answer, and this share of all others."""

LEAST_GOOD = 2
"""A term must be in the answers of so many well-rated conversations, and of half of them."""

_KINDS = 8
_LONG = 4  # shorter words of scripts with letters are mostly grammar
_WORDS = re.compile(r"(?<!\w)[^\W\d_]+(?!\w)")  # not what of an id such as FRNFB1 is letters
_PLACEHOLDER = re.compile(r"<[A-Z][A-Z0-9_]*_[0-9]+>")


def good_answer_terms(
    logs: pd.DataFrame, names: Collection[str], *, n: int = 9, seed: int = 0
) -> pd.DataFrame:
    """Find terms that are frequent in good answers to conversations of the same kind.

    Good are the answers of conversations with good feedback; what counts is in how many of them a
    word is, not how often. A conversation's own answers count for no suggestion of its own. Words
    come in the order of how much larger their share is there than in all other conversations, so
    that what every answer says comes last or not at all.

    Parameters
    ----------
    logs : a logs frame with feedback, redacted
    names : the conversations to suggest terms for
    n : at most so many for each
    seed : of the clustering, where the logs name no category

    Returns
    -------
    a frame as `TERMS` says : nothing for a conversation with fewer than two other well-rated ones of
        its kind
    """
    rows = to_records(conversations(logs))
    known = kinds_of(rows, n=_KINDS, seed=seed).known
    said = _answer_words(logs)
    good = {row["conversation_id"] for row in rows if row.get("feedback") == 1}
    found: list[dict[str, Any]] = []
    for name in names:
        kind = known.get(name)
        if kind is not None:
            own = {one for one in good - {name} if known.get(one) == kind}
            found += [
                {"conversation_id": name, "kind": kind, **term} for term in _terms(own, said)[:n]
            ]
    return TERMS.build(found)


def _answer_words(logs: pd.DataFrame) -> dict[str, set[str]]:
    said: dict[str, set[str]] = {}
    for row in to_records(LOGS.check(logs)):
        words = said.setdefault(row["conversation_id"], set())
        if row["role"] == "assistant" and "text" in row:
            text = normalize(_PLACEHOLDER.sub(" ", row["text"]))
            words.update(
                word for word in _WORDS.findall(text) if len(word) >= _LONG or not word.isascii()
            )
    return said


def _terms(own: Collection[str], said: Mapping[str, set[str]]) -> list[dict[str, Any]]:
    counts = Counter(word for name in own for word in said[name])
    elsewhere = [name for name in said if name not in own]
    least = max(LEAST_GOOD, len(own) / 2)
    found = []
    for word in (word for word, count in counts.items() if count >= least):
        n_elsewhere = sum(word in said[name] for name in elsewhere)
        share = n_elsewhere / len(elsewhere) if elsewhere else 0.0
        gain = counts[word] / len(own) - share
        if gain > 0:
            found.append((-gain, word, counts[word], share))
    return [
        {"term": word, "n_with": count, "n_good": len(own), "share_elsewhere": share}
        for _, word, count, share in sorted(found)
    ]

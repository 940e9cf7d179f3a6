"""How near conversations are to golden cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from evalnb.curation.candidates.conversations import asked, conversations
from evalnb.curation.candidates.vectors import Nearest, case_text, nearest, tfidf
from evalnb.frames import FrameSchema, to_records

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    from evalnb.cases import Case

__all__ = ["NEAREST", "Compared", "compare_with_cases", "nearest_cases"]

NEAREST = FrameSchema(
    "nearest cases",
    {"conversation_id": "string", "nearest_case": "string", "similarity": "Float64"},
    key=("conversation_id",),
)
"""A row a conversation: the golden case nearest to what its user said, and the cosine similarity of
TF-IDF vectors of character 3- to 5-grams; NA and 0 where there is no case."""


class Compared(NamedTuple):
    """Conversations in which the user said something: rows, vectors, and what is nearest to each."""

    rows: list[dict[str, Any]]
    vectors: Any
    near: Nearest


def compare_with_cases(logs: pd.DataFrame, cases: Sequence[Case]) -> Compared:
    """Hold what users said against cases, weighted over both."""
    rows = [row for row in to_records(conversations(logs)) if asked(row)]
    vectors, golden = tfidf([asked(row) for row in rows], [case_text(case) for case in cases])
    return Compared(rows, vectors, nearest(vectors, golden))


def nearest_cases(logs: pd.DataFrame, cases: Iterable[Case]) -> pd.DataFrame:
    """Find the golden case that each conversation is nearest to.

    Parameters
    ----------
    logs : a logs frame; conversations without a word of the user are left out
    cases : a golden set

    Returns
    -------
    a frame as `NEAREST` says
    """
    cases = list(cases)
    rows, _, near = compare_with_cases(logs, cases)
    return NEAREST.build(
        {
            "conversation_id": row["conversation_id"],
            "nearest_case": cases[position].id if cases else None,
            "similarity": float(similarity),
        }
        for row, position, similarity in zip(rows, near.position, near.similarity, strict=True)
    )

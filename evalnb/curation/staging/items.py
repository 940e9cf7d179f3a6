"""A conversation that may become a case, with all that a curator is shown of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evalnb.curation.candidates.languages import spoken_languages
from evalnb.curation.candidates.nearness import nearest_cases
from evalnb.curation.candidates.picks import CANDIDATES
from evalnb.curation.candidates.terms import good_answer_terms
from evalnb.curation.candidates.vectors import case_text
from evalnb.frames import LOGS, to_records
from evalnb.holdout import HOLDOUT
from evalnb.reports.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from evalnb.cases import Case
    from evalnb.golden import GoldenSet

__all__ = ["CurationItem", "items_to_curate"]

_UNSHOWN = "a holdout case, which is not shown"
_CASE_ROLES = ("user", "assistant")


@dataclass(frozen=True)
class CurationItem:
    """A candidate with its conversation, redacted.

    Attributes
    ----------
    conversation_id : as in the logs
    samplers, reason : what picked it and why, in words
    messages : rows of a logs frame, in order
    category : what the logs say, None where they do not
    language : what the logs say, else what is told from the user's texts
    source : where the logs come from, in words
    nearest_case, nearest_text, similarity : the golden case that is nearest; None without cases. What
        a holdout case says is not shown.
    terms : words that good answers to such conversations have in common, the best first
    """

    conversation_id: str
    samplers: str
    reason: str
    messages: tuple[Mapping[str, Any], ...]
    category: str | None = None
    language: str | None = None
    source: str = ""
    nearest_case: str | None = None
    nearest_text: str | None = None
    similarity: float = 0.0
    terms: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """A name for the form's messages."""
        return hashlib.sha256(self.conversation_id.encode()).hexdigest()[:12]

    @property
    def asked(self) -> list[str]:
        """What the user said, message by message."""
        return [row["text"] for row in self.messages if row["role"] == "user" and "text" in row]

    @property
    def provenance(self) -> str:
        """Where the case comes from, in words."""
        place = self.source or "production log"
        name = one_line(self.conversation_id)
        return f"{place}: conversation {name}, picked by {self.samplers}, redacted"

    def before(self, end: int) -> list[dict[str, str]]:
        """Return what user and assistant said before the user's message number `end`.

        Messages of one side that follow on each other are one. Left out are tool calls, since what
        tools gave back is not part of a case, and what was said before the user said anything.
        """
        history: list[dict[str, str]] = []
        n_asked = 0
        for row in self.messages:
            if row["role"] not in _CASE_ROLES or "text" not in row:
                continue
            n_asked += row["role"] == "user"
            if n_asked >= end:
                break
            if not n_asked:
                continue
            if history and history[-1]["role"] == row["role"]:
                history[-1]["content"] += f"\n{row['text']}"
            else:
                history.append({"role": row["role"], "content": row["text"]})
        return history


def items_to_curate(
    golden: GoldenSet,
    candidates: pd.DataFrame,
    logs: pd.DataFrame,
    *,
    source: str = "",
) -> list[CurationItem]:
    """Put together what is shown of candidates, in their order.

    Parameters
    ----------
    golden : the cases that there are
    candidates : a frame of candidates
    logs : a logs frame with their conversations and others, redacted; words of good answers are
        learnt from all of it
    source : where the logs come from, in words

    Returns
    -------
    one for each candidate in which the user said something
    """
    candidates = CANDIDATES.check(candidates).sort_values("order", kind="stable")
    names = candidates["conversation_id"].tolist()
    there = LOGS.check(logs[logs["conversation_id"].isin(names)].reset_index(drop=True))
    there = there.sort_values(["conversation_id", "turn"], ignore_index=True)
    messages: dict[str, list[dict[str, Any]]] = {}
    for row in to_records(there):
        messages.setdefault(row["conversation_id"], []).append(row)
    near = {row["conversation_id"]: row for row in to_records(nearest_cases(there, golden))}
    terms: dict[str, list[str]] = {}
    for row in to_records(good_answer_terms(logs, names)):
        terms.setdefault(row["conversation_id"], []).append(row["term"])
    spoken = {row["conversation_id"]: row for row in to_records(spoken_languages(there))}
    items = []
    for row in to_records(candidates):
        name = row["conversation_id"]
        said = messages.get(name, [])
        if not any(one["role"] == "user" and "text" in one for one in said):
            continue
        case = near.get(name, {}).get("nearest_case")
        items.append(
            CurationItem(
                name,
                row["samplers"],
                row["reason"],
                tuple(said),
                category=_first(said, "category"),
                language=_first(said, "language") or spoken[name].get("language"),
                source=source,
                nearest_case=case,
                nearest_text=_asked_in(golden[case]) if case else None,
                similarity=near.get(name, {}).get("similarity", 0.0),
                terms=tuple(terms.get(name, ())),
            )
        )
    return items


def _asked_in(case: Case) -> str:
    """Return what a case asks, for who writes cases; holdout cases are not theirs to read."""
    return _UNSHOWN if case.split == HOLDOUT else case_text(case)


def _first(rows: list[dict[str, Any]], name: str) -> str | None:
    return next((str(row[name]) for row in rows if name in row), None)

"""Curating as plain Python: which candidate comes next, what it holds, what was decided.

The curator's file is the state, as it is for labelling: a form that is built anew stands where the
file stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from evalnb.curation.pacing import now_text, seconds_an_item
from evalnb.curation.people import PLACEHOLDER
from evalnb.curation.staging.fields import case_from, checked_edits, first_edits
from evalnb.curation.staging.files import StagedFile, append_staged
from evalnb.jsontext import writable_text
from evalnb.reports.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from evalnb.cases import Case
    from evalnb.curation.staging.items import CurationItem
    from evalnb.errors import Problem

__all__ = ["Curating", "CuratingProgress"]

_WHO = {
    "user": "User",
    "assistant": "Assistant",
    "system": "System",
    "tool_call": "Tool call",
    "tool_result": "Tool result",
}
_LIKED: dict[int | None, str] = {-1: "disliked", 1: "liked"}
_LONGEST_REASON = 2_000


@dataclass(frozen=True)
class CuratingProgress:
    """How far a curator has come.

    Attributes
    ----------
    n, n_accepted, n_rejected, n_skipped : counts of candidates
    seconds_an_item : median time between two decisions, pauses over ten minutes left out
    """

    n: int
    n_accepted: int
    n_rejected: int
    n_skipped: int
    seconds_an_item: float | None

    @property
    def n_left(self) -> int:
        """How many candidates are to come."""
        return self.n - self.n_accepted - self.n_rejected - self.n_skipped

    def __str__(self) -> str:
        return (
            f"{self.n_accepted} of {self.n} accepted, {self.n_rejected} rejected, "
            f"{self.n_skipped} skipped, {self.n_left} to come"
        )


class Curating:
    """One person's way through candidates.

    Parameters
    ----------
    items : the candidates, in the order in which to look at them
    path : the curator's file, `staged/<curator>.jsonl`; made with the first action
    clock : says what time it is, in UTC
    """

    def __init__(
        self,
        items: Iterable[CurationItem],
        path: Path,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.items = list(items)
        self._by_name = {item.conversation_id: item for item in self.items}
        self._clock = clock
        self._file = StagedFile(path)
        self.catch_up()

    @property
    def path(self) -> Path:
        """The curator's file."""
        return self._file.path

    @property
    def curator(self) -> str:
        """Whose file it is."""
        return self.path.stem

    @property
    def is_anonymous(self) -> bool:
        """Whether nobody has said who curates, so that nothing can be saved."""
        return self.curator == PLACEHOLDER

    @property
    def problems(self) -> list[Problem]:
        """The lines of the file that could not be used."""
        return self._file.problems

    @property
    def current(self) -> CurationItem | None:
        """The candidate to decide on: what was just taken back, else the first that is open."""
        decided = {one["conversation_id"] for one in self._file.decisions}
        back = self._by_name.get(self._file.taken_back or "")
        if back is not None and back.conversation_id not in decided:
            return back
        return next((one for one in self.items if one.conversation_id not in decided), None)

    @property
    def edits(self) -> dict[str, str]:
        """What the fields of the current candidate hold; empty where there is none."""
        item = self.current
        if item is None:
            return {}
        known = first_edits(item)
        written = self._file.edits.get(item.conversation_id, {})
        return known | {name: str(text) for name, text in written.items() if name in known}

    @property
    def progress(self) -> CuratingProgress:
        """How far the curator has come."""
        actions = [one["action"] for one in self._decisions()]
        return CuratingProgress(
            len(self.items),
            actions.count("accept"),
            actions.count("reject"),
            actions.count("skip"),
            seconds_an_item(one["at"] for one in self._decisions()),
        )

    @property
    def can_undo(self) -> bool:
        """Whether there is a decision to take back."""
        return bool(self._decisions())

    def catch_up(self) -> None:
        """Read what was written since the last time, in another form too."""
        self._file.catch_up()

    def edit(self, edits: Mapping[str, Any]) -> None:
        """Keep what the fields of the current candidate hold; it is on disk when this returns.

        Raises
        ------
        ValueError
            If there is no candidate, or no such field.
        InputError
            If it cannot be written.
        """
        held = checked_edits(self._some_item(), {**self.edits, **edits})
        if held != self.edits:
            self._write("edit", edits=held)

    def accept(self, edits: Mapping[str, Any]) -> Case:
        """Stage the current candidate as a case with these edits, and go on to the next.

        What the fields hold is on disk whether or not they make a case.

        Raises
        ------
        InputError
            With each field that makes it none; nothing is staged then.
        """
        item = self._some_item()
        self.edit(edits)
        case = case_from(
            item,
            self.edits,
            curator=self.curator,
            day=self._clock().astimezone(UTC).date().isoformat(),
            file=str(self.path),
        )
        self._write("accept", case=case.canonical())
        return case

    def reject(self, reason: str) -> None:
        """Leave the current candidate out, and say why.

        Raises
        ------
        ValueError
            Without a reason.
        """
        reason = writable_text(reason.strip())[:_LONGEST_REASON]
        if not reason:
            raise ValueError("write why it is rejected: the next curator will see it again")
        self._write("reject", reason=reason)

    def skip(self) -> None:
        """Leave the current candidate for another day."""
        self._write("skip")

    def undo(self) -> None:
        """Take back the last decision on one of these candidates, which is then the current one.

        Raises
        ------
        ValueError
            If there is none.
        """
        decisions = self._decisions()
        if not decisions:
            raise ValueError("there is nothing to take back")
        self._append(decisions[-1]["conversation_id"], "undo")

    def shown(self) -> dict[str, Any]:
        """Return the current candidate as it may be shown.

        Returns
        -------
        id, why, conversation, nearest, terms, edits, n_asked, asked; empty where none is left
        """
        item = self.current
        if item is None:
            return {}
        nearest = (
            {
                "case_id": item.nearest_case,
                "text": visible(item.nearest_text),
                "similarity": item.similarity,
            }
            if item.nearest_case and item.nearest_text
            else None
        )
        return {
            "id": item.id,
            "why": visible(f"{item.reason} ({item.samplers})"),
            "about": [
                visible(text)
                for text in (item.category, item.language, _LIKED.get(_feedback(item)))
                if text
            ],
            "conversation": [
                _turn(row, of_all=_feedback(item) is not None) for row in item.messages
            ],
            "nearest": nearest,
            "terms": [visible(term) for term in item.terms],
            "edits": self.edits,
            "asked": [writable_text(text) for text in item.asked],
        }

    def _decisions(self) -> list[Mapping[str, Any]]:
        return [one for one in self._file.decisions if one["conversation_id"] in self._by_name]

    def _some_item(self) -> CurationItem:
        item = self.current
        if item is None:
            raise ValueError("no candidate is left")
        return item

    def _write(self, action: str, **more: Any) -> None:
        self._append(self._some_item().conversation_id, action, **more)

    def _append(self, name: str, action: str, **more: Any) -> None:
        record = {
            "conversation_id": name,
            "curator": self.curator,
            "action": action,
            "at": now_text(self._clock),
            **more,
        }
        try:
            append_staged(self.path, record)
        finally:
            self.catch_up()


def _feedback(item: CurationItem) -> int | None:
    """Return the feedback that stands at every message, as that to a whole conversation does."""
    given = {row.get("feedback") for row in item.messages}
    return given.pop() if len(given) == 1 else None


def _turn(row: Mapping[str, Any], *, of_all: bool) -> dict[str, str]:
    who = _WHO.get(row["role"], visible(row["role"]))
    liked = None if of_all else _LIKED.get(row.get("feedback"))
    return {
        "who": f"{who}, {liked}" if liked else who,
        "text": visible(writable_text(row.get("text", ""))),
    }

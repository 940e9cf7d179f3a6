"""Labelling as plain Python: which item comes next, what was said of it, how far it has come.

The rater's file is the state. What is here is read from it, before and after every action, so that
a form that is built anew, by another kernel or beside another one, stands where the file stands.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from evalnb.curation.label_files import LabelFile
from evalnb.curation.labels import append_label, check_rater
from evalnb.curation.lots import lot
from evalnb.curation.pacing import now_text, seconds_an_item
from evalnb.curation.people import PLACEHOLDER
from evalnb.jsontext import writable_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from evalnb.curation.items import Item
    from evalnb.curation.scales import Scale
    from evalnb.errors import Problem

__all__ = ["Labelling", "Progress"]

_MAX_NOTE = 10_000
_VALUES = {"first": 1.0, "tie": 0.5, "second": 0.0}
_ANSWERS = {value: answer for answer, value in _VALUES.items()}


@dataclass(frozen=True)
class Progress:
    """How far a rater has come.

    Attributes
    ----------
    n, n_labelled, n_skipped : counts of items
    seconds_an_item : median time between two actions, pauses over ten minutes left out; None
        before there are two
    """

    n: int
    n_labelled: int
    n_skipped: int
    seconds_an_item: float | None

    @property
    def n_left(self) -> int:
        """How many items are to come."""
        return self.n - self.n_labelled - self.n_skipped

    def __str__(self) -> str:
        return f"{self.n_labelled} of {self.n} labelled"


class Labelling:
    """One rater's way through items.

    Parameters
    ----------
    items : what is to be rated; their order does not matter
    path : the rater's file, `labels/<rater>.jsonl`; made with the first label
    seed : of the order, which is another one for each rater, and of the sides of pairs
    clock : says what time it is, in UTC
    left_out : what is not to be rated, by reason
    source : what the items are, in words

    Raises
    ------
    InputError
        If the file's name cannot be a rater's.
    """

    def __init__(
        self,
        items: Iterable[Item],
        path: Path,
        *,
        seed: int = 0,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        left_out: Mapping[str, int] | None = None,
        source: str = "",
    ) -> None:
        self.rater = check_rater(path.stem)
        self.left_out = dict(left_out or {})
        self.source = source
        self._seed = seed
        self._clock = clock
        self._file = LabelFile(path)
        self.items = sorted(items, key=lambda item: lot(seed, "order", self.rater, item.id))
        self._known = {item.rated for item in self.items}
        self._draft: dict[str, int | str] = {}
        self._note = ""
        self._drafted: str | None = None
        self.catch_up()

    @property
    def path(self) -> Path:
        """The rater's file."""
        return self._file.path

    @property
    def is_anonymous(self) -> bool:
        """Whether nobody has said who rates, so that nothing can be saved."""
        return self.rater == PLACEHOLDER

    @property
    def problems(self) -> list[Problem]:
        """The lines of the file that could not be used."""
        return self._file.problems

    @property
    def current(self) -> Item | None:
        """The item to rate: what was just taken back, else the first that is not done."""
        return self._current

    @property
    def draft(self) -> dict[str, int | str]:
        """The answers to the current item that are not saved yet, by axis."""
        return dict(self._draft)

    @property
    def progress(self) -> Progress:
        """How far the rater has come."""
        states = [self._state(item) for item in self.items]
        return Progress(
            n=len(states),
            n_labelled=states.count("label"),
            n_skipped=states.count("skip"),
            seconds_an_item=seconds_an_item(
                action.at for action in self._file.actions if action.rated in self._known
            ),
        )

    @property
    def can_undo(self) -> bool:
        """Whether there is an action to take back."""
        return any(action.rated in self._known for action in self._file.actions)

    def label(self, axis: str, answer: float | str) -> None:
        """Choose an answer to the current item; nothing is written yet.

        Parameters
        ----------
        axis : one of the item's
        answer : a level, or of a pair `first`, `second` or `tie`, as they are shown

        Raises
        ------
        ValueError
            If there is no item, axis or answer like that.
        """
        item = self._some_item()
        scale = next((scale for scale in item.scales if scale.name == axis), None)
        if scale is None:
            known = ", ".join(scale.name for scale in item.scales)
            raise ValueError(f"the item has the axes {known}. Got {axis!r}.")
        self._draft[axis] = _option(scale, answer)

    def note(self, text: str) -> None:
        """Say something about the current item; it is written with what is done next to it."""
        self._some_item()
        self._note = writable_text(text.strip())[:_MAX_NOTE]

    def missing(self) -> list[str]:
        """Return the axes of the current item that have no answer yet."""
        item = self.current
        return [] if item is None else [s.name for s in item.scales if s.name not in self._draft]

    def save(self) -> None:
        """Write the answers to the current item, all at one stroke, and go on to the next.

        Raises
        ------
        ValueError
            If an axis has no answer yet.
        InputError
            If it cannot be written.
        """
        item = self._some_item()
        if missing := self.missing():
            raise ValueError(f"there is no answer yet on {', '.join(missing)}")
        about = self._about(item, "label")
        self._write(
            {
                **about,
                "axis": scale.name,
                "value": self._value(item, self._draft[scale.name]),
                "note": self._note or None,
            }
            for scale in item.scales
        )

    def skip(self) -> None:
        """Leave the current item out, and go on to the next.

        Raises
        ------
        InputError
            If it cannot be written.
        """
        item = self._some_item()
        rows = self._rows
        said = {
            scale.name
            for scale in item.scales
            if rows.get((item.rated, scale.name), {}).get("action") == "label"
        }
        about = self._about(item, "skip")
        self._write(
            {**about, "axis": scale.name, "note": self._note or None}
            for scale in item.scales
            if scale.name not in said
        )

    def undo(self) -> None:
        """Take back the rater's last action on one of these items, which is then the current one.

        Raises
        ------
        ValueError
            If there is none.
        InputError
            If it cannot be written.
        """
        self.catch_up()
        last = next((a for a in reversed(self._file.actions) if a.rated in self._known), None)
        if last is None:
            raise ValueError("there is nothing to take back")
        names = ("case_id", "run_id", "output_hash", "other_hash")
        line = {name: last.lines[0].get(name) for name in names}
        self._write([{**line, "rater": self.rater, "action": "undo", "at": self._now()}])

    def shown(self) -> dict[str, Any]:
        """Return the current item as it may be shown, without a word on who answered.

        Returns
        -------
        id, question, answers, scales, draft, note; empty where no item is left
            Answers of a pair are in the order that this rater sees.
        """
        item = self.current
        if item is None:
            return {}
        answers = item.answers[::-1] if self._is_swapped(item) else item.answers
        return {
            "id": item.id,
            "question": dict(item.question),
            "answers": list(answers),
            "scales": [
                {
                    "name": scale.name,
                    "question": scale.question,
                    "options": [asdict(option) for option in scale.options],
                }
                for scale in item.scales
            ],
            "draft": self.draft,
            "note": self._note,
        }

    def catch_up(self) -> None:
        """Read what was written since the last time, by the same rater elsewhere, too."""
        self._file.catch_up()
        self._rows = self._file.rows()
        taken_back = self._file.taken_back
        back = taken_back.rated if taken_back else None
        first = (item for item in self.items if self._state(item) is None)
        again = (item for item in self.items if item.rated == back and self._state(item) is None)
        self._current = next(again, None) or next(first, None)
        self._take_up_draft()

    def _take_up_draft(self) -> None:
        """Start from what the file says of the current item, unless it was current before."""
        item = self._current
        drafted = item.id if item else None
        if drafted == self._drafted:
            return
        self._drafted = drafted
        self._draft, self._note = {}, ""
        if item is None:
            return
        taken_back = self._file.taken_back
        before = taken_back.lines if taken_back and taken_back.rated == item.rated else ()
        there = [row for (rated, _), row in self._rows.items() if rated == item.rated]
        for line in [*there, *before]:
            scale = next((s for s in item.scales if s.name == line.get("axis")), None)
            self._note = line.get("note") or self._note
            if scale is not None and line["action"] == "label":
                self._draft_of(item, scale, line["value"])

    def _draft_of(self, item: Item, scale: Scale, value: float) -> None:
        answer = value if item.other_hash is None else self._answer(item, value)
        if any(option.answer == answer for option in scale.options):
            self._draft[scale.name] = _option(scale, answer)

    def _state(self, item: Item) -> str | None:
        """Return `label` or `skip` for an item that is done; None where an axis is open."""
        said = [self._rows.get((item.rated, scale.name)) for scale in item.scales]
        if any(line is None for line in said):
            return None
        return "label" if any(line and line["action"] == "label" for line in said) else "skip"

    def _write(self, records: Iterable[Mapping[str, Any]]) -> None:
        self._file.catch_up()
        try:
            append_label(self.path, *records)
        finally:
            self.catch_up()

    def _about(self, item: Item, action: str) -> dict[str, Any]:
        return {
            "case_id": item.case_id,
            "run_id": item.run_id,
            "output_hash": item.output_hash,
            "other_hash": item.other_hash,
            "rater": self.rater,
            "sample": item.sample,
            "action": action,
            "at": self._now(),
        }

    def _some_item(self) -> Item:
        if self._current is None:
            raise ValueError("no item is left to rate")
        return self._current

    def _is_swapped(self, item: Item) -> bool:
        if item.other_hash is None:
            return False
        return lot(self._seed, "side", self.rater, item.id) < 0.5

    def _value(self, item: Item, answer: float | str) -> float:
        """Return what is written for an answer: of a pair, how the output of `output_hash` did."""
        if not isinstance(answer, str):
            return answer
        value = _VALUES[answer]
        return 1 - value if self._is_swapped(item) else value

    def _answer(self, item: Item, value: float) -> str:
        return _ANSWERS.get(1 - value if self._is_swapped(item) else value, "")

    def _now(self) -> str:
        return now_text(self._clock)


def _option(scale: Scale, answer: float | str) -> int | str:
    """Return the answer as the scale has it."""
    found = next((option.answer for option in scale.options if option.answer == answer), None)
    if found is None or isinstance(answer, bool):
        allowed = ", ".join(str(option.answer) for option in scale.options)
        raise ValueError(f"{scale.name} is answered by one of {allowed}. Got {answer!r}.")
    return found

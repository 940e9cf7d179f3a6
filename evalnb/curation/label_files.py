"""A rater's label file as it is read: what was done and not taken back, line by line.

What a kill tore off, or an editor broke, is reported with its file and line and costs no other
line.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from pydantic import ValidationError

from evalnb.curation.label_lines import Action, LabelLine, rated_key
from evalnb.errors import InputError, Problem
from evalnb.jsontext import parse_line
from evalnb.validation import validation_problems

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from evalnb.curation.label_lines import Rated

__all__ = ["LabelFile"]

_TORN = "breaks off: what was being written when it ended was not saved."
_REMEDY = "Delete the line, or restore it from git; what stands in the others counts."
_BOM = b"\xef\xbb\xbf"


@dataclass
class LabelFile:
    """A rater's file with what was read of it; the file is the state, this a view of it.

    Attributes
    ----------
    path : need not exist yet; it is made with the first label
    actions : what was done and not taken back, in order
    taken_back : what the last line took back; None where it did something else
    levels : axis to the values that a label of one output may have; others are a problem of their line, and axes
        that are not named may have any
    """

    path: Path
    levels: Mapping[str, Collection[float]] = field(default_factory=dict)
    actions: list[Action] = field(default_factory=list)
    taken_back: Action | None = None
    _problems: list[Problem] = field(default_factory=list)
    _offset: int = 0
    _number: int = 0
    _is_joined: bool = False
    _identity: tuple[int, int] | None = None
    _tail: Problem | None = None

    @property
    def rater(self) -> str:
        """Whose file it is."""
        return self.path.stem

    @property
    def problems(self) -> list[Problem]:
        """The lines that could not be used."""
        return [*self._problems, *([self._tail] if self._tail else [])]

    def rows(self) -> dict[tuple[Rated, str | None], Mapping[str, Any]]:
        """Return the line that holds for each output and axis: the last that was not taken back."""
        rows: dict[tuple[Rated, str | None], Mapping[str, Any]] = {}
        for action in self.actions:
            for line in action.lines:
                key = (action.rated, line.get("axis"))
                rows.pop(key, None)
                rows[key] = line
        return rows

    def catch_up(self) -> Self:
        """Read what was written since the last time, by whomever.

        Raises
        ------
        InputError
            If the file cannot be read.
        """
        try:
            content = self._new_bytes()
        except OSError as error:
            problem = Problem(str(self.path), 0, "", f"cannot be read: {error}.", "Mend that.")
            raise InputError("the labels cannot be read", [problem]) from error
        self._tail = None
        *whole, tail = content.split(b"\n")
        for raw in whole:
            self._number += 1
            self._offset += len(raw) + 1
            self._take(raw)
        if tail:
            self._take_tail(tail)
        return self

    def _new_bytes(self) -> bytes:
        """Return what follows the part that was read; of another file by that name, all."""
        try:
            with self.path.open("rb") as file:
                found = os.fstat(file.fileno())
                identity = found.st_dev, found.st_ino
                if identity != self._identity or found.st_size < self._offset:
                    self._forget()
                self._identity = identity
                file.seek(self._offset)
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            if self._offset:
                raise InputError(
                    f"{self.path} is gone, with {self._number:,} lines that were on disk. Put it "
                    "back (from git, or from where it was moved to) and go on; to begin anew "
                    "without it, run the form's cell again."
                ) from None
            return b""

    def _forget(self) -> None:
        self.actions, self.taken_back, self._problems = [], None, []
        self._offset, self._number, self._is_joined = 0, 0, False

    def _take(self, raw: bytes) -> None:
        raw = raw.removeprefix(_BOM) if self._number == 1 else raw
        if not raw.strip():  # ends a line that lacked its end
            return
        line = self._line(raw, self._number)
        if isinstance(line, Problem):
            self._problems.append(line)
        else:
            self._do(line)

    def _take_tail(self, raw: bytes) -> None:
        """Take a line without its end where it is whole; else it may still be being written."""
        line = self._line(raw, self._number + 1)
        if isinstance(line, Problem):
            self._tail = Problem(line.file, line.line, "", _TORN, _REMEDY)
            return
        self._offset += len(raw)
        self._do(line)

    def _line(self, raw: bytes, number: int) -> Mapping[str, Any] | Problem:
        name = str(self.path)
        found = parse_line(name, number, raw)
        if isinstance(found, Problem):
            return Problem(name, number, found.field, found.message, _REMEDY)
        try:
            line = LabelLine.model_validate(found.value)
        except ValidationError as error:
            return validation_problems(error, name, number, LabelLine)[0]
        if line.rater != self.rater:
            message = f"is of {line.rater!r}, in the file of {self.rater!r}."
            return Problem(name, number, "rater", message, "Move the line to the rater's own file.")
        is_single = line.value is not None and line.other_hash is None
        allowed = self.levels.get(line.axis or "") if is_single else None
        if allowed is not None and line.value not in allowed:
            shown = ", ".join(f"{level:g}" for level in sorted(allowed))
            message = f"is {line.value:g}, and `{line.axis}` has the levels {shown}."
            return Problem(name, number, "value", message, _REMEDY)
        return found.value

    def _do(self, line: Mapping[str, Any]) -> None:
        if line["action"] == "undo":
            self._take_back(line)
        elif self._is_joined and self.actions[-1].takes(line):
            self.actions[-1] = Action((*self.actions[-1].lines, line))
        else:
            self.taken_back = None
            self.actions.append(Action((line,)))
            self._is_joined = True

    def _take_back(self, line: Mapping[str, Any]) -> None:
        self._is_joined = False
        self.taken_back = None
        about = rated_key(line) if line.get("case_id") and line.get("output_hash") else None
        for position in reversed(range(len(self.actions))):
            if about in (None, self.actions[position].rated):
                self.taken_back = self.actions.pop(position)
                return

r"""The label files of a suite, `labels/<rater>.jsonl`: what people said, line by line.

A file is only ever appended to. Every action is one line for each axis, on disk before anybody is
told that it is saved; taking back is a line, too. What a kill tore off, or an editor broke, is
reported with its file and line and costs no other line.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, FiniteFloat, StringConstraints, ValidationError
from pydantic.functional_validators import AfterValidator, model_validator
from pydantic_core import PydanticCustomError

from evalnb.errors import InputError, Problem, nearest_name
from evalnb.frames import LABELS
from evalnb.jsontext import dump_json, parse_line
from evalnb.places import is_remote
from evalnb.validation import validation_problems

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import pandas as pd

    from evalnb.golden import GoldenSet

__all__ = [
    "PLACEHOLDER",
    "Action",
    "LabelFile",
    "LabelLine",
    "append_label",
    "check_rater",
    "label_path",
    "labels_folder",
    "rated_key",
    "read_labels",
]

PLACEHOLDER = "your-name"
"""Stands for a rater who has not said who they are; nothing is written under this name."""

Rated = tuple[str, str, str | None]
"""What was rated: case, output hash and, for a pair, the other's hash."""

_RATER = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_RESERVED = re.compile(r"con|prn|aux|nul|com\d|lpt\d")  # devices, to Windows
_TORN = "breaks off: what was being written when it ended was not saved."
_REMEDY = "Delete the line, or restore it from git; what stands in the others counts."
_BOM = b"\xef\xbb\xbf"

Text = Annotated[str, StringConstraints(min_length=1)]


def _moment(value: str) -> str:
    try:
        aware = datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        aware = False
    if not aware:
        raise PydanticCustomError("moment", "must be a time such as 2026-05-31T09:30:00+00:00")
    return value


class LabelLine(BaseModel):
    """One line of a label file; further fields are kept as they are."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    case_id: Text | None = None
    run_id: Text | None = None
    output_hash: Text | None = None
    other_hash: Text | None = None
    rater: Text
    axis: Text | None = None
    value: FiniteFloat | None = None
    note: str | None = None
    sample: Text | None = None
    action: Literal["label", "skip", "undo"]
    at: Annotated[str, AfterValidator(_moment)]

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        needed = {"label": ("case_id", "output_hash", "axis", "value")}
        lacking = [
            name
            for name in needed.get(self.action, ("case_id", "output_hash"))
            if self.action != "undo" and getattr(self, name) is None
        ]
        if lacking:
            raise PydanticCustomError(
                "label_line",
                "has the action `{action}` without {lacking}",
                {"action": self.action, "lacking": ", ".join(f"`{name}`" for name in lacking)},
            )
        if self.action == "skip" and self.value is not None:
            raise PydanticCustomError("label_line", "has the action `skip` and a value")
        return self


@dataclass(frozen=True)
class Action:
    """What a rater did at one stroke: lines on one output, an axis each.

    Attributes
    ----------
    lines : as they stand in the file
    """

    lines: tuple[Mapping[str, Any], ...]

    @property
    def rated(self) -> Rated:
        """What it was about."""
        return rated_key(self.lines[0])

    @property
    def kind(self) -> str:
        """`label` or `skip`."""
        return str(self.lines[0]["action"])

    @property
    def at(self) -> str:
        """When it was done, in UTC."""
        return str(self.lines[0]["at"])

    def takes(self, line: Mapping[str, Any]) -> bool:
        """Tell whether a line that follows belongs to it."""
        return (
            (rated_key(line), line["action"], line["at"]) == (self.rated, self.kind, self.at)
        ) and all(line.get("axis") != other.get("axis") for other in self.lines)


def rated_key(line: Mapping[str, Any]) -> Rated:
    """Return what a line is about."""
    return line["case_id"], line["output_hash"], line.get("other_hash")


@dataclass
class LabelFile:
    """A rater's file with what was read of it; the file is the state, this a view of it.

    Attributes
    ----------
    path : need not exist yet; it is made with the first label
    actions : what was done and not taken back, in order
    taken_back : what the last line took back; None where it did something else
    """

    path: Path
    actions: list[Action] = field(default_factory=list)
    taken_back: Action | None = None
    _problems: list[Problem] = field(default_factory=list)
    _offset: int = 0
    _number: int = 0
    _is_joined: bool = False
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
        """Read what was written since the last time, by whomever."""
        size = self.path.stat().st_size if self.path.exists() else 0
        if size < self._offset:  # another file by now
            self._forget()
        self._tail = None
        if size == self._offset:
            return self
        with self.path.open("rb") as file:
            file.seek(self._offset)
            content = file.read()
        *whole, tail = content.split(b"\n")
        for raw in whole:
            self._number += 1
            self._offset += len(raw) + 1
            self._take(raw)
        if tail:
            self._take_tail(tail)
        return self

    def append(self, *records: Mapping[str, Any]) -> None:
        """Write an action, and read it back; see `append_label`."""
        try:
            append_label(self.path, *records)
        finally:
            self.catch_up()

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


def check_rater(name: str) -> str:
    """Return a rater's name if it can be one: it becomes a file's name.

    Raises
    ------
    InputError
        If it cannot.

    Examples
    --------
    >>> check_rater("scripted-anna")
    'scripted-anna'
    """
    if not _RATER.fullmatch(name) or _RESERVED.fullmatch(name):
        raise InputError(
            f"a rater's name is a file's name: 1 to 40 of the characters a-z 0-9 _ - , first a "
            f"letter, and no device name such as `con`. Got {name!r}."
        )
    return name


def labels_folder(golden: GoldenSet) -> Path:
    """Return where a suite's labels are kept.

    Raises
    ------
    InputError
        If the suite is a bare file, or at a URL: labels need a folder of this machine.
    """
    if golden.folder is None:
        raise InputError("only a suite has labels: give a suite's folder, not a JSONL file")
    _check_local(golden.folder)
    return golden.folder / "labels"


def label_path(golden: GoldenSet, rater: str) -> Path:
    """Return the file of a rater.

    Raises
    ------
    InputError
        If the name cannot be a rater's, or the suite cannot have labels.
    """
    return labels_folder(golden) / f"{check_rater(rater)}.jsonl"


def append_label(path: Path, *records: Mapping[str, Any]) -> None:
    """Write an action at the end of a label file; it is on disk when this returns.

    Parameters
    ----------
    path : the rater's file, `labels/<rater>.jsonl`; made where it is missing
    *records : with the columns of `LABELS`; those of several axes are written together

    Raises
    ------
    InputError
        If nothing can be written there, or under this rater's name.
    ValueError
        If a record is none.
    """
    _check_local(path)
    if check_rater(path.stem) == PLACEHOLDER:
        raise InputError(f"{PLACEHOLDER!r} is nobody: say who rates with the parameter `rater`")
    raw = b"".join(dump_json(_record(path, record)).encode() + b"\n" for record in records)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_to_the_end(path, raw)
    except OSError as error:
        problem = Problem(str(path), 0, "", f"cannot be written: {error}.", "Mend that, go on.")
        raise InputError("the label was not saved", [problem]) from error


def read_labels(
    golden: GoldenSet, raters: Iterable[str] | None = None
) -> tuple[pd.DataFrame, list[Problem]]:
    """Read what people said last of each output and axis.

    Parameters
    ----------
    golden : the suite
    raters : whose labels; by default everybody's

    Returns
    -------
    labels : a labels frame, by rater, then in the order in which it was said
        What was taken back is not in it; what was skipped is, without a value.
    problems : the lines that could not be used, with file and line

    Raises
    ------
    InputError
        If a rater that is asked for has no labels, or the suite cannot have any.
    """
    folder = labels_folder(golden)
    there = {path.stem: path for path in sorted(folder.glob("*.jsonl"))}
    rows: list[Mapping[str, Any]] = []
    problems: list[Problem] = []
    for rater in there if raters is None else dict.fromkeys(raters):
        if rater not in there:
            near = nearest_name(rater, list(there))
            hint = f"Did you mean {near!r}?" if near else f"There are {', '.join(there) or 'none'}."
            raise InputError(f"there are no labels of {rater!r} in {folder}. {hint}")
        file = LabelFile(there[rater]).catch_up()
        rows += file.rows().values()
        problems += file.problems
    return LABELS.build(rows), problems


def _check_local(where: Path) -> None:
    if is_remote(where):
        raise InputError(
            f"{where} is at a URL: labels are written line by line, which needs a folder of this "
            "machine. Copy the suite here, label, and copy its `labels` back."
        )


def _record(path: Path, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record as it is written: known columns first, without what is missing."""
    given = {name: value for name, value in record.items() if value is not None}
    try:
        line = LabelLine.model_validate(given)
    except ValidationError as error:
        raise ValueError(str(validation_problems(error, str(path), 0, LabelLine)[0])) from error
    if line.rater != path.stem:
        raise ValueError(f"a label of {line.rater!r} does not belong in {path}")
    names = [*LABELS.columns, *(name for name in given if name not in LABELS.columns)]
    return {name: given[name] for name in names if name in given}


def _write_to_the_end(path: Path, raw: bytes) -> None:
    """Append at one stroke and have the disk keep it; after a torn line ours starts anew."""
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        size = os.fstat(file).st_size
        if size:
            os.lseek(file, -1, os.SEEK_END)
            raw = raw if os.read(file, 1) == b"\n" else b"\n" + raw
        written = os.write(file, raw)
        while written < len(raw):
            written += os.write(file, raw[written:])
        os.fsync(file)
    finally:
        os.close(file)
    if not size:
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Have the disk keep that a file is there, where folders can be told so."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)

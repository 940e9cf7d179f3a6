"""Files of what people did, a line an action, that are only ever appended to.

A line is on disk before anybody is told so. What a kill tore off, or an editor broke, is reported
with its file and line and costs no other line.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

from evalnb.errors import InputError, Problem
from evalnb.jsontext import dump_json, parse_line
from evalnb.places import is_remote

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from evalnb.jsontext import Line

__all__ = ["REMEDY", "ActionFile", "append_lines", "check_local"]

REMEDY = "Delete the line, or restore it from git; what stands in the others counts."
_TORN = "breaks off: what was being written when it ended was not saved."
_BOM = b"\xef\xbb\xbf"


@dataclass
class ActionFile(ABC):
    """A file of actions with what was read of it; the file is the state, this a view of it.

    Attributes
    ----------
    path : need not exist yet; it is made with the first action
    """

    holds: ClassVar[str] = "actions"
    """What its lines are, in words."""

    path: Path
    _problems: list[Problem] = field(default_factory=list, init=False)
    _offset: int = field(default=0, init=False)
    _number: int = field(default=0, init=False)
    _identity: tuple[int, int] | None = field(default=None, init=False)
    _tail: Problem | None = field(default=None, init=False)

    @abstractmethod
    def clear(self) -> None:
        """Forget what was read: it is another file by that name now."""

    @abstractmethod
    def checked(self, line: Line) -> Mapping[str, Any] | Problem:
        """Return a line that can be used, or what is wrong with it."""

    @abstractmethod
    def do(self, line: Mapping[str, Any]) -> None:
        """Take a line that follows on those before it."""

    @property
    def problems(self) -> list[Problem]:
        """The lines that could not be used."""
        return [*self._problems, *([self._tail] if self._tail else [])]

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
            raise InputError(f"the {self.holds} cannot be read", [problem]) from error
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
        self._problems, self._offset, self._number = [], 0, 0
        self.clear()

    def _take(self, raw: bytes) -> None:
        raw = raw.removeprefix(_BOM) if self._number == 1 else raw
        if not raw.strip():  # ends a line that lacked its end
            return
        line = self._line(raw, self._number)
        if isinstance(line, Problem):
            self._problems.append(line)
        else:
            self.do(line)

    def _take_tail(self, raw: bytes) -> None:
        """Take a line without its end where it is whole; else it may still be being written."""
        line = self._line(raw, self._number + 1)
        if isinstance(line, Problem):
            self._tail = Problem(line.file, line.line, "", _TORN, REMEDY)
            return
        self._offset += len(raw)
        self.do(line)

    def _line(self, raw: bytes, number: int) -> Mapping[str, Any] | Problem:
        found = parse_line(str(self.path), number, raw)
        if isinstance(found, Problem):
            return Problem(found.file, number, found.field, found.message, REMEDY)
        return self.checked(found)


def append_lines(path: Path, lines: Iterable[Mapping[str, Any]], what: str) -> None:
    """Write lines at the end of a file, all at one stroke; they are on disk when this returns.

    Parameters
    ----------
    path : made where it is missing, with its folder
    lines : JSON objects
    what : what was not saved, in words, where it could not be written

    Raises
    ------
    InputError
        If nothing can be written there.
    """
    raw = b"".join(dump_json(line).encode() + b"\n" for line in lines)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_to_the_end(path, raw)
    except OSError as error:
        problem = Problem(str(path), 0, "", f"cannot be written: {error}.", "Mend that, go on.")
        raise InputError(f"the {what} was not saved", [problem]) from error


def check_local(where: Path, what: str) -> None:
    """Refuse a place where lines cannot be appended.

    Parameters
    ----------
    where : a file, or the folder of a suite
    what : what is written there, which is the name of its folder in a suite

    Raises
    ------
    InputError
        If it is at a URL.
    """
    if is_remote(where):
        raise InputError(
            f"{where} is at a URL: {what} are written line by line, which needs a folder of this "
            f"machine. Copy the suite here, and its `{what}` back."
        )


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

"""What is kept on disk of batches: which request is in which, and what was handed on."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from evalnb.errors import InputError, Problem
from evalnb.judges.batches.reading import read_json, read_moment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from evalnb.judges.batches.reading import Json

__all__ = ["BatchFile", "Intent"]

_FORMAT = 1


@dataclass(frozen=True)
class Intent:
    """A batch that is about to be sent."""

    marker: str
    at: datetime
    custom_ids: tuple[str, ...]


class BatchFile:
    """Which request is in which batch: JSON lines that are only ever appended to.

    ::

        {"format": 1}
        {"intent": marker, "at": time, "custom_ids": [...]}   a batch is about to be sent
        {"intent": marker, "batch": id, "created": true}      it was made, and has this id
        {"intent": marker, "batch": id}                       this one is taken for it
        {"intent": marker, "batch": null}                     there is none
        {"taken": [custom ids]}                               these were handed on

    Of two lines on one intent's batch the later one holds.

    Parameters
    ----------
    path : need not exist yet; a torn last line is cut off
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._intents: dict[str, Intent] = {}
        self._became: dict[str, str | None] = {}
        self._created: set[str] = set()
        self._taken: set[str] = set()
        self._used: set[str] = set()
        self._descriptor = -1
        self._end = 0
        self._guard = FileLock(path.with_suffix(".lock"), timeout=0, thread_local=False)
        try:
            self._guard.acquire()
        except Timeout as error:
            raise InputError(
                f"another process is writing {path}: wait for it, or end it"
            ) from error
        try:
            self._load()
        except BaseException:
            self._guard.release()
            raise

    def batches(self) -> Iterator[tuple[str, Intent]]:
        """Yield the batches that are known, with what was meant to be in them."""
        for marker, batch_id in self._became.items():
            if batch_id is not None and marker in self._intents:
                yield batch_id, self._intents[marker]

    def unsure(self) -> list[Intent]:
        """Return the batches of which nobody knows whether they are there."""
        return [it for marker, it in self._intents.items() if marker not in self._became]

    def is_created(self, intent: Intent) -> bool:
        """Tell whether a batch's id came in answer to its making, and is not a guess."""
        return intent.marker in self._created

    def untaken(self, intent: Intent) -> list[str]:
        """Return the custom ids of a batch whose results were not handed on."""
        return [custom_id for custom_id in intent.custom_ids if custom_id not in self._taken]

    def free_id(self, key: str) -> str:
        """Return the custom id of the next request with this key."""
        ids = (f"{key}-{number}" for number in count(1))
        return next(custom_id for custom_id in ids if custom_id not in self._used)

    def use(self, custom_id: str) -> None:
        """Give a custom id to no other request."""
        self._used.add(custom_id)

    def intend(self, custom_ids: Sequence[str]) -> Intent:
        """Write that a batch is about to be sent."""
        intent = Intent(secrets.token_hex(8), datetime.now(UTC), tuple(custom_ids))
        self._append(
            {"intent": intent.marker, "at": intent.at.isoformat(), "custom_ids": custom_ids},
            lasting=True,
        )
        self._intents[intent.marker] = intent
        return intent

    def note(self, intent: Intent, batch_id: str | None, *, is_created: bool = False) -> None:
        """Write what became of an intent."""
        line: Json = {"intent": intent.marker, "batch": batch_id}
        self._append({**line, "created": True} if is_created else line, lasting=True)
        self._became[intent.marker] = batch_id
        if is_created:
            self._created.add(intent.marker)
        if batch_id is None:
            self._used -= set(intent.custom_ids)

    def take(self, custom_ids: Sequence[str]) -> None:
        """Write that results were handed on."""
        self._append({"taken": custom_ids}, lasting=False)
        self._taken.update(custom_ids)

    def ambiguous(self, intent: Intent, batch_ids: Sequence[str]) -> InputError:
        """Say that nobody can tell which batch was meant, and what to do."""
        line = json.dumps({"intent": intent.marker, "batch": batch_ids[0]})
        problem = Problem(
            str(self.path),
            0,
            "",
            f"a batch of {len(intent.custom_ids)} requests was sent at {intent.at:%Y-%m-%d %H:%M} "
            f"UTC, and its id did not arrive; {', '.join(batch_ids)} may be it.",
            f"See in the Claude Console which one it is and append the line {line} with its id; "
            "null in its place has the requests sent and paid for again.",
        )
        return InputError("the run cannot tell which batch is its own", [problem])

    def close(self) -> None:
        """Have the disk keep what was written, and let other processes write."""
        if self._descriptor >= 0:
            os.fsync(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
        self._guard.release()

    def _load(self) -> None:
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                if not raw.endswith(b"\n"):
                    break
                self._read(number, read_json(raw))
                self._end += len(raw)
        if self._end < self.path.stat().st_size:
            os.truncate(self.path, self._end)
        for marker, intent in self._intents.items():
            if self._became.get(marker, "") is not None:
                self._used.update(intent.custom_ids)

    def _read(self, number: int, line: Any) -> None:
        match line:
            case {"format": version} if number == 1 and version == _FORMAT:
                pass
            case _ if number == 1:
                what = "is no file of batches of this version."
                problem = Problem(str(self.path), 1, "", what, "Choose another folder for the run.")
                raise InputError("the run cannot be taken up", [problem])
            case {"intent": str(marker), "at": str(at), "custom_ids": [*custom_ids]}:
                when = read_moment(at)
                if when is not None and all(isinstance(it, str) for it in custom_ids):
                    self._intents[marker] = Intent(marker, when, tuple(custom_ids))
            case {"intent": str(marker), "batch": str() | None as batch_id, **further}:
                self._became[marker] = batch_id
                if further.get("created") is True:
                    self._created.add(marker)
            case {"taken": [*custom_ids]}:
                self._taken.update(it for it in custom_ids if isinstance(it, str))

    def _append(self, line: Mapping[str, Any], *, lasting: bool) -> None:
        raw = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        try:
            if self._descriptor < 0:
                flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
                self._descriptor = os.open(self.path, flags, 0o644)
            if self._end == 0:
                raw = b'{"format":%d}\n' % _FORMAT + raw
            written = os.write(self._descriptor, raw)
            while written < len(raw):
                written += os.write(self._descriptor, raw[written:])
            if lasting:
                os.fsync(self._descriptor)
        except OSError as error:
            if self._descriptor >= 0:
                os.ftruncate(self._descriptor, self._end)
            problem = Problem(str(self.path), 0, "", f"cannot be written: {error}.", "Make room.")
            raise InputError("a batch could not be noted", [problem]) from error
        self._end += len(raw)

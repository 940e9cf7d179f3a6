"""The journal of a live run: every response on disk before anybody sees it.

One file of JSON lines, only ever appended to: what the run is of, the responses that the model
gave (a cassette of the run's own), and the outputs that are finished. A run that was killed is
taken up where it stood, so that at most the requests that were under way are asked again.
"""

from __future__ import annotations

import json
import os
import threading
import time
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from evalnb.errors import InputError, Problem
from evalnb.frames import NaReason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from evalnb.cassettes import Exchange, Slot

__all__ = ["JOURNAL", "UNFINISHED", "Journal", "JournalBusyError", "journal_identity"]

JOURNAL = "journal.jsonl"
"""Name of the journal in a run's folder."""

_FORMAT = 1
_SYNC_SECONDS = 1.0
UNFINISHED = frozenset(
    {
        NaReason.SERVER,
        NaReason.BAD_REQUEST,
        NaReason.DEADLINE,
        NaReason.BUDGET,
        NaReason.INCOMPLETE,
        NaReason.SYSTEM_ERROR,
    }
)
"""What a later attempt may mend: such a case is answered again."""

Place = tuple[str, int, str, int]


class JournalBusyError(InputError):
    """A journal that another process is writing."""


class Journal:
    """Responses and outputs of one live run.

    A process that is killed loses nothing that was written; the disk is told to keep it within a
    second, and at the end.

    Parameters
    ----------
    path : need not exist yet; a torn last line is cut off
    identity : what the run is of: a journal of anything else is refused

    Raises
    ------
    JournalBusyError
        If another process is writing it.
    InputError
        If it is of another run, or no journal at all.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self.path = path
        self.n_resumed = 0
        """How many responses were there already."""
        self.n_unreadable = 0
        """How many lines could not be read: what they held is asked again."""
        self._lock = threading.Lock()
        self._outputs: dict[tuple[str, int], tuple[int, int]] = {}
        self._responses: dict[Place, tuple[int, int]] = {}
        self._guard = FileLock(path.with_suffix(".lock"), timeout=0)
        try:
            self._guard.acquire()
        except Timeout as error:
            raise JournalBusyError(
                f"another process is writing {path}: wait for it, or end it"
            ) from error
        try:
            self._load(dict(identity))
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            self._end = path.stat().st_size
            self._synced = time.monotonic()
            if self._end == 0:
                self._append({"format": _FORMAT, "identity": dict(identity)})
        except BaseException:
            self._guard.release()
            raise

    def take(self, case_id: str, slot: Slot) -> dict[str, Any] | None:
        """Return what stands in the journal of a slot: `response` and `latency_ms`."""
        with self._lock:
            where = self._responses.get((case_id, slot.repeat, slot.key, slot.occurrence))
        return None if where is None else self._read(where)

    def put(self, case_id: str, slot: Slot, request: Mapping[str, Any], exchange: Exchange) -> None:
        """Store a response."""
        line = {
            "case_id": case_id,
            "repeat": slot.repeat,
            "key": slot.key,
            "occurrence": slot.occurrence,
            "latency_ms": exchange.latency_ms,
            "request": request,
            "response": exchange.response,
        }
        with self._lock:
            place = (case_id, slot.repeat, slot.key, slot.occurrence)
            self._responses[place] = self._append(line)

    def output(self, case_id: str, repeat: int) -> dict[str, Any] | None:
        """Return the finished outputs row of a case and repeat, None where it must be answered."""
        with self._lock:
            where = self._outputs.get((case_id, repeat))
        return None if where is None else dict(self._read(where)["output"])

    def put_output(self, row: Mapping[str, Any]) -> None:
        """Store a finished outputs row; those that another attempt may mend are left out."""
        if row.get("na_reason") in UNFINISHED:
            return
        kept = {name: value for name, value in row.items() if value is not None}
        with self._lock:
            self._outputs[row["case_id"], row["repeat"]] = self._append({"output": kept})

    def exchanges(self) -> Iterator[dict[str, Any]]:
        """Yield every response line, as `put` stored them."""
        with self._lock:
            places = list(self._responses.values())
        for where in places:
            yield self._read(where)

    def close(self) -> None:
        """Have the disk keep what was written, and let other processes write."""
        with self._lock:
            if self._file >= 0:
                os.fsync(self._file)
                os.close(self._file)
                self._file = -1
        self._guard.release()

    def _load(self, identity: dict[str, Any]) -> None:
        """Find the lines; what was torn off in the middle of a line goes."""
        if not self.path.exists():
            return
        good_end = 0
        with self.path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                if not raw.endswith(b"\n"):
                    break
                self._note(number, raw, good_end, identity)
                good_end += len(raw)
        if good_end < self.path.stat().st_size:
            os.truncate(self.path, good_end)
        self.n_resumed = len(self._responses)

    def _note(self, number: int, raw: bytes, offset: int, identity: dict[str, Any]) -> None:
        try:
            line = json.loads(raw)
        except ValueError:
            line = None
        if number == 1:
            if not isinstance(line, dict) or line.get("format") != _FORMAT:
                raise self._unusable(number, "is no journal of this version")
            if line.get("identity") != identity:
                raise self._unusable(number, "is of another run: other cases, system or repeats")
            return
        where = (offset, len(raw))
        match line:
            case {"output": {"case_id": str(case_id), "repeat": int(repeat)}}:
                self._outputs[case_id, repeat] = where
            case {
                "case_id": str(case_id),
                "repeat": int(repeat),
                "key": str(key),
                "occurrence": int(occurrence),
                "response": {},
            }:
                self._responses[case_id, repeat, key, occurrence] = where
            case _:
                self.n_unreadable += 1

    def _append(self, line: Mapping[str, Any]) -> tuple[int, int]:
        if self._file < 0:
            raise InputError(f"the run has ended: nothing more is written to {self.path}")
        raw = json.dumps(line, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
        try:
            written = os.write(self._file, raw)
            while written < len(raw):
                written += os.write(self._file, raw[written:])
        except OSError as error:
            os.ftruncate(self._file, self._end)
            problem = Problem(str(self.path), 0, "", f"cannot be written: {error}.", "Make room.")
            raise InputError("a response could not be kept", [problem]) from error
        where = (self._end, len(raw))
        self._end += len(raw)
        if time.monotonic() - self._synced > _SYNC_SECONDS:
            self._synced = time.monotonic()
            threading.Thread(target=_sync, args=(os.dup(self._file),), daemon=True).start()
        return where

    def _read(self, where: tuple[int, int]) -> dict[str, Any]:
        offset, length = where
        with self.path.open("rb") as file:
            file.seek(offset)
            line: dict[str, Any] = json.loads(file.read(length))
        return line

    def _unusable(self, number: int, what: str) -> InputError:
        remedy = "Choose another folder for the run."
        return InputError(
            "the run cannot be taken up", [Problem(str(self.path), number, "", what + ".", remedy)]
        )


def _sync(file: int) -> None:
    try:
        os.fsync(file)
    finally:
        os.close(file)


def journal_identity(path: Path) -> dict[str, Any] | None:
    """Return what a journal is of, None where there is none that can be read."""
    try:
        with path.open("rb") as file:
            line = json.loads(file.readline())
    except (OSError, ValueError):
        return None
    identity = line.get("identity") if isinstance(line, dict) else None
    return identity if isinstance(identity, dict) else None

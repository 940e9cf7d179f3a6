"""Records that cannot be read: counted, kept beside, redacted, and never fatal."""

from __future__ import annotations

import base64
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from evalnb.curation.redaction.redactor import Placeholders, redactor_of
from evalnb.frames import FrameSchema
from evalnb.jsontext import MAX_WRITTEN_LINE_BYTES, dump_json, read_lines, writable_text
from evalnb.places import place

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    import pandas as pd

    from evalnb.curation.redaction.redactor import Redactor

__all__ = ["DAMAGED", "Damage", "DamageFile", "DamagedLogWarning", "read_damaged"]

DAMAGED = FrameSchema(
    "damaged",
    {
        "number": "Int64",
        "source": "string",
        "problem": "string",
        "kept": "boolean",
        "record": "string",
    },
    key=("number",),
)
"""A row a fault of a log, in the order of reading.

`kept` says whether the message is in the logs frame all the same, without the value at fault;
`record` is the record as it stands in the log, redacted, and shortened where it is very long.
"""

_LONGEST = 100_000


class DamagedLogWarning(UserWarning):
    """Part of a log could not be read."""


class Damage(NamedTuple):
    """One fault of a log; `again` where it is a record that was there before."""

    source: str
    problem: str
    record: str = ""
    kept: bool = False
    again: bool = False


class DamageFile:
    """Writes down what cannot be read, from the first fault on, and says at the end how much it is.

    Parameters
    ----------
    path : a JSON Lines file, which is replaced; gone where nothing is damaged
    redactor : what finds what is not written down
    """

    def __init__(self, path: Path | str, redactor: Redactor | None = None) -> None:
        self.path = place(path)
        self._redactor = redactor
        self.n_lost = 0
        self.n_kept = 0
        self.n_again = 0
        self._file: Any = None

    def __enter__(self) -> DamageFile:
        self.path.unlink(missing_ok=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, damage: Damage) -> None:
        """Write down one fault."""
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("w", encoding="utf-8", newline="\n")
        self.n_kept += damage.kept
        self.n_again += damage.again
        self.n_lost += not (damage.kept or damage.again)
        line = {
            "source": damage.source,
            "problem": self._redacted(damage.problem),
            "kept": damage.kept,
            "record": self._redacted(writable_text(damage.record[:_LONGEST])),
        }
        self._file.write(dump_json(line) + "\n")

    def _redacted(self, text: str) -> str:
        self._redactor = self._redactor or redactor_of()
        return self._redactor.redact(text, Placeholders([text]))[0]

    def tell(self, source: str) -> None:
        """Warn where there was a fault."""
        parts = [
            f"{count:,} {what}"
            for count, what in (
                (self.n_lost, "could not be read and are left out"),
                (self.n_again, "were there before, word for word, and are left out"),
                (self.n_kept, "are there without a value that could not be read"),
            )
            if count
        ]
        if parts:
            text = f"records of {source}: {'; '.join(parts)}. They are kept in {self.path}."
            warnings.warn(text, DamagedLogWarning, stacklevel=3)


def read_damaged(path: Path | str) -> pd.DataFrame:
    """Return what could not be read of a log.

    Parameters
    ----------
    path : the side file of `read_logs`

    Returns
    -------
    a frame as `DAMAGED` says; without rows where there is no file
    """
    path = place(path)
    if not path.exists():
        return DAMAGED.empty()
    lines, _ = read_lines(path, max_line_bytes=MAX_WRITTEN_LINE_BYTES)
    return DAMAGED.build({"number": line.number, **line.value} for line in lines)


def as_text(record: Any) -> str:
    """Return a record as it can be kept in the side file."""
    return record if isinstance(record, str) else _dumped(record)


def _dumped(record: Any) -> str:
    import json

    return json.dumps(record, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)

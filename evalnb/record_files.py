"""Files of records that we write ourselves, many and fast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from evalnb.jsontext import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

__all__ = ["write_object", "write_records"]


def write_object(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON object, one value or one row of a list a line."""
    members = b",\n".join(b" %b: %b" % (_json(name), _rows(it)) for name, it in content.items())
    write_atomically(path, b"{\n%b\n}\n" % members)


def _rows(value: Any) -> bytes:
    if not isinstance(value, list) or not value:
        return _json(value)
    return b"[\n%b\n ]" % b",\n".join(b"  " + _json(row) for row in value)


def write_records(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write records as JSON Lines."""
    write_atomically(path, b"".join(_json(row) + b"\n" for row in records))


def _json(value: Any) -> bytes:
    """Write one value on one line, several times faster than `dump_json`.

    NaN would not be read back, but it cannot be here: a missing value has no key in a record, and
    the runner takes no answer that JSON cannot hold.
    """
    return to_json(value, inf_nan_mode="constants")

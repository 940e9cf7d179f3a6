"""What comes from outside, taken for what it is or for nothing: JSON, times, ids of batches."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any, TypeGuard

__all__ = ["Json", "is_batch_id", "read_json", "read_moment", "read_object"]

Json = dict[str, Any]

_BATCH_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")


def read_json(content: bytes) -> Any:
    """Return a JSON value, None where it cannot be read.

    Examples
    --------
    >>> read_json(b"[1, 2]"), read_json(b"[1, 2")
    ([1, 2], None)
    """
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def read_object(content: bytes) -> Json:
    """Return a JSON object, {} where there is none that can be read."""
    value = read_json(content)
    return value if isinstance(value, dict) else {}


def read_moment(text: Any) -> datetime | None:
    """Return a time, in UTC where it names no zone; None where it is none.

    Examples
    --------
    >>> read_moment("2026-12-01T08:00:00").isoformat()
    '2026-12-01T08:00:00+00:00'
    >>> read_moment("at eight")
    """
    try:
        when = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def is_batch_id(value: Any) -> TypeGuard[str]:
    """Tell whether a value is a batch's id, and can stand in a path.

    Examples
    --------
    >>> is_batch_id("msgbatch_01"), is_batch_id("../msgbatch_01")
    (True, False)
    """
    return isinstance(value, str) and _BATCH_ID.fullmatch(value) is not None

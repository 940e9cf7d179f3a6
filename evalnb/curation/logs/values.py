"""Values of a log as the logs frame has them, whatever their usual spelling."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

__all__ = [
    "MISSHAPEN",
    "ROLES",
    "UnreadableError",
    "read_count",
    "read_feedback",
    "read_flag",
    "read_number",
    "read_role",
    "read_time",
    "read_word",
]

ROLES = {
    "user": "user",
    "human": "user",
    "customer": "user",
    "client": "user",
    "caller": "user",
    "visitor": "user",
    "end_user": "user",
    "requester": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "chatbot": "assistant",
    "agent": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool_result",
    "function": "tool_result",
    "tool_result": "tool_result",
    "tool_response": "tool_result",
    "tool_call": "tool_call",
}
"""Who speaks in a log to the role of the logs frame."""

_FEEDBACK = {
    1: "1 +1 1.0 up thumbs_up thumbsup thumbs-up 👍 positive good like liked helpful yes true satisfied",
    0: "0 0.0 neutral none",
    -1: "-1 -1.0 down thumbs_down thumbsdown thumbs-down 👎 negative bad dislike disliked "
    "unhelpful not_helpful no false unsatisfied dissatisfied",
}
_FEEDBACK_OF = {word: value for value, words in _FEEDBACK.items() for word in words.split()}
_FLAGS = dict.fromkeys(["true", "t", "yes", "y", "1", "1.0"], True) | dict.fromkeys(
    ["false", "f", "no", "n", "0", "0.0"], False
)
_MOST = 2**53  # whole numbers beyond it are not all there
_SECOND, _MILLI, _MICRO = 1e11, 1e14, 1e17


class UnreadableError(ValueError):
    """A value that is there and cannot be understood."""


MISSHAPEN = (
    UnreadableError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What reading raises where a record has another form than it seems to: logs hold anything."""


def read_role(value: Any) -> str:
    """Return the role of the logs frame that a log's word means."""
    role = ROLES.get(str(value).strip().lower().replace(" ", "_").replace("-", "_"))
    if role is None:
        raise UnreadableError(f"{_shown(value)} is no role that is known ({', '.join(ROLES)})")
    return role


def read_word(value: Any) -> str | None:
    """Return an id or name as text; None for an empty one."""
    if isinstance(value, (dict, list)):
        raise UnreadableError(f"{_shown(value)} is no plain text")
    return str(value).strip() or None


def read_time(value: Any) -> str | None:
    """Return a time in UTC.

    It may be a date and time, such as ISO 8601 writes it, or a number of seconds, milli-, micro- or
    nanoseconds since 1970: which of these, its size tells. A time without a zone is UTC.

    Examples
    --------
    >>> read_time("2026-03-01T12:00:00+02:00")
    '2026-03-01T10:00:00.000+00:00'
    >>> read_time(1772359200) == read_time(1772359200000) == read_time("2026-03-01T10:00:00Z")
    True
    """
    try:
        moment = _moment(value)
    except (ValueError, OverflowError, OSError):
        raise UnreadableError(f"{_shown(value)} is no time") from None
    if moment is None:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat(timespec="milliseconds")


def read_feedback(value: Any) -> int:
    """Return feedback as -1, 0 or 1: a number of these, true or false, or a usual word.

    Examples
    --------
    >>> read_feedback("thumbs_up"), read_feedback(False), read_feedback(0)
    (1, -1, 0)
    """
    word = str(value).strip().lower().replace(" ", "_")
    if isinstance(value, (dict, list)) or word not in _FEEDBACK_OF:
        raise UnreadableError(
            f"{_shown(value)} is no feedback that is known: map its values to -1, 0 and 1"
        )
    return _FEEDBACK_OF[word]


def read_flag(value: Any) -> bool:
    """Return a yes or no."""
    flag = _FLAGS.get(str(value).strip().lower())
    if flag is None:
        raise UnreadableError(f"{_shown(value)} is neither true nor false")
    return flag


def read_number(value: Any) -> float:
    """Return a number that is finite and not negative."""
    try:
        if isinstance(value, bool) or not isinstance(value, (int, float, str, Decimal)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise UnreadableError(f"{_shown(value)} is no number") from None
    if not math.isfinite(number) or number < 0:
        raise UnreadableError(f"{_shown(value)} is no amount")
    return number


def read_count(value: Any) -> int:
    """Return a whole number that is not negative."""
    number = read_number(value)
    if not number.is_integer() or number > _MOST:
        raise UnreadableError(f"{_shown(value)} is no whole number")
    return int(number)


def _moment(value: Any) -> datetime | None:
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    if isinstance(value, str):
        text = value.strip()
        if not text:
            return None
        try:
            return _since_1970(float(text))
        except ValueError:
            return datetime.fromisoformat(text.removesuffix(" UTC"))
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return _since_1970(float(value))
    raise ValueError


def _since_1970(number: float) -> datetime:
    size = abs(number)
    unit = 1.0 if size < _SECOND else 1e3 if size < _MILLI else 1e6 if size < _MICRO else 1e9
    return datetime.fromtimestamp(number / unit, UTC)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"

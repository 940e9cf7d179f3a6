"""Rows of the logs frame from the records of a log."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from evalnb.curation.logs.damage import Damage, as_text
from evalnb.curation.logs.messages import Message, messages_of
from evalnb.curation.logs.values import (
    MISSHAPEN,
    UnreadableError,
    read_count,
    read_feedback,
    read_flag,
    read_number,
    read_role,
    read_time,
    read_word,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from evalnb.curation.logs.columns import Columns

__all__ = ["READERS", "read_fields", "readable", "rows_of"]

READERS: dict[str, Callable[[Any], Any]] = {
    "at": read_time,
    "language": read_word,
    "category": read_word,
    "feedback": read_feedback,
    "escalated": read_flag,
    "model": read_word,
    "input_tokens": read_count,
    "output_tokens": read_count,
    "latency_ms": read_number,
    "trace_id": read_word,
}
"""How the values of a column are read."""

# What an exchange says of its answer alone.
_OF_ANSWER = {"feedback", "feedback_raw", "model", "input_tokens", "output_tokens", "latency_ms"}


def rows_of(
    record: Mapping[str, Any], columns: Columns, source: str
) -> Iterator[dict[str, Any] | Damage]:
    """Yield the rows of one record, and what is wrong with it.

    Parameters
    ----------
    record : as it stands in the log
    columns : which field says what
    source : where the record is from

    Yields
    ------
    rows of the logs frame, their `turn` as the log says it; or a `Damage`
    """
    fields, faults = read_fields(record, columns)
    try:
        rows = _LAYOUTS[columns.layout](record, columns, fields)
    except MISSHAPEN as error:
        yield Damage(source, str(error), as_text(record))
        return
    yield from rows
    for fault in faults:
        yield Damage(source, fault, as_text(record), kept=True)


def read_fields(record: Mapping[str, Any], columns: Columns) -> tuple[dict[str, Any], list[str]]:
    """Return what a record says beside its text, and which values could not be read."""
    fields: dict[str, Any] = {}
    faults: list[str] = []
    for name, read in READERS.items():
        value = columns.take(record, name)
        if value is None or value == "":
            continue
        if name == "feedback":
            column = columns.fields[name]
            fields["feedback_raw"] = as_text(record.get(column.name, value))
        try:
            fields[name] = read(value)
        except UnreadableError as error:
            faults.append(f"`{columns.fields[name].name}`: {error}")
    return fields, faults


def readable(fields: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the columns of a logged call as the logs frame has them, and what cannot be read."""
    found: dict[str, Any] = {}
    faults = []
    for name, value in fields.items():
        try:
            found[name] = READERS.get(name, str)(value)
        except MISSHAPEN as error:
            faults.append(f"`{name}`: {error}")
    return found, faults


def _message(
    record: Mapping[str, Any], columns: Columns, fields: dict[str, Any]
) -> list[dict[str, Any]]:
    role = read_role(columns.take(record, "role"))
    conversation = _id(record, columns)
    if conversation is None:
        raise UnreadableError("the conversation is not named")
    turn = columns.take(record, "turn")
    order = None if turn is None else read_number(turn)
    said = columns.take(record, "text")
    spoken = messages_of(said, role) if isinstance(said, (dict, list)) else [_plain(said, role)]
    return [_row(conversation, one, {**fields, "turn": order}) for one in spoken]


def _exchange(
    record: Mapping[str, Any], columns: Columns, fields: dict[str, Any]
) -> list[dict[str, Any]]:
    conversation = _id(record, columns) or _made_up(record, fields)
    asked = messages_of(columns.take(record, "input"), "user")
    answered = messages_of(columns.take(record, "output"), "assistant")
    if not asked and not answered:
        raise UnreadableError("neither question nor answer is there")
    turn = columns.take(record, "turn")
    common = {name: value for name, value in fields.items() if name not in _OF_ANSWER}
    common["turn"] = None if turn is None else read_number(turn)
    rows = [_row(conversation, one, common) for one in (*asked, *answered)]
    rows[-1].update(fields)
    return rows


def _conversation(
    record: Mapping[str, Any], columns: Columns, fields: dict[str, Any]
) -> list[dict[str, Any]]:
    conversation = _id(record, columns) or _made_up(record, fields)
    spoken = messages_of(columns.take(record, "messages"))
    if not spoken:
        raise UnreadableError("no message is there")
    return [_row(conversation, one, fields) for one in spoken]


_LAYOUTS: dict[str, Callable[..., list[dict[str, Any]]]] = {
    "message": _message,
    "exchange": _exchange,
    "conversation": _conversation,
}


def _row(conversation: str, message: Message, fields: Mapping[str, Any]) -> dict[str, Any]:
    text = message.text or None
    return {"conversation_id": conversation, "role": message.role, "text": text, **fields}


def _plain(said: Any, role: str) -> Message:
    return Message(role, "" if said is None else str(said))


def _id(record: Mapping[str, Any], columns: Columns) -> str | None:
    value = columns.take(record, "conversation_id")
    return None if value is None else read_word(value)


def _made_up(record: Mapping[str, Any], fields: Mapping[str, Any]) -> str:
    """Return what a conversation is called whose log gives it no name: the same every time."""
    if fields.get("trace_id"):
        return str(fields["trace_id"])
    return "log-" + hashlib.sha256(as_text(record).encode("utf-8", "replace")).hexdigest()[:16]

"""Which field of a record says what: found by usual names, else said by a mapping."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from evalnb.errors import InputError, nearest_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Column", "Columns", "Layout", "Mapped", "find_columns", "snake", "value_at"]

Layout: TypeAlias = Literal["message", "exchange", "conversation"]

_USUAL: dict[str, list[str]] = {
    "conversation_id": [
        "conversation_id",
        "conversation",
        "session_id",
        "session",
        "thread_id",
        "thread",
        "chat_id",
        "dialogue_id",
        "dialog_id",
        "conv_id",
        "ticket_id",
    ],
    "turn": [
        "turn",
        "turn_id",
        "turn_index",
        "turn_number",
        "message_index",
        "sequence",
        "seq",
        "position",
    ],
    "at": [
        "at",
        "timestamp",
        "created_at",
        "time",
        "datetime",
        "sent_at",
        "start_time",
        "created",
        "ts",
        "date",
    ],
    "role": ["role", "author_role", "sender_role", "speaker", "sender", "author", "sender_type"],
    "text": ["text", "content", "message", "message_text", "utterance", "body"],
    "messages": ["messages", "turns", "transcript", "dialogue"],
    "input": ["input", "question", "prompt", "user_message", "user_input", "query", "request_text"],
    "output": [
        "output",
        "answer",
        "response",
        "completion",
        "assistant_message",
        "reply",
        "bot_response",
    ],
    "language": ["language", "lang", "locale"],
    "category": ["category", "intent", "topic"],
    "feedback": ["feedback", "user_feedback", "thumbs", "vote", "user_rating"],
    "escalated": [
        "escalated",
        "escalation",
        "handed_over",
        "handover",
        "transferred",
        "is_escalated",
    ],
    "model": ["model", "model_name", "model_id"],
    "input_tokens": ["input_tokens", "prompt_tokens"],
    "output_tokens": ["output_tokens", "completion_tokens"],
    "latency_ms": ["latency_ms", "duration_ms", "response_time_ms"],
    "trace_id": ["trace_id", "request_id"],
}
_NEEDS: dict[Layout, tuple[str, ...]] = {
    "conversation": ("messages",),
    "message": ("conversation_id", "role", "text"),
    "exchange": ("input", "output"),
}
_CONTENT = {"messages", "role", "text", "input", "output"}
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SHOWN = 40


@dataclass(frozen=True)
class Column:
    """A field of a log, with the meaning of its values where that is not plain.

    Attributes
    ----------
    name : the field, with dots where it is inside another
    meanings : value in the log to value in the frame, such as `{0: -1, 1: 1}` for feedback; values
        that are not named stay as they are
    """

    name: str
    meanings: Mapping[Any, Any] = field(default_factory=dict)


Mapped: TypeAlias = "Mapping[str, str | Column]"


@dataclass(frozen=True)
class Columns:
    """How the records of a log are read.

    Attributes
    ----------
    layout : whether a record is a message, an exchange of two, or a conversation with `messages`
    fields : what is meant to the field that says it
    """

    layout: Layout
    fields: Mapping[str, Column]

    def take(self, record: Mapping[str, Any], name: str) -> Any:
        """Return what a record says; None where it does not."""
        column = self.fields.get(name)
        if column is None:
            return None
        value = value_at(record, column.name)
        return column.meanings.get(value, value) if _is_plain(value) else value


def find_columns(found: Iterable[str], mapping: Mapped | None = None, *, source: str) -> Columns:
    """Find which field says what.

    Parameters
    ----------
    found : the fields that records have
    mapping : what is meant (a column of the logs frame, or `input`, `output`, `messages`) to the
        field that says it; the others are found by their usual names
    source : what errors call the log

    Raises
    ------
    InputError
        If the mapping names what is not there, or what a log must say is not found.

    Examples
    --------
    >>> find_columns(["sessionId", "sender", "content"], source="log").layout
    'message'
    """
    names = list(dict.fromkeys(found))
    fields = _mapped(names, mapping or {}, source)
    given = set(fields)
    usual = {snake(name): name for name in reversed(names)}
    for meant, known in _USUAL.items():
        name = next((usual[one] for one in known if one in usual), None)
        if meant not in fields and name is not None:
            fields[meant] = Column(name)
    layout = _layout(fields, given)
    if layout is None:
        raise InputError(_unclear(fields, names, source))
    unused = _CONTENT - set(_NEEDS[layout])
    return Columns(layout, {name: one for name, one in fields.items() if name not in unused})


def snake(name: str) -> str:
    """Return a name in lower case, its words joined by underscores.

    Examples
    --------
    >>> snake("sessionId"), snake("Session ID")
    ('session_id', 'session_id')
    """
    return re.sub(r"[^a-z0-9]+", "_", _CAMEL.sub("_", name).lower()).strip("_")


def value_at(record: Mapping[str, Any], name: str) -> Any:
    """Return the value of a field, which may be inside another; None where it is not there.

    Examples
    --------
    >>> value_at({"meta": {"id": 7}}, "meta.id")
    7
    """
    if name in record:
        return record[name]
    found: Any = record
    for part in name.split("."):
        if not isinstance(found, dict) or part not in found:
            return None
        found = found[part]
    return found


def _mapped(names: list[str], mapping: Mapped, source: str) -> dict[str, Column]:
    fields = {}
    for meant, given in mapping.items():
        column = Column(given) if isinstance(given, str) else given
        if meant not in _USUAL:
            near = nearest_name(meant, list(_USUAL))
            hint = f"Did you mean {near!r}?" if near else f"Known: {', '.join(_USUAL)}."
            raise InputError(f"a log has no {meant!r} to map. {hint}")
        if not _is_there(column.name, names):
            near = nearest_name(column.name, names)
            hint = f" Did you mean {near!r}?" if near else ""
            raise InputError(
                f"{source} has no field {column.name!r}, which the mapping names for {meant!r}."
                f"{hint} Found: {_listed(names)}."
            )
        fields[meant] = column
    return fields


def _is_there(name: str, names: list[str]) -> bool:
    """Tell whether a field is among those found; what is deeper inside is not known."""
    return name in names or name.split(".")[0] in names


def _layout(fields: Mapping[str, Column], given: set[str]) -> Layout | None:
    """Return the first layout that can be read, one that the mapping asks for before others."""
    possible = [layout for layout, needs in _NEEDS.items() if set(needs) <= set(fields)]
    asked = [layout for layout in possible if set(_NEEDS[layout]) & _CONTENT & given]
    return next(iter([*asked, *possible]), None)


def _unclear(fields: Mapping[str, Column], names: list[str], source: str) -> str:
    lacks = {layout: [n for n in needs if n not in fields] for layout, needs in _NEEDS.items()}
    ways = "; ".join(
        f"{', '.join(map(repr, missing))} for one {layout} a record"
        for layout, missing in lacks.items()
    )
    return (
        f"{source}: it is not clear which fields hold the messages. Found: {_listed(names)}. "
        f"Not found: {ways}. Say with the mapping which field is which, such as "
        "mapping={'text': 'body'}."
    )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return (", ".join(names[:_SHOWN]) or "no field at all") + more


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, int, float, bool))

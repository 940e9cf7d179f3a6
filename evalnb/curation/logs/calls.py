"""Conversations from logged model calls, each of which repeats all that was said before."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from evalnb.curation.logs.messages import Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Call", "Calls", "Opinion"]

_TABLES = """
CREATE TABLE calls (at TEXT, number INTEGER PRIMARY KEY, call TEXT);
CREATE TABLE opinions (key TEXT, weight INTEGER, value INTEGER, raw TEXT);
CREATE INDEX by_key ON opinions (key);
"""


@dataclass(frozen=True)
class Call:
    """One request to a model, and its answer.

    Attributes
    ----------
    messages : what the request holds, all that was said before included
    answers : what came back; empty where nothing did
    conversation_id : None where the log does not say
    at : of the request, as in the logs frame
    keys : ids by which feedback may name the call or all that it belongs to
    fields : further columns of the logs frame
    """

    messages: Sequence[Message]
    answers: Sequence[Message]
    conversation_id: str | None = None
    at: str | None = None
    keys: Sequence[str] = ()
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Opinion:
    """Feedback that stands by itself in a log.

    Attributes
    ----------
    key : the call's id, or the id of all that it belongs to
    value : -1, 0, 1; None where it is none of these
    raw : as it stands in the log
    is_users : whether its name says that it is the user's
    """

    key: str
    value: int | None
    raw: str
    is_users: bool = False


class Calls:
    """Calls on disk, so that they can be put in order whatever their number.

    In a conversation only the first call's history counts, and of later ones what came after the
    last answer. Where a log does not name conversations, a call continues the one whose history
    and answer are its own history up to its last answer.
    """

    def __init__(self) -> None:
        self._stored = sqlite3.connect("")  # a file that nobody else sees, and that goes away
        self._stored.executescript(_TABLES)

    def close(self) -> None:
        """Let go of them."""
        self._stored.close()

    def add(self, found: Call | Opinion) -> None:
        """Keep a call, or feedback."""
        if isinstance(found, Call):
            text = json.dumps(asdict(found), ensure_ascii=False)
            self._stored.execute("INSERT INTO calls (at, call) VALUES (?, ?)", (found.at, text))
        else:
            row = (found.key, found.is_users, found.value, found.raw)
            self._stored.execute("INSERT INTO opinions VALUES (?, ?, ?, ?)", row)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield rows of the logs frame, conversations side by side, in order of time."""
        seen: set[str] = set()
        ends: dict[str, str] = {}
        with closing(self._stored.cursor()) as cursor:
            for (text,) in cursor.execute("SELECT call FROM calls ORDER BY at, number"):
                call = _call_of(text)
                past = _past(call.messages)
                conversation = call.conversation_id or ends.get(_digest(past))
                if conversation is None:
                    conversation = f"log-{_digest([*call.messages, call.at, *call.keys])[:16]}"
                if call.conversation_id is None:
                    ends[_digest([*call.messages, *call.answers])] = conversation
                new = call.messages[len(past) :] if conversation in seen else call.messages
                seen.add(conversation)
                yield from self._rows_of(call, conversation, new)

    def _rows_of(
        self, call: Call, conversation: str, new: Sequence[Message]
    ) -> Iterator[dict[str, Any]]:
        common = {"conversation_id": conversation, "at": call.at}
        shared: dict[str, Any] = {
            n: call.fields[n] for n in ("language", "category") if n in call.fields
        }
        rows: list[dict[str, Any]] = [
            {**common, **shared, "role": one.role, "text": one.text or None}
            for one in (*new, *call.answers)
        ]
        if rows:
            rows[-1].update(call.fields, **self._opinion(call))
        yield from rows

    def _opinion(self, call: Call) -> dict[str, Any]:
        for key in call.keys:
            found = self._stored.execute(
                "SELECT value, raw FROM opinions WHERE key = ? "
                "ORDER BY weight DESC, value IS NULL, rowid DESC LIMIT 1",
                (key,),
            ).fetchone()
            if found:
                return {"feedback": found[0], "feedback_raw": found[1]}
        return {}


def _call_of(text: str) -> Call:
    stored = json.loads(text)
    for name in ("messages", "answers"):
        stored[name] = [Message(*one) for one in stored[name]]
    return Call(**stored)


def _past(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the history up to the last answer: what is after it has just been said."""
    ends = [n for n, one in enumerate(messages, 1) if one.role in ("assistant", "tool_call")]
    return messages[: ends[-1]] if ends else messages[:0]


def _digest(values: Sequence[Any]) -> str:
    text = json.dumps(values, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()

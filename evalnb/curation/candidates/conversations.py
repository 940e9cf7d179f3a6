"""Conversations of a log, a row each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.frames import LOGS, FrameSchema, to_records

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

__all__ = ["CONVERSATIONS", "asked", "conversations"]

CONVERSATIONS = FrameSchema(
    "conversations",
    {
        "conversation_id": "string",
        "asked": "string",
        "user_texts": "object",
        "n_messages": "Int64",
        "language": "string",
        "category": "string",
        "feedback": "Int64",
        "escalated": "boolean",
        "at": "string",
    },
    key=("conversation_id",),
)
"""A row a conversation: `asked` is all that the user said, a message a line, `user_texts` the same
as a list. `feedback` is -1 where any of it was bad, else the best there is. Language and category
are those of the first message that has any, `at` is the time of the first message."""

_FIRST = ("language", "category", "at")


def conversations(logs: pd.DataFrame) -> pd.DataFrame:
    """Return the conversations of a log, in the order of their names.

    Parameters
    ----------
    logs : a logs frame, its rows in any order
    """
    logs = LOGS.check(logs).sort_values(["conversation_id", "turn"], ignore_index=True)
    return CONVERSATIONS.build(_conversations(to_records(logs)))


def asked(conversation: dict[str, Any]) -> str:
    """Return what was asked in a conversation; empty where the user said nothing."""
    return str(conversation.get("asked", ""))


def _conversations(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    start = 0
    for end in range(1, len(rows) + 1):
        whole = end == len(rows) or rows[end]["conversation_id"] != rows[start]["conversation_id"]
        if whole:
            yield _conversation(rows[start:end])
            start = end


def _conversation(rows: list[dict[str, Any]]) -> dict[str, Any]:
    said = [row["text"] for row in rows if row["role"] == "user" and "text" in row]
    given = [row["feedback"] for row in rows if "feedback" in row]
    flags = [row["escalated"] for row in rows if "escalated" in row]
    first = {n: next((row[n] for row in rows if n in row), None) for n in _FIRST}
    return {
        "conversation_id": rows[0]["conversation_id"],
        "asked": "\n".join(said) or None,
        "user_texts": said,
        "n_messages": len(rows),
        "feedback": (-1 if -1 in given else max(given)) if given else None,
        "escalated": any(flags) if flags else None,
        **first,
    }

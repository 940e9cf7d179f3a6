"""Logged conversations as scorers and judges take them: what was asked, what was answered."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.cases import Case, Turn
from evalnb.curation.redaction.redacting import redact
from evalnb.frames import to_records
from evalnb.jsontext import writable_text
from evalnb.scorers import MeasuredOutput
from evalnb.systems import Output, ToolCall, output_content, output_hash

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evalnb.curation.redaction.redactor import Redactor

__all__ = ["Exchange", "LoggedConversation", "logged_conversations"]

_NOTHING = "[no text]"
"""Stands for a message of the user that has none, such as a picture."""

_ANSWERS = ("assistant", "tool_call")


@dataclass(frozen=True)
class Exchange:
    """What a user said at one stroke, and the answer.

    Attributes
    ----------
    asked : redacted; the messages of the user up to the answer, a line each
    answer : redacted; its texts, a line each, its tool calls, its tokens and its time in all
    logged : the text of the answer as it was logged, for rules that quote nothing of it
    """

    asked: str
    answer: MeasuredOutput
    logged: str


@dataclass(frozen=True)
class LoggedConversation:
    """A conversation whose answers can be scored.

    Attributes
    ----------
    conversation_id : as in the log
    case : what was asked, redacted, with an id that any conversation can have
    exchanges : those that were answered, in order
    was_asked : whether the user said anything at all
    """

    conversation_id: str
    case: Case
    exchanges: Sequence[Exchange]
    was_asked: bool = True

    @property
    def all_asked(self) -> str:
        """All that the user says, a question a line."""
        return "\n".join([self.case.input or "", *(one.input for one in self.case.turns or ())])

    @property
    def output(self) -> MeasuredOutput:
        """All answers as one output, redacted: of several, its text is the last one's."""
        last = self.exchanges[-1].answer
        return MeasuredOutput(
            last.text,
            [call for exchange in self.exchanges for call in exchange.answer.tool_calls],
            turns=[Output(one.answer.text, one.answer.tool_calls) for one in self.exchanges]
            if self.case.turns
            else (),
            output_tokens=last.output_tokens,
            latency_ms=last.latency_ms,
        )

    @property
    def record(self) -> dict[str, Any]:
        """The same as a record of an outputs frame."""
        output = self.output
        content = output_content(output)
        return {
            "case_id": self.case.id,
            "repeat": 1,
            "output_hash": output_hash(content),
            **content,
            "turns": [output_content(turn) for turn in output.turns],
        }


def logged_conversations(
    logs: pd.DataFrame, redactor: Redactor | None = None
) -> Iterator[LoggedConversation]:
    """Yield conversations in the order of their names, redacted.

    Parameters
    ----------
    logs : a logs frame, its rows in any order
        What a user says in several messages without an answer between them is one question. An
        answer that nobody asked for, such as a greeting, is left out; so are the texts of tools.
    redactor : what is redacted; see `redact`
    """
    matters = logs["role"].isin(["user", *_ANSWERS])  # what tools give is long, and not looked at
    said = logs.assign(text=logs["text"].where(matters, other=pd.NA))
    redacted = redact(said, redactor).logs
    texts = ("conversation_id", "turn", "role", "text", "language", "output_tokens", "latency_ms")
    frame = redacted[list(texts)].assign(logged=said["text"].array)
    frame = frame.sort_values(["conversation_id", "turn"], ignore_index=True)
    rows: list[dict[str, Any]] = []
    for row in to_records(frame):
        if rows and rows[0]["conversation_id"] != row["conversation_id"]:
            yield _conversation(rows)
            rows = []
        rows.append(row)
    if rows:
        yield _conversation(rows)


def _conversation(rows: list[dict[str, Any]]) -> LoggedConversation:
    name = rows[0]["conversation_id"]
    asked, exchanges = _exchanges(rows)
    return LoggedConversation(
        name,
        Case(
            id=f"log-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:16]}",
            language=next((row["language"] for row in rows if row.get("language")), None),
            input=(asked or [_NOTHING])[0] if len(asked) < 2 else None,
            turns=[Turn(input=text) for text in asked] if len(asked) > 1 else None,
        ),
        exchanges,
        was_asked=bool(asked),
    )


def _exchanges(rows: list[dict[str, Any]]) -> tuple[list[str], list[Exchange]]:
    """Return what was asked, and what of it was answered; the last question may be left open."""
    parts: list[tuple[list[dict[str, Any]], list[dict[str, Any]]]] = []
    for row in rows:
        if row["role"] == "user":
            if not parts or parts[-1][1]:
                parts.append(([], []))
            parts[-1][0].append(row)
        elif row["role"] in _ANSWERS and parts:
            parts[-1][1].append(row)
    asked = [_joined(said, "text") or _NOTHING for said, _ in parts]
    exchanges = [
        Exchange(question, _answer(given), _joined(_said(given), "logged"))
        for question, (_, given) in zip(asked, parts, strict=True)
        if given
    ]
    return asked, exchanges


def _answer(given: list[dict[str, Any]]) -> MeasuredOutput:
    return MeasuredOutput(
        _joined(_said(given), "text"),
        [_call(row) for row in given if row["role"] == "tool_call"],
        output_tokens=_total(given, "output_tokens"),
        latency_ms=_total(given, "latency_ms"),
    )


def _said(given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in given if row["role"] == "assistant"]


def _joined(rows: list[dict[str, Any]], name: str) -> str:
    return writable_text("\n".join(row[name] for row in rows if row.get(name)))


def _total(rows: list[dict[str, Any]], name: str) -> Any:
    known = [row[name] for row in rows if name in row]
    return sum(known) if known else None


def _call(row: dict[str, Any]) -> ToolCall:
    """Return a tool call; redaction may have left of its arguments no JSON."""
    try:
        found = json.loads(row.get("text", ""))
        return ToolCall(str(found["name"]), found["arguments"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return ToolCall("unknown", row.get("text", ""))

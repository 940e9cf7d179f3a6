"""Langfuse exports: observations and scores, of the scheduled export or of the button."""

from __future__ import annotations

import json
import re
import sqlite3
from typing import TYPE_CHECKING, Any

from evalnb.curation.logs.calls import Call, Opinion
from evalnb.curation.logs.columns import snake
from evalnb.curation.logs.damage import Damage, as_text
from evalnb.curation.logs.messages import messages_of, parsed
from evalnb.curation.logs.values import (
    MISSHAPEN,
    UnreadableError,
    read_feedback,
    read_number,
    read_time,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evalnb.curation.logs.scanning import Record

__all__ = ["Langfuse", "is_langfuse"]

USERS = re.compile(r"feedback|thumb|user|rating|csat", re.IGNORECASE)
"""What the name of a score has in it that is a user's rather than an evaluator's."""

_OBSERVATION = {"trace_id", "type", "start_time"}
_SCORE = {"trace_id", "name", "value"}
_SCORE_KIND = {"data_type", "string_value", "source"}
_INPUT, _OUTPUT = ("input", "prompt_tokens"), ("output", "completion_tokens")


def is_langfuse(record: Mapping[str, Any]) -> bool:
    """Tell whether a record is an observation or a score of Langfuse."""
    names = {snake(name) for name in record}
    return _is_score(names) or (
        names >= _OBSERVATION and bool(names & {"parent_observation_id", "provided_model_name"})
    )


class Langfuse:
    """Reads observations and scores, in any order.

    A trace is one turn: what its root was given and gave is what the user said and was told; where
    the root says neither, the last generation counts. The tokens are those of all generations.
    Scores that an evaluator gave (`source` is `EVAL`) are no feedback.
    """

    def __init__(self) -> None:
        self._stored = sqlite3.connect("")
        self._stored.execute("CREATE TABLE seen (trace TEXT, at TEXT, source TEXT, record TEXT)")

    def read(self, record: Record) -> Iterator[Call | Opinion | Damage]:
        """Yield the feedback of a score; keep an observation until its trace is whole."""
        value = {snake(name): one for name, one in record.value.items()}
        if _is_score(set(value)):
            yield from _opinions(value)
            return
        trace = value.get("trace_id")
        if not trace:
            yield Damage(record.source, "`trace_id` is missing", as_text(record.value))
            return
        row = (str(trace), str(value.get("start_time")), record.source, as_text(value))
        self._stored.execute("INSERT INTO seen VALUES (?, ?, ?, ?)", row)

    def rest(self) -> Iterator[Call | Damage]:
        """Yield a call for each trace."""
        trace: list[dict[str, Any]] = []
        source = ""
        for row in self._stored.execute(
            "SELECT trace, source, record FROM seen ORDER BY trace, at, rowid"
        ):
            value = json.loads(row[2])
            if trace and trace[-1]["trace_id"] != value["trace_id"]:
                yield _call(trace, source)
                trace = []
            trace.append(value)
            source = row[1]
        if trace:
            yield _call(trace, source)
        self._stored.close()


def _is_score(names: set[str]) -> bool:
    return names >= _SCORE and bool(names & _SCORE_KIND) and "type" not in names


def _opinions(score: Mapping[str, Any]) -> Iterator[Opinion]:
    if score.get("source") == "EVAL":
        return
    kind = str(score.get("data_type", "NUMERIC")).upper()
    raw = score.get("string_value") if kind in ("CATEGORICAL", "TEXT") else score.get("value")
    try:
        value = read_feedback(bool(float(raw)) if kind == "BOOLEAN" and raw is not None else raw)
    except (UnreadableError, TypeError, ValueError):
        value = None
    is_users = bool(USERS.search(str(score["name"])))
    for name in ("observation_id", "trace_id"):
        if score.get(name):
            yield Opinion(str(score[name]), value, str(raw), is_users)


def _call(trace: list[dict[str, Any]], source: str) -> Call | Damage:
    generations = [one for one in trace if str(one.get("type")).upper() == "GENERATION"]
    roots = [one for one in trace if not one.get("parent_observation_id") and _says(one)]
    said = next(iter([*roots, *(one for one in reversed(generations) if _says(one))]), None)
    first = trace[0]
    if said is None:
        problem = "no observation of the trace has input or output"
        return Damage(source, problem, as_text(first))
    try:
        return Call(
            messages_of(_unwrapped(said.get("input"), "input"), "user"),
            messages_of(_unwrapped(said.get("output"), "output"), "assistant"),
            conversation_id=str(first.get("session_id") or first["trace_id"]),
            at=read_time(said["start_time"]),
            keys=[str(one["id"]) for one in (said, *generations) if one.get("id")]
            + [str(first["trace_id"])],
            fields=_fields(said, generations) | {"trace_id": str(first["trace_id"])},
        )
    except MISSHAPEN as error:
        return Damage(source, str(error), as_text(said))


def _says(observation: Mapping[str, Any]) -> bool:
    return bool(observation.get("input") or observation.get("output"))


def _unwrapped(said: Any, name: str) -> Any:
    """Return what an application's own object says where one field of it plainly does."""
    value = parsed(said)
    if isinstance(value, dict) and "role" not in value and "messages" not in value:
        usual = {"input": ("input", "question", "query", "prompt", "message")}.get(
            name, ("output", "answer", "response", "completion", "message")
        )
        return next((value[one] for one in usual if one in value), value)
    return value


def _fields(said: Mapping[str, Any], generations: list[dict[str, Any]]) -> dict[str, Any]:
    models = [one.get("provided_model_name") or one.get("model") for one in generations]
    fields = {
        "model": next((model for model in reversed(models) if model), None),
        "input_tokens": _tokens(generations, _INPUT),
        "output_tokens": _tokens(generations, _OUTPUT),
        "latency_ms": _latency_ms(said),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _tokens(generations: list[dict[str, Any]], names: tuple[str, ...]) -> int | None:
    counts = []
    for one in generations:
        usage = parsed(one.get("usage_details") or one.get("usage") or {})
        counts += [usage[name] for name in names[:1] if isinstance(usage, dict) and name in usage]
    return sum(map(int, counts)) if counts else None


def _latency_ms(observation: Mapping[str, Any]) -> float | None:
    """Return end minus start; `latency` is in seconds or milliseconds by the export's age."""
    from datetime import datetime

    start, end = (observation.get(name) for name in ("start_time", "end_time"))
    if start and end:
        first, last = (datetime.fromisoformat(str(read_time(one))) for one in (start, end))
        return (last - first).total_seconds() * 1000
    latency = observation.get("latency")
    return None if latency is None else read_number(latency) * 1000

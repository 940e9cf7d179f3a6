"""OpenTelemetry's GenAI spans, as OTLP/JSON or one span a record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.curation.logs.calls import Call, Opinion
from evalnb.curation.logs.damage import Damage, as_text
from evalnb.curation.logs.langfuse import USERS
from evalnb.curation.logs.messages import Message, messages_of, parsed
from evalnb.curation.logs.values import (
    MISSHAPEN,
    UnreadableError,
    read_count,
    read_feedback,
    read_time,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evalnb.curation.logs.scanning import Record

__all__ = ["Telemetry", "is_telemetry"]

_CHAT = {"chat", "text_completion", "generate_content"}
_SPAN_NAMES = ("chat ", "anthropic.messages.create")
_DETAILS = "gen_ai.client.inference.operation.details"
_EVALUATION = "gen_ai.evaluation.result"
_INPUT_EVENTS = (
    "gen_ai.system.message",
    "gen_ai.user.message",
    "gen_ai.assistant.message",
    "gen_ai.tool.message",
)
_CHOICE = "gen_ai.choice"
_CONVERSATION = ("gen_ai.conversation.id", "session.id")
_COLUMNS = {
    "model": ("gen_ai.response.model", "gen_ai.request.model"),
    "input_tokens": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
    "output_tokens": ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
}


def is_telemetry(record: Mapping[str, Any]) -> bool:
    """Tell whether a record is OTLP/JSON, or one span with attributes."""
    if "resourceSpans" in record or "resourceLogs" in record:
        return True
    return "attributes" in record and bool({"context", "traceId", "trace_id"} & set(record))


class Telemetry:
    """Reads spans of model calls, with their events, and log records that are such events.

    Spans of anything else are passed over. The text is in the attributes or in events, or nowhere
    where the application traces without content: such a span is counted as damaged, unless a log
    record says what it does not.
    """

    def __init__(self) -> None:
        self._silent: dict[str, Damage] = {}
        self._told: set[str] = set()

    def read(self, record: Record) -> Iterator[Call | Opinion | Damage]:
        """Yield what the spans and log records in a record hold."""
        for span in _spans(record.value):
            try:
                yield from self._of_span(span, record.source)
            except MISSHAPEN as error:
                yield Damage(record.source, f"span: {error}", as_text(span))
        for entry in _log_records(record.value):
            try:
                yield from self._of_log(entry)
            except MISSHAPEN as error:
                yield Damage(record.source, f"log record: {error}", as_text(entry))

    def rest(self) -> Iterator[Damage]:
        """Yield the spans of which nothing is known but that they were there."""
        for span_id, damage in self._silent.items():
            if span_id not in self._told:
                yield damage

    def _of_span(self, span: Mapping[str, Any], source: str) -> Iterator[Call | Opinion]:
        trace, span_id = _ids(span)
        attributes = _attributes(span.get("attributes"))
        events = [(_event_name(one), _event_body(one)) for one in span.get("events") or ()]
        response = attributes.get("gen_ai.response.id")
        for name, body in events:
            if name == _EVALUATION:
                yield _opinion(body, str(response or span.get("parentSpanId") or span_id))
        if not _is_chat(span, attributes):
            return
        said = dict(attributes)
        for name, body in events:
            if name == _DETAILS:
                said |= body
        asked, answered = _content(said, events)
        if not asked and not answered:
            problem = "the span has no content: it was traced without"
            self._silent[span_id] = Damage(source, problem, as_text(span))
            return
        start, end = (_time(span, name) for name in ("start", "end"))
        yield _call(said, asked, answered, trace, span_id, (start, end))

    def _of_log(self, entry: Mapping[str, Any]) -> Iterator[Call | Opinion]:
        trace, span_id = _ids(entry)
        said = _attributes(entry.get("attributes"))
        body = _plain(entry.get("body"))
        said |= body if isinstance(body, dict) else {}
        name = entry.get("eventName") or said.get("event.name")
        if name == _EVALUATION:
            yield _opinion(said, str(said.get("gen_ai.response.id") or span_id))
        elif name == _DETAILS:
            asked, answered = _content(said, [])
            if asked or answered:
                self._told.add(span_id)
                at = entry.get("timeUnixNano") or entry.get("observedTimeUnixNano")
                yield _call(said, asked, answered, trace, span_id, (at, None))


def _spans(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if "resourceSpans" not in record:
        if "resourceLogs" not in record:
            yield record
        return
    for resource in record["resourceSpans"]:
        for scope in resource.get("scopeSpans") or ():
            yield from scope.get("spans") or ()


def _log_records(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for resource in record.get("resourceLogs") or ():
        for scope in resource.get("scopeLogs") or ():
            yield from scope.get("logRecords") or ()


def _is_chat(span: Mapping[str, Any], attributes: Mapping[str, Any]) -> bool:
    operation = attributes.get("gen_ai.operation.name")
    if operation is not None:
        return operation in _CHAT
    return str(span.get("name", "")).startswith(_SPAN_NAMES)


def _content(
    said: Mapping[str, Any], events: list[tuple[str, dict[str, Any]]]
) -> tuple[list[Message], list[Message]]:
    """Return what was asked and answered, of the attributes or of the older events."""
    asked = [
        *messages_of(said.get("gen_ai.system_instructions"), "system"),
        *messages_of(said.get("gen_ai.input.messages"), "user"),
    ]
    answered = messages_of(said.get("gen_ai.output.messages"), "assistant")
    for name, body in events:
        if name in _INPUT_EVENTS and "gen_ai.input.messages" not in said:
            asked += messages_of({"role": name.split(".")[1], **body})
        elif name == _CHOICE and "gen_ai.output.messages" not in said:
            answer = parsed(body.get("message", body))
            answered += messages_of(answer, "assistant")
    return asked, answered


def _call(
    said: Mapping[str, Any],
    asked: list[Message],
    answered: list[Message],
    trace: str,
    span_id: str,
    times: tuple[Any, Any],
) -> Call:
    conversation = next((said[name] for name in _CONVERSATION if said.get(name)), None)
    fields: dict[str, Any] = {"trace_id": trace}
    for column, names in _COLUMNS.items():
        value = next((said[name] for name in names if said.get(name) is not None), None)
        if value is not None:
            fields[column] = str(value) if column == "model" else read_count(value)
    start, end = times
    latency = _latency_ms(start, end)
    if latency is not None:
        fields["latency_ms"] = latency
    response = said.get("gen_ai.response.id")
    return Call(
        asked,
        answered,
        conversation_id=str(conversation or trace),
        at=None if start is None else read_time(start),
        keys=[str(key) for key in (response, span_id, trace) if key],
        fields=fields,
    )


def _opinion(said: Mapping[str, Any], key: str) -> Opinion:
    label, score = (said.get(f"gen_ai.evaluation.score.{name}") for name in ("label", "value"))
    value = None
    for raw in (label, score):
        try:
            value = read_feedback(raw) if value is None and raw is not None else value
        except UnreadableError:
            continue
    name = str(said.get("gen_ai.evaluation.name", ""))
    shown = label if label is not None else score
    return Opinion(key, value, str(shown), bool(USERS.search(name)))


def _ids(span: Mapping[str, Any]) -> tuple[str, str]:
    context = span.get("context") or {}
    trace = span.get("traceId") or span.get("trace_id") or context.get("trace_id") or ""
    own = span.get("spanId") or span.get("span_id") or context.get("span_id") or ""
    return str(trace), str(own)


def _time(span: Mapping[str, Any], which: str) -> Any:
    for name in (f"{which}TimeUnixNano", f"{which}_time", f"{which}_time_unix_nano"):
        if span.get(name) not in (None, ""):
            return span[name]
    return None


def _latency_ms(start: Any, end: Any) -> float | None:
    from datetime import datetime

    if start is None or end is None:
        return None
    if str(start).isdecimal() and str(end).isdecimal():
        return (int(end) - int(start)) / 1e6
    first, last = (datetime.fromisoformat(str(read_time(one))) for one in (start, end))
    return (last - first).total_seconds() * 1000


def _event_name(event: Mapping[str, Any]) -> str:
    return str(event.get("name", ""))


def _event_body(event: Mapping[str, Any]) -> dict[str, Any]:
    return _attributes(event.get("attributes"))


def _attributes(attributes: Any) -> dict[str, Any]:
    """Return attributes as plain values, of OTLP's list or of an object."""
    if isinstance(attributes, dict):
        return dict(attributes)
    return {one["key"]: _plain(one.get("value")) for one in attributes or ()}


def _plain(value: Any) -> Any:
    """Return a value of OTLP/JSON without its kind."""
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    if kind == "intValue":
        return int(inner)
    if kind in ("stringValue", "doubleValue", "boolValue", "bytesValue"):
        return inner
    if kind == "arrayValue":
        return [_plain(one) for one in inner.get("values") or ()]
    if kind == "kvlistValue":
        return _attributes(inner.get("values"))
    return value

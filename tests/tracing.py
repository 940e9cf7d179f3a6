"""A tracer provider of OpenTelemetry's API that keeps spans as OTLP/JSON writes them."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace


class KeptSpan(trace.Span):
    """A span that writes itself into its provider's list when it ends."""

    def __init__(self, provider: KeptSpans, name: str, attributes: Any, start: int | None) -> None:
        number = next(provider.numbers)
        self._context = trace.SpanContext(
            2**64 + number, number, is_remote=False, trace_flags=trace.TraceFlags(1)
        )
        self._provider, self._name = provider, name
        self._attributes: dict[str, Any] = dict(attributes or {})
        self._start, self._is_over = start or time.time_ns(), False

    def end(self, end_time: int | None = None) -> None:
        if self._is_over:
            return
        self._is_over = True
        self._provider.spans.append(
            {
                "traceId": f"{self._context.trace_id:032x}",
                "spanId": f"{self._context.span_id:016x}",
                "name": self._name,
                "startTimeUnixNano": str(self._start),
                "endTimeUnixNano": str(end_time or time.time_ns()),
                "attributes": [
                    {"key": key, "value": _value(value)} for key, value in self._attributes.items()
                ],
            }
        )

    def get_span_context(self) -> trace.SpanContext:
        return self._context

    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        self._attributes.update(attributes)

    def set_attribute(self, key: str, value: Any) -> None:
        self._attributes[key] = value

    def add_event(self, name: str, attributes: Any = None, timestamp: int | None = None) -> None:
        pass

    def update_name(self, name: str) -> None:
        self._name = name

    def is_recording(self) -> bool:
        return not self._is_over

    def set_status(self, status: Any, description: str | None = None) -> None:
        pass

    def record_exception(self, *_: Any, **__: Any) -> None:
        pass


class KeptSpans(trace.TracerProvider, trace.Tracer):
    """The provider, and its only tracer."""

    def __init__(self) -> None:
        self.spans: list[dict[str, Any]] = []
        self.numbers = itertools.count(1)

    def get_tracer(self, *_: Any, **__: Any) -> trace.Tracer:
        return self

    def start_span(self, name: str, *_: Any, **options: Any) -> trace.Span:
        return KeptSpan(self, name, options.get("attributes"), options.get("start_time"))

    @contextmanager
    def start_as_current_span(self, name: str, *_: Any, **options: Any) -> Iterator[trace.Span]:  # type: ignore[override]
        span = self.start_span(name, **options)
        with trace.use_span(span, end_on_exit=True):
            yield span

    def document(self) -> dict[str, Any]:
        """Return all spans as one export."""
        return {"resourceSpans": [{"scopeSpans": [{"spans": self.spans}]}]}


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, (list, tuple)):
        return {"arrayValue": {"values": [_value(one) for one in value]}}
    return {"stringValue": str(value)}

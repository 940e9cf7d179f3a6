"""Logs of the Messages API: the body of a request and the body of its response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.curation.logs.calls import Call
from evalnb.curation.logs.columns import Columns, find_columns
from evalnb.curation.logs.damage import Damage, as_text
from evalnb.curation.logs.messages import Message, messages_of, parsed
from evalnb.curation.logs.rows import read_fields
from evalnb.curation.logs.values import MISSHAPEN, UnreadableError, read_word
from evalnb.errors import EvalnbError
from evalnb.sse import message_from_events

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evalnb.curation.logs.scanning import Record

__all__ = ["Exchanges", "is_exchange"]


def is_exchange(record: Mapping[str, Any]) -> bool:
    """Tell whether a record has a `request` with messages, and a `response`."""
    return "response" in record and "messages" in _body(record.get("request"))


class Exchanges:
    """Reads records with `request` and `response`.

    Both are the bodies as they went, as objects or as text, a stream of events too; either may
    stand in a field `body`. What stands beside them is found by usual names: `conversation_id`,
    `timestamp`, `latency_ms`, `feedback` and the like. A response that is an error answers nothing:
    the conversation then ends with the user's message.
    """

    def read(self, record: Record) -> Iterator[Call | Damage]:
        """Yield the call of a record."""
        value = record.value
        try:
            request, response = _body(value.get("request")), _response(value.get("response"))
            messages = [*_system(request), *messages_of(request.get("messages"))]
            if not messages:
                raise UnreadableError("the request has no messages")
            answers = messages_of(response.get("content"), "assistant")
        except (*MISSHAPEN, EvalnbError) as error:
            yield Damage(record.source, str(error), as_text(value))
            return
        columns = _beside(value)
        fields, faults = read_fields(value, columns)
        for fault in faults:
            yield Damage(record.source, fault, as_text(value), kept=True)
        conversation = columns.take(value, "conversation_id")
        at = fields.pop("at", None)
        yield Call(
            messages,
            answers,
            conversation_id=None if conversation is None else read_word(conversation),
            at=at,
            keys=[str(response["id"])] if "id" in response else [],
            fields={"model": request.get("model"), **_of_response(response), **fields},
        )

    def rest(self) -> Iterator[Call | Damage]:
        """Yield nothing: a record is a call."""
        yield from ()


def _body(value: Any) -> Mapping[str, Any]:
    found = parsed(value)
    if isinstance(found, dict) and "body" in found:
        found = parsed(found["body"])
    return found if isinstance(found, dict) else {}


def _response(value: Any) -> Mapping[str, Any]:
    if isinstance(value, dict) and isinstance(value.get("body"), str):
        value = value["body"]
    if isinstance(value, str) and value.lstrip().startswith(("event:", "data:")):
        return message_from_events(value) or {}
    found = _body(value)
    if value is not None and not found:
        raise UnreadableError("the response is neither an object nor a stream of events")
    return found


def _system(request: Mapping[str, Any]) -> list[Message]:
    return messages_of(request.get("system"), "system")


def _of_response(response: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that a response fills; input tokens are all of them, cached or not."""
    usage = response.get("usage") or {}
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    counts = [usage[name] for name in names if usage.get(name) is not None]
    fields = {
        "model": response.get("model"),
        "input_tokens": sum(counts) if counts else None,
        "output_tokens": usage.get("output_tokens"),
        "trace_id": response.get("id"),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _beside(record: Mapping[str, Any]) -> Columns:
    """Find the fields beside request and response; the layout matters to nothing here."""
    names = [name for name in record if name not in ("request", "response")]
    columns = find_columns([*names, "messages"], source="a log of the Messages API")
    fields = {name: one for name, one in columns.fields.items() if name != "messages"}
    return Columns(columns.layout, fields)

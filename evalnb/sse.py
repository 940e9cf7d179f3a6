"""Server-sent events of the Messages API: from a message, and back to one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from evalnb.errors import EvalnbError
from evalnb.jsontext import JsonProblem, parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["message_from_events", "message_to_events"]

# Delta type: the block's field that it extends.
_TEXT_DELTAS = {"text_delta": "text", "thinking_delta": "thinking"}
# Delta type: the block's fields that it sets.
_WHOLE_DELTAS = {
    "signature_delta": ("signature",),
    "compaction_delta": ("content", "encrypted_content"),
}
_IN_MESSAGE_DELTA = ("stop_reason", "stop_sequence", "stop_details", "container")


def message_to_events(message: Mapping[str, Any]) -> str:
    """Write a message as the events that a streaming client expects.

    Parameters
    ----------
    message : a message as the API returns it without streaming

    Returns
    -------
    text of a `text/event-stream` body; each block's content comes in one delta
    """
    return "".join(
        f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _events(message)
    )


def message_from_events(body: str) -> dict[str, Any] | None:
    """Read the message that a stream of events carries.

    Parameters
    ----------
    body : text of a `text/event-stream` body

    Returns
    -------
    the message, or None where the stream broke off or ended in an error

    Raises
    ------
    EvalnbError
        If the stream has a kind of delta that is not known here and so cannot be recorded.
    """
    try:
        return _accumulate(_parse(body))
    except (JsonProblem, LookupError, TypeError, AttributeError, ValueError):
        return None  # not the events of the Messages API, or cut within one


def _accumulate(events: Iterator[dict[str, Any]]) -> dict[str, Any] | None:
    """Put a message together as the SDK does."""
    message: dict[str, Any] = {}
    partial_json: dict[int, str] = {}
    complete = False
    for event in events:
        match event.get("type"):
            case "message_start":
                message = {**event["message"], "content": list(event["message"]["content"] or [])}
            case "content_block_start":
                block = dict(event["content_block"])
                message["content"].append(block)
                if block.get("type") == "fallback":  # names the model that answers from here on
                    message["model"] = block["to"]["model"]
            case "content_block_delta":
                block = message["content"][event["index"]]
                _apply_delta(block, event["delta"], event["index"], partial_json)
            case "content_block_stop":
                text = partial_json.pop(event["index"], "")
                if text.strip():  # cut off within the arguments at max_tokens
                    message["content"][event["index"]]["input"] = from_json(
                        text, allow_partial=True, allow_inf_nan=False
                    )
            case "message_delta":
                _apply_message_delta(message, event)
            case "message_stop":
                complete = True
            case "error":
                return None
    return message if complete and "content" in message else None


def _apply_message_delta(message: dict[str, Any], event: Mapping[str, Any]) -> None:
    others = {name: event[name] for name in event if name not in ("type", "delta", "usage")}
    ending = {**event["delta"], **others}
    message |= {
        name: value
        for name, value in ending.items()
        if value is not None or name.startswith("stop_")
    }
    usage = {name: count for name, count in (event.get("usage") or {}).items() if count is not None}
    message["usage"] = {**(message.get("usage") or {}), **usage}


def _events(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    start = {**message, "content": [], "stop_reason": None, "stop_sequence": None}
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(message.get("content") or []):
        empty, deltas = _split(block)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {name: message[name] for name in _IN_MESSAGE_DELTA if name in message}
    yield {"type": "message_delta", "delta": ending, "usage": message.get("usage") or {}}
    yield {"type": "message_stop"}


def _split(block: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a block as it starts, and the deltas that complete it."""
    match block.get("type"):
        case "text":
            citations = [
                {"type": "citations_delta", "citation": citation}
                for citation in block.get("citations") or []
            ]
            empty = {**block, "text": ""} | ({"citations": []} if citations else {})
            return empty, [*citations, {"type": "text_delta", "text": block.get("text", "")}]
        case "thinking":
            return {**block, "thinking": "", "signature": ""}, [
                {"type": "thinking_delta", "thinking": block.get("thinking", "")},
                {"type": "signature_delta", "signature": block.get("signature", "")},
            ]
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            arguments = json.dumps(block.get("input"), ensure_ascii=False)
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": arguments}]
        case _:
            return dict(block), []


def _parse(body: str) -> Iterator[dict[str, Any]]:
    for chunk in body.replace("\r\n", "\n").split("\n\n"):
        lines = [
            line.removeprefix("data:") for line in chunk.split("\n") if line.startswith("data:")
        ]
        if lines:
            yield parse_json("\n".join(lines))


def _apply_delta(
    block: dict[str, Any], delta: Mapping[str, Any], index: int, partial_json: dict[int, str]
) -> None:
    kind = str(delta.get("type"))
    if kind in _TEXT_DELTAS:
        name = _TEXT_DELTAS[kind]
        block[name] = (block.get(name) or "") + (delta.get(name) or "")
    elif kind in _WHOLE_DELTAS:
        block |= {name: delta[name] for name in _WHOLE_DELTAS[kind] if name in delta}
    elif kind == "input_json_delta":
        partial_json[index] = partial_json.get(index, "") + delta["partial_json"]
    elif kind == "citations_delta":
        block["citations"] = [*(block.get("citations") or []), delta["citation"]]
    else:
        raise EvalnbError(
            f"a stream with a delta of type {kind!r} cannot be recorded: this version of evalnb "
            "does not know it. Ask for the response without streaming, or update evalnb."
        )

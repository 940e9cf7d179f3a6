"""What was said, in the forms in which messages are logged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from evalnb.curation.logs.values import UnreadableError, read_role
from evalnb.jsontext import JsonProblem, dump_json, parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Message", "messages_of", "parsed"]

_CALLS = {"tool_use", "server_tool_use", "mcp_tool_use", "tool_call", "function_call"}
_SILENT = {"thinking", "redacted_thinking", "reasoning"}


class Message(NamedTuple):
    """One message; `role` as in the logs frame."""

    role: str
    text: str


def messages_of(said: Any, role: str = "user") -> list[Message]:
    """Return the messages in a logged value.

    It may be a text; a message or list of messages of the Messages API, of OpenAI's chat API or
    of OpenTelemetry's GenAI conventions; an object that has such a list as `messages`; each of
    these as JSON text too. Tool calls and results become messages of their own; reasoning is left
    out, since nobody was told it; images and other documents stand as `[image]`.

    Parameters
    ----------
    said : what was logged; None says nothing
    role : whose it is where the value does not say

    Raises
    ------
    UnreadableError
        If a message has a role that is not known, or no form that is.

    Examples
    --------
    >>> messages_of([{"role": "human", "content": "Hello"}, {"role": "ai", "content": None}])
    [Message(role='user', text='Hello')]
    """
    return list(_spoken(parsed(said), role))


def parsed(value: Any) -> Any:
    """Return an object or list that is written as JSON text; anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return parse_json(value)
        except JsonProblem:
            return value
    return value


def _spoken(said: Any, role: str) -> Iterator[Message]:
    if said is None:
        return
    if isinstance(said, str):
        if said.strip():
            yield Message(role, said)
    elif isinstance(said, list):
        if all(isinstance(one, dict) and "role" not in one for one in said):
            yield from _parts(said, role)
        else:
            for one in said:
                yield from _spoken(one, role)
    elif isinstance(said, dict):
        yield from _of_object(said, role)
    else:
        yield Message(role, str(said))


def _of_object(said: Mapping[str, Any], role: str) -> Iterator[Message]:
    for name in ("messages", "choices"):
        if isinstance(said.get(name), list):
            for one in said[name]:
                yield from _spoken(one, role)
            return
    if isinstance(said.get("message"), dict):  # a choice
        yield from _spoken(said["message"], role)
        return
    if "role" in said:
        role = read_role(said["role"])
    parts = said.get("parts", said.get("content", said.get("text")))
    if parts is None and "tool_calls" not in said and "role" not in said:
        yield Message(role, dump_json(said))
        return
    if isinstance(parts, list):
        yield from _parts(parts, role)
    else:
        yield from _spoken(parts, role)
    calls = said.get("tool_calls") or []
    for call in calls if isinstance(calls, list) else [calls]:
        yield _call(call.get("function", call) if isinstance(call, dict) else {})


def _parts(parts: list[Any], role: str) -> Iterator[Message]:
    """Yield what the parts of one message say: runs of text as one, the others by themselves."""
    texts: list[str] = []
    for part in parts:
        text = _text_of(part)
        if text is not None:
            texts.append(text)
            continue
        if texts:
            yield from _spoken("".join(texts), role)
            texts = []
        yield from _tool(part)
    if texts:
        yield from _spoken("".join(texts), role)


def _text_of(part: Any) -> str | None:
    """Return the text of a part; None for a tool's call or result."""
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        raise UnreadableError("a part of a message is neither text nor object")
    kind = str(part.get("type", "text"))
    if kind in _CALLS or _is_result(kind):
        return None
    if kind in _SILENT:
        return ""
    text = part.get("text", part.get("content"))
    return text if isinstance(text, str) else f"[{kind}]"


def _is_result(kind: str) -> bool:
    return kind.endswith(("tool_result", "tool_call_response"))


def _tool(part: Mapping[str, Any]) -> Iterator[Message]:
    if not _is_result(str(part["type"])):
        yield _call(part)
        return
    result = next((part[n] for n in ("content", "response", "result") if n in part), None)
    if isinstance(result, list) and all(isinstance(one, dict) for one in result):
        result = "".join(_text_of(one) or "" for one in result)
    yield Message("tool_result", result if isinstance(result, str) else _json(result))


def _call(call: Mapping[str, Any]) -> Message:
    arguments = parsed(next((call[n] for n in ("arguments", "input") if n in call), {}))
    return Message("tool_call", _json({"name": call.get("name"), "arguments": arguments}))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)

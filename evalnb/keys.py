"""The canonical form of a request, the key that finds its cassette, and how two requests differ.

Canonical means: all that the model can see, to the letter, and nothing that changes from run to
run. What is left out is a short list, so that a field unknown today is a miss tomorrow and never
a stale hit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

__all__ = [
    "CanonicalRequest",
    "Renumbering",
    "canonical_message_request",
    "canonical_request",
    "differing_paths",
    "endpoint_request",
    "leaves",
    "request_key",
    "stable_block",
]

CanonicalRequest = dict[str, Any]
"""`method`, `path`, `query` (sorted pairs), `betas` (sorted), `body`; of an endpoint, `endpoint` and `version` too."""

# Transport, bookkeeping and price: they do not change the answer.
_LEFT_OUT_OF_BODY = frozenset(
    {
        "cache_control",
        "diagnostics",
        "inference_geo",
        "metadata",
        "service_tier",
        "speed",
        "stream",
    }
)
_OPAQUE = {"thinking": "signature", "redacted_thinking": "data"}


class Renumbering:
    """Gives volatile ids stable names in order of appearance, so that links between them survive."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._names: dict[str, str] = {}

    def __call__(self, volatile: str) -> str:
        """Return the stable name of an id, the same for each mention of it."""
        return self._names.setdefault(volatile, f"{self._prefix}{len(self._names) + 1}")


def canonical_request(
    method: str, url: str, betas: str | None, content: bytes, content_type: str | None = None
) -> CanonicalRequest:
    """Return the canonical form of an HTTP request to the Messages API.

    Parameters
    ----------
    method : such as "POST"
    url : absolute or path only; scheme and host are left out
    betas : value of the `anthropic-beta` header, comma-separated
    content : the body's bytes
    content_type : value of the `content-type` header

    Returns
    -------
    method, path, query, betas, body
        The path is what follows a proxy's own prefix. A body that is no JSON object (an upload)
        is represented by its SHA-256.
    """
    parts = urlsplit(url)
    return {
        "method": method.upper(),
        "path": parts.path[max(parts.path.find("/v1/"), 0) :],
        "query": sorted([name, value] for name, value in parse_qsl(parts.query, True)),
        "betas": sorted({beta.strip() for beta in (betas or "").split(",") if beta.strip()}),
        "body": _canonical_content(content, content_type),
    }


def canonical_message_request(body: Mapping[str, Any]) -> CanonicalRequest:
    """Return the canonical form of a request for one message, without having sent it.

    Parameters
    ----------
    body : of `POST /v1/messages`, as plain JSON values
    """
    return {
        "method": "POST",
        "path": "/v1/messages",
        "query": [],
        "betas": [],
        "body": _canonical_body(body),
    }


def endpoint_request(url: str, content: bytes, version: str) -> CanonicalRequest:
    """Return the canonical form of a request to an HTTP endpoint under test.

    Parameters
    ----------
    url : of the endpoint; all of it counts, since another endpoint answers otherwise
    content : the body's bytes
    version : what the suite calls the endpoint's release
    """
    request = canonical_request("POST", url, None, content, "application/json")
    return {**request, "endpoint": url.partition("?")[0], "version": version}


def request_key(request: CanonicalRequest) -> str:
    """Return the key of a canonical request: 24 hex digits of its SHA-256."""
    text = json.dumps(request, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def leaves(request: CanonicalRequest) -> dict[str, str]:
    """Return every value of a request by its readable path, as JSON text.

    Entries of a list are called by their name where each has one of its own (tools), else by
    position.

    Examples
    --------
    >>> leaves({"body": {"tools": [{"name": "refund", "description": "Pay back."}]}})
    {'tools[refund].name': '"refund"', 'tools[refund].description': '"Pay back."'}
    """
    found: dict[str, str] = {}
    body = request.get("body")
    for name, value in request.items():
        if name != "body":
            _collect(value, name, found)
    _collect(body, "", found)
    return found


def differing_paths(first: CanonicalRequest, second: CanonicalRequest) -> list[str]:
    """Name the paths in which two requests differ.

    Returns
    -------
    in the order of `first`, such as "tools[refund].description changed", "messages[2] added"
        "added" and "removed" are seen from `first` to `second`; all that lies below an added or
        removed part is named once, by the part.
    """
    one, other = leaves(first), leaves(second)
    changed = [f"`{path}` changed" for path in one if path in other and one[path] != other[path]]
    removed = _parts([path for path in one if path not in other], set(_prefixes(other)))
    added = _parts([path for path in other if path not in one], set(_prefixes(one)))
    found = [
        *changed,
        *(f"`{path}` removed" for path in removed),
        *(f"`{path}` added" for path in added),
    ]
    # Field names with dots of their own may read alike.
    same = found or request_key(first) == request_key(second)
    return found if same else ["`body` changed"]


def _canonical_content(content: bytes, content_type: str | None) -> Any:
    if not content:
        return None
    if content_type is None or "json" in content_type:
        try:
            body = json.loads(content)
            if isinstance(body, dict):
                return _canonical_body(body)
        except (ValueError, RecursionError):
            pass  # not JSON, or nested too deeply to be looked at
    _, _, boundary = (content_type or "").partition("boundary=")
    if boundary:  # of an upload, drawn anew for each request
        content = content.replace(boundary.strip('"').encode(), b"boundary")
    return {"sha256": hashlib.sha256(content).hexdigest()}


def _canonical_body(body: Mapping[str, Any]) -> dict[str, Any]:
    tool_use, containers = Renumbering("tool_use_"), Renumbering("container_")
    kept: dict[str, Any] = {}
    for name, value in body.items():
        if name in _LEFT_OUT_OF_BODY:
            continue
        if name == "system":  # holds no ids, so that names follow the messages alone
            kept[name] = _canonical_content_blocks(value, Renumbering("system_"))
        elif name == "messages" and isinstance(value, list):
            kept[name] = [_canonical_message(message, tool_use) for message in value]
        elif name == "tools" and isinstance(value, list):
            kept[name] = [_without(tool, "cache_control") for tool in value]
        elif name == "mcp_servers" and isinstance(value, list):
            kept[name] = [_without(server, "authorization_token") for server in value]
        elif name == "container":
            kept[name] = _canonical_container(value, containers)
        else:
            kept[name] = value
    return kept


def _canonical_message(message: Any, tool_use: Renumbering) -> Any:
    if not isinstance(message, Mapping):
        return message
    return {
        name: _canonical_content_blocks(value, tool_use) if name == "content" else value
        for name, value in message.items()
    }


def _canonical_content_blocks(content: Any, tool_use: Renumbering) -> Any:
    if isinstance(content, list):
        return [stable_block(block, tool_use) for block in content]
    return content


def stable_block(block: Any, names: Renumbering, *, blank: bool = False) -> Any:
    """Return a content block with its volatile ids renamed and without what is opaque.

    Renamed are the ids of tool calls, and those of the files that a server's tool made; an id in
    any other kind of block stays, since the model may be told it.

    Parameters
    ----------
    block : a content block of a request or a response
    names : gives the new ids
    blank : keep opaque fields as empty text, for a response that a client will parse
    """
    if not isinstance(block, Mapping):
        return block
    kind = str(block.get("type"))
    opaque = _OPAQUE.get(kind)
    stable: dict[str, Any] = {}
    for name in sorted(block):  # so that the order of fields does not change the names
        value = block[name]
        if name == opaque:
            stable |= {name: ""} if blank else {}
        elif _is_volatile(kind, name) and isinstance(value, str):
            stable[name] = names(value)
        elif name == "caller" and isinstance(value, Mapping) and "tool_id" in value:
            stable[name] = {**value, "tool_id": names(str(value["tool_id"]))}
        elif name == "content" and isinstance(value, list):
            stable[name] = [stable_block(entry, names, blank=blank) for entry in value]
        elif name in ("content", "source") and isinstance(value, Mapping):
            stable[name] = stable_block(value, names, blank=blank)
        elif name != "cache_control":
            stable[name] = value
    return {name: stable[name] for name in block if name in stable}


def _is_volatile(kind: str, name: str) -> bool:
    if name == "id":
        return kind.endswith("tool_use")
    if name == "tool_use_id":
        return kind.endswith("tool_result")
    return name == "file_id" and kind.endswith("_output")


def _canonical_container(container: Any, containers: Renumbering) -> Any:
    """Rename the id that the API gave to a container; its skills and all else stay."""
    if isinstance(container, str):
        return containers(container)
    if isinstance(container, Mapping) and isinstance(container.get("id"), str):
        return {**container, "id": containers(container["id"])}
    return container


def _without(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return {key: entry for key, entry in value.items() if key != name}
    return value


def _collect(value: Any, path: str, found: dict[str, str]) -> None:
    if isinstance(value, Mapping) and value:
        for name, entry in value.items():
            _collect(entry, f"{path}.{name}" if path else str(name), found)
    elif isinstance(value, list) and value:
        names = [entry.get("name") if isinstance(entry, Mapping) else None for entry in value]
        named = all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
        for index, entry in enumerate(value):
            _collect(entry, f"{path}[{names[index] if named else index}]", found)
    else:
        found[path] = json.dumps(value, ensure_ascii=False, sort_keys=True)


def _prefixes(paths: Mapping[str, str]) -> list[str]:
    return [
        path[:end]
        for path in paths
        for end in range(1, len(path) + 1)
        if end == len(path) or path[end] in ".["
    ]


def _parts(paths: list[str], present: set[str]) -> list[str]:
    """Shorten each path to the first part of it that the other side does not have."""
    parts = dict.fromkeys(
        next(
            (
                path[:end]
                for end in range(1, len(path) + 1)
                if (end == len(path) or path[end] in ".[") and path[:end] not in present
            ),
            path,
        )
        for path in paths
    )
    return list(parts)

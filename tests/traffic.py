"""Reads the recorded traffic in `tests/data/anthropic`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import yaml

FOLDER = Path(__file__).parent / "data" / "anthropic"


@dataclass(frozen=True)
class Interaction:
    """One request to the API and what it answered, as recorded."""

    name: str
    method: str
    url: str
    request_headers: dict[str, str]
    content: bytes
    status: int
    headers: tuple[tuple[str, str], ...]
    wire: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.url).path

    @property
    def is_beta(self) -> bool:
        return "beta=true" in self.url

    @property
    def is_stream(self) -> bool:
        return any("event-stream" in value for _, value in self.headers)

    @property
    def body(self) -> Any:
        return json.loads(self.content)

    def request(self) -> httpx2.Request:
        return httpx2.Request(
            self.method, self.url, headers=self.request_headers, content=self.content
        )

    def response(self) -> httpx2.Response:
        return httpx2.Response(self.status, headers=list(self.headers), content=self.wire)

    @property
    def text(self) -> str:
        return self.response().text


@cache
def interactions() -> tuple[Interaction, ...]:
    """Return all interactions with api.anthropic.com, in the order of files."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found = []
    for path in sorted(FOLDER.glob("*.yaml")):
        with path.open(encoding="utf-8") as file:
            entries = yaml.load(file, loader)["interactions"]
        found += [
            _interaction(f"{path.stem}-{number}", entry)
            for number, entry in enumerate(entries)
            if urlsplit(entry["request"]["uri"]).hostname == "api.anthropic.com"
        ]
    return tuple(found)


def _interaction(name: str, entry: dict[str, Any]) -> Interaction:
    request, response = entry["request"], entry["response"]
    kept = {"content-type", "anthropic-beta", "anthropic-version"}
    asked = {key.lower(): values[0] for key, values in request["headers"].items()}
    wire = _bytes(response)
    encoded = wire[:2] == b"\x1f\x8b"
    dropped = {"content-length", "transfer-encoding"} | (set() if encoded else {"content-encoding"})
    return Interaction(
        name,
        request["method"],
        request["uri"],
        {key: value for key, value in asked.items() if key in kept},
        _bytes(request),
        response["status"]["code"],
        tuple(
            (key.lower(), value)
            for key, values in response["headers"].items()
            for value in values
            if key.lower() not in dropped
        ),
        wire,
    )


def _bytes(part: dict[str, Any]) -> bytes:
    if "parsed_body" in part:
        return json.dumps(part["parsed_body"], ensure_ascii=False).encode()
    body = part["body"]
    text = body["string"] if isinstance(body, dict) else body
    return text if isinstance(text, bytes) else (text or "").encode()

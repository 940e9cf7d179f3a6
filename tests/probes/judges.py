"""An upstream that answers as a scripted judge would, whatever the schema asks for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx2

from tests.upstreams import FakeUpstream, message

if TYPE_CHECKING:
    from collections.abc import Callable


class ScriptedJudge(FakeUpstream):
    """Fills the schema of a verdict: `say` gives the score, or the better one, by what is shown.

    `fields` are those of each message, beside its text.
    """

    def __init__(self, say: Callable[[str], Any], **fields: Any) -> None:
        super().__init__(message())
        self.say = say
        self.fields = fields

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.read())
        self.requests.append(request)
        said = self.say(body["messages"][0]["content"])
        schema = body["output_config"]["format"]["schema"]
        return httpx2.Response(200, json=message(json.dumps(_filled(schema, said)), **self.fields))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await request.aread()
        return self.handle_request(request)


def _filled(schema: dict[str, Any], said: Any) -> Any:
    if "properties" in schema:
        return {name: _filled(part, said) for name, part in schema["properties"].items()}
    if schema.get("type") == "string" and "enum" not in schema:
        return "because"
    if "items" in schema:
        return [_filled(schema["items"], said)]
    return said

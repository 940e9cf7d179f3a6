"""Asking the stand-in in batches."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import httpx2

from evalnb.cassettes import Binding, Cassettes, bind
from evalnb.connections import AiohttpTransport
from evalnb.control import RunControl
from evalnb.frames import NaReason
from evalnb.journal import Journal
from evalnb.judges.batches import BatchTransport
from evalnb.patience import RunStopped
from evalnb.prices import request_bound_usd
from evalnb.transport import CassetteTransport
from tests.standin import StandIn

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path


Json = dict[str, Any]


MODEL = "claude-haiku-5-5"


CREATE = "POST /v1/messages/batches"


SECRET = "sk-ant-not-to-be-written"


FAST: Json = {"poll_s": 0.01, "max_poll_s": 0.05, "quiet_s": 0.02}


def body(text: str) -> Json:
    return {
        "model": MODEL,
        "max_tokens": 100,
        "messages": [{"role": "user", "content": text}],
    }


def texts(n: int) -> list[str]:
    return [f"Where is my order number {number} today please?" for number in range(n)]


def post(url: str, content: Json, path: str = "/v1/messages") -> httpx2.Request:
    headers = {"x-api-key": SECRET, "anthropic-version": "2026-10-21", "user-agent": "tests"}
    return httpx2.Request("POST", f"{url}{path}", headers=headers, json=content)


class Asked:
    """What came of requests that were made at once: responses, or what was raised."""

    def __init__(self, found: Sequence[Any], bindings: Sequence[Binding]) -> None:
        self.found = found
        self.bindings = bindings

    @property
    def responses(self) -> list[httpx2.Response]:
        for outcome in self.found:
            if isinstance(outcome, BaseException):
                raise outcome
        return list(self.found)

    @property
    def messages(self) -> list[Json]:
        assert {response.status_code for response in self.responses} == {200}
        return [response.json() for response in self.responses]

    @property
    def texts(self) -> list[str]:
        return [message["content"][0]["text"] for message in self.messages]

    @property
    def statuses(self) -> list[int]:
        return [response.status_code for response in self.responses]

    @property
    def reasons(self) -> list[NaReason | None]:
        return [binding.stopped for binding in self.bindings]


async def asked_of(transport: BatchTransport, url: str, questions: Iterable[str]) -> Asked:
    async def ask(number: int, text: str) -> tuple[Any, Binding]:
        with bind(f"case-{number}", 1) as binding:
            try:
                return await transport.handle_async_request(post(url, body(text))), binding
            except (RunStopped, httpx2.TransportError) as error:
                return error, binding

    pairs = await asyncio.gather(*(ask(number, text) for number, text in enumerate(questions)))
    return Asked([found for found, _ in pairs], [binding for _, binding in pairs])


def ask(
    standin: StandIn,
    path: Path,
    questions: Iterable[str],
    *,
    control: RunControl | None = None,
    inner: httpx2.AsyncBaseTransport | None = None,
    **options: Any,
) -> Asked:
    """Ask all questions at once, through a transport of their own."""

    async def main() -> Asked:
        transport = BatchTransport(
            inner or AiohttpTransport(),
            path,
            control=control or RunControl(timeout_s=5),
            **{**FAST, **options},
        )
        try:
            return await asked_of(transport, standin.url, questions)
        finally:
            await transport.aclose()

    return asyncio.run(main())


def lines(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def intended(path: Path) -> list[list[str]]:
    """Return the custom ids of each batch that was to be sent."""
    return [line["custom_ids"] for line in lines(path) if "custom_ids" in line]


class Remembering(httpx2.AsyncBaseTransport):
    """Sends by real connections, and remembers what was sent where."""

    def __init__(self) -> None:
        self.inner = AiohttpTransport()
        self.sent: list[httpx2.Request] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.sent.append(request)
        return await self.inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self.inner.aclose()

    def created(self) -> list[bytes]:
        return [request.content for request in self.sent if request.method == "POST"]


def without(path: Path, name: str) -> None:
    """Take the lines with a field out of a file."""
    kept = [line for line in path.read_text().splitlines(keepends=True) if f'"{name}"' not in line]
    path.write_text("".join(kept))


class Counting(RunControl):
    """Remembers what was spent."""

    spent_usd = 0.0

    def settle(self, reserved: float, cost_usd: float) -> None:
        self.spent_usd += cost_usd
        super().settle(reserved, cost_usd)


def full_bound_usd(text: str) -> float:
    content = post("http://localhost", body(text)).content
    bound = request_bound_usd(body(text), len(content))
    assert bound is not None
    return bound


def answer_of(custom_id: Any, **result: Any) -> str:
    return json.dumps({"custom_id": custom_id, "result": {"type": "succeeded", **result}})


async def kept_in(
    journal: Journal, transport: BatchTransport, url: str, questions: Mapping[Any, str]
) -> dict[Any, str]:
    """Ask through the cassette, a question a case; return the message's id by case."""
    cassettes = Cassettes(journal.path.parent, "live", journal=journal)
    cassette = CassetteTransport(cassettes, None, transport)

    async def one(case_id: Any, text: str) -> tuple[Any, str]:
        with bind(str(case_id), 1):
            response = await cassette.handle_async_request(post(url, body(text)))
        return case_id, response.json()["id"]

    return dict(await asyncio.gather(*(one(*question) for question in questions.items())))


def told(message_id: str) -> Json:
    return {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [{"type": "text", "text": "Hello."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 10, "output_tokens": 2},
    }

"""The cassette's place under the `anthropic` client: an `httpx2` transport.

It sees the exact bytes, serves synchronous and asynchronous clients, streaming and raw responses
alike, and leaves the application and the SDK as they are.
"""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anthropic
import anyio
import httpx2
from pydantic_core import to_json

from evalnb.cassettes import BINDING_HEADER, bound, rebind
from evalnb.errors import EvalnbError, InputError, MissError
from evalnb.frames import NaReason
from evalnb.jsontext import JsonProblem, parse_json
from evalnb.keys import CanonicalRequest, canonical_request, endpoint_request, request_key
from evalnb.pace import MAX_ATTEMPTS
from evalnb.sse import message_from_events, message_to_events

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evalnb.cassettes import Cassettes, Exchange, Slot

__all__ = [
    "ENDPOINT",
    "LATENCY",
    "CassetteFault",
    "CassetteMiss",
    "CassetteTransport",
    "Upstream",
]

# They describe the bytes as they travelled, not those that are handed on.
_DROPPED_HEADERS = frozenset({"content-encoding", "content-length", "transfer-encoding"})
# Endpoints whose answers say why they ended.
_MESSAGES_PATH = "/v1/messages"
_ENDING_PATHS = frozenset({_MESSAGES_PATH, "/v1/complete"})
_RECORDABLE_PATHS = _ENDING_PATHS | {"/v1/messages/count_tokens"}
ENDPOINT = "evalnb_endpoint"
"""Name of a request's extension: the version of the HTTP endpoint under test that it goes to."""
LATENCY = "evalnb_latency_ms"
"""Name of a response's extension: milliseconds that its own attempt took."""
TIMEOUT_S = "evalnb_timeout_s"
"""Name of a request's extension: how many seconds an attempt may take, if not the run's own."""
_POLL_S = 0.02
_NOWHERE = "this client has nowhere to ask: it was made for replay, or for the other kind of client"


class Upstream(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Where clients of both kinds ask for what no cassette holds."""

    max_concurrency: int | None = None
    """How many requests it answers at once; None where it sets no limit."""
    max_attempts: int = MAX_ATTEMPTS
    """How often a request is sent before its failure stands."""


class CassetteMiss(MissError, anthropic.AnthropicError):  # noqa: N818 - the word of the glossary
    """A miss, as the SDK hands it to its caller unchanged and without retrying."""


class CassetteFault(EvalnbError, anthropic.AnthropicError):  # noqa: N818
    """A cassette that cannot be used, as the SDK hands it to its caller."""

    exit_code = InputError.exit_code


class CassetteTransport(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Answers from cassettes, and asks an upstream for what they do not hold and may record.

    Parameters
    ----------
    cassettes : where responses are taken from and stored
    upstream, async_upstream : where to ask, for the synchronous and the asynchronous client;
        never touched in replay
    """

    def __init__(
        self,
        cassettes: Cassettes,
        upstream: httpx2.BaseTransport | None = None,
        async_upstream: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._cassettes = cassettes
        self._upstream = upstream
        self._async_upstream = async_upstream

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request of a synchronous client."""
        content = request.read()
        with self._place(request, _canonical(request, content)) as place:
            while not place.claim():
                time.sleep(_POLL_S)
            exchange = self._take(place)
            if exchange is not None:
                return _answer(request, content, exchange)
            if self._upstream is None:
                raise self._fault(_NOWHERE)
            started = time.perf_counter()
            with place.failing():
                response = self._upstream.handle_request(request)
            try:
                response.read()
            finally:
                response.close()
            self._record(place, response, started)
            return _handed_on(request, response)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request of an asynchronous client."""
        content = await request.aread()
        exchange, response = await self.exchange(request, _canonical(request, content))
        if response is not None:
            return _handed_on(request, response)
        if exchange is None:
            raise self._fault(_NOWHERE)
        return _answer(request, content, exchange)

    async def exchange(
        self, request: httpx2.Request, canonical: CanonicalRequest
    ) -> tuple[Exchange | None, httpx2.Response | None]:
        """Answer a request of those who need no response that a client can read.

        Returns
        -------
        the exchange, None where there was no whole answer; and the response, None where none was
        asked for
        """
        with self._place(request, canonical) as place:
            while not place.claim():
                await anyio.sleep(_POLL_S)
            exchange = self._take(place)
            if exchange is not None:
                return exchange, None
            if self._async_upstream is None:
                raise self._fault(_NOWHERE)
            started = time.perf_counter()
            with place.failing():
                response = await self._async_upstream.handle_async_request(request)
            try:
                await response.aread()
            finally:
                await response.aclose()
            return self._record(place, response, started), response

    def close(self) -> None:
        """Close the synchronous upstream."""
        if self._upstream is not None:
            self._upstream.close()

    async def aclose(self) -> None:
        """Close the asynchronous upstream."""
        if self._async_upstream is not None:
            await self._async_upstream.aclose()

    @contextmanager
    def _place(self, request: httpx2.Request, canonical: CanonicalRequest) -> Iterator[_Place]:
        """Take a slot for a request, and give it back where it gets no answer to keep.

        The SDK retries through this transport, and so does an application that caught an error:
        the retry takes the slot of the attempt that failed.
        """
        with rebind(request.headers.pop(BINDING_HEADER, None)):
            slot = self._cassettes.slot(request_key(canonical))
            place = _Place(self._cassettes, slot, canonical, ENDPOINT in request.extensions)
            try:
                yield place
            finally:
                place.close()

    def _take(self, place: _Place) -> Exchange | None:
        try:
            exchange = self._cassettes.take(place.slot, place.request)
        except MissError as error:
            raise CassetteMiss(str(error)) from error
        except InputError as error:
            raise CassetteFault(str(error)) from error
        if exchange is None and self._cassettes.mode == "record" and not place.is_endpoint:
            self._check_recordable(place.request)
        place.account(exchange)
        return exchange

    def _record(self, place: _Place, response: httpx2.Response, started: float) -> Exchange | None:
        """Store a response that is whole and no error; None where it is not."""
        message = self._whole_message(place.request["path"], response)
        if message is None:
            place.break_off() if response.status_code == 200 else place.fail(response.status_code)
            return None
        took_ms = 1000 * (time.perf_counter() - started)
        latency_ms = response.extensions.get(LATENCY, took_ms)
        try:
            exchange = self._cassettes.put(place.slot, place.request, message, latency_ms)
        except InputError as error:
            raise CassetteFault(str(error)) from error
        place.account(exchange)
        return exchange

    def _whole_message(self, path: str, response: httpx2.Response) -> Mapping[str, Any] | None:
        try:
            return _recordable(path, response, response.content)
        except EvalnbError as error:
            if self._cassettes.mode == "live":  # nothing is recorded, so nothing can be wrong
                return None
            raise self._fault(str(error)) from error

    def _check_recordable(self, request: CanonicalRequest) -> None:
        """Refuse, before it is asked, what is bound to an account and cannot be replayed."""
        path = request["path"]
        if path not in _RECORDABLE_PATHS and not path.startswith("/v1/models"):
            raise self._fault(
                f"{request['method']} {path} cannot be recorded: the ids in its answer belong to "
                "one account. Give files inline in the messages, and send messages one by one."
            )

    def _fault(self, message: str) -> CassetteFault:
        """Report a fault, so that it counts even where the application swallows it."""
        self._cassettes.report(InputError(message))
        return CassetteFault(message)


@dataclass
class _Place:
    """Where the response to one request belongs, and whether there was one."""

    cassettes: Cassettes
    slot: Slot
    request: CanonicalRequest
    is_endpoint: bool = False
    answered: bool = False
    claimed: bool = False

    def claim(self) -> bool:
        """Tell whether the request may go on."""
        self.claimed = self.cassettes.claim(self.slot)
        return self.claimed

    def close(self) -> None:
        """Give back what was taken and not used."""
        if self.claimed:
            self.cassettes.unclaim(self.slot)
        if not self.answered:
            self.cassettes.release(self.slot)

    def account(self, exchange: Exchange | None) -> None:
        """Note the exchange, also with the case on whose behalf it happened."""
        if exchange is None:
            return
        self.answered = True
        binding = bound()
        if binding is not None:
            binding.exchanges.append(exchange)
            binding.incomplete.discard(self.slot.key)
            binding.failed = None

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Note that no response came, whatever the application makes of it."""
        try:
            yield
        except httpx2.TransportError as error:
            self._note_failure(NaReason.SERVER, f"no answer: {error}")
            raise

    def fail(self, status: int) -> None:
        """Note that the response was an error."""
        reason = NaReason.BAD_REQUEST if status == 400 else NaReason.SERVER
        self._note_failure(reason, f"status {status}")

    def _note_failure(self, reason: NaReason, said: str) -> None:
        binding = bound()
        if binding is not None and (self.request["path"] in _ENDING_PATHS or self.is_endpoint):
            binding.failed = (reason, said)

    def break_off(self) -> None:
        """Note that the response was no whole one."""
        binding = bound()
        if binding is not None:
            binding.incomplete.add(self.slot.key)


def _canonical(request: httpx2.Request, content: bytes) -> CanonicalRequest:
    if ENDPOINT in request.extensions:
        return endpoint_request(str(request.url), content, request.extensions[ENDPOINT])
    return canonical_request(
        request.method,
        str(request.url),
        request.headers.get("anthropic-beta"),
        content,
        request.headers.get("content-type"),
    )


def _handed_on(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    headers = [
        (name, value)
        for name, value in response.headers.multi_items()
        if name.lower() not in _DROPPED_HEADERS
    ]
    return httpx2.Response(
        response.status_code, headers=headers, content=response.content, request=request
    )


def _answer(request: httpx2.Request, content: bytes, exchange: Exchange) -> httpx2.Response:
    if _streams(content):
        kind = "text/event-stream; charset=utf-8"
        answer = message_to_events(exchange.response).encode()
    else:
        kind, answer = "application/json", to_json(exchange.response)
    return httpx2.Response(200, headers={"content-type": kind}, content=answer, request=request)


def _streams(content: bytes) -> bool:
    if b'"stream"' not in content:
        return False
    try:
        body = json.loads(content)
    except ValueError:
        return False
    return isinstance(body, dict) and bool(body.get("stream"))


def _recordable(path: str, response: httpx2.Response, body: bytes) -> Mapping[str, Any] | None:
    """Return the response where it is whole and no error."""
    if response.status_code != 200:
        return None
    try:
        text = body.decode()
        if "text/event-stream" in response.headers.get("content-type", ""):
            message = message_from_events(text)
        else:
            message = parse_json(text)
    except (UnicodeDecodeError, JsonProblem):
        return None
    if not isinstance(message, dict) or message.get("type") == "error":
        return None
    if path in _ENDING_PATHS and not isinstance(message.get("stop_reason"), str):
        return None
    if path == _MESSAGES_PATH and not isinstance(message.get("content"), list):
        return None
    return message

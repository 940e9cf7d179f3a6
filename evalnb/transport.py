"""The cassette's place under the `anthropic` client: an `httpx2` transport.

It sees the exact bytes, serves synchronous and asynchronous clients, streaming and raw responses
alike, and leaves the application and the SDK as they are.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import anthropic
import httpx2

from evalnb.cassettes import bound
from evalnb.errors import EvalnbError, InputError, MissError
from evalnb.keys import CanonicalRequest, canonical_request, request_key
from evalnb.sse import message_from_events, message_to_events

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalnb.cassettes import Cassettes, Exchange, Slot

__all__ = ["CassetteFault", "CassetteMiss", "CassetteTransport"]

# They describe the bytes as they travelled, not those that are handed on.
_DROPPED_HEADERS = frozenset({"content-encoding", "content-length", "transfer-encoding"})


class CassetteMiss(MissError, anthropic.AnthropicError):
    """A miss, as the SDK hands it to its caller unchanged and without retrying."""


class CassetteFault(EvalnbError, anthropic.AnthropicError):
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
        slot, canonical = self._identify(request, content)
        exchange = self._take(slot, canonical)
        if exchange is not None:
            return _answer(request, content, exchange)
        if self._upstream is None:
            raise CassetteFault("this client has nowhere to ask: it was made for replay")
        started = time.perf_counter()
        response = self._upstream.handle_request(request)
        try:
            body = response.read()
        finally:
            response.close()
        return self._record(request, content, slot, canonical, response, body, started)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request of an asynchronous client."""
        content = await request.aread()
        slot, canonical = self._identify(request, content)
        exchange = self._take(slot, canonical)
        if exchange is not None:
            return _answer(request, content, exchange)
        if self._async_upstream is None:
            raise CassetteFault("this client has nowhere to ask: it was made for replay")
        started = time.perf_counter()
        response = await self._async_upstream.handle_async_request(request)
        try:
            body = await response.aread()
        finally:
            await response.aclose()
        return self._record(request, content, slot, canonical, response, body, started)

    def close(self) -> None:
        """Close the synchronous upstream."""
        if self._upstream is not None:
            self._upstream.close()

    async def aclose(self) -> None:
        """Close the asynchronous upstream."""
        if self._async_upstream is not None:
            await self._async_upstream.aclose()

    def _identify(self, request: httpx2.Request, content: bytes) -> tuple[Slot, CanonicalRequest]:
        canonical = canonical_request(
            request.method,
            str(request.url),
            request.headers.get("anthropic-beta"),
            content,
            request.headers.get("content-type"),
        )
        return self._cassettes.slot(request_key(canonical)), canonical

    def _take(self, slot: Slot, canonical: CanonicalRequest) -> Exchange | None:
        try:
            exchange = self._cassettes.take(slot, canonical)
        except MissError as error:
            raise CassetteMiss(str(error)) from error
        except InputError as error:
            self._cassettes.faults.append(error)
            raise CassetteFault(str(error)) from error
        _account(exchange)
        return exchange

    def _record(
        self,
        request: httpx2.Request,
        content: bytes,
        slot: Slot,
        canonical: CanonicalRequest,
        response: httpx2.Response,
        body: bytes,
        started: float,
    ) -> httpx2.Response:
        message = _recordable(canonical["path"], response, body)
        if message is not None:
            latency_ms = 1000 * (time.perf_counter() - started)
            exchange = self._cassettes.put(slot, canonical, message, latency_ms)
            _account(exchange)
            if exchange.response is not message:
                return _answer(request, content, exchange)
        headers = [
            (name, value)
            for name, value in response.headers.multi_items()
            if name.lower() not in _DROPPED_HEADERS
        ]
        return httpx2.Response(response.status_code, headers=headers, content=body, request=request)


def _account(exchange: Exchange | None) -> None:
    binding = bound()
    if exchange is not None and binding is not None:
        binding.exchanges.append(exchange)


def _answer(request: httpx2.Request, content: bytes, exchange: Exchange) -> httpx2.Response:
    if _streams(content):
        text, kind = message_to_events(exchange.response), "text/event-stream; charset=utf-8"
    else:
        text, kind = json.dumps(exchange.response, ensure_ascii=False), "application/json"
    return httpx2.Response(
        200, headers={"content-type": kind}, content=text.encode(), request=request
    )


def _streams(content: bytes) -> bool:
    try:
        body = json.loads(content or b"{}")
    except ValueError:
        return False
    return isinstance(body, dict) and bool(body.get("stream"))


def _recordable(path: str, response: httpx2.Response, body: bytes) -> Mapping[str, Any] | None:
    """Return the response where it is whole and no error."""
    if response.status_code != 200:
        return None
    if "text/event-stream" in response.headers.get("content-type", ""):
        message = message_from_events(body.decode("utf-8", "replace"))
    else:
        try:
            message = json.loads(body)
        except ValueError:
            return None
    if not isinstance(message, dict):
        return None
    if path.endswith("/v1/messages") and message.get("stop_reason") is None:
        return None
    return message

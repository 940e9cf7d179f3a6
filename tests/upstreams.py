"""What stands in for the API in tests: a fake that is handed its answers, and a real server."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import TYPE_CHECKING, Any

import httpx2

from evalnb.connections import AiohttpTransport, HttpTransport
from evalnb.sse import message_to_events
from evalnb.transport import Upstream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Json = dict[str, Any]


def message(text: str = "Hello.", **fields: Any) -> Json:
    """Return a message as the API gives it."""
    return {
        "id": "msg_01VOLATILE",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-5-5",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "stop_details": None,
        "usage": {"input_tokens": 12, "output_tokens": 3},
    } | fields


def tool_use(name: str, arguments: Json, call_id: str = "toolu_01VOLATILE") -> Json:
    """Return a content block that calls a tool."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def error(status: int, kind: str) -> httpx2.Response:
    """Return an error as the API gives it."""
    body = {"type": "error", "error": {"type": kind, "message": "on demand"}}
    return httpx2.Response(status, json=body)


def as_response(answer: Json, *, stream: bool) -> httpx2.Response:
    """Return a message the way that was asked for."""
    if stream:
        headers = {"content-type": "text/event-stream; charset=utf-8"}
        return httpx2.Response(200, headers=headers, content=message_to_events(answer).encode())
    return httpx2.Response(200, json=answer)


class FakeUpstream(Upstream):
    """Gives its answers in turn, the last one for ever, and remembers the requests.

    A message is given the way it is asked for, streamed or not; a response is given as it is.
    """

    max_attempts = 1

    def __init__(self, *answers: Json | httpx2.Response) -> None:
        self.answers = list(answers)
        self.requests: list[httpx2.Request] = []

    @property
    def bodies(self) -> list[Json]:
        return [json.loads(request.content) for request in self.requests]

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        content = request.read()
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, httpx2.Response):
            return httpx2.Response(
                answer.status_code, headers=answer.headers, content=answer.content
            )
        return as_response(answer, stream=bool(json.loads(content or b"{}").get("stream")))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return self.handle_request(request)


class AnsweringUpstream(Upstream):
    """Gives what a function makes of the request's body and its number, counted from 1."""

    max_attempts = 1

    def __init__(self, function: Callable[[Json, int], Json]) -> None:
        self.function = function
        self.n_requests = 0
        self._numbers = count(1)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.read())
        self.n_requests = next(self._numbers)
        return as_response(self.function(body, self.n_requests), stream=bool(body.get("stream")))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return self.handle_request(request)


@contextmanager
def loopback(function: Callable[[Json, int], Json], headers: dict[str, str]) -> Iterator[str]:
    """Serve the Messages API on the loopback interface, with more headers; give its URL."""
    numbers = count(1)
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with lock:
                number = next(numbers)
            response = as_response(function(body, number), stream=bool(body.get("stream")))
            self.send_response(200)
            for name, value in {
                **headers,
                "content-type": response.headers["content-type"],
            }.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(response.content)))
            self.end_headers()
            self.wfile.write(response.content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class LoopbackUpstream(Upstream):
    """Sends what is meant for the API to a server on the loopback interface."""

    def __init__(self, url: str) -> None:
        self._url = httpx2.URL(url)
        self._synchronous, self._asynchronous = HttpTransport(), AiohttpTransport()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        return self._synchronous.handle_request(self._there(request))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return await self._asynchronous.handle_async_request(self._there(request))

    def close(self) -> None:
        self._synchronous.close()

    async def aclose(self) -> None:
        await self._asynchronous.aclose()

    def _there(self, request: httpx2.Request) -> httpx2.Request:
        url = request.url.copy_with(scheme="http", host=self._url.host, port=self._url.port)
        headers = {**request.headers, "host": f"{self._url.host}:{self._url.port}"}
        return httpx2.Request(
            request.method,
            url,
            headers=headers,
            content=request.content,
            extensions=request.extensions,
        )

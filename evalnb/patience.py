"""The upstream of a run: sends again what failed for the moment, within the run's bounds.

It stands below the cassette, so that an application sees none of it, and each response is stored
with the time that its own attempt took. What the SDK would do for each client alone is done here
for all requests together.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anthropic
import anyio
import httpx2

from evalnb.cassettes import bound
from evalnb.errors import EvalnbError, InputError
from evalnb.frames import NaReason
from evalnb.pace import Pace, retry_after_s
from evalnb.prices import response_cost_usd
from evalnb.sse import message_from_events
from evalnb.transport import ENDPOINT, LATENCY, TIMEOUT_S

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalnb.control import RunControl

__all__ = ["FATAL", "SPEND_LIMIT", "PatientTransport", "RunStopped", "error_of", "run_stopped"]

_Result = httpx2.Response | httpx2.TransportError

_POLL_S = 0.05
_ENDPOINT_ATTEMPTS = 3
_MESSAGES_PATHS = ("/v1/messages", "/v1/complete")
SPEND_LIMIT = "enforced_spend_limit_reached"
"""What an error's `error_code` says where asking again is of no use."""
FATAL = {
    401: "the API does not accept the key",
    402: "the API wants to be paid",
    403: "the key may not do this",
    404: "the model is not there: retired, misspelt, or not for this key",
}
"""What every other request of a run would meet as well, by status."""
_TRY_AGAIN = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
_FULL = frozenset({429, 529})
_PASSING_TYPES = frozenset({"api_error", "overloaded_error", "rate_limit_error", "timeout_error"})


class RunStopped(anthropic.AnthropicError):
    """A request that is not sent any more, as the SDK hands it to its caller."""


def run_stopped(control: RunControl, reason: NaReason, last: str = "") -> RunStopped:
    """Note with the case, whatever its application makes of it, that the run is at its end."""
    binding = bound()
    if binding is not None:
        binding.stopped = reason
    return RunStopped(control.why(reason) + last)


@dataclass(frozen=True)
class _Verdict:
    """What is to be done about a response."""

    again: bool = False
    full: bool = False
    retry_after: float | None = None
    fatal: str | None = None


class PatientTransport(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Sends a request as often as its failure may pass, and never more at once than allowed.

    Parameters
    ----------
    upstream, async_upstream : where to send
    control : bounds of the run
    pace : how long to wait
    concurrency : how many requests are under way at once, of each kind of client
    max_attempts : how often a request is sent before its failure stands
    """

    def __init__(
        self,
        upstream: httpx2.BaseTransport | None,
        async_upstream: httpx2.AsyncBaseTransport | None,
        *,
        control: RunControl,
        pace: Pace,
        concurrency: int,
        max_attempts: int,
    ) -> None:
        self._upstream = upstream
        self._async_upstream = async_upstream
        self._control = control
        self._pace = pace
        self._max_attempts = max_attempts
        self._places = threading.BoundedSemaphore(concurrency)
        self._limiter = asyncio.Semaphore(concurrency)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request of a synchronous client."""
        content = request.read()
        body = _json(content) if self._control.counts_cost else {}
        for attempt in range(1, self._max_attempts + 1):
            with self._places:
                while (pause := self._pace.pause_s()) > 0:
                    self._sleep(pause)
                while (reserved := self._reserve(body, len(content))) is None:
                    self._sleep(_POLL_S)
                cost_usd, started = 0.0, time.perf_counter()
                try:
                    response = self._send(request)
                    cost_usd = self._cost_usd(response, reserved)
                    result: _Result = response
                except httpx2.TransportError as error:
                    result, cost_usd = error, reserved  # who knows how far it came
                finally:
                    self._control.settle(reserved, cost_usd)
                ended = time.perf_counter()
            wait = self._after(request, result, attempt)
            if wait is None:
                return _timed(result, ended - started)
            self._sleep(wait, result)
        raise AssertionError("the last attempt stands")

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request of an asynchronous client."""
        content = await request.aread()
        body = _json(content) if self._control.counts_cost else {}
        for attempt in range(1, self._max_attempts + 1):
            async with self._limiter:
                while (pause := self._pace.pause_s()) > 0:
                    await self._asleep(pause)
                while (reserved := self._reserve(body, len(content))) is None:
                    await self._asleep(_POLL_S)
                cost_usd, started = 0.0, time.perf_counter()
                try:
                    response = await self._asend(request)
                    cost_usd = self._cost_usd(response, reserved)
                    result: _Result = response
                except httpx2.TransportError as error:
                    result, cost_usd = error, reserved
                finally:
                    self._control.settle(reserved, cost_usd)
                ended = time.perf_counter()
            wait = self._after(request, result, attempt)
            if wait is None:
                return _timed(result, ended - started)
            await self._asleep(wait, result)
        raise AssertionError("the last attempt stands")

    def close(self) -> None:
        """Close the synchronous upstream."""
        if self._upstream is not None:
            self._upstream.close()

    async def aclose(self) -> None:
        """Close the asynchronous upstream."""
        if self._async_upstream is not None:
            await self._async_upstream.aclose()

    def _timeout(self, request: httpx2.Request) -> float:
        """Say in a request how long an attempt may take, and return it."""
        timeout_s: float = request.extensions.get(TIMEOUT_S, self._control.timeout_s)
        seconds = dict.fromkeys(("connect", "read", "write", "pool"), timeout_s)
        request.extensions = {**request.extensions, "timeout": seconds}
        return timeout_s

    def _send(self, request: httpx2.Request) -> httpx2.Response:
        self._timeout(request)
        if self._upstream is None:
            raise RuntimeError("this transport has no synchronous upstream")
        response = self._upstream.handle_request(request)
        try:
            response.read()
        finally:
            response.close()
        return response

    async def _asend(self, request: httpx2.Request) -> httpx2.Response:
        timeout_s = self._timeout(request)
        if self._async_upstream is None:
            raise RuntimeError("this transport has no asynchronous upstream")
        try:
            async with asyncio.timeout(timeout_s):
                response = await self._async_upstream.handle_async_request(request)
                try:
                    await response.aread()
                finally:
                    await response.aclose()
        except TimeoutError as error:
            raise httpx2.ReadTimeout(
                f"no answer within {timeout_s:g} seconds", request=request
            ) from error
        return response

    def _reserve(self, body: Mapping[str, Any], n_bytes: int) -> float | None:
        """Set money aside, and say of a run that is at its end that it is."""
        self._check_going()
        try:
            reserved = self._control.reserve(body, n_bytes)
        except InputError as fault:
            self._control.stop(fault)
            raise RunStopped(str(fault)) from fault
        if isinstance(reserved, NaReason):
            raise run_stopped(self._control, reserved)
        return reserved

    def _check_going(self, failed: _Result | None = None) -> None:
        if self._control.ended:
            raise RunStopped("the run has ended")
        if self._control.fatal is not None:
            raise RunStopped(str(self._control.fatal))
        reason = self._control.stopped()
        if reason is not None:
            last = "" if failed is None else f"; the last attempt failed: {_said(failed)}"
            raise run_stopped(self._control, reason, last)

    def _sleep(self, seconds: float, failed: _Result | None = None) -> None:
        """Wait, but not beyond the end of the run."""
        time.sleep(max(0.0, min(seconds, self._control.remaining_s())))
        self._check_going(failed)

    async def _asleep(self, seconds: float, failed: _Result | None = None) -> None:
        if seconds > 0:
            await anyio.sleep(max(0.0, min(seconds, self._control.remaining_s())))
        self._check_going(failed)

    def _cost_usd(self, response: httpx2.Response, reserved: float) -> float:
        """Return what a response cost; where it does not say, what it can have cost at most."""
        if not self._control.counts_cost or response.status_code != 200:
            return 0.0
        cost_usd = response_cost_usd(_message(response))
        return reserved if cost_usd is None else cost_usd

    def _after(self, request: httpx2.Request, result: _Result, attempt: int) -> float | None:
        """Return how long to wait before the next attempt, None where this one stands."""
        verdict = _verdict(request, result)
        if verdict.fatal is not None:
            self._control.stop(InputError(verdict.fatal))
        if not verdict.again:
            self._pace.accepted()
        if not verdict.again or attempt == self._max_attempts:
            return None
        if ENDPOINT in request.extensions and (
            attempt == _ENDPOINT_ATTEMPTS or _may_have_acted(result)
        ):
            return None
        if verdict.full:
            return self._pace.refused(attempt, verdict.retry_after)
        return self._pace.wait_s(attempt, verdict.retry_after)


def _timed(result: _Result, seconds: float) -> httpx2.Response:
    if isinstance(result, httpx2.TransportError):
        raise result
    result.extensions = {**result.extensions, LATENCY: 1000 * seconds}
    return result


def _may_have_acted(result: _Result) -> bool:
    """Tell whether a service may have done what it was asked, though it did not say so."""
    return isinstance(result, httpx2.TransportError) and not isinstance(
        result, (httpx2.ConnectError, httpx2.ConnectTimeout)
    )


def _said(result: _Result) -> str:
    if isinstance(result, httpx2.Response):
        return f"status {result.status_code}"
    return f"{type(result).__name__}: {result}"


def _verdict(request: httpx2.Request, result: _Result) -> _Verdict:
    if isinstance(result, Exception):
        return _Verdict(again=True)
    status = result.status_code
    after = retry_after_s(result.headers)
    if status == 200:
        return _of_stream(result)
    error = error_of(result)
    if error.get("error_code") == SPEND_LIMIT:
        return _Verdict(fatal=f"the spend limit is reached: {error.get('message', '')}")
    if status in FATAL and request.url.path.endswith(_MESSAGES_PATHS):
        return _Verdict(fatal=f"{FATAL[status]}: {error.get('message', status)}")
    said = result.headers.get("x-should-retry")
    again = said == "true" or (said != "false" and (status in _TRY_AGAIN or status >= 500))
    return _Verdict(again=again, full=status in _FULL, retry_after=after)


def _of_stream(response: httpx2.Response) -> _Verdict:
    """Tell a stream that ended from one that broke off or brought an error."""
    if "text/event-stream" not in response.headers.get("content-type", ""):
        return _Verdict()
    body = response.content
    if b"event: error" in body:
        kind = _stream_error_type(body)
        full = kind in ("overloaded_error", "rate_limit_error")
        return _Verdict(again=kind in _PASSING_TYPES, full=full)
    return _Verdict(again=b"event: message_stop" not in body)


def _stream_error_type(body: bytes) -> str:
    for line in body.decode(errors="replace").splitlines():
        if line.startswith("data:") and '"error"' in line:
            event = _json(line.removeprefix("data:").encode())
            if event.get("type") == "error" and isinstance(event.get("error"), dict):
                return str(event["error"].get("type"))
    return ""


def error_of(response: httpx2.Response) -> dict[str, Any]:
    """Return the error that a response holds, {} where it holds none."""
    error = _json(response.content).get("error")
    return error if isinstance(error, dict) else {}


def _message(response: httpx2.Response) -> Mapping[str, Any]:
    if "text/event-stream" not in response.headers.get("content-type", ""):
        return _json(response.content)
    try:
        return message_from_events(response.content.decode(errors="replace")) or {}
    except EvalnbError:
        return {}


def _json(content: bytes) -> dict[str, Any]:
    try:
        value = json.loads(content or b"{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}

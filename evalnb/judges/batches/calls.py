"""Calls of the Batches API, sent again while their failure may pass."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import TYPE_CHECKING

import httpx2

from evalnb.errors import InputError
from evalnb.frames import NaReason
from evalnb.judges.batches.replies import failure_reply
from evalnb.pace import MAX_ATTEMPTS, Pace, retry_after_s
from evalnb.patience import FATAL, SPEND_LIMIT, RunStopped, error_of, run_stopped

if TYPE_CHECKING:
    from evalnb.control import RunControl
    from evalnb.judges.batches.replies import Reply
    from evalnb.judges.batches.routes import Route

__all__ = ["FULL", "Calls", "Unanswered"]

_SECONDS_A_REQUEST = 0.02
"""What each request adds to the time that sending a batch or fetching its results may take."""
FULL = frozenset({429, 529})
"""Statuses of an API that had no room for a call."""
_FATAL = {**FATAL, 404: "it is not there, or not for this key"}


class Unanswered(Exception):  # noqa: N818 - becomes a response
    """A call that got no answer that can be used."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        super().__init__(f"status {reply.status}")


class Calls:
    """Calls of the Batches API, sent again while their failure may pass.

    A batch is not sent again where it may have arrived: it would be paid for twice. And looking
    at one costs nothing: it goes on when the money is spent.
    """

    def __init__(self, inner: httpx2.AsyncBaseTransport, control: RunControl) -> None:
        self._inner = inner
        self._control = control
        self._pace = Pace()

    def check_going(self) -> None:
        """Raise where nothing is sent any more."""
        if self._control.fatal is not None:
            raise RunStopped(str(self._control.fatal))
        if self._control.ended:
            raise RunStopped("the run has ended")
        if self._control.stopped() is NaReason.DEADLINE:
            raise run_stopped(self._control, NaReason.DEADLINE)

    async def sleep(self, seconds: float) -> None:
        """Wait, but not beyond the end of the run."""
        await asyncio.sleep(max(0.0, min(seconds, self._control.remaining_s())))
        self.check_going()

    def seconds(self, n_requests: int) -> float:
        """Return how long sending a batch, or fetching its results, may take."""
        return self._control.timeout_s + _SECONDS_A_REQUEST * n_requests

    async def get(
        self,
        route: Route,
        url: httpx2.URL,
        *,
        seconds: float | None = None,
        of: str = "",
    ) -> bytes:
        """Return what is at an address.

        Raises
        ------
        Unanswered
            If it is not to be had.
        """
        response = await self.ask(
            route, "GET", url, seconds=seconds or self._control.timeout_s, of=of
        )
        if response is None or response.status_code != 200:
            raise Unanswered(failure_reply(response))
        return response.content

    async def ask(
        self,
        route: Route,
        method: str,
        url: httpx2.URL,
        content: bytes = b"",
        *,
        seconds: float,
        of: str = "",
    ) -> httpx2.Response | None:
        """Return the response, None where there was none.

        Parameters
        ----------
        route, method, url, content : the call
        seconds : how long an attempt may take
        of : what is asked for, in words
        """
        for attempt in count(1):
            self.check_going()
            request = httpx2.Request(
                method,
                url,
                headers=[*route.headers, ("content-type", "application/json")],
                content=content,
            )
            result = await self._sent(request, seconds)
            response = result if isinstance(result, httpx2.Response) else None
            if response is not None:
                self._check_fatal(response, of)
            if attempt == MAX_ATTEMPTS or not _may_pass(method, result):
                return response
            after_s = None if response is None else retry_after_s(response.headers)
            await self.sleep(self._pace.wait_s(attempt, after_s))
        raise AssertionError("the last attempt stands")

    async def _sent(self, request: httpx2.Request, seconds: float) -> httpx2.Response | Exception:
        try:
            async with asyncio.timeout(seconds):
                response = await self._inner.handle_async_request(request)
                try:
                    await response.aread()
                finally:
                    await response.aclose()
        except (httpx2.TransportError, TimeoutError) as error:
            return error
        return response

    def _check_fatal(self, response: httpx2.Response, of: str) -> None:
        """Stop the run where every other call would meet the same."""
        if response.status_code == 200:
            return
        error = error_of(response)
        if error.get("error_code") == SPEND_LIMIT:
            why = "the spend limit is reached"
        elif response.status_code in _FATAL:
            why = _FATAL[response.status_code]
        else:
            return
        remedy = ""
        if of and response.status_code == 404:
            remedy = (
                " Take the key of the workspace that made it; or delete the file, and what was "
                "in it is asked and paid for anew."
            )
        said = error.get("message", response.status_code)
        subject = of or "message batches"
        self._control.stop(InputError(f"{subject}: {why}: {said}.{remedy}"))
        raise RunStopped(str(self._control.fatal))


def _may_pass(method: str, result: httpx2.Response | Exception) -> bool:
    """Tell whether a call is to be sent again."""
    if isinstance(result, Exception):
        return method == "GET" or isinstance(result, httpx2.ConnectError)
    if result.headers.get("x-should-retry") == "false":
        return False
    status = result.status_code
    return status in FULL or (method == "GET" and (status in (408, 409) or status >= 500))

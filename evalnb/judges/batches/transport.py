"""The transport: answers requests for messages from batches."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import httpx2

from evalnb.errors import InputError
from evalnb.frames import NaReason
from evalnb.judges.batches.batchfile import BatchFile
from evalnb.judges.batches.calls import Calls
from evalnb.judges.batches.chunks import Limits
from evalnb.judges.batches.desk import Desk
from evalnb.judges.batches.entries import Waiting
from evalnb.judges.batches.fetching import Fetcher
from evalnb.judges.batches.polling import Polling
from evalnb.judges.batches.replies import Reply
from evalnb.judges.batches.routes import Route, message_body
from evalnb.judges.batches.sending import Sender
from evalnb.patience import RunStopped, run_stopped

if TYPE_CHECKING:
    from pathlib import Path

    from evalnb.control import RunControl

__all__ = ["BatchTransport"]


class BatchTransport(httpx2.AsyncBaseTransport):
    """Answers requests for messages from batches; every other request is passed on.

    Requests are collected until none has come for a while, and then sent together. The run's
    money is set aside for each before it is sent, at the price of a batch; at the run's end what
    waits ends as NA `deadline`, and the same run taken up again fetches it.

    The latency of a response is None, since a batch's time is not the model's. A request that asks
    for a stream is answered whole.

    Parameters
    ----------
    inner : where to send: plain connections, such as `AiohttpTransport`. What fails is sent again
        here; a `PatientTransport` would also send a batch again that may be there already.
    path : where it is kept which request is in which batch; need not exist yet
    control : bounds of the run
    poll_s, max_poll_s : seconds between two looks at a batch, at first and at most
    quiet_s : how many seconds no request may have come before those that wait are sent
    max_requests, max_bytes : of one batch

    Raises
    ------
    InputError
        If the file is of another kind, or another process is writing it.
    """

    def __init__(
        self,
        inner: httpx2.AsyncBaseTransport,
        path: Path,
        *,
        control: RunControl,
        poll_s: float = 5.0,
        max_poll_s: float = 60.0,
        quiet_s: float = 0.5,
        max_requests: int = 100_000,
        max_bytes: int = 256_000_000,
    ) -> None:
        self._inner = inner
        self._control = control
        self._calls = Calls(inner, control)
        self._file = BatchFile(path)
        self._desk = Desk()
        self._fetcher = Fetcher(
            self._calls,
            Polling(self._calls, poll_s, max_poll_s),
            desk=self._desk,
            file=self._file,
            control=control,
        )
        self._sender = Sender(
            self._calls,
            self._fetcher,
            desk=self._desk,
            file=self._file,
            control=control,
            limits=Limits(max_requests, max_bytes),
            quiet_s=quiet_s,
            pause_s=poll_s,
        )
        self._desk.on_put = self._sender.start
        for batch_id, intent in self._file.batches():
            self._desk.know(batch_id, intent, self._file.untaken(intent))

    @property
    def n_unreadable(self) -> int:
        """How many lines of results could not be read."""
        return self._fetcher.n_unreadable

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request, as soon as a batch has its response.

        Raises
        ------
        RunStopped
            If the run ends before.
        """
        content = await request.aread()
        body = message_body(request, content)
        if body is None:
            return await self._inner.handle_async_request(request)
        self._calls.check_going()
        waiting = Waiting(Route.of(request), body, len(content))
        self._desk.put(waiting)
        try:
            outcome = await self._outcome(waiting)
        finally:
            self._desk.leave(waiting)
        response = outcome.response(request)
        if waiting.spent is not None:
            self._take(waiting.spent)
        return response

    async def aclose(self) -> None:
        """End what is under way here; the batches go on, and the file knows them."""
        tasks = [batch.watcher for batch in self._desk.batches.values()]
        running = [task for task in (self._sender.task, *tasks) if task is not None]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        self._file.close()
        await self._inner.aclose()

    async def _outcome(self, waiting: Waiting) -> Reply:
        """Wait for what becomes of a request, but not beyond the end of the run."""
        remaining_s = self._control.remaining_s()
        try:
            async with asyncio.timeout(None if remaining_s == float("inf") else remaining_s):
                outcome = await waiting.outcome
        except TimeoutError:
            raise run_stopped(self._control, NaReason.DEADLINE) from None
        match outcome:
            case Reply():
                return outcome
            case NaReason():
                raise run_stopped(self._control, outcome)
            case Exception():
                raise outcome
        self._calls.check_going()
        if (reason := self._control.stopped()) is not None:
            raise run_stopped(self._control, reason)
        raise RunStopped("the batches are not waited for any more")

    def _take(self, custom_id: str) -> None:
        """Note that a response is about to be handed on.

        Whoever gets it keeps it before anything else happens on the event loop. A kill between the
        note and that loses one response, which is asked for again; the other way round it would be
        given to an equal request as well, and no repeat would be one.
        """
        try:
            self._file.take([custom_id])
        except InputError as fault:
            self._control.stop(fault)

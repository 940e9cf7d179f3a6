"""Putting requests into batches, and knowing what became of each batch that was sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.frames import NaReason
from evalnb.judges.batches.calls import FULL
from evalnb.judges.batches.chunks import encoded, size_alone
from evalnb.judges.batches.costs import reserve
from evalnb.judges.batches.entries import Entry
from evalnb.judges.batches.lost import batches_like
from evalnb.judges.batches.reading import is_batch_id, read_object
from evalnb.judges.batches.replies import error_reply, failure_reply
from evalnb.judges.batches.work import start_work

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable

    import httpx2

    from evalnb.control import RunControl
    from evalnb.judges.batches.batchfile import BatchFile, Intent
    from evalnb.judges.batches.calls import Calls
    from evalnb.judges.batches.chunks import Limits
    from evalnb.judges.batches.desk import Desk
    from evalnb.judges.batches.entries import Waiting
    from evalnb.judges.batches.fetching import Fetcher
    from evalnb.judges.batches.replies import Reply
    from evalnb.judges.batches.routes import Route

__all__ = ["Sender"]

_MOST_UNSURE = 3
"""How many batches in a row may be sent without an answer that says what became of them."""


class Sender:
    """Sends what waits, as soon as no further request has come for a while.

    Parameters
    ----------
    calls : of the API
    fetcher : what waits for the batches that were sent
    desk : who waits for which place in a batch
    file : which request is in which batch
    control : bounds of the run
    limits : of one batch
    quiet_s : how many seconds no request may have come before those that wait are sent
    pause_s : how many seconds to wait where nothing can be sent
    """

    def __init__(
        self,
        calls: Calls,
        fetcher: Fetcher,
        *,
        desk: Desk,
        file: BatchFile,
        control: RunControl,
        limits: Limits,
        quiet_s: float,
        pause_s: float,
    ) -> None:
        self.task: asyncio.Task[None] | None = None
        self._calls = calls
        self._fetcher = fetcher
        self._desk = desk
        self._file = file
        self._control = control
        self._limits = limits
        self._quiet_s, self._pause_s = quiet_s, pause_s
        self._n_unsure = 0

    def start(self) -> None:
        """Begin to send what waits, unless that is done already."""
        if self.task is None or self.task.done():
            self.task = start_work(
                self._send(),
                lambda: list(self._desk.queue),
                desk=self._desk,
                control=self._control,
            )

    async def _send(self) -> None:
        while self._desk.queue:
            await self._until_quiet()
            await self._find_lost()
            fresh = [waiting for waiting in list(self._desk.queue) if not self._join(waiting)]
            entries = [entry for waiting in fresh if (entry := self._funded(waiting)) is not None]
            for route, part in list(self._limits.parts(entries)):
                await self._submit(route, part)
            if fresh and not entries:  # until others' money is settled
                await self._calls.sleep(self._pause_s)

    async def _until_quiet(self) -> None:
        while (wait_s := self._quiet_s - self._desk.seconds_since_last()) > 0:
            await self._calls.sleep(wait_s)

    async def _find_lost(self) -> None:
        """Find out what became of batches that were sent without an answer."""
        for intent in self._file.unsure():
            if not self._desk.queue:
                return
            batch_id = await self._found(intent, next(iter(self._desk.queue)).route)
            self._file.note(intent, batch_id)
            if batch_id is not None:
                self._desk.know(batch_id, intent, self._file.untaken(intent))

    async def _found(self, intent: Intent, route: Route) -> str | None:
        """Return the batch that was meant, None where there is none.

        The only one that may be it is taken for it; where it is another's after all, its results
        show it.
        """
        fitting = await batches_like(intent, self._calls, route, known=self._desk.batches)
        if len(fitting) > 1:
            raise self._file.ambiguous(intent, fitting)
        return fitting[0] if fitting else None

    def _join(self, waiting: Waiting) -> bool:
        """Let a request wait for a batch that it is in already; tell whether there is one."""
        entry = self._desk.offered(waiting.key)
        if entry is None:
            return False
        if entry.result is None and not entry.reserved:
            reserved = reserve(self._control, waiting.body, waiting.n_bytes)
            # It is sent already, and paid for whatever the budget says.
            entry.reserved = reserved if isinstance(reserved, float) else 0.0
        self._desk.give(entry, waiting)
        if entry.result is not None:
            self._fetcher.answer(entry)
        elif entry.batch is not None:
            self._fetcher.watch(entry.batch, waiting.route)
        return True

    def _funded(self, waiting: Waiting) -> Entry | None:
        """Return an entry of a batch for a request, None where it cannot be in the next one."""
        custom_id = self._file.free_id(waiting.key)
        n_bytes = size_alone(waiting, custom_id)
        if n_bytes > self._limits.max_bytes:
            said = f"{n_bytes} bytes are too many"
            self._desk.end(waiting, error_reply(413, "request_too_large", said))
            return None
        reserved = reserve(self._control, waiting.body, waiting.n_bytes)
        if isinstance(reserved, NaReason):
            self._desk.end(waiting, reserved)
        if not isinstance(reserved, float):
            return None
        self._file.use(custom_id)
        waiting.entry = Entry(custom_id, reserved=reserved, waiting=waiting)
        return waiting.entry

    async def _submit(self, route: Route, planned: list[Entry]) -> None:
        """Send a batch of what is still waited for."""
        entries = [entry for entry in planned if entry.waiting is not None]
        self._unsent((entry for entry in planned if entry.waiting is None), None)
        if not entries:
            return
        content = encoded(entries)
        intent = self._file.intend([entry.custom_id for entry in entries])
        seconds = self._calls.seconds(len(entries))
        response = await self._calls.ask(route, "POST", route.url, content, seconds=seconds)
        batch_id = _batch_id(response)
        if batch_id is not None:
            self._n_unsure = 0
            self._file.note(intent, batch_id, is_created=True)
            self._begin(route, batch_id, intent, entries)
        elif _is_refused(response):
            self._file.note(intent, None)
            self._unsent(entries, failure_reply(response))
        else:
            await self._unsure(entries, response)

    def _begin(self, route: Route, batch_id: str, intent: Intent, entries: Iterable[Entry]) -> None:
        batch = self._desk.know(batch_id, intent, ())
        for entry in entries:
            self._desk.place(entry, batch)
        self._fetcher.watch(batch, route)

    async def _unsure(self, entries: Iterable[Entry], response: httpx2.Response | None) -> None:
        """Wait where nobody knows whether there is a batch; give up where that is so repeatedly."""
        self._n_unsure += 1
        gives_up = self._n_unsure == _MOST_UNSURE
        # Else they stay in the queue until it is found out whether there is a batch of them.
        self._unsent(entries, failure_reply(response) if gives_up else None)
        self._n_unsure %= _MOST_UNSURE
        await self._calls.sleep(self._pause_s)

    def _unsent(self, entries: Iterable[Entry], reply: Reply | None) -> None:
        """Free what was set aside for requests that are in no batch, and answer them."""
        for entry in entries:
            self._control.settle(entry.reserved, 0.0)
            waiting, entry.waiting = entry.waiting, None
            if reply is not None and waiting is not None:
                self._desk.end(waiting, reply)


def _is_refused(response: httpx2.Response | None) -> bool:
    """Tell whether it is certain that no batch was made."""
    if response is None:
        return False
    return response.status_code in FULL or 300 <= response.status_code < 500


def _batch_id(response: httpx2.Response | None) -> str | None:
    if response is None or response.status_code != 200:
        return None
    batch_id = read_object(response.content).get("id")
    return batch_id if is_batch_id(batch_id) else None

"""Live calls through the Message Batches API, at half price and within hours.

The transport stands below the cassette: who asks sees one response to one request, and journal
and cassettes keep it like any other. Many requests wait at once, so nothing above it may limit how
many are under way.

Which request is in which batch is on disk before anybody waits for it, so that a run that was
killed fetches what it sent and sends nothing twice. A request is known by its custom id, the key
of its canonical form and a number that tells equal requests apart; equal requests may take each
other's results, and each result is given once.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
from collections import deque
from contextvars import Context
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from io import BytesIO
from itertools import count
from typing import TYPE_CHECKING, Any

import httpx2
from filelock import FileLock, Timeout

from evalnb.errors import InputError, Problem
from evalnb.frames import NaReason
from evalnb.keys import canonical_message_request, request_key
from evalnb.pace import MAX_ATTEMPTS, Pace, retry_after_s
from evalnb.patience import FATAL, SPEND_LIMIT, RunStopped, error_of, run_stopped
from evalnb.prices import response_cost_usd
from evalnb.transport import LATENCY

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from evalnb.control import RunControl

__all__ = ["BatchTransport"]

_FORMAT = 1
_MESSAGES_PATH = "/v1/messages"
_SENT_HEADERS = ("authorization", "x-api-key")
_SENT_HEADERS_PREFIX = "anthropic-"
_PAGE = 1000
"""Most batches that one list holds."""
_BATCH_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_START, _END = b'{"requests":[', b"]}"
_SECONDS_A_REQUEST = 0.02
"""What each request adds to the time that sending a batch or fetching its results may take."""
_POLL_GROWTH = 1.5
_MOST_LOST_POLLS = 10
_MOST_SUBMISSIONS = 2
_MOST_UNSURE = 3
"""How many batches in a row may be sent without an answer that says what became of them."""
_LINES_AT_ONCE = 100
# Clocks differ, and an upload is sent again for a while.
_BEFORE, _AFTER = timedelta(minutes=1), timedelta(hours=1)
_STATUS = {"invalid_request_error": 400, "overloaded_error": 529}
_FULL = frozenset({429, 529})
_FATAL = {**FATAL, 404: "it is not there, or not for this key"}

Json = dict[str, Any]


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
        self.n_unreadable = 0
        """How many lines of results could not be read."""
        self._inner = inner
        self._control = control
        self._calls = _Calls(inner, control)
        self._poll_s, self._max_poll_s = poll_s, max_poll_s
        self._quiet_s = quiet_s
        self._max_requests, self._max_bytes = max_requests, max_bytes
        self._queue: dict[_Waiting, None] = {}
        self._last_came = 0.0
        self._n_unsure = 0
        self._batches: dict[str, _Batch] = {}
        self._free: dict[str, deque[_Entry]] = {}
        self._sender: asyncio.Task[None] | None = None
        self._file = _BatchFile(path)
        for batch_id, intent in self._file.batches():
            self._know(batch_id, intent, self._file.untaken(intent))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request, as soon as a batch has its response.

        Raises
        ------
        RunStopped
            If the run ends before.
        """
        content = await request.aread()
        body = _message_body(request, content)
        if body is None:
            return await self._inner.handle_async_request(request)
        self._calls.check_going()
        waiting = _Waiting(_Route.of(request), body, len(content))
        self._enqueue(waiting)
        try:
            outcome = await self._outcome(waiting)
        finally:
            self._leave(waiting)
        response = outcome.response(request)
        if waiting.spent is not None:
            self._take(waiting.spent)
        return response

    async def aclose(self) -> None:
        """End what is under way here; the batches go on, and the file knows them."""
        tasks = [batch.watcher for batch in self._batches.values()]
        running = [task for task in (self._sender, *tasks) if task is not None]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        self._file.close()
        await self._inner.aclose()

    def _enqueue(self, waiting: _Waiting) -> None:
        self._queue[waiting] = None
        self._last_came = asyncio.get_running_loop().time()
        if self._sender is None or self._sender.done():
            self._sender = _task(self._guarded(self._send(), lambda: list(self._queue)))

    async def _outcome(self, waiting: _Waiting) -> _Reply:
        """Wait for what becomes of a request, but not beyond the end of the run."""
        remaining_s = self._control.remaining_s()
        try:
            async with asyncio.timeout(None if remaining_s == float("inf") else remaining_s):
                outcome = await waiting.outcome
        except TimeoutError:
            raise run_stopped(self._control, NaReason.DEADLINE) from None
        match outcome:
            case _Reply():
                return outcome
            case NaReason():
                raise run_stopped(self._control, outcome)
            case Exception():
                raise outcome
        self._calls.check_going()
        if (reason := self._control.stopped()) is not None:
            raise run_stopped(self._control, reason)
        raise RunStopped("the batches are not waited for any more")

    def _leave(self, waiting: _Waiting) -> None:
        """Let an equal request have what this one waited for, if it goes without."""
        self._queue.pop(waiting, None)
        entry = waiting.entry
        if entry is not None and entry.waiting is waiting:
            entry.waiting = None
            if entry.batch is not None:
                self._offer(entry)

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

    async def _guarded(
        self, work: Coroutine[Any, Any, None], left: Callable[[], Iterable[_Waiting]]
    ) -> None:
        """Do work that requests wait for; none of them is left waiting at its end."""
        outcome: _Outcome = None
        try:
            await work
        except RunStopped:
            pass
        except InputError as fault:
            self._control.stop(fault)
        except _Unanswered as failure:
            outcome = failure.reply
        except Exception as error:  # noqa: BLE001 - is raised where it is waited for
            outcome = error
        finally:
            for waiting in left():
                self._end(waiting, outcome)

    def _end(self, waiting: _Waiting, outcome: _Outcome) -> None:
        self._leave(waiting)
        waiting.end(outcome)

    # Sending

    async def _send(self) -> None:
        """Put what waits into batches, whenever nothing new has come for a while."""
        while self._queue:
            await self._until_quiet()
            await self._find_lost()
            fresh = [waiting for waiting in list(self._queue) if not self._join(waiting)]
            entries = [entry for waiting in fresh if (entry := self._funded(waiting)) is not None]
            for route, part in list(self._parts(entries)):
                await self._submit(route, part)
            if fresh and not entries:  # until others' money is settled
                await self._calls.sleep(self._poll_s)

    async def _until_quiet(self) -> None:
        loop = asyncio.get_running_loop()
        while (wait_s := self._last_came + self._quiet_s - loop.time()) > 0:
            await self._calls.sleep(wait_s)

    async def _find_lost(self) -> None:
        """Find out what became of batches that were sent without an answer."""
        for intent in self._file.unsure():
            if not self._queue:
                return
            batch_id = await self._found(intent, next(iter(self._queue)).route)
            self._file.note(intent, batch_id)
            if batch_id is not None:
                self._know(batch_id, intent, self._file.untaken(intent))

    async def _found(self, intent: _Intent, route: _Route) -> str | None:
        """Return the batch that was meant, None where there is none.

        The API does not say what is in a batch before it has ended. The one that was made at that
        time, has as many requests and is not known otherwise is taken for it; where it is
        another's after all, its results show it.
        """
        fitting = [
            batch["id"]
            for batch in await self._listed(route, intent.at - _BEFORE)
            if batch["id"] not in self._batches
            and batch["created_at"] <= intent.at + _AFTER
            and _n_requests(batch) == len(intent.custom_ids)
        ]
        if len(fitting) > 1:
            raise self._file.ambiguous(intent, fitting)
        return fitting[0] if fitting else None

    async def _listed(self, route: _Route, since: datetime) -> list[Json]:
        """Return the batches of the workspace that were made since then."""
        found: list[Json] = []
        after: dict[str, str] = {}
        while True:
            url = route.url.copy_merge_params({"limit": _PAGE, **after})
            page = _object(await self._calls.get(route, url))
            batches = list(_dated(page.get("data")))
            found += [batch for batch in batches if batch["created_at"] >= since]
            more = page.get("has_more") is True and batches
            if not more or batches[-1]["created_at"] < since:
                return found
            before, after = after, {"after_id": batches[-1]["id"]}
            if after == before:
                return found

    def _join(self, waiting: _Waiting) -> bool:
        """Let a request wait for a batch that it is in already; tell whether there is one."""
        free = self._free.get(waiting.key)
        if not free:
            return False
        if free[0].result is None and not free[0].reserved:
            reserved = self._reserved(waiting)
            # It is sent already, and paid for whatever the budget says.
            free[0].reserved = reserved if isinstance(reserved, float) else 0.0
        entry = free.popleft()
        self._queue.pop(waiting, None)
        self._pair(entry, waiting)
        if entry.result is not None:
            self._answer(entry)
        elif entry.batch is not None:
            self._watch(entry.batch, waiting.route)
        return True

    def _funded(self, waiting: _Waiting) -> _Entry | None:
        """Return an entry of a batch for a request, None where it cannot be in the next one."""
        custom_id = self._file.free_id(waiting.key)
        n_bytes = len(_START) + len(waiting.written(custom_id)) + len(_END)
        if n_bytes > self._max_bytes:
            self._end(waiting, _error(413, "request_too_large", f"{n_bytes} bytes are too many"))
            return None
        reserved = self._reserved(waiting)
        if isinstance(reserved, NaReason):
            self._end(waiting, reserved)
        if not isinstance(reserved, float):
            return None
        self._file.use(custom_id)
        waiting.entry = _Entry(custom_id, reserved=reserved, waiting=waiting)
        return waiting.entry

    def _reserved(self, waiting: _Waiting) -> float | NaReason | None:
        """Set aside what a request can cost in a batch; returns as `RunControl.reserve`."""
        reserved = self._control.reserve(waiting.body, waiting.n_bytes)
        if not isinstance(reserved, float) or not reserved or waiting.body.get("tools"):
            return reserved  # web searches have their full price
        kept = reserved * _batch_share(str(waiting.body.get("model")))
        self._control.settle(reserved - kept, 0.0)
        return kept

    def _parts(self, entries: Sequence[_Entry]) -> Iterator[tuple[_Route, list[_Entry]]]:
        """Yield what goes into one batch: of one route, and within the limits."""
        routes: dict[_Route, list[_Entry]] = {}
        for entry in entries:
            routes.setdefault(_waiting_for(entry).route, []).append(entry)
        for route, group in routes.items():
            for part in _chunks(group, self._max_requests, self._max_bytes):
                yield route, part

    async def _submit(self, route: _Route, planned: list[_Entry]) -> None:
        """Send a batch of what is still waited for."""
        entries = [entry for entry in planned if entry.waiting is not None]
        self._unsent((entry for entry in planned if entry.waiting is None), None)
        if not entries:
            return
        content = _encoded(entries)
        intent = self._file.intend([entry.custom_id for entry in entries])
        response = await self._calls.ask(
            route, "POST", route.url, content, seconds=self._seconds(len(entries))
        )
        batch_id = _batch_id(response)
        if batch_id is not None:
            self._n_unsure = 0
            self._file.note(intent, batch_id, is_created=True)
            self._begin(route, batch_id, intent, entries)
        elif _is_refused(response):
            self._file.note(intent, None)
            self._unsent(entries, _failure(response))
        else:
            self._n_unsure += 1
            # Else they stay in the queue until it is found out whether there is a batch of them.
            self._unsent(entries, _failure(response) if self._n_unsure == _MOST_UNSURE else None)
            self._n_unsure %= _MOST_UNSURE
            await self._calls.sleep(self._poll_s)

    def _unsent(self, entries: Iterable[_Entry], reply: _Reply | None) -> None:
        """Free what was set aside for requests that are in no batch, and answer them."""
        for entry in entries:
            self._control.settle(entry.reserved, 0.0)
            waiting, entry.waiting = entry.waiting, None
            if reply is not None and waiting is not None:
                self._end(waiting, reply)

    def _begin(
        self, route: _Route, batch_id: str, intent: _Intent, entries: Iterable[_Entry]
    ) -> None:
        batch = self._know(batch_id, intent, ())
        for entry in entries:
            entry.batch = batch
            batch.entries[entry.custom_id] = entry
            if entry.waiting is None:  # given up in the meantime
                self._offer(entry)
            else:
                self._queue.pop(entry.waiting, None)
                self._pair(entry, entry.waiting)
        self._watch(batch, route)

    def _pair(self, entry: _Entry, waiting: _Waiting) -> None:
        entry.waiting, waiting.entry = waiting, entry
        waiting.n_submitted += 1

    def _know(self, batch_id: str, intent: _Intent, custom_ids: Iterable[str]) -> _Batch:
        """Note a batch; what is in it and was not handed on yet is there for who asks for it."""
        batch = self._batches[batch_id] = _Batch(batch_id, intent)
        for custom_id in custom_ids:
            entry = batch.entries[custom_id] = _Entry(custom_id, batch=batch)
            self._offer(entry)
        return batch

    def _offer(self, entry: _Entry) -> None:
        key = entry.custom_id.rpartition("-")[0]
        self._free.setdefault(key, deque()).append(entry)

    # Fetching

    def _watch(self, batch: _Batch, route: _Route) -> None:
        if batch.watcher is None or batch.watcher.done():
            batch.watcher = _task(self._guarded(self._fetch(batch, route), batch.waiting))

    async def _fetch(self, batch: _Batch, route: _Route) -> None:
        """Wait for the end of a batch, and give each result to who waits for it."""
        await self._until_ended(batch, route)
        # Not at the address that the batch names: another server is not shown the credentials.
        url = route.below(batch.id, "results")
        content = await self._calls.get(
            route, url, seconds=self._seconds(len(batch.intent.custom_ids)), of=self._of(batch)
        )
        for number, line in enumerate(BytesIO(content), start=1):
            self._read(batch, line)
            if number % _LINES_AT_ONCE == 0:
                await asyncio.sleep(0)
        self._end_of_results(batch)

    async def _until_ended(self, batch: _Batch, route: _Route) -> None:
        """Look at a batch, ever more rarely, until it has ended."""
        pause_s, n_lost = self._poll_s, 0
        while n_lost < _MOST_LOST_POLLS:
            status = await self._status(batch, route)
            if status == "ended":
                return
            n_lost = 0 if status else n_lost + 1
            await self._calls.sleep(pause_s)
            pause_s = min(_POLL_GROWTH * pause_s, self._max_poll_s)
        raise _Unanswered(_error(500, "api_error", f"the API says nothing of batch {batch.id}"))

    async def _status(self, batch: _Batch, route: _Route) -> str | None:
        """Return what the API says of a batch, None where it is not to be had."""
        try:
            said = await self._calls.get(route, route.below(batch.id), of=self._of(batch))
        except _Unanswered:
            return None
        status = _object(said).get("processing_status")
        return status if isinstance(status, str) else None

    def _of(self, batch: _Batch) -> str:
        return f"batch {batch.id}, which {self._file.path} names"

    def _seconds(self, n_requests: int) -> float:
        return self._control.timeout_s + _SECONDS_A_REQUEST * n_requests

    def _read(self, batch: _Batch, line: bytes) -> None:
        """Take one line of results, which may say anything."""
        if not line.strip():
            return
        match _json(line):
            case {"custom_id": str(custom_id), **found}:
                batch.n_own += custom_id in batch.custom_ids
                entry = batch.entries.get(custom_id)
                if entry is not None and entry.result is None:
                    self._arrive(entry, found.get("result"))
            case _:
                self.n_unreadable += 1

    def _end_of_results(self, batch: _Batch) -> None:
        """Answer what has no result; of a batch that was only taken for ours, send it anew."""
        missing = [entry for entry in list(batch.entries.values()) if entry.result is None]
        if not self._file.is_created(batch.intent):
            self._send_anew(batch, missing)
            return
        for entry in missing:
            self._arrive(entry, None)

    def _send_anew(self, batch: _Batch, entries: Sequence[_Entry]) -> None:
        """Put into a further batch what is not in this one, which was another's after all."""
        if batch.n_own == 0:
            self._file.note(batch.intent, None)
        elif entries:
            self._file.take([entry.custom_id for entry in entries])
        for entry in entries:
            self._control.settle(entry.reserved, 0.0)
            self._withdraw(entry)
            waiting, entry.waiting = entry.waiting, None
            if waiting is not None:
                waiting.n_submitted -= 1
                self._enqueue(waiting)

    def _arrive(self, entry: _Entry, result: Any) -> None:
        """Take a result; where nobody waits for it, it is kept."""
        entry.result = result if isinstance(result, dict) else {}
        if self._control.counts_cost:
            self._control.settle(entry.reserved, _cost_usd(entry.result, entry.reserved))
        if entry.waiting is not None:
            self._answer(entry)

    def _answer(self, entry: _Entry) -> None:
        """Answer who waits for an entry; what was not processed goes into a further batch once."""
        waiting = entry.waiting
        if waiting is None or entry.batch is None or entry.result is None:
            return
        if waiting.outcome.done():  # given up, and about to leave it to others
            return
        entry.waiting = None
        del entry.batch.entries[entry.custom_id]
        is_unprocessed = entry.result.get("type") in ("expired", "canceled")
        if is_unprocessed and waiting.n_submitted < _MOST_SUBMISSIONS:
            self._file.take([entry.custom_id])
            self._enqueue(waiting)
            return
        waiting.spent = entry.custom_id
        waiting.end(_reply(entry.result))

    def _withdraw(self, entry: _Entry) -> None:
        free = self._free.get(entry.custom_id.rpartition("-")[0])
        if free is not None and entry in free:
            free.remove(entry)


@dataclass(frozen=True)
class _Route:
    """Where batches of some requests belong, and with whose credentials."""

    url: httpx2.URL
    headers: tuple[tuple[str, str], ...] = field(repr=False)

    @classmethod
    def of(cls, request: httpx2.Request) -> _Route:
        headers = (
            (name, value)
            for name, value in request.headers.multi_items()
            if name.lower() in _SENT_HEADERS or name.lower().startswith(_SENT_HEADERS_PREFIX)
        )
        url = request.url.copy_with(path=f"{request.url.path}/batches")
        return cls(url, tuple(sorted(headers)))

    def below(self, *names: str) -> httpx2.URL:
        """Return the address of a batch, or of what belongs to it."""
        return self.url.copy_with(path="/".join([self.url.path, *names]))


@dataclass(frozen=True)
class _Reply:
    """A response to be: a message, or an error as the API would say it."""

    status: int
    body: Mapping[str, Any]

    def response(self, request: httpx2.Request) -> httpx2.Response:
        headers = {"content-type": "application/json"}
        if self.status != 200:  # an SDK that asked again by itself would wait for another batch
            headers["x-should-retry"] = "false"
        return httpx2.Response(
            self.status,
            headers=headers,
            content=json.dumps(self.body).encode(),
            request=request,
            extensions={LATENCY: None},
        )


_Outcome = _Reply | NaReason | Exception | None
"""What became of a request; None where the run ended first."""


class _Unanswered(Exception):  # noqa: N818 - becomes a response
    """A call that got no answer that can be used."""

    def __init__(self, reply: _Reply) -> None:
        self.reply = reply
        super().__init__(f"status {reply.status}")


@dataclass(eq=False)
class _Waiting:
    """A request that waits for its response."""

    route: _Route
    body: Json
    n_bytes: int
    outcome: asyncio.Future[_Outcome] = field(init=False)
    key: str = field(init=False)
    entry: _Entry | None = None
    n_submitted: int = 0
    spent: str | None = None
    """Custom id of the result that answered it."""

    def __post_init__(self) -> None:
        self.outcome = asyncio.get_running_loop().create_future()
        self.key = request_key(canonical_message_request(self.body))
        params = {name: value for name, value in self.body.items() if name != "stream"}
        self._params = json.dumps(params, separators=(",", ":")).encode()

    def written(self, custom_id: str) -> bytes:
        """Return it as it stands in the body of a batch."""
        return b'{"custom_id":"%b","params":%b}' % (custom_id.encode(), self._params)

    def end(self, outcome: _Outcome) -> None:
        if not self.outcome.done():
            self.outcome.set_result(outcome)


@dataclass(eq=False)
class _Entry:
    """A request's place in a batch."""

    custom_id: str
    reserved: float = 0.0
    waiting: _Waiting | None = None
    batch: _Batch | None = None
    result: Json | None = None
    """As the API gave it, {} where it cannot be read; None until then."""


@dataclass(eq=False)
class _Batch:
    """A batch that the API has accepted."""

    id: str
    intent: _Intent
    entries: dict[str, _Entry] = field(default_factory=dict)
    """What is in it and was not handed on yet, by custom id."""
    watcher: asyncio.Task[None] | None = None
    n_own: int = 0
    """How many lines of its results are of requests that were sent in it."""

    def __post_init__(self) -> None:
        self.custom_ids = frozenset(self.intent.custom_ids)

    def waiting(self) -> list[_Waiting]:
        return [entry.waiting for entry in self.entries.values() if entry.waiting is not None]


@dataclass(frozen=True)
class _Intent:
    """A batch that is about to be sent."""

    marker: str
    at: datetime
    custom_ids: tuple[str, ...]


class _Calls:
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

    async def get(
        self,
        route: _Route,
        url: httpx2.URL,
        *,
        seconds: float | None = None,
        of: str = "",
    ) -> bytes:
        """Return what is at an address.

        Raises
        ------
        _Unanswered
            If it is not to be had.
        """
        response = await self.ask(
            route, "GET", url, seconds=seconds or self._control.timeout_s, of=of
        )
        if response is None or response.status_code != 200:
            raise _Unanswered(_failure(response))
        return response.content

    async def ask(
        self,
        route: _Route,
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


class _BatchFile:
    """Which request is in which batch: JSON lines that are only ever appended to.

    ::

        {"format": 1}
        {"intent": marker, "at": time, "custom_ids": [...]}   a batch is about to be sent
        {"intent": marker, "batch": id, "created": true}      it was made, and has this id
        {"intent": marker, "batch": id}                       this one is taken for it
        {"intent": marker, "batch": null}                     there is none
        {"taken": [custom ids]}                               these were handed on

    Of two lines on one intent's batch the later one holds.

    Parameters
    ----------
    path : need not exist yet; a torn last line is cut off
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._intents: dict[str, _Intent] = {}
        self._became: dict[str, str | None] = {}
        self._created: set[str] = set()
        self._taken: set[str] = set()
        self._used: set[str] = set()
        self._descriptor = -1
        self._end = 0
        self._guard = FileLock(path.with_suffix(".lock"), timeout=0, thread_local=False)
        try:
            self._guard.acquire()
        except Timeout as error:
            raise InputError(
                f"another process is writing {path}: wait for it, or end it"
            ) from error
        try:
            self._load()
        except BaseException:
            self._guard.release()
            raise

    def batches(self) -> Iterator[tuple[str, _Intent]]:
        """Yield the batches that are known, with what was meant to be in them."""
        for marker, batch_id in self._became.items():
            if batch_id is not None and marker in self._intents:
                yield batch_id, self._intents[marker]

    def unsure(self) -> list[_Intent]:
        """Return the batches of which nobody knows whether they are there."""
        return [it for marker, it in self._intents.items() if marker not in self._became]

    def is_created(self, intent: _Intent) -> bool:
        """Tell whether a batch's id came in answer to its making, and is not a guess."""
        return intent.marker in self._created

    def untaken(self, intent: _Intent) -> list[str]:
        """Return the custom ids of a batch whose results were not handed on."""
        return [custom_id for custom_id in intent.custom_ids if custom_id not in self._taken]

    def free_id(self, key: str) -> str:
        """Return the custom id of the next request with this key."""
        ids = (f"{key}-{number}" for number in count(1))
        return next(custom_id for custom_id in ids if custom_id not in self._used)

    def use(self, custom_id: str) -> None:
        """Give a custom id to no other request."""
        self._used.add(custom_id)

    def intend(self, custom_ids: Sequence[str]) -> _Intent:
        """Write that a batch is about to be sent."""
        intent = _Intent(secrets.token_hex(8), datetime.now(UTC), tuple(custom_ids))
        self._append(
            {"intent": intent.marker, "at": intent.at.isoformat(), "custom_ids": custom_ids},
            lasting=True,
        )
        self._intents[intent.marker] = intent
        return intent

    def note(self, intent: _Intent, batch_id: str | None, *, is_created: bool = False) -> None:
        """Write what became of an intent."""
        line: Json = {"intent": intent.marker, "batch": batch_id}
        self._append({**line, "created": True} if is_created else line, lasting=True)
        self._became[intent.marker] = batch_id
        if is_created:
            self._created.add(intent.marker)
        if batch_id is None:
            self._used -= set(intent.custom_ids)

    def take(self, custom_ids: Sequence[str]) -> None:
        """Write that results were handed on."""
        self._append({"taken": custom_ids}, lasting=False)
        self._taken.update(custom_ids)

    def ambiguous(self, intent: _Intent, batch_ids: Sequence[str]) -> InputError:
        """Say that nobody can tell which batch was meant, and what to do."""
        line = json.dumps({"intent": intent.marker, "batch": batch_ids[0]})
        problem = Problem(
            str(self.path),
            0,
            "",
            f"a batch of {len(intent.custom_ids)} requests was sent at {intent.at:%Y-%m-%d %H:%M} "
            f"UTC, and its id did not arrive; {', '.join(batch_ids)} may be it.",
            f"See in the Claude Console which one it is and append the line {line} with its id; "
            "null in its place has the requests sent and paid for again.",
        )
        return InputError("the run cannot tell which batch is its own", [problem])

    def close(self) -> None:
        """Have the disk keep what was written, and let other processes write."""
        if self._descriptor >= 0:
            os.fsync(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
        self._guard.release()

    def _load(self) -> None:
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                if not raw.endswith(b"\n"):
                    break
                self._read(number, _json(raw))
                self._end += len(raw)
        if self._end < self.path.stat().st_size:
            os.truncate(self.path, self._end)
        for marker, intent in self._intents.items():
            if self._became.get(marker, "") is not None:
                self._used.update(intent.custom_ids)

    def _read(self, number: int, line: Any) -> None:
        match line:
            case {"format": version} if number == 1 and version == _FORMAT:
                pass
            case _ if number == 1:
                what = "is no file of batches of this version."
                problem = Problem(str(self.path), 1, "", what, "Choose another folder for the run.")
                raise InputError("the run cannot be taken up", [problem])
            case {"intent": str(marker), "at": str(at), "custom_ids": [*custom_ids]}:
                when = _moment(at)
                if when is not None and all(isinstance(it, str) for it in custom_ids):
                    self._intents[marker] = _Intent(marker, when, tuple(custom_ids))
            case {"intent": str(marker), "batch": str() | None as batch_id, **further}:
                self._became[marker] = batch_id
                if further.get("created") is True:
                    self._created.add(marker)
            case {"taken": [*custom_ids]}:
                self._taken.update(it for it in custom_ids if isinstance(it, str))

    def _append(self, line: Mapping[str, Any], *, lasting: bool) -> None:
        raw = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        try:
            if self._descriptor < 0:
                flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
                self._descriptor = os.open(self.path, flags, 0o644)
            if self._end == 0:
                raw = b'{"format":%d}\n' % _FORMAT + raw
            written = os.write(self._descriptor, raw)
            while written < len(raw):
                written += os.write(self._descriptor, raw[written:])
            if lasting:
                os.fsync(self._descriptor)
        except OSError as error:
            if self._descriptor >= 0:
                os.ftruncate(self._descriptor, self._end)
            problem = Problem(str(self.path), 0, "", f"cannot be written: {error}.", "Make room.")
            raise InputError("a batch could not be noted", [problem]) from error
        self._end += len(raw)


def _message_body(request: httpx2.Request, content: bytes) -> Json | None:
    """Return the body of a request for a message, None of any other request."""
    if request.method != "POST" or not request.url.path.endswith(_MESSAGES_PATH):
        return None
    body = _json(content)
    return body if isinstance(body, dict) else None


def _task(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Do work on behalf of many requests, and not of the case whose request was the first."""
    return asyncio.get_running_loop().create_task(work, context=Context())


def _chunks(entries: Iterable[_Entry], max_requests: int, max_bytes: int) -> Iterator[list[_Entry]]:
    empty = len(_START) + len(_END) - 1  # the first one has no comma before it
    chunk: list[_Entry] = []
    n_bytes = empty
    for entry in entries:
        size = len(_written(entry)) + 1
        if chunk and (len(chunk) == max_requests or n_bytes + size > max_bytes):
            yield chunk
            chunk, n_bytes = [], empty
        chunk.append(entry)
        n_bytes += size
    if chunk:
        yield chunk


def _encoded(entries: Iterable[_Entry]) -> bytes:
    return _START + b",".join(map(_written, entries)) + _END


def _written(entry: _Entry) -> bytes:
    return _waiting_for(entry).written(entry.custom_id)


def _waiting_for(entry: _Entry) -> _Waiting:
    if entry.waiting is None:
        raise ValueError("an entry is sent on behalf of a request that waits")
    return entry.waiting


def _may_pass(method: str, result: httpx2.Response | Exception) -> bool:
    """Tell whether a call is to be sent again."""
    if isinstance(result, Exception):
        return method == "GET" or isinstance(result, httpx2.ConnectError)
    if result.headers.get("x-should-retry") == "false":
        return False
    status = result.status_code
    return status in _FULL or (method == "GET" and (status in (408, 409) or status >= 500))


def _is_refused(response: httpx2.Response | None) -> bool:
    """Tell whether it is certain that no batch was made."""
    if response is None:
        return False
    return response.status_code in _FULL or 300 <= response.status_code < 500


def _batch_id(response: httpx2.Response | None) -> str | None:
    if response is None or response.status_code != 200:
        return None
    batch_id = _object(response.content).get("id")
    return batch_id if _is_batch_id(batch_id) else None


def _is_batch_id(value: Any) -> bool:
    """Tell whether a text can stand in a path."""
    return isinstance(value, str) and _BATCH_ID.fullmatch(value) is not None


def _dated(listed: Any) -> Iterator[Json]:
    """Yield the readable batches of a list, each with the time at which it was made."""
    for batch in listed if isinstance(listed, list) else ():
        if isinstance(batch, dict) and _is_batch_id(batch.get("id")):
            when = _moment(batch.get("created_at"))
            if when is not None:
                yield {**batch, "created_at": when}


def _moment(text: Any) -> datetime | None:
    try:
        when = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def _n_requests(batch: Mapping[str, Any]) -> int | None:
    counts = batch.get("request_counts")
    if not isinstance(counts, dict):
        return None
    return sum(number for number in counts.values() if type(number) is int)


def _reply(result: Mapping[str, Any]) -> _Reply:
    match result:
        case {"type": "succeeded", "message": dict(message)}:
            return _Reply(200, _of_batch(message))
        case {"type": "errored", "error": {"error": dict(error)}}:
            body = {"type": "error", "error": error}
            return _Reply(_STATUS.get(str(error.get("type")), 500), body)
        case {"type": "expired" | "canceled" as kind}:
            return _error(
                500, "api_error", f"the request was {kind} in {_MOST_SUBMISSIONS} batches"
            )
    return _error(500, "api_error", "the batch has no result of this request that can be read")


def _cost_usd(result: Mapping[str, Any], reserved: float) -> float:
    """Return what a result cost; where it does not say, what it can have cost at most."""
    match result:
        case {"type": "succeeded", "message": dict(message)}:
            cost_usd = response_cost_usd(_of_batch(message))
            return reserved if cost_usd is None else cost_usd
        case {"type": "errored" | "expired" | "canceled"}:
            return 0.0
    return reserved


def _of_batch(message: Json) -> Json:
    """Return a message whose usage says that it has the price of a batch."""
    usage = message.get("usage")
    if not isinstance(usage, dict) or usage.get("service_tier"):
        return message
    return {**message, "usage": {**usage, "service_tier": "batch"}}


def _batch_share(model: str) -> float:
    """Return the price of a model's tokens in a batch, as a share of their full price."""
    usage = {"input_tokens": 1000}
    full = response_cost_usd({"model": model, "usage": usage})
    in_batch = response_cost_usd({"model": model, "usage": {**usage, "service_tier": "batch"}})
    return in_batch / full if full and in_batch else 1.0


def _failure(response: httpx2.Response | None) -> _Reply:
    """Return what the requests of a call are answered that came to nothing."""
    if response is None:
        return _error(500, "api_error", "no answer of the Batches API")
    error = error_of(response) if response.status_code >= 400 else {}
    if not error:
        return _error(500, "api_error", f"status {response.status_code} of the Batches API")
    return _Reply(response.status_code, {"type": "error", "error": error})


def _error(status: int, kind: str, message: str) -> _Reply:
    return _Reply(status, {"type": "error", "error": {"type": kind, "message": message}})


def _object(content: bytes) -> Json:
    value = _json(content)
    return value if isinstance(value, dict) else {}


def _json(content: bytes) -> Any:
    """Return a JSON value, None where it cannot be read."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None

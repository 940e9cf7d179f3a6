"""Fetching the results of a batch, and giving each to the request that waits for it."""

from __future__ import annotations

import asyncio
from io import BytesIO
from typing import TYPE_CHECKING, Any

from evalnb.judges.batches.costs import result_cost_usd
from evalnb.judges.batches.reading import read_json
from evalnb.judges.batches.replies import MOST_SUBMISSIONS, result_reply
from evalnb.judges.batches.work import start_work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalnb.control import RunControl
    from evalnb.judges.batches.batchfile import BatchFile
    from evalnb.judges.batches.calls import Calls
    from evalnb.judges.batches.desk import Desk
    from evalnb.judges.batches.entries import Batch, Entry
    from evalnb.judges.batches.polling import Polling
    from evalnb.judges.batches.routes import Route

__all__ = ["Fetcher"]

_LINES_AT_ONCE = 100


class Fetcher:
    """Waits for batches, and answers requests by their results.

    Parameters
    ----------
    calls, polling : of the API
    desk : who waits for which place in a batch
    file : what was handed on
    control : bounds of the run

    Attributes
    ----------
    n_unreadable : how many lines of results could not be read
    """

    def __init__(
        self, calls: Calls, polling: Polling, *, desk: Desk, file: BatchFile, control: RunControl
    ) -> None:
        self.n_unreadable = 0
        self._calls = calls
        self._polling = polling
        self._desk = desk
        self._file = file
        self._control = control

    def watch(self, batch: Batch, route: Route) -> None:
        """Begin to wait for a batch, unless that is done already."""
        if batch.watcher is None or batch.watcher.done():
            batch.watcher = start_work(
                self._fetch(batch, route), batch.waiting, desk=self._desk, control=self._control
            )

    def answer(self, entry: Entry) -> None:
        """Answer who waits for an entry; what was not processed goes into a further batch once."""
        waiting = entry.waiting
        if waiting is None or entry.batch is None or entry.result is None:
            return
        if waiting.outcome.done():  # given up, and about to leave it to others
            return
        entry.waiting = None
        del entry.batch.entries[entry.custom_id]
        is_unprocessed = entry.result.get("type") in ("expired", "canceled")
        if is_unprocessed and waiting.n_submitted < MOST_SUBMISSIONS:
            self._file.take([entry.custom_id])
            self._desk.put(waiting)
            return
        waiting.spent = entry.custom_id
        waiting.end(result_reply(entry.result))

    async def _fetch(self, batch: Batch, route: Route) -> None:
        of = f"batch {batch.id}, which {self._file.path} names"
        await self._polling.until_ended(batch.id, route, of=of)
        # Not at the address that the batch names: another server is not shown the credentials.
        content = await self._calls.get(
            route,
            route.below(batch.id, "results"),
            seconds=self._calls.seconds(len(batch.intent.custom_ids)),
            of=of,
        )
        for number, line in enumerate(BytesIO(content), start=1):
            self._read(batch, line)
            if number % _LINES_AT_ONCE == 0:
                await asyncio.sleep(0)
        self._end_of_results(batch)

    def _read(self, batch: Batch, line: bytes) -> None:
        """Take one line of results, which may say anything."""
        if not line.strip():
            return
        match read_json(line):
            case {"custom_id": str(custom_id), **found}:
                batch.n_own += custom_id in batch.custom_ids
                entry = batch.entries.get(custom_id)
                if entry is not None and entry.result is None:
                    self._arrive(entry, found.get("result"))
            case _:
                self.n_unreadable += 1

    def _arrive(self, entry: Entry, result: Any) -> None:
        """Take a result; where nobody waits for it, it is kept."""
        entry.result = result if isinstance(result, dict) else {}
        if self._control.counts_cost:
            self._control.settle(entry.reserved, result_cost_usd(entry.result, entry.reserved))
        if entry.waiting is not None:
            self.answer(entry)

    def _end_of_results(self, batch: Batch) -> None:
        """Answer what has no result; of a batch that was only taken for ours, send it anew."""
        missing = [entry for entry in list(batch.entries.values()) if entry.result is None]
        if not self._file.is_created(batch.intent):
            self._send_anew(batch, missing)
            return
        for entry in missing:
            self._arrive(entry, None)

    def _send_anew(self, batch: Batch, entries: Sequence[Entry]) -> None:
        """Put into a further batch what is not in this one, which was another's after all."""
        if batch.n_own == 0:
            self._file.note(batch.intent, None)
        elif entries:
            self._file.take([entry.custom_id for entry in entries])
        for entry in entries:
            self._control.settle(entry.reserved, 0.0)
            self._desk.withdraw(entry)
            waiting, entry.waiting = entry.waiting, None
            if waiting is not None:
                waiting.n_submitted -= 1
                self._desk.put(waiting)

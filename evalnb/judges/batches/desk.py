"""Who waits for what: requests that are in no batch yet, and places that nobody waits for."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from evalnb.judges.batches.entries import Batch, Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from evalnb.judges.batches.batchfile import Intent
    from evalnb.judges.batches.entries import Waiting
    from evalnb.judges.batches.replies import Outcome

__all__ = ["Desk"]


class Desk:
    """Brings requests together with places in batches; sends and writes nothing.

    Attributes
    ----------
    queue : the requests that wait to be sent, in the order in which they came
    batches : those that are known, by id
    on_put : is called after a request has come
    """

    def __init__(self) -> None:
        self.queue: dict[Waiting, None] = {}
        self._last_came = 0.0
        self.batches: dict[str, Batch] = {}
        self.on_put: Callable[[], object] = lambda: None
        self._free: dict[str, deque[Entry]] = {}

    def put(self, waiting: Waiting) -> None:
        """Let a request wait to be sent."""
        self.queue[waiting] = None
        self._last_came = asyncio.get_running_loop().time()
        self.on_put()

    def seconds_since_last(self) -> float:
        """Return how long no request has come."""
        return asyncio.get_running_loop().time() - self._last_came

    def leave(self, waiting: Waiting) -> None:
        """Let an equal request have what this one waited for, if it goes without."""
        self.queue.pop(waiting, None)
        entry = waiting.entry
        if entry is not None and entry.waiting is waiting:
            entry.waiting = None
            if entry.batch is not None:
                self.offer(entry)

    def end(self, waiting: Waiting, outcome: Outcome) -> None:
        """Say to a request what became of it; it waits no more."""
        self.leave(waiting)
        waiting.end(outcome)

    def know(self, batch_id: str, intent: Intent, custom_ids: Iterable[str]) -> Batch:
        """Note a batch; what is in it and was not handed on yet is there for who asks for it."""
        batch = self.batches[batch_id] = Batch(batch_id, intent)
        for custom_id in custom_ids:
            entry = batch.entries[custom_id] = Entry(custom_id, batch=batch)
            self.offer(entry)
        return batch

    def place(self, entry: Entry, batch: Batch) -> None:
        """Note that an entry was sent in a batch, on behalf of a request that may have left."""
        entry.batch = batch
        batch.entries[entry.custom_id] = entry
        if entry.waiting is None:
            self.offer(entry)
        else:
            self._pair(entry, entry.waiting)

    def offer(self, entry: Entry) -> None:
        """Keep an entry for an equal request."""
        self._free.setdefault(entry.key, deque()).append(entry)

    def offered(self, key: str) -> Entry | None:
        """Return the entry that the next request with this key gets, None where there is none."""
        free = self._free.get(key)
        return free[0] if free else None

    def give(self, entry: Entry, waiting: Waiting) -> None:
        """Let a request wait for an entry that was offered."""
        self.withdraw(entry)
        self._pair(entry, waiting)

    def withdraw(self, entry: Entry) -> None:
        """Offer an entry no more."""
        free = self._free.get(entry.key)
        if free is not None and entry in free:
            free.remove(entry)

    def _pair(self, entry: Entry, waiting: Waiting) -> None:
        self.queue.pop(waiting, None)
        entry.waiting, waiting.entry = waiting, entry
        waiting.n_submitted += 1

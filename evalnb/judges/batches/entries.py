"""What a request and a batch are made of: who waits, in which place of which batch."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evalnb.keys import canonical_message_request, request_key

if TYPE_CHECKING:
    from evalnb.judges.batches.batchfile import Intent
    from evalnb.judges.batches.reading import Json
    from evalnb.judges.batches.replies import Outcome
    from evalnb.judges.batches.routes import Route

__all__ = ["Batch", "Entry", "Waiting"]


@dataclass(eq=False)
class Waiting:
    """A request that waits for its response."""

    route: Route
    body: Json
    n_bytes: int
    outcome: asyncio.Future[Outcome] = field(init=False)
    key: str = field(init=False)
    entry: Entry | None = None
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

    def end(self, outcome: Outcome) -> None:
        """Say what became of it, unless that is said already."""
        if not self.outcome.done():
            self.outcome.set_result(outcome)


@dataclass(eq=False)
class Entry:
    """A request's place in a batch."""

    custom_id: str
    reserved: float = 0.0
    waiting: Waiting | None = None
    batch: Batch | None = None
    result: Json | None = None
    """As the API gave it, {} where it cannot be read; None until then."""

    @property
    def key(self) -> str:
        """The key that equal requests share."""
        return self.custom_id.rpartition("-")[0]

    def waited_for(self) -> Waiting:
        """Return the request that waits for it.

        Raises
        ------
        ValueError
            If there is none.
        """
        if self.waiting is None:
            raise ValueError("an entry is sent on behalf of a request that waits")
        return self.waiting


@dataclass(eq=False)
class Batch:
    """A batch that the API has accepted."""

    id: str
    intent: Intent
    entries: dict[str, Entry] = field(default_factory=dict)
    """What is in it and was not handed on yet, by custom id."""
    watcher: asyncio.Task[None] | None = None
    n_own: int = 0
    """How many lines of its results are of requests that were sent in it."""

    def __post_init__(self) -> None:
        self.custom_ids = frozenset(self.intent.custom_ids)

    def waiting(self) -> list[Waiting]:
        """Return the requests that wait for it."""
        return [entry.waiting for entry in self.entries.values() if entry.waiting is not None]

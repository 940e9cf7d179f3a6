"""The body of a batch, within what the API takes at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evalnb.judges.batches.entries import Entry, Waiting
    from evalnb.judges.batches.routes import Route

__all__ = ["Limits", "encoded", "size_alone"]

_START, _END = b'{"requests":[', b"]}"


@dataclass(frozen=True)
class Limits:
    """How many requests and how many bytes one batch may have."""

    max_requests: int
    max_bytes: int

    def parts(self, entries: Iterable[Entry]) -> Iterator[tuple[Route, list[Entry]]]:
        """Yield what goes into one batch: of one route, and within the limits."""
        routes: dict[Route, list[Entry]] = {}
        for entry in entries:
            routes.setdefault(entry.waited_for().route, []).append(entry)
        for route, group in routes.items():
            for part in self._chunks(group):
                yield route, part

    def _chunks(self, entries: Iterable[Entry]) -> Iterator[list[Entry]]:
        empty = len(_START) + len(_END) - 1  # the first one has no comma before it
        chunk: list[Entry] = []
        n_bytes = empty
        for entry in entries:
            size = len(_written(entry)) + 1
            if chunk and (len(chunk) == self.max_requests or n_bytes + size > self.max_bytes):
                yield chunk
                chunk, n_bytes = [], empty
            chunk.append(entry)
            n_bytes += size
        if chunk:
            yield chunk


def size_alone(waiting: Waiting, custom_id: str) -> int:
    """Return how many bytes a batch of one request has."""
    return len(_START) + len(waiting.written(custom_id)) + len(_END)


def encoded(entries: Iterable[Entry]) -> bytes:
    """Return the body of a batch."""
    return _START + b",".join(map(_written, entries)) + _END


def _written(entry: Entry) -> bytes:
    return entry.waited_for().written(entry.custom_id)

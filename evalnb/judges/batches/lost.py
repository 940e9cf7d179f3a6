"""Looking for a batch that was sent without an answer that names it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from evalnb.judges.batches.reading import Json, is_batch_id, read_moment, read_object

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from evalnb.judges.batches.batchfile import Intent
    from evalnb.judges.batches.calls import Calls
    from evalnb.judges.batches.routes import Route

__all__ = ["batches_like"]

_PAGE = 1000
"""Most batches that one list holds."""
# Clocks differ, and an upload is sent again for a while.
_BEFORE, _AFTER = timedelta(minutes=1), timedelta(hours=1)


async def batches_like(
    intent: Intent, calls: Calls, route: Route, *, known: Container[str]
) -> list[str]:
    """Return the ids of the batches that may be the one that was meant.

    The API does not say what is in a batch before it has ended: those are returned that were made
    at that time and have as many requests.

    Parameters
    ----------
    intent : the batch that was meant
    calls, route : where to look
    known : ids of batches that it is not
    """
    return [
        batch["id"]
        for batch in await _listed(calls, route, intent.at - _BEFORE)
        if batch["id"] not in known
        and batch["created_at"] <= intent.at + _AFTER
        and _n_requests(batch) == len(intent.custom_ids)
    ]


async def _listed(calls: Calls, route: Route, since: datetime) -> list[Json]:
    """Return the batches of the workspace that were made since then."""
    found: list[Json] = []
    after: dict[str, str] = {}
    while True:
        url = route.url.copy_merge_params({"limit": _PAGE, **after})
        page = read_object(await calls.get(route, url))
        batches = list(_dated(page.get("data")))
        found += [batch for batch in batches if batch["created_at"] >= since]
        more = page.get("has_more") is True and batches
        if not more or batches[-1]["created_at"] < since:
            return found
        before, after = after, {"after_id": batches[-1]["id"]}
        if after == before:
            return found


def _dated(listed: Any) -> Iterator[Json]:
    """Yield the readable batches of a list, each with the time at which it was made."""
    for batch in listed if isinstance(listed, list) else ():
        if isinstance(batch, dict) and is_batch_id(batch.get("id")):
            when = read_moment(batch.get("created_at"))
            if when is not None:
                yield {**batch, "created_at": when}


def _n_requests(batch: Mapping[str, Any]) -> int | None:
    counts = batch.get("request_counts")
    if not isinstance(counts, dict):
        return None
    return sum(number for number in counts.values() if type(number) is int)

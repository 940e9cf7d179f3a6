"""Waiting for the end of a batch, by looking at it ever more rarely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalnb.judges.batches.calls import Unanswered
from evalnb.judges.batches.reading import read_object
from evalnb.judges.batches.replies import error_reply

if TYPE_CHECKING:
    from evalnb.judges.batches.calls import Calls
    from evalnb.judges.batches.routes import Route

__all__ = ["Polling"]

_GROWTH = 1.5
_MOST_LOST = 10


@dataclass(frozen=True)
class Polling:
    """Looks at batches until they have ended.

    Attributes
    ----------
    calls : of the API
    first_s, most_s : seconds between two looks, at first and at most
    """

    calls: Calls
    first_s: float
    most_s: float

    async def until_ended(self, batch_id: str, route: Route, *, of: str) -> None:
        """Return when a batch has ended.

        Parameters
        ----------
        batch_id, route : the batch
        of : what it is, in words

        Raises
        ------
        Unanswered
            If the API says nothing of it, however often it is asked.
        """
        pause_s, n_lost = self.first_s, 0
        while n_lost < _MOST_LOST:
            status = await self._status(batch_id, route, of)
            if status == "ended":
                return
            n_lost = 0 if status else n_lost + 1
            await self.calls.sleep(pause_s)
            pause_s = min(_GROWTH * pause_s, self.most_s)
        raise Unanswered(error_reply(500, "api_error", f"the API says nothing of batch {batch_id}"))

    async def _status(self, batch_id: str, route: Route, of: str) -> str | None:
        """Return what the API says of a batch, None where it is not to be had."""
        try:
            said = await self.calls.get(route, route.below(batch_id), of=of)
        except Unanswered:
            return None
        status = read_object(said).get("processing_status")
        return status if isinstance(status, str) else None

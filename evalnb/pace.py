"""How a run treats an API that says no: how long to wait, and when everybody waits.

A request that fails waits on its own, longer each time. Where the API refuses most of what it is
sent, all requests pause together until it wants to be asked again.
"""

from __future__ import annotations

import random
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MAX_ATTEMPTS", "Pace", "retry_after_s"]

MAX_ATTEMPTS = 10
"""How often a request is sent before its failure stands."""

_FIRST_WAIT_S = 0.25
_LONGEST_WAIT_S = 30.0
_LONGEST_RETRY_AFTER_S = 60.0
_JITTER = 0.5
"""A wait is drawn from this share of it up to the whole, so that not all come back at once."""
_MEMORY = 0.05
"""Weight of the latest response in the share of refusals: about twenty responses count."""
_REFUSED_SHARE = 0.4
"""From this share of refusals on it is the API that is full, and not one request unlucky."""


class Pace:
    """Waits of one run, shared by its requests; may be used from any thread.

    Parameters
    ----------
    seed : of the jitter
    """

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)  # noqa: S311 - spreads waits, guards nothing
        self._lock = threading.Lock()
        self._refused = 0.0
        self._paused_until = 0.0

    def pause_s(self) -> float:
        """Return for how many seconds no request should be sent."""
        left = self._paused_until - time.monotonic()
        return left * self._random.uniform(1.0, 1.0 + _JITTER / 2) if left > 0 else 0.0

    def accepted(self) -> None:
        """Note that a request was answered."""
        with self._lock:
            self._refused *= 1 - _MEMORY

    def refused(self, attempt: int, retry_after: float | None) -> float:
        """Note that the API had no room for a request, and return how long it waits.

        Parameters
        ----------
        attempt : how many-th time the request was sent, counted from 1
        retry_after : seconds that the API asks for, None where it does not say
        """
        wait = self.wait_s(attempt, retry_after)
        with self._lock:
            self._refused = (1 - _MEMORY) * self._refused + _MEMORY
            if self._refused >= _REFUSED_SHARE:
                self._paused_until = max(self._paused_until, time.monotonic() + wait)
        return wait

    def wait_s(self, attempt: int, retry_after: float | None) -> float:
        """Return how many seconds a request waits before it is sent again."""
        if retry_after is not None:
            least = min(retry_after, _LONGEST_RETRY_AFTER_S)
            return least * self._random.uniform(1.0, 1.0 + _JITTER / 2)
        longest = min(_FIRST_WAIT_S * 2.0 ** (attempt - 1), _LONGEST_WAIT_S)
        return longest * self._random.uniform(_JITTER, 1.0)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a response asks to wait, None where it says nothing readable.

    Examples
    --------
    >>> retry_after_s({"retry-after-ms": "1500"})
    1.5
    >>> retry_after_s({"retry-after": "soon"})
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    return None

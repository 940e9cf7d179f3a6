"""What bounds a run that asks a model: its time, its money, and errors that every case would meet."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from evalnb.cassettes import bound
from evalnb.errors import InputError
from evalnb.frames import NaReason
from evalnb.prices import request_bound_usd

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evalnb.golden import LiveSettings

__all__ = ["RunControl"]

_ROUNDING = 1e-12


class RunControl:
    """Admits requests of a run while time and money last; may be used from any thread.

    Parameters
    ----------
    timeout_s : how long one request may take
    max_minutes : after this no request is admitted; None for no limit
    budget_usd : what the run may cost; None for no limit
    spent_usd : what an earlier part of the run cost
    """

    def __init__(
        self,
        *,
        timeout_s: float = 120.0,
        max_minutes: float | None = None,
        budget_usd: float | None = None,
        spent_usd: float = 0.0,
    ) -> None:
        self.timeout_s = timeout_s
        self.fatal: InputError | None = None
        self.ended = False
        self.on_fatal: Callable[[], object] = lambda: None
        self._max_minutes = max_minutes
        self._deadline: float | None = None
        self._budget = budget_usd
        self._spent = spent_usd
        self._reserved = 0.0
        self._lock = threading.Lock()
        self._short_of: str | None = None
        self._curtailed = False

    @classmethod
    def of(
        cls,
        limits: LiveSettings,
        *,
        asks: bool,
        max_minutes: float | None = None,
        budget_usd: float | None = None,
        spent_usd: float = 0.0,
    ) -> RunControl:
        """Return the control of a run: what is given goes before what the suite says.

        Parameters
        ----------
        limits : `[live]` of the suite
        asks : whether a model may be asked at all; a replay has neither deadline nor budget
        max_minutes, budget_usd, spent_usd : as above
        """
        return cls(
            timeout_s=limits.timeout_s,
            max_minutes=(max_minutes or limits.max_minutes) if asks else None,
            budget_usd=(budget_usd or limits.budget_usd) if asks else None,
            spent_usd=spent_usd,
        )

    @property
    def counts_cost(self) -> bool:
        """Whether anybody wants to know what a response cost."""
        return self._budget is not None

    def start(self) -> None:
        """Let the time of the run begin."""
        if self._max_minutes is not None:
            self._deadline = time.monotonic() + 60 * self._max_minutes

    def end(self) -> None:
        """Let no thread of an application that was left behind ask any more."""
        self.ended = True

    def curtail(self) -> None:
        """Begin no further case: what the run comes to is certain."""
        self._curtailed = True

    def stopped(self) -> NaReason | None:
        """Return why no further case is begun, None while the run goes on."""
        if self._curtailed:
            return NaReason.CURTAILED
        if self._deadline is not None and time.monotonic() >= self._deadline:
            return NaReason.DEADLINE
        if self._budget is not None and self._spent >= self._budget - _ROUNDING:
            return NaReason.BUDGET
        return None

    def why(self, reason: NaReason) -> str:
        """Say why nothing more is asked."""
        if reason is NaReason.CURTAILED:
            return "the drop was certain before this was asked"
        short_of = self._short_of if reason is NaReason.BUDGET else None
        return short_of or f"the run's {reason} is reached"

    def remaining_s(self) -> float:
        """Return how many seconds the run has left."""
        return float("inf") if self._deadline is None else self._deadline - time.monotonic()

    def longest_s(self) -> float:
        """Return how many seconds a system may take: until the end, and its last request's time."""
        return self.remaining_s() + self.timeout_s

    def stop(self, fault: InputError) -> None:
        """Stop the run: every other case would meet the same."""
        if self.fatal is None:
            binding = bound()
            where = f" at case {binding.case_id}" if binding else ""
            self.fatal = InputError(f"the run stopped{where}: {fault.message}", fault.problems)
            self.on_fatal()

    def reserve(self, body: Mapping[str, Any], n_bytes: int) -> float | NaReason | None:
        """Set aside the most that a request can cost.

        Returns
        -------
        US dollars to be settled afterwards; None where they are not there until requests under
        way are settled; the reason where the money does not suffice at all

        Raises
        ------
        InputError
            If there is a budget and nobody knows what the request can cost.
        """
        if self._budget is None:
            return 0.0
        bound = request_bound_usd(body, n_bytes)
        if bound is None:
            raise InputError(
                f"`budget_usd` cannot be kept: the most that a request to {body.get('model')!r} "
                "can cost is not known. Give a model of the price table, and `max_uses` with web "
                "search; or leave the budget out."
            )
        with self._lock:
            if self._spent + bound > self._budget + _ROUNDING:
                self._short_of = (
                    f"the next request can cost up to {bound:.4f} US dollars, and "
                    f"{self._spent:.4f} of {self._budget:.4f} are spent"
                )
                return NaReason.BUDGET
            if self._spent + self._reserved + bound > self._budget + _ROUNDING:
                return None
            self._reserved += bound
        return bound

    def settle(self, reserved: float, cost_usd: float) -> None:
        """Free what was set aside for a request, and count what it did cost."""
        with self._lock:
            self._reserved -= reserved
            self._spent += cost_usd

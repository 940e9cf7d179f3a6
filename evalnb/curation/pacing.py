"""When things were done at a form, and how long an item takes."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from pydantic_core import PydanticCustomError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["moment", "now_text", "seconds_an_item"]

_PAUSE_S = 600.0


def seconds_an_item(moments: Iterable[str]) -> float | None:
    """Return the median time between two actions, pauses over ten minutes left out.

    Parameters
    ----------
    moments : when each was done, ISO times with their offset, in order

    Returns
    -------
    seconds; None before there are two actions

    Examples
    --------
    >>> seconds_an_item(["2026-05-31T09:00:00+00:00", "2026-05-31T09:00:20+00:00"])
    20.0
    """
    times = [datetime.fromisoformat(moment) for moment in moments]
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(times)]
    worked = [gap for gap in gaps if 0 < gap <= _PAUSE_S]
    return median(worked) if worked else None


def now_text(clock: Callable[[], datetime]) -> str:
    """Return what time a clock says it is, in UTC, as files of actions have it."""
    return clock().astimezone(UTC).isoformat(timespec="milliseconds")


def moment(value: str) -> str:
    """Return a text that is a time with its offset; what pydantic checks a field by."""
    try:
        aware = datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        aware = False
    if not aware:
        raise PydanticCustomError("moment", "must be a time such as 2026-05-31T09:30:00+00:00")
    return value

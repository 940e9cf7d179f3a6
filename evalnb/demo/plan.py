"""What happens in the six months of the demo, and on which night."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["NEWER_CASES", "NIGHTS", "Event", "Night", "Plan", "plan_nights"]

NIGHTS = 182
NEWER_CASES = 40
"""The night with which the newest cases come."""

_REGRESSION = (70, 80)
_DRIFT, _DRIFT_STEP = 124, 9
_JUDGE_CHANGE = 110
_FLAKY, _DRIFTING = 2, 6
_OVERRIDDEN = 73


@dataclass(frozen=True)
class Event:
    """Something that was planted.

    Attributes
    ----------
    kind : {"golden_version", "regression", "judge_change", "drift"}
    first, last : days; the last is that of the demo for what stays
    cases : ids of the cases that it touches
    """

    kind: str
    first: date
    last: date
    cases: tuple[str, ...]


@dataclass(frozen=True)
class Night:
    """What is planned for one nightly run.

    Attributes
    ----------
    day : of the run
    whole : whether the suite has its newest cases yet
    of_second : the cases that are answered as the second prompt answered them
    regressed : whether the second prompt is the system of this night
    judge_changed : whether the judge is the other one
    overridden : whether somebody lets it pass
    """

    day: date
    whole: bool
    of_second: tuple[str, ...]
    regressed: bool
    judge_changed: bool
    overridden: bool


@dataclass(frozen=True)
class Plan:
    """All nights, and what was planted in them.

    Attributes
    ----------
    nights : in order of time
    events : in order of time
    flaky : cases that fail now and then
    """

    nights: tuple[Night, ...]
    events: tuple[Event, ...]
    flaky: tuple[str, ...]


def plan_nights(worse: Sequence[str], newest: Sequence[str], as_of: date, *, seed: int = 0) -> Plan:
    """Plan 182 nights that end on a day.

    Parameters
    ----------
    worse : cases that the second prompt lets fail
    newest : cases that come with a later version of the golden set
    as_of : the last night
    seed : of what varies by itself

    Returns
    -------
    the plan
        Two of the cases are flaky all the time. For eleven nights the others fail at once. From the
        fourth month on six of them go one after another, each within the margin, and stay.
    """
    draw = np.random.default_rng(seed)
    flaky = tuple(worse[:_FLAKY])
    others = tuple(worse[_FLAKY:])
    drifting = others[:_DRIFTING]
    days = [as_of - timedelta(days=NIGHTS - 1 - number) for number in range(NIGHTS)]
    nights = []
    for number, day in enumerate(days):
        regressed = _REGRESSION[0] <= number <= _REGRESSION[1]
        gone = drifting[: max(0, (number - _DRIFT) // _DRIFT_STEP + 1)]
        fails = flaky[position : position + 1] if (position := int(draw.integers(3))) < 2 else ()
        nights.append(
            Night(
                day=day,
                whole=number >= NEWER_CASES,
                of_second=(*fails, *(others if regressed else gone)),
                regressed=regressed,
                judge_changed=number >= _JUDGE_CHANGE,
                overridden=number == _OVERRIDDEN,
            )
        )
    events = (
        Event("golden_version", days[NEWER_CASES], as_of, tuple(newest)),
        Event("regression", days[_REGRESSION[0]], days[_REGRESSION[1]], others),
        Event("judge_change", days[_JUDGE_CHANGE], as_of, ()),
        Event("drift", days[_DRIFT], as_of, drifting),
    )
    return Plan(tuple(nights), events, flaky)

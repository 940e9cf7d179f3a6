"""Stopping a live run whose drop is certain, whatever the answers that are left come to.

Exact: the run that goes on would be blocked for the same drop. It is no look at a test before its
time, and costs no part of the error rate.
"""

from __future__ import annotations

from math import lcm
from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.baseline import CASE
from evalnb.findings import Row, finding
from evalnb.frames import NaReason, Outcome, to_records
from evalnb.planning import plan
from evalnb.scoring import fails_a_rule, suite_own_scorers
from evalnb.slicing import Slices
from evalnb.stats.levels import SCORES, SMALLEST_SLICE
from evalnb.stats.signed_sums import signed_sum_p

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import date

    import pandas as pd

    from evalnb.baseline import Baseline
    from evalnb.cassettes import Cassettes
    from evalnb.control import RunControl
    from evalnb.golden import GoldenSet
    from evalnb.pace import Pace
    from evalnb.waivers import Waiver

__all__ = ["Curtailing", "curtailed_rows"]

_LOOKS = 50
"""So many times in a run it is asked whether the drop is certain: each time all cases are added up."""

_DRAWN = 0.5
"""The gate draws patterns of signs where there are many: what is certain here has half the level."""


class Curtailing:
    """Follows a run by the rules alone, and stops it when the pass rate has certainly fallen.

    Parameters
    ----------
    golden : the suite
    baseline : the accepted run
    waivers : of the suite
    as_of : the day of the run
    repeats : answers a case
    """

    def __init__(
        self,
        golden: GoldenSet,
        baseline: Baseline,
        waivers: Sequence[Waiver],
        as_of: date,
        repeats: int,
    ) -> None:
        waived = {
            waiver.case
            for waiver in waivers
            if waiver.holds(as_of) and waiver.kind != "known_failing"
        }
        counts = baseline.counts[baseline.counts["scorer"] == CASE]
        rows = [
            row
            for row in to_records(counts)
            if row["n_scored"] and row["case_id"] in golden and row["case_id"] not in waived
        ]
        self._golden, self._repeats = golden, repeats
        self._own = suite_own_scorers(golden)
        self._places = {row["case_id"]: place for place, row in enumerate(rows)}
        scale = lcm(repeats, *(row["n_scored"] for row in rows))
        self._unit = scale // repeats
        self._before = np.array([row["n_passed"] * (scale // row["n_scored"]) for row in rows], int)
        self._scale = scale
        self._failed = np.zeros(len(rows), int)
        self._answered: set[str] = set()
        clusters = Slices(golden).clusters()
        names = [clusters.get(case_id, (case_id,)) for case_id in self._places]
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
        self._units = np.array([numbers[name] for name in names], int)
        self._level = _DRAWN * SCORES / plan(golden, baseline).tests
        self._margin = golden.settings.gate.margin
        self._every = max(len(golden) * repeats // _LOOKS, 1)
        self._n = 0
        self._control: RunControl | None = None

    def begin(
        self, cassettes: Cassettes, control: RunControl, pace: Pace, concurrency: int
    ) -> None:
        """Take the control of the run, which can stop it."""
        del cassettes, pace, concurrency
        self._control = control

    async def follow(self, row: Mapping[str, Any]) -> None:
        """Count an answer; stop the run where its drop is certain."""
        given = {name: value for name, value in row.items() if value is not None}
        place = self._places.get(given["case_id"])
        if place is None or "na_reason" in given:
            return
        self._answered.add(given["case_id"])
        self._failed[place] += fails_a_rule(self._golden, given, self._own)
        self._n += 1
        if self._n % self._every == 0 and self._control is not None and self.is_certain():
            self._control.curtail()

    async def aclose(self) -> None:
        """End."""

    def is_certain(self) -> bool:
        """Tell whether the pass rate has fallen even if all answers that are left pass."""
        if len(self._answered) < SMALLEST_SLICE:
            return False
        apart = self._scale - self._unit * self._failed - self._before
        if apart.sum() > -self._margin * self._scale * len(apart):
            return False
        sums = np.bincount(self._units, weights=apart).round().astype(int)
        # Two-sided, and the sum is below zero: half of it lies on this side.
        return bool(sums.sum() < 0 and signed_sum_p(sums) / 2 <= self._level)


def curtailed_rows(scores: pd.DataFrame) -> Iterator[Row]:
    """Return a note on a run that stopped early.

    Parameters
    ----------
    scores : a scores frame
    """
    left = scores[scores["na_reason"] == NaReason.CURTAILED]
    if len(left):
        answers = left[["case_id", "repeat"]].drop_duplicates()
        reason = (
            f"the run stopped early: {len(answers)} answers to {answers['case_id'].nunique()} cases "
            "were not asked for, since the pass rate had fallen whatever they would have come to"
        )
        yield finding("curtailed", Outcome.NOTE, reason=reason)

"""One run beside the baseline: what the rules that compare the two look at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.advice import by_basis, comparable_scorers, judge_scorers, same_basis
from evalnb.baseline import CASE, count
from evalnb.certificates import counting_scorers
from evalnb.gate.beside import beside
from evalnb.gate.unsettled import failure_reasons, missing_reasons
from evalnb.gate.waived import InForce
from evalnb.sampled import accidents_of, can_tell_cases, is_testable
from evalnb.slicing import Slices

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date

    import pandas as pd

    from evalnb.baseline import Baseline
    from evalnb.confirmation import Confirmation
    from evalnb.golden import GoldenSet
    from evalnb.waivers import Waiver

__all__ = ["Compared", "compared"]


@dataclass(frozen=True, eq=False)
class Compared:
    """One run beside the baseline, without the judges' scores that cannot be compared.

    Attributes
    ----------
    golden : the cases, with the thresholds of the suite
    pairs : as `beside` returns them
    reasons : case id and scorer to why it failed
    missing : case id and scorer to the reasons for which scores are missing
    waivers : in force on the day
    n_baselines : how many the suite is held against, which share the level
    sampled : whether differences are held against chance
    accidents : as `evalnb.sampled.accidents_of` gives them
    flaky : ids of cases that alone decide nothing
    fresh : fresh repeats on both sides, as `beside` returns them; None where there are none
    incomplete : ids of cases that lack a fresh score by accident
    """

    golden: GoldenSet
    pairs: pd.DataFrame
    reasons: Mapping[tuple[str, str], str]
    missing: Mapping[tuple[str, str], Sequence[str]]
    waivers: InForce
    n_baselines: int
    sampled: bool
    accidents: pd.Series
    flaky: frozenset[str] = frozenset()
    fresh: pd.DataFrame | None = None
    incomplete: frozenset[str] = frozenset()

    def confirmed_by(
        self, confirmation: Confirmation, scores: pd.DataFrame, baseline: Baseline
    ) -> Compared:
        """Return the same with fresh repeats, which then decide what fell."""
        same = same_basis(scores, baseline)
        now, before = (
            _comparable(by_basis(count(side), same=same), scores, baseline)
            for side in (confirmation.now, confirmation.before)
        )
        return replace(self, fresh=beside(now, before), incomplete=confirmation.incomplete)

    @cached_property
    def slices(self) -> Slices:
        """The slices of the golden set."""
        return Slices(self.golden)

    @cached_property
    def held(self) -> pd.DataFrame:
        """The pairs that `holding` keeps."""
        return self.holding(self.pairs)

    def holding(self, pairs: pd.DataFrame) -> pd.DataFrame:
        """Return the pairs that ran, of cases in the golden set that no waiver is for."""
        pairs = pairs[pairs["ran"] & pairs["known"]]
        pairs = pairs[pairs["case_id"].isin([case.id for case in self.golden])]
        if not self.waivers.waivers:
            return pairs
        waived = [
            self.waivers.find(case_id, scorer, is_new=False) is not None
            for case_id, scorer in pairs[["case_id", "scorer"]].to_numpy("object").tolist()
        ]
        return pairs[~np.array(waived, bool)]

    @cached_property
    def scored_twice(self) -> pd.DataFrame:
        """The pairs of single scorers that have a score on both sides."""
        both = (self.pairs["n_scored"].fillna(0) > 0) & self.pairs["scored_before"]
        return self.pairs[both & (self.pairs["scorer"] != CASE)]

    @property
    def n_looked_at(self) -> int:
        """How many cases and scorers are looked at, each by itself."""
        return max(len(self.scored_twice), 1)

    @cached_property
    def tells_cases(self) -> bool:
        """Whether there are repeats enough to tell a single case from chance."""
        return can_tell_cases(self.scored_twice)


def compared(
    golden: GoldenSet,
    scores: pd.DataFrame,
    counted: pd.DataFrame,
    baseline: Baseline,
    *,
    unsettled: Iterable[Mapping[str, Any]],
    waivers: Sequence[Waiver],
    as_of: date,
    live: bool,
) -> Compared:
    """Put a run beside the baseline.

    Parameters
    ----------
    golden, scores, baseline, waivers, as_of : as for `evalnb.gate.decide`
    counted : the counts of `scores`
    unsettled : as `unsettled_scores` returns them, without advice
    live : whether answers are a sample, which they are outside of red-team suites
    """
    red_team = golden.settings.red_team
    sides = counted, by_basis(baseline.counts, same=same_basis(scores, baseline))
    now, before = (_comparable(side, scores, baseline) for side in sides)
    pairs = beside(now, before, golden.settings.passes_needed)
    unsettled = list(unsettled)
    return Compared(
        golden,
        pairs,
        failure_reasons(unsettled),
        missing_reasons(unsettled),
        InForce(() if red_team else tuple(each for each in waivers if each.holds(as_of))),
        n_baselines=1 if baseline.first is None else 2,
        sampled=live and not red_team and is_testable(pairs),
        accidents=accidents_of(scores),
    )


def _comparable(counts: pd.DataFrame, scores: pd.DataFrame, baseline: Baseline) -> pd.DataFrame:
    judged = judge_scorers(scores, baseline)
    kept = comparable_scorers(scores, baseline).intersection(counting_scorers(scores))
    return counts[~counts["scorer"].isin(judged - kept)]

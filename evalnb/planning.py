"""What a live run of a suite could find, before it is run: the drop that cases and repeats detect."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pandas as pd

from evalnb.baseline import CASE, RULES
from evalnb.frames import FrameSchema, to_records
from evalnb.slicing import Slices
from evalnb.stats.levels import POWER, SCORES, SMALLEST_SLICE
from evalnb.stats.power import fallen_noise, least_drop, power_of_drop
from evalnb.stats.run_noise import within_variance

if TYPE_CHECKING:
    from evalnb.baseline import Baseline
    from evalnb.golden import GoldenSet
    from evalnb.stats.power import PairedNoise

__all__ = ["PLANS", "Plan", "cases_for", "describe_power", "plan", "power_table"]

_BETWEEN = 0.01
"""Variance of the true change between cases, where no history says: that of a support suite."""

_RATE, _WITHIN = 0.9, 0.07
"""Pass rate and variance of a case's repeats where there is no baseline."""

_REPEATS = (1, 3, 5, 10)
_MOST_CASES = 1_000_000

PLANS = FrameSchema(
    "plans",
    {
        "cases": "Int64",
        "repeats": "Int64",
        "smallest_drop": "Float64",
        "planned": "boolean",
        "method": "string",
    },
    key=("cases", "repeats"),
)
"""A row a plan: `smallest_drop` of the pass rate of cases is found in 8 of 10 runs, NA where none is;
`method` names the test."""


@dataclass(frozen=True)
class Plan:
    """What a live run is to compare, and how much it varies.

    Attributes
    ----------
    cases, repeats : of each run
    rate : pass rate before the drop
    within : variance of a case's repeats, then
    between : variance of the true change between cases
    tests : how many means are tested, which share the level
    margin : the least drop that blocks
    source : where `within` comes from, in words
    """

    cases: int
    repeats: int
    rate: float
    within: float
    between: float
    tests: int
    margin: float
    source: str

    @property
    def alpha(self) -> float:
        """Level of the hardest of Holm's steps, which the first of all means has to reach."""
        return SCORES / self.tests

    def noise(self, repeats: int, drop: float = 0.0) -> PairedNoise:
        """Return what makes differences vary where each case loses the same share of its rate."""
        fallen = fallen_noise(self.rate, self.within, drop, repeats)
        return replace(fallen, between=max(fallen.between, self.between))

    def power(self, drop: float, cases: int | None = None, repeats: int | None = None) -> float:
        """Return the share of runs that find a drop of the pass rate, as planned by default."""
        n = self.cases if cases is None else cases
        noise = self.noise(self.repeats if repeats is None else repeats, drop)
        return power_of_drop(drop, n, noise, alpha=self.alpha, margin=self.margin)

    def smallest_drop(self, cases: int, repeats: int) -> float | None:
        """Return the drop that 8 of 10 runs find, None where none is."""
        return least_drop(lambda drop: self.power(drop, cases, repeats), self.rate, POWER)


def plan(
    golden: GoldenSet,
    baseline: Baseline | None,
    *,
    cases: int | None = None,
    repeats: int | None = None,
) -> Plan:
    """Take what a suite's cases, settings and baseline say of its next live run.

    Parameters
    ----------
    golden : the suite
    baseline : the accepted run, None before the first
    cases, repeats : other numbers than the suite's own

    Returns
    -------
    with pass rate and variance of repeats as the baseline has them
        From two repeats on it is that within its cases. Of one repeat nothing is known: the variance
        of a single pass is taken whole, which is the most that it can be. Where every repeat
        passed, half a failure is added.
    """
    rate, within, source = _noise(baseline)
    return Plan(
        cases=len(golden) if cases is None else cases,
        repeats=golden.settings.repeats if repeats is None else repeats,
        rate=rate,
        within=within,
        between=_BETWEEN,
        tests=_tests(golden, baseline),
        margin=golden.settings.gate.margin,
        source=source,
    )


def power_table(planned: Plan) -> pd.DataFrame:
    """Return the smallest drop for the planned cases and repeats, and for other repeats.

    Examples
    --------
    >>> table = power_table(Plan(60, 3, 0.9, 0.07, 0.01, tests=1, margin=0.02, source=""))
    >>> table[["repeats", "smallest_drop"]].round(2).to_numpy().tolist()
    [[1, 0.19], [3, 0.11], [5, 0.08], [10, 0.06]]
    """
    return PLANS.build(
        {
            "cases": planned.cases,
            "repeats": repeats,
            "smallest_drop": planned.smallest_drop(planned.cases, repeats),
            "planned": repeats == planned.repeats,
            "method": "mcnemar mid_p" if repeats == 1 else "sign flip of case means",
        }
        for repeats in sorted({*_REPEATS, planned.repeats})
    )


def cases_for(planned: Plan, drop: float) -> pd.DataFrame:
    """Return how many cases find a drop in 8 of 10 runs, for several numbers of repeats.

    Parameters
    ----------
    planned : gives the noise, the number of tests and the margin
    drop : of the pass rate, in (0, 1)

    Returns
    -------
    as `PLANS` says; `smallest_drop` is what so many cases find. No row for repeats with which no
    number of cases finds it, as one below the margin

    Raises
    ------
    ValueError
        If `drop` is out of range.
    """
    if not 0 < drop < 1:
        raise ValueError(f"`drop` must lie between 0 and 1. Got {drop}.")
    rows = []
    for row in to_records(power_table(planned)):
        cases = _fewest(planned, int(row["repeats"]), drop)
        if cases is not None:
            found = planned.smallest_drop(cases, int(row["repeats"]))
            rows.append(row | {"cases": cases, "smallest_drop": found})
    return PLANS.build(rows)


def describe_power(planned: Plan, drop: float | None = None) -> list[str]:
    """Say what a plan can find, and what it would take to find a drop.

    Parameters
    ----------
    planned : as `plan` gives it
    drop : of the pass rate of cases, None for none in particular
    """
    tested = "1 mean" if planned.tests == 1 else f"{planned.tests} means"
    lines = [
        (
            f"{planned.cases} cases, {_repeats(planned.repeats)} on both sides, {tested} tested, "
            f"margin {planned.margin:g}"
        ),
        (
            f"  variance of repeats {planned.within:.3f} ({planned.source}), of the change between "
            f"cases {planned.between:g} (assumed)"
        ),
        "  drop of the pass rate of cases that 8 of 10 live runs find:",
    ]
    for row in power_table(planned).to_dict("records"):
        found = "none" if pd.isna(row["smallest_drop"]) else f"{row['smallest_drop']:.3f}"
        mark = "  as planned" if row["planned"] else ""
        lines.append(f"  {_repeats(int(row['repeats'])):>12}  {found}{mark}")
    if drop is None:
        return lines
    lines.append(f"  a drop of {drop:g} is found in {planned.power(drop):.0%} of runs as planned")
    needed = cases_for(planned, drop).to_dict("records")
    if not needed:
        return [*lines, f"  no number of cases finds it: the margin is {planned.margin:g}"]
    lines.append("  to find it in 8 of 10 runs takes:")
    lines += [f"  {_repeats(int(row['repeats'])):>12}  {row['cases']:,} cases" for row in needed]
    return lines


def _repeats(number: int) -> str:
    return f"{number} repeat{'' if number == 1 else 's'}"


def _noise(baseline: Baseline | None) -> tuple[float, float, str]:
    """Return pass rate, variance of repeats and where it comes from."""
    if baseline is None:
        return _RATE, _WITHIN, "assumed, without a baseline"
    counts = baseline.counts
    whole = counts[(counts["scorer"] == CASE) & (counts["n_scored"] > 0)]
    passed, scored = (whole[name].to_numpy("float64") for name in ("n_passed", "n_scored"))
    if not len(whole):
        return _RATE, _WITHIN, "assumed: nothing is scored in the baseline"
    total = float(scored.sum())
    half = 0.5 / (total + 1)
    rate = min(max(float(passed.sum()) / total, half), 1 - half)
    found = within_variance(passed, scored)
    if found is None:
        return rate, rate * (1 - rate), "at most, from a baseline of one repeat"
    if not found:
        within = min(half * (1 - half), rate * (1 - rate))
        return rate, within, "no case varied in the baseline, half a flip added"
    return rate, min(found, rate * (1 - rate)), "from the repeats of the baseline"


def _tests(golden: GoldenSet, baseline: Baseline | None) -> int:
    """Count the means of eight cases or more, by scorer and slice."""
    places = Slices(golden).places()
    if baseline is None:
        sizes = places["slice"].value_counts().tolist()
        return 1 + sum(size >= SMALLEST_SLICE for size in sizes)
    counts = baseline.counts
    known = counts[
        (counts["n_scored"] > 0)
        & (counts["scorer"] != RULES)
        & counts["case_id"].isin([case.id for case in golden])
    ]
    if known["scorer"].nunique() == 2:  # the case as a whole is what its one scorer says
        known = known[known["scorer"] == CASE]
    whole = known["scorer"].value_counts().tolist()
    sliced = known.merge(places, on="case_id").groupby(["scorer", "slice"]).size().tolist()
    return max(sum(size >= SMALLEST_SLICE for size in [*whole, *sliced]), 1)


def _fewest(planned: Plan, repeats: int, drop: float) -> int | None:
    """Return the fewest cases that find a drop; more of them find smaller ones."""

    def finds(cases: int) -> bool:
        found = planned.smallest_drop(cases, repeats)
        return found is not None and found <= drop

    low, high = SMALLEST_SLICE - 1, SMALLEST_SLICE
    while not finds(high):
        low, high = high, high * 2
        if low > _MOST_CASES:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if finds(middle) else (middle, high)
    return high

"""Limits against the baseline: how much longer and slower the answers may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from evalnb.findings import ROUNDING, SUITE, Row, finding
from evalnb.frames import Outcome, to_records
from evalnb.slicing import Slices
from evalnb.stats.levels import RATIOS, SMALLEST_SLICE
from evalnb.stats.ratios import geometric_mean_ratio

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from evalnb.golden import GoldenSet

__all__ = ["limit_rows"]

_MEASURES = {"output_tokens": "output tokens", "latency_ms": "ms", "cost_usd": "US dollars"}
_SETTINGS = {
    "output_tokens": "max_output_tokens_ratio",
    "latency_ms": "max_latency_ratio",
    "cost_usd": "max_cost_ratio",
}


def limit_rows(
    golden: GoldenSet,
    outputs: pd.DataFrame,
    before: pd.DataFrame,
    *,
    live: bool,
    waived: Collection[str] = (),
    sampled: bool = False,
    n_looks: int = 1,
) -> Iterator[Row]:
    """Hold what the answers took against the baseline.

    A case counts with its mean over the repeats that were answered, the suite with the total of
    the cases that both sides have; absolute limits are a scorer.

    Parameters
    ----------
    golden : the cases, with their limits and those of the suite
    outputs, before : outputs frames of the run and of the baseline
    live : whether the answers were given just now; replay repeats the recorded latency, so that
        there is none to compare
    waived : ids of cases that are left out of the total
    sampled : whether answers are a sample, so that the suite's limit is held against the geometric
        mean of the cases' ratios, which is over it where that is shown to be above 1 too; the
        limits that a case has of its own stay exact
    n_looks : how many baselines the suite is held against, which share the level

    Returns
    -------
    rows of rule `limits` for what took too much, of a case or of the suite, with the measure as
    their scorer; and of rule `not_compared` where one side does not say
    """
    measures = _measures(golden, live=live)
    for measure in measures:
        now, was = _case_means(outputs, measure), _case_means(before, measure)
        both = pd.concat({"was": was, "now": now}, axis=1, join="inner")
        if both.empty and not (now.empty and was.empty):
            lacking = "this run says" if now.empty else "the baseline says"
            reason = f"not compared with the baseline: {lacking} nothing of it for these cases"
            where = {"scorer": measure, "slice": SUITE}
            yield finding("not_compared", Outcome.NOTE, reason=reason, **where)
            continue
        held = both.drop(index=list(waived), errors="ignore")
        if sampled and len(held) >= SMALLEST_SLICE:
            yield from _tested_row(golden, measure, held, n_looks * len(measures))
        else:
            yield from _suite_row(golden, measure, held)
        yield from _case_rows(golden, measure, both)


def _measures(golden: GoldenSet, *, live: bool) -> list[str]:
    """Name what is compared: time where it was taken just now, cost where the suite limits it."""
    left_out = set() if live else {"latency_ms"}
    if golden.settings.gate.max_cost_ratio is None:
        left_out.add("cost_usd")
    return [measure for measure in _MEASURES if measure not in left_out]


def _suite_row(golden: GoldenSet, measure: str, both: pd.DataFrame) -> Iterator[Row]:
    limit = getattr(golden.settings.gate, _SETTINGS[measure])
    was, now = both["was"].sum(), both["now"].sum()
    if _is_over(now, was, limit):
        reason = f"the answers to {len(both)} cases took {_took(measure, now, was, limit)}"
        values = {"scorer": measure, "slice": SUITE, "baseline": was, "candidate": now}
        yield finding("limits", Outcome.FAIL, reason=reason, **values)


def _tested_row(golden: GoldenSet, measure: str, both: pd.DataFrame, n_tests: int) -> Iterator[Row]:
    limit = getattr(golden.settings.gate, _SETTINGS[measure])
    clusters = both.index.map(Slices(golden).clusters())
    shared = None if clusters.isna().all() else pd.Series(clusters)
    found = to_records(geometric_mean_ratio(both["was"], both["now"], clusters=shared))[0]
    ratio = found.get("estimate")
    # Without a p-value all cases have one ratio, or there are none.
    p_adjusted = min(found.get("p_greater", 0.0) * n_tests, 1.0)
    if ratio is None or not _is_over(ratio, 1.0, limit) or p_adjusted > RATIOS:
        return
    was, now = both["was"].sum(), both["now"].sum()
    evidence = {name: found.get(name) for name in ("estimate", "ci_low", "ci_high", "n", "method")}
    reason = (
        f"the answers to {found['n']} cases took {ratio:.3f} times as many {_MEASURES[measure]}, "
        f"by the geometric mean; the limit is {limit:g} times"
    )
    values = {"scorer": measure, "slice": SUITE, "baseline": was, "candidate": now, **evidence}
    values |= {"p_value": found.get("p_greater"), "p_adjusted": p_adjusted}
    yield finding("limits", Outcome.FAIL, reason=reason, **values)


def _case_rows(golden: GoldenSet, measure: str, both: pd.DataFrame) -> Iterator[Row]:
    for case in golden:
        limit = getattr(case.limits, _SETTINGS[measure], None)
        if limit is None:
            continue
        where = {"case_id": case.id, "scorer": measure}
        if case.id not in both.index:
            reason = "has a limit against the baseline, but one of the two says nothing of it"
            yield finding("not_compared", Outcome.NOTE, reason=reason, **where)
            continue
        was, now = float(both["was"][case.id]), float(both["now"][case.id])
        if _is_over(now, was, limit):
            reason = f"took {_took(measure, now, was, limit)}"
            yield finding(
                "limits", Outcome.FAIL, reason=reason, baseline=was, candidate=now, **where
            )


def _case_means(outputs: pd.DataFrame, measure: str) -> pd.Series:
    """Return the mean of each case, by its id; sorted, since sums depend on the order."""
    answered = outputs[outputs["na_reason"].isna() & outputs[measure].notna()]
    values = answered[["case_id", measure]].sort_values(measure)
    return values.groupby("case_id")[measure].mean().astype("float64")


def _is_over(now: float, before: float, limit: float) -> bool:
    return now > limit * before * (1 + ROUNDING)


def _took(measure: str, now: float, before: float, limit: float) -> str:
    unit = _MEASURES[measure]
    times = f", {now / before:.3f} times as much" if before else ""
    digits = ",.4f" if measure == "cost_usd" else ",.0f"
    took = f"{now:{digits}} {unit}, {before:{digits}} in the baseline"
    return f"{took}{times}; the limit is {limit:g} times"

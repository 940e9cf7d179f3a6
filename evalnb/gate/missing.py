"""What a run lacks by itself, whatever the baseline is: recordings, scores, cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.findings import ROUNDING, Row, finding
from evalnb.frames import BY_PLAN, NaReason, Outcome, to_records

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pandas as pd

    from evalnb.golden import GoldenSet

__all__ = ["miss_rows", "missing_rows", "not_run_rows"]


def _when(miss: Mapping[str, Any]) -> tuple[int, int, str]:
    return miss.get("repeat", 0), miss.get("occurrence", 0), miss.get("key", "")


def miss_rows(misses: pd.DataFrame | None, scores: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """Name the cases with a request that is not recorded, explained or not."""
    found: dict[str | None, list[str]] = {}
    records = to_records(misses) if misses is not None else []
    for row in sorted(records, key=_when):
        found.setdefault(row.get("case_id"), []).append(row["explanation"])
    # A score that is missing for a miss counts, whether or not the miss is explained.
    unexplained = {
        row["case_id"]: row.get("error", "no explanation")
        for row in scores
        if row.get("na_reason") == NaReason.MISS and row["case_id"] not in found
    }
    found |= {case_id: [error] for case_id, error in unexplained.items()}
    for case_id, explanations in found.items():
        reason = "a request is not recorded: " + "; ".join(dict.fromkeys(explanations))
        yield finding("miss", Outcome.INCONCLUSIVE, case_id=case_id, reason=reason)


def missing_rows(
    golden: GoldenSet, scores: pd.DataFrame, unsettled: Iterable[Mapping[str, Any]]
) -> Iterator[Row]:
    """Hold the accidents against the suite's budget; a red-team suite has none."""
    reasons: dict[str, int] = {}
    n_planned = len(scores)
    for row in unsettled:
        reason = row.get("na_reason")
        if reason in BY_PLAN:
            n_planned -= 1
        elif reason not in (None, NaReason.MISS):
            reasons[reason] = reasons.get(reason, 0) + 1
    total, red_team = sum(reasons.values()), golden.settings.red_team
    budget = 0.0 if red_team else golden.settings.gate.na_budget
    if total > budget * n_planned + ROUNDING:
        listed = ", ".join(f"{number} {reason}" for reason, number in sorted(reasons.items()))
        allowed = "a red-team suite has no budget" if red_team else f"the budget is {budget:.0%}"
        reason = f"{total} of {n_planned} scores are missing by accident ({listed}); {allowed}"
        yield finding("na", Outcome.INCONCLUSIVE, reason=reason)


def not_run_rows(golden: GoldenSet, scores: pd.DataFrame) -> Iterator[Row]:
    """Find the cases that the run has nothing of."""
    ran = set(scores["case_id"].to_numpy("object"))
    for case in golden:
        if case.id not in ran:
            reason = "is in the golden set and has no scores in this run"
            yield finding("na", Outcome.INCONCLUSIVE, case_id=case.id, reason=reason)

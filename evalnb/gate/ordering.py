"""The order in which the findings of the gate are listed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.frames import Outcome
from evalnb.pairwise_rule import PAIRWISE_RULE
from evalnb.phrase_rule import PHRASES_RULE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evalnb.findings import Row
    from evalnb.golden import GoldenSet

__all__ = ["in_order"]

_OUTCOMES = (Outcome.INCONCLUSIVE, Outcome.FAIL, Outcome.NOTE)
_RULES = (
    "miss",
    "no_baseline",
    "na",
    "gone",
    "repeats",
    "not_shown",
    "model_changed",
    "safety",
    "regression",
    "new_failure",
    "drift",
    "creep",
    "floor",
    "limits",
    PAIRWISE_RULE,
    PHRASES_RULE,
    "waiver",
    "override",
    "override_ignored",
    "shadow_mode",
    "shadow_mode_ignored",
    "judge_changed",
    "counting_changed",
    "certified_judge",
    "advisory_judge",
    "waiver_ignored",
    "waived",
    "case_flip",
    "not_confirmed",
    "flaky",
    "trend",
    "no_drop",
    "not_tested",
    "now_passing",
    "waived_passing",
    "not_compared",
    "golden_changed",
    "settings_changed",
    "system_changed",
    "unused_cassettes",
    "no_requests",
    "curtailed",
)
"""In the order in which they are listed."""


def in_order(golden: GoldenSet, rows: Iterable[Row]) -> list[Row]:
    """Return what blocks first, then by rule and in the order of the golden set."""
    position = {case.id: number for number, case in enumerate(golden)}

    def place(row: Row) -> tuple[Any, ...]:
        case_id = row.get("case_id")
        return (
            _OUTCOMES.index(row["outcome"]),
            _RULES.index(row["rule"]),
            -1 if case_id is None else position.get(case_id, len(position)),
            case_id or "",
            row.get("scorer") or "",
            row.get("slice") or "",
        )

    return sorted(rows, key=place)

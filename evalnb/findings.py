"""What the rules of the gate find: the rows of a decision frame, before they are one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalnb.frames import Outcome

__all__ = ["ROUNDING", "SUITE", "Row", "finding"]

ROUNDING = 1e-9
"""Two means of the same numbers may differ by this much."""

SUITE = "all"
"""Stands in the `slice` column for the suite as a whole."""

Row = dict[str, Any]


def finding(rule: str, outcome: Outcome, *, reason: str, **values: Any) -> Row:
    """Return a row of a decision frame; `values` are further columns of it."""
    return {"rule": rule, "outcome": str(outcome), "reason": reason, **values}

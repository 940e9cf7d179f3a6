"""What a decision comes to: its outcome and the exit code of the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.frames import Outcome
from evalnb.rollout import OVERRIDE, SHADOW

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["exit_code", "outcome"]


def exit_code(decision: pd.DataFrame) -> int:
    """Return the exit code of a decision: 0 pass, 1 blocked, 2 inconclusive, 3 cassette miss.

    An override makes any of them 0, shadow mode a 1, unless an answer is unsafe.
    """
    rules = set(decision["rule"])
    found = {Outcome.PASS: 0, Outcome.FAIL: 1, Outcome.INCONCLUSIVE: 2}[outcome(decision)]
    code = 3 if "miss" in rules else found
    is_open = OVERRIDE in rules or (SHADOW in rules and code == 1)
    return 0 if is_open and "safety" not in rules else code


def outcome(decision: pd.DataFrame) -> Outcome:
    """Return what a decision frame comes to: `inconclusive` before `fail` before `pass`."""
    present = set(decision["outcome"])
    for worst in (Outcome.INCONCLUSIVE, Outcome.FAIL):
        if worst in present:
            return worst
    return Outcome.PASS

"""Single cases that pass less often than in the baseline, told from chance by their own repeats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.baseline import CASE
from evalnb.confirmation import first_level
from evalnb.frames import to_records
from evalnb.sampled import case_evidence
from evalnb.stats.levels import CASES, CONFIRMATION

if TYPE_CHECKING:
    import pandas as pd

    from evalnb.gate.compared import Compared

__all__ = ["fresh_flips", "suspect_flips"]


def suspect_flips(run: Compared) -> set[str]:
    """Return the cases that fell at the level of a first look."""
    if not run.tells_cases:
        return set()
    found = _flipped(run.scored_twice, run.n_looked_at, first_level(CASES))
    return {case_id for case_id, _ in found}


def fresh_flips(run: Compared) -> set[tuple[str, str]]:
    """Return the cases and scorers that fell in fresh repeats too."""
    if run.fresh is None:
        return set()
    suspects = suspect_flips(run)
    pairs = run.fresh[run.fresh["case_id"].isin(suspects) & (run.fresh["scorer"] != CASE)]
    return _flipped(pairs, max(len(suspects), 1), CONFIRMATION)


def _flipped(pairs: pd.DataFrame, n_tested: int, level: float) -> set[tuple[str, str]]:
    return {
        (pair["case_id"], pair["scorer"])
        for pair in to_records(pairs)
        if pair.get("n_scored") and pair.get("n_scored_before")
        and case_evidence(pair, n_tested)["p_adjusted"] <= level
    }  # fmt: skip

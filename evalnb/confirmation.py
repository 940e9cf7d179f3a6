"""Fresh repeats of what looks worse, on both sides: they alone decide whether it is.

Runs that are bad by chance get better when they are repeated. So the repeats that raised the
suspicion do not count a second time, and both sides are asked again: of the baseline the lucky
cases were compared with, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evalnb.frames import Outcome, is_accident, to_records
from evalnb.sampled import drop_row
from evalnb.stats.levels import CONFIRMATION, FIRST_STAGE, SCORES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from evalnb.findings import Row

__all__ = ["Confirmation", "confirmed_rows", "first_level"]


@dataclass(frozen=True)
class Confirmation:
    """What came of asking again about the suspect cases.

    Attributes
    ----------
    before, now : scores frames of fresh repeats of the baseline's system and of the candidate's
    outputs_before, outputs_now : the answers behind them, outputs frames
    """

    before: pd.DataFrame
    now: pd.DataFrame
    outputs_before: pd.DataFrame
    outputs_now: pd.DataFrame

    @property
    def incomplete(self) -> frozenset[str]:
        """Cases of which a score is missing by accident on either side."""
        return frozenset(
            case_id
            for scores in (self.before, self.now)
            for case_id in scores.loc[
                is_accident(scores["na_reason"]) & ~scores["advisory"].fillna(value=False),
                "case_id",
            ]
        )

    def summary(self) -> dict[str, Any]:
        """Return what a manifest keeps: cases, repeats, answers, what is missing, cost in USD."""
        sides = (self.outputs_before, self.outputs_now)
        costs = [cost for side in sides for cost in side["cost_usd"].dropna()]
        return {
            "cases": int(self.outputs_now["case_id"].nunique()),
            "repeats": int(self.outputs_now["repeat"].max()),
            "answers": sum(map(len, sides)),
            "missing": sum(int(side["na_reason"].notna().sum()) for side in sides),
            "cost_usd": sum(costs) if costs else None,
        }


def first_level(level: float) -> float:
    """Return the level of a first look whose finding has to hold at `CONFIRMATION` again.

    Parameters
    ----------
    level : that both together are to have

    Examples
    --------
    >>> round(first_level(0.03), 6)  # 0.10 times 0.30
    0.1
    """
    return level * FIRST_STAGE / SCORES


def confirmed_rows(
    found: pd.DataFrame,
    fresh: pd.DataFrame,
    margin: float,
    *,
    incomplete: frozenset[tuple[str, str]],
) -> Iterator[Row]:
    """Return what is said of each scorer and slice that was looked at again.

    Parameters
    ----------
    found : of the run, as `evalnb.stats.drops.DROPS` says
    fresh : the same of the fresh repeats, of what failed in `found`
    margin : that was decided by
    incomplete : scorers and slices of which fresh scores are missing by accident

    Returns
    -------
    rows of rule `drift` where the fresh repeats fell too, else `not_confirmed`; `na` where fresh
    scores are missing
    """
    first = {_key(row): row for row in to_records(found)}
    for row in to_records(fresh):
        seen = first[_key(row)]
        kept = drop_row(row, margin)
        what = f"in the run it fell by {-seen['estimate']:.3f}, p = {seen['p_adjusted']:.3f}"
        if _key(row) in incomplete:
            reason = f"fresh repeats are missing, so that a drop is neither confirmed nor refuted; {what}"
            yield kept | {"rule": "na", "outcome": str(Outcome.INCONCLUSIVE), "reason": reason}
        elif row["outcome"] == Outcome.FAIL:
            reason = f"confirmed by fresh repeats on both sides: {kept['reason']}; {what}"
            yield kept | {"reason": reason}
        else:
            reason = (
                f"{what}; fresh repeats on both sides do not confirm it at {CONFIRMATION:g}: "
                f"{kept['reason']}"
            )
            is_open = row["outcome"] == Outcome.INCONCLUSIVE
            rule = kept["rule"] if is_open else "not_confirmed"
            yield kept | {"rule": rule, "reason": reason}


def _key(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["scorer"], row["slice"]

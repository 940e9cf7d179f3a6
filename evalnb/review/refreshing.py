"""Old cases that may be true no longer: they fail for good, or nobody asks like that any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.ageing import OLD_DAYS, PRUNING
from evalnb.frames import FrameSchema, to_records

if TYPE_CHECKING:
    from collections.abc import Collection

    import pandas as pd

    from evalnb.golden import GoldenSet

__all__ = ["REFRESH", "kept_by_states", "propose_refresh"]

REFRESH = FrameSchema(
    "cases to refresh",
    {
        "case_id": "string",
        "category": "string",
        "added": "string",
        "age_days": "Int64",
        "why": "string",
    },
    key=("case_id",),
)
"""A row a case, the oldest first, with what speaks for looking at it anew."""

_STATES = {
    "always_failing": "always fails (a bug, or an expectation that is true no longer)",
    "falling": "passes less often than it did",
    "flaky": "passes now and then",
}
_UNASKED = "has no conversation near it"


def kept_by_states(pruning: pd.DataFrame, states: pd.DataFrame) -> pd.DataFrame:
    """Keep the cases that the last runs let fail, whatever the baseline says of them.

    Parameters
    ----------
    pruning : a pruning frame
    states : as `evalnb.review.states.case_states` gives it

    Returns
    -------
    the pruning frame; a case that is proposed passed in every run looked at, or in none it has a value
    """
    steady = states["state"] == "never_failing"
    state_of = dict(zip(states["case_id"][~steady], states["state"][~steady], strict=True))
    moved = pruning["proposed"].fillna(value=False) & pruning["case_id"].isin(list(state_of))
    return PRUNING.check(
        pruning.assign(
            proposed=pruning["proposed"].mask(moved, False),
            kept_because=pruning["kept_because"].mask(
                moved, "does not always pass in the last runs"
            ),
        )
    )


def propose_refresh(
    golden: GoldenSet,
    ages: pd.DataFrame,
    states: pd.DataFrame,
    *,
    unasked: Collection[str] = (),
    pruned: Collection[str] = (),
    older_than_days: int = OLD_DAYS,
) -> pd.DataFrame:
    """Find old cases whose question or expectation deserves a fresh look.

    Parameters
    ----------
    golden : the cases
    ages : a case ages frame of them
    states : as `evalnb.review.states.case_states` gives it
    unasked : ids of the cases that no conversation is near to
    pruned : ids of the cases that are proposed to go; they are left out
    older_than_days : cases are old beyond this age; one of unknown age is not

    Returns
    -------
    as `REFRESH` says
    """
    state_of = dict(zip(states["case_id"], states["state"], strict=True))
    rows = []
    for age in to_records(ages):
        case_id = age["case_id"]
        if age.get("age_days", 0) <= older_than_days or case_id in pruned:
            continue
        why = [_STATES[state]] if (state := state_of.get(case_id)) in _STATES else []
        why += [_UNASKED] if case_id in unasked else []
        if why:
            rows.append(
                {
                    "case_id": case_id,
                    "category": golden[case_id].category,
                    "added": age["added"],
                    "age_days": age["age_days"],
                    "why": " and ".join(why),
                }
            )
    rows.sort(key=lambda row: -row["age_days"])
    return REFRESH.build(rows)

"""What runs cost month by month, and what this month will."""

from __future__ import annotations

import calendar
from datetime import date
from typing import TYPE_CHECKING, Any

from evalnb.frames import FrameSchema, to_records
from evalnb.review.changes import runs_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SPENDING", "spending_by_month"]

SPENDING = FrameSchema(
    "spending",
    {
        "month": "string",
        "n_runs": "Int64",
        "n_without_cost": "Int64",
        "cost_usd": "Float64",
        "judge_cost_usd": "Float64",
        "projected_usd": "Float64",
        "budget_usd": "Float64",
        "over": "boolean",
    },
    key=("month",),
)
"""A row a month: what its runs cost together, judges' share of it, and how many runs' cost is not known.
`projected_usd` is that of the month as a whole: what was spent, and for the days left what a day has
cost so far. `over` is NA without a budget."""


def spending_by_month(
    history: pd.DataFrame, as_of: date, budget_usd: float | None = None
) -> pd.DataFrame:
    """Sum up what runs cost.

    Parameters
    ----------
    history : as `evalnb.history` gives it
    as_of : the last day of what is looked at
    budget_usd : of a month

    Returns
    -------
    as `SPENDING` says
    """
    runs = runs_of(history)
    runs = runs[runs["at"].str[:10] <= as_of.isoformat()]
    return SPENDING.build(
        _month(str(month), rows, as_of, budget_usd)
        for month, rows in runs.groupby(runs["at"].str[:7], sort=True)
    )


def _month(month: str, rows: pd.DataFrame, as_of: date, budget_usd: float | None) -> dict[str, Any]:
    known = [row["cost_usd"] for row in to_records(rows) if "cost_usd" in row]
    of_judges = rows["judge_cost_usd"].sum(min_count=1)
    spent = sum(known) if known else None
    first = date.fromisoformat(f"{month}-01")
    days = calendar.monthrange(first.year, first.month)[1]
    passed = as_of.day if as_of.isoformat()[:7] == month else days
    projected = None if spent is None else spent * days / passed
    return {
        "month": month,
        "n_runs": len(rows),
        "n_without_cost": len(rows) - len(known),
        "cost_usd": spent,
        "judge_cost_usd": of_judges,
        "projected_usd": projected,
        "budget_usd": budget_usd,
        "over": None if budget_usd is None or projected is None else projected > budget_usd,
    }

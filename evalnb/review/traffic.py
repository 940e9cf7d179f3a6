"""What users say beside what the suite says, by category."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from evalnb.curation.candidates.conversations import conversations
from evalnb.frames import FrameSchema, to_records
from evalnb.reports.text import listing
from evalnb.stats.estimates import difference_of_rates

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

__all__ = ["FEEDBACK", "drawn_traffic", "feedback_by_category"]

FEEDBACK = FrameSchema(
    "feedback beside scores",
    {
        "category": "string",
        "thumbs_up": "Float64",
        "n_rated": "Int64",
        "n_conversations": "Int64",
        "pass_rate": "Float64",
        "n_cases": "Int64",
        "difference": "Float64",
        "ci_low": "Float64",
        "ci_high": "Float64",
        "diverges": "boolean",
        "against": "string",
    },
    key=("category",),
)
"""A row a category that both traffic and cases have: the share of rated conversations with a thumb up,
the pass rate of cases, and thumbs less passes with Newcombe's 95% interval. `diverges` where the
interval lies 0.1 or more beside 0, far enough for no chance: the largest first.
`against` names up to five conversations whose thumb goes against the scores, the newest first."""

LARGE = 0.1
_READ = 5
_DRAWN = 2_000


def drawn_traffic(logs: pd.DataFrame, *, most: int = _DRAWN) -> pd.DataFrame:
    """Draw conversations by their names, evenly, and always the same ones.

    Parameters
    ----------
    logs : a logs frame
    most : how many conversations are kept

    Returns
    -------
    the logs frame, whole where it has no more
    """
    names = logs["conversation_id"].unique().tolist()
    if len(names) <= most:
        return logs
    names.sort(key=lambda name: hashlib.sha256(name.encode(errors="replace")).digest())
    return logs[logs["conversation_id"].isin(names[:most])].reset_index(drop=True)


def feedback_by_category(logs: pd.DataFrame, results: pd.DataFrame) -> pd.DataFrame:
    """Put users' thumbs beside the suite's pass rates.

    Parameters
    ----------
    logs : a logs frame
    results : a results frame of the newest run

    Returns
    -------
    as `FEEDBACK` says
    """
    talks = conversations(logs)
    rows = list(_rows(talks, results))
    rows.sort(key=lambda row: (not row["diverges"], -abs(row["difference"] or 0)))
    return FEEDBACK.build(rows)


def _rows(talks: pd.DataFrame, results: pd.DataFrame) -> Iterator[dict[str, Any]]:
    scored = results[results["n_scored"] > 0]
    for category, cases in scored.groupby("category", sort=True):
        own = to_records(talks[talks["category"].eq(category).fillna(value=False)])
        thumbs = [row["feedback"] for row in own if row.get("feedback")]
        if not thumbs:
            continue
        ups = sum(thumb > 0 for thumb in thumbs)
        passes = int((cases["pass_rate"] == 1).sum())
        found = difference_of_rates(ups, len(thumbs), passes, len(cases))
        low, high = found.ci_low, found.ci_high
        yield {
            "category": str(category),
            "thumbs_up": ups / len(thumbs),
            "n_rated": len(thumbs),
            "n_conversations": len(own),
            "pass_rate": passes / len(cases),
            "n_cases": len(cases),
            "difference": found.estimate,
            "ci_low": low,
            "ci_high": high,
            "against": _against(own, 1 if (found.estimate or 0) > 0 else -1),
            "diverges": low is not None and high is not None and (low >= LARGE or high <= -LARGE),
        }


def _against(rows: list[dict[str, Any]], thumb: int) -> str | None:
    found = [row for row in rows if (row.get("feedback") or 0) * thumb > 0]
    found.sort(key=lambda row: row.get("at", ""), reverse=True)
    return listing([row["conversation_id"] for row in found[:_READ]], limit=_READ) or None

"""The tables of the monthly review, as a notebook and its page show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.reports.tables import styled
from evalnb.reports.views import words

if TYPE_CHECKING:
    import pandas as pd
    from pandas.io.formats.style import Styler

    from evalnb.review.review import Review

__all__ = ["TABLES", "review_table", "table_rows"]

TABLES = {
    "spells": "Runs that were blocked one after another",
    "changes": "What changed between runs",
    "falling": "Cases that fall",
    "reasons": "What was said of falling cases, where it changed from month to month",
    "states": "What cases do over the last runs",
    "kappas": "Kappa by month and axis",
    "pruning": "Old cases",
    "refresh": "Old cases to look at anew",
    "missing": "Kinds of traffic without a case",
    "feedback": "Users' thumbs beside pass rates",
    "standing": "In force, and until when",
    "spending": "Cost by month",
    "disagreements": "Where the judge and people lie furthest apart",
}
"""Name to caption."""

_TOLD = {"falling", "always_failing", "flaky", "mixed"}
_ITEMS = 8


def review_table(review: Review, name: str) -> Styler:
    """Show a table of the review.

    Parameters
    ----------
    review : what is looked at
    name : of `TABLES`

    Returns
    -------
    a table for a notebook
    """
    return styled(table_rows(review, name).rename(columns=words), caption=TABLES[name], limit=400)


def table_rows(review: Review, name: str) -> pd.DataFrame:
    """Return the rows of a table of the review, without columns in which nothing stands."""
    frame = _frame(review, name)
    return frame.dropna(axis="columns", how="all") if len(frame) else frame


def _frame(review: Review, name: str) -> pd.DataFrame:
    if name == "missing":
        return review.coverage.missing
    if name == "disagreements":
        return review.study.furthest(_ITEMS)
    if name == "states":
        return review.states[review.states["state"].isin(_TOLD)]
    frame: pd.DataFrame = getattr(review, name)
    return frame

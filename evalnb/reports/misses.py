"""Misses in few words: requests that miss for the same reason are one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from evalnb.reports.numbers import MISSING, count
from evalnb.reports.text import listing, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["group_misses", "miss_lines"]

_SHOWN_CASES = 5


def group_misses(misses: pd.DataFrame) -> pd.DataFrame:
    """Group misses by their explanation.

    Parameters
    ----------
    misses : a misses frame

    Returns
    -------
    explanation, n_cases, case_ids : a row an explanation, those with most cases first
        `case_ids` lists each case once, in order of appearance.
    """
    groups = misses.groupby("explanation", sort=False, dropna=False)["case_id"]
    rows = [
        (explanation, len(cases), cases)
        for explanation, cases in (
            (explanation, list(case_ids.dropna().unique())) for explanation, case_ids in groups
        )
    ]
    ordered = sorted(rows, key=lambda row: -row[1])
    frame = pd.DataFrame(ordered, columns=["explanation", "n_cases", "case_ids"])
    return frame.astype({"explanation": "string", "n_cases": "Int64", "case_ids": "object"})


def miss_lines(misses: pd.DataFrame) -> list[str]:
    """Say in one line for each explanation which cases miss.

    Parameters
    ----------
    misses : a misses frame

    Returns
    -------
    such as "2 cases miss: `tools[refund].description` changed (case-a, case-b)"
        Plain text, not escaped.
    """
    return [
        _line(explanation, n_cases, case_ids)
        for explanation, n_cases, case_ids in group_misses(misses).itertuples(index=False)
    ]


def _line(explanation: str, n_cases: int, case_ids: Sequence[str]) -> str:
    why = MISSING if pd.isna(explanation) else one_line(explanation)
    who = listing([one_line(case_id, limit=80) for case_id in case_ids], limit=_SHOWN_CASES)
    if not n_cases:
        return f"a request in a thread of its own misses: {why}"
    return f"{count(n_cases, 'case misses', 'cases miss')}: {why}" + (f" ({who})" if who else "")

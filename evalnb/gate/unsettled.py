"""The scores that fail or are missing, and the reasons that they give.

Passing scores are counted; only of the others anything is said row by row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.frames import to_records

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

    from evalnb.findings import Row

__all__ = ["failure_reasons", "missing_reasons", "unsettled_scores"]


def failure_reasons(scores: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], str]:
    """Return why scores failed, by case and scorer, each reason once."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in scores:
        if row.get("passed") is False:
            found.setdefault((row["case_id"], row["scorer"]), []).append(row["reason"])
    return {pair: "; ".join(dict.fromkeys(reasons)) for pair, reasons in found.items()}


def missing_reasons(scores: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], list[str]]:
    """Return the NA reasons of scores that are missing, by case and scorer."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for row in scores:
        if "na_reason" in row:
            found.setdefault((row["case_id"], row["scorer"]), {})[row["na_reason"]] = None
    return {pair: list(reasons) for pair, reasons in found.items()}


def unsettled_scores(scores: pd.DataFrame) -> list[Row]:
    """Return the scores that fail or are missing, by repeat."""
    open_ones = scores[scores["na_reason"].notna() | ~scores["passed"].fillna(value=True)]
    columns = [
        *("case_id", "repeat", "scorer", "tier", "advisory", "passed", "reason"),
        *("na_reason", "error"),
    ]
    return to_records(open_ones[columns].sort_values("repeat", kind="stable"))

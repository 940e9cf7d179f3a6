"""Small histories for tests of the review."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from evalnb.baseline import CASE
from evalnb.histories import CASE_HISTORY, HISTORY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

START = date(2026, 5, 1)


def history_of(n: int, **columns: Sequence[Any]) -> pd.DataFrame:
    """Return the rows of the cases as a whole of so many nights."""
    rows = []
    for night in range(n):
        day = START + timedelta(days=night)
        row: dict[str, Any] = {
            "run_id": f"r{night}",
            "scorer": CASE,
            "at": f"{day}T02:00:00+00:00",
            "system": "v1",
            "system_fingerprint": "s1",
            "mode": "live",
            "tier": "full",
            "golden_version": "g1",
            "series": 0,
            "mean": 1.0,
            "n": 4,
            "outcome": "pass",
        }
        rows.append(row | {name: values[night] for name, values in columns.items()})
    return HISTORY.build(rows)


def case_rows(passes: Mapping[str, str]) -> pd.DataFrame:
    """Return a case history: for each case a letter a night, `+` for a pass, `-` for a fail."""
    return CASE_HISTORY.build(
        {
            "run_id": f"r{night}",
            "case_id": case_id,
            "scorer": CASE,
            "value": float(sign == "+"),
            "n_scored": 1,
            "n_passed": int(sign == "+"),
        }
        for case_id, signs in passes.items()
        for night, sign in enumerate(signs)
    )

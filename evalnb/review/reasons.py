"""What scorers said of some cases over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.errors import EvalnbError
from evalnb.frames import FrameSchema, to_records
from evalnb.holdout import holdout_cases
from evalnb.results import read_run

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path
    from typing import Any

    import pandas as pd

    from evalnb.golden import GoldenSet

__all__ = ["REASONS", "months_of", "reasons_over_time"]

REASONS = FrameSchema(
    "reasons over time",
    {
        "case_id": "string",
        "scorer": "string",
        "tier": "string",
        "day": "string",
        "value": "Float64",
        "passed": "boolean",
        "reason": "string",
    },
    key=("case_id", "scorer", "day"),
)
"""A row a case, scorer and run looked at, where what was said differs from the run before; reasons of
holdout cases are left out."""


def months_of(runs: pd.DataFrame) -> list[tuple[str, str]]:
    """Return each month with its last run.

    Parameters
    ----------
    runs : columns at, run_id, in order of time
    """
    return [
        (str(month), str(rows["run_id"].iloc[-1]))
        for month, rows in runs.groupby(runs["at"].str[:7], sort=True)
    ]


def reasons_over_time(
    golden: GoldenSet, root: Path, runs: Sequence[tuple[str, str]], cases: Collection[str]
) -> pd.DataFrame:
    """Read what was said of cases in some runs.

    Parameters
    ----------
    golden : the suite
    root : of results
    runs : day and id, in order of time; those that cannot be read are passed over
    cases : which

    Returns
    -------
    as `REASONS` says
    """
    shown = set(cases) - holdout_cases(golden)
    rows: list[dict[str, Any]] = []
    last: dict[tuple[str, str], tuple[Any, ...]] = {}
    for day, run_id in runs if shown else ():
        for row in _said(root / golden.settings.name / run_id, shown):
            said = (row.get("passed"), row.get("reason"))
            key = (row["case_id"], row["scorer"])
            if last.get(key) != said:
                rows.append({**row, "day": day})
            last[key] = said
    rows.sort(key=lambda row: (row["case_id"], row["scorer"], row["day"]))
    return REASONS.build(rows)


def _said(folder: Path, cases: Collection[str]) -> Iterator[dict[str, Any]]:
    """Return the first repeat's scores of cases that are not NA by plan."""
    try:
        scores = read_run(folder).scores
    except EvalnbError:
        return
    own = scores[scores["case_id"].isin(list(cases)) & scores["value"].notna()]
    first = own.drop_duplicates(["case_id", "scorer"])
    columns = ["case_id", "scorer", "tier", "value", "passed", "reason"]
    yield from to_records(first[columns])

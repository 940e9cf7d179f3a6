"""The age of cases, and which of them have nothing more to say."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from evalnb.baseline import CASE
from evalnb.errors import InputError
from evalnb.frames import FrameSchema, to_records
from evalnb.versions import golden_log

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    import pandas as pd

    from evalnb.baseline import Baseline
    from evalnb.golden import GoldenSet

__all__ = [
    "CASE_AGES",
    "PRUNING",
    "age_warnings",
    "case_ages",
    "days_of",
    "propose_pruning",
    "suite_ages",
]

CASE_AGES = FrameSchema(
    "case ages",
    {"case_id": "string", "added": "string", "age_days": "Int64", "source": "string"},
    key=("case_id",),
)
"""A row a case. `source` of the date is `added`, the case's own field, or `commit`, the first
that has had the case ever since; all but `case_id` is NA where neither is known."""

PRUNING = FrameSchema(
    "pruning",
    {
        "case_id": "string",
        "category": "string",
        "added": "string",
        "age_days": "Int64",
        "outcome": "string",
        "proposed": "boolean",
        "kept_because": "string",
    },
    key=("case_id",),
)
"""A row an old case, the oldest first. `outcome` is that in the baseline, NA without a baseline."""

OLD_DAYS = 180
"""After so many days a case is called old where nobody says otherwise."""

_KEPT_TAGS = ("adversarial", "incident")
_UNITS = {"d": 1, "w": 7}


def days_of(text: str) -> int:
    """Read a duration.

    Parameters
    ----------
    text : a number of days or weeks from 1 on, such as "180d" or "26w"

    Raises
    ------
    InputError
        If it has another form.

    Examples
    --------
    >>> days_of("180d"), days_of("26w")
    (180, 182)
    """
    found = re.fullmatch(r"([1-9][0-9]{0,4})([dw])", text)
    if found is None:
        raise InputError(
            f"a duration must be a number of days or weeks, such as 180d or 26w. Got {text!r}."
        )
    return int(found[1]) * _UNITS[found[2]]


def case_ages(golden: GoldenSet, as_of: date, log: pd.DataFrame | None = None) -> pd.DataFrame:
    """Tell how old the cases are.

    Parameters
    ----------
    golden : the cases
    as_of : the day on which they are that old
    log : a golden log frame, for cases without a date of their own

    Returns
    -------
    a case ages frame in the order of the cases, as `CASE_AGES` says
    """
    committed = {} if log is None else _first_committed(log)
    return CASE_AGES.build(
        _age(case.id, case.added, committed.get(case.id), as_of) for case in golden
    )


def suite_ages(golden: GoldenSet, as_of: date) -> pd.DataFrame:
    """Tell how old the cases of a suite are, by its git history as well where it has one.

    Parameters
    ----------
    golden : a suite's golden set
    as_of : the day on which they are that old

    Returns
    -------
    a case ages frame in the order of the cases, as `CASE_AGES` says
    """
    try:
        log = None if golden.folder is None else golden_log(golden.folder)
    except InputError:  # no repository: the cases' own dates remain
        log = None
    return case_ages(golden, as_of, log)


def age_warnings(ages: pd.DataFrame, days: int = OLD_DAYS) -> list[str]:
    """Say how many cases are older than a number of days."""
    n_old = int((ages["age_days"] > days).sum())
    if not n_old:
        return []
    cases = "1 case is" if n_old == 1 else f"{n_old:,} cases are"
    return [f"{cases} older than {days} days: see `evalnb golden prune --older-than {days}d`"]


def propose_pruning(
    golden: GoldenSet,
    ages: pd.DataFrame,
    baseline: Baseline | None,
    *,
    older_than_days: int,
    waived: Collection[str] = (),
) -> pd.DataFrame:
    """Find old cases that always pass.

    Cases of an incident or attack, those that something waives and, where there is a baseline,
    those that do not always pass in it are kept. A case of unknown age is no old case.

    Parameters
    ----------
    golden : the cases
    ages : a case ages frame of them
    baseline : of the suite, None before the first
    older_than_days : cases are old beyond this age
    waived : ids of the cases that a waiver is about

    Returns
    -------
    a pruning frame, as `PRUNING` says
    """
    outcomes = None if baseline is None else _outcomes(baseline)
    rows: list[dict[str, Any]] = []
    for age in to_records(ages):
        if age.get("age_days", 0) <= older_than_days:
            continue
        case = golden[age["case_id"]]
        outcome = None if outcomes is None else outcomes.get(case.id, "absent")
        reason = _reason_to_keep(case.tags or (), outcome, waived=case.id in waived)
        rows.append(
            {
                **age,
                "category": case.category,
                "outcome": outcome,
                "proposed": reason is None,
                "kept_because": reason,
            }
        )
    rows.sort(key=lambda row: -row["age_days"])
    return PRUNING.build({name: row[name] for name in PRUNING.columns} for row in rows)


def _first_committed(log: pd.DataFrame) -> dict[str, date]:
    """Return the day since when each case has been there; a case may go and come back."""
    found: dict[str, date] = {}
    for row in reversed(to_records(log)):
        if "committed_at" in row:
            day = datetime.fromisoformat(row["committed_at"]).date()
            found |= dict.fromkeys(row.get("added", ()), day)
    return found


def _age(case_id: str, added: str | None, committed: date | None, as_of: date) -> dict[str, Any]:
    day = date.fromisoformat(added) if added else committed
    if day is None:
        return {"case_id": case_id}
    return {
        "case_id": case_id,
        "added": day.isoformat(),
        "age_days": (as_of - day).days,
        "source": "added" if added else "commit",
    }


def _outcomes(baseline: Baseline) -> dict[str, str]:
    return {
        row["case_id"]: _outcome(row)
        for row in to_records(baseline.counts)
        if row["scorer"] == CASE
    }


def _outcome(counts: dict[str, Any]) -> str:
    n_repeats, n_scored, n_passed = (counts[n] for n in ("n_repeats", "n_scored", "n_passed"))
    if n_scored < n_repeats or not n_repeats:
        return f"{n_scored} of {n_repeats} scored"
    if n_passed in (0, n_repeats):
        return "passes" if n_passed else "fails"
    return f"{n_passed} of {n_repeats} pass"


def _reason_to_keep(tags: Iterable[str], outcome: str | None, *, waived: bool) -> str | None:
    kept = [tag for tag in _KEPT_TAGS if tag in tags]
    if kept:
        return f"tagged {', '.join(kept)}"
    if waived:
        return "a waiver is about it"
    if outcome == "absent":
        return "not in the baseline"
    if outcome not in (None, "passes"):
        return "does not always pass"
    return None

"""Versions and ages of a golden set in a terminal: lines of plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.frames import to_records

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

__all__ = ["describe_ages", "describe_log", "describe_pruning"]

_MAX_IDS = 8
_CHANGES = {"added": "+", "removed": "-", "changed": "~"}


def describe_log(log: pd.DataFrame) -> list[str]:
    """Write a line a version, and one for each kind of change.

    Parameters
    ----------
    log : a golden log frame
    """
    return [line for row in to_records(log) for line in _version_lines(row)]


def describe_ages(ages: pd.DataFrame) -> list[str]:
    """Write a line a case, the oldest first, and how many are of unknown age.

    Parameters
    ----------
    ages : a case ages frame
    """
    rows = to_records(ages)
    dated = sorted((row for row in rows if "age_days" in row), key=lambda row: -row["age_days"])
    lines = [
        f"{row['age_days']:>5} days  {row['added']}  {row['case_id']}"
        + ("" if row["source"] == "added" else "  (first commit)")
        for row in dated
    ]
    return [*lines, *_of_unknown_age(len(rows) - len(dated))]


def describe_pruning(proposal: pd.DataFrame, ages: pd.DataFrame) -> list[str]:
    """Write which old cases may go, which are kept and why, and how many are of unknown age.

    Parameters
    ----------
    proposal : a pruning frame
    ages : the case ages frame that it was made from
    """
    rows = to_records(proposal)
    proposed = [row for row in rows if row["proposed"]]
    kept = [row for row in rows if not row["proposed"]]
    lines = [f"{len(proposed)} proposed for removal, {len(kept)} as old are kept"]
    lines += [f"  {_old_case(row)}" for row in proposed]
    lines += [f"  kept: {_old_case(row)}: {row['kept_because']}" for row in kept]
    return [*lines, *_of_unknown_age(int(ages["age_days"].isna().sum()))]


def _version_lines(row: Mapping[str, Any]) -> Iterator[str]:
    commit, day = row.get("commit", "")[:10], row.get("committed_at", "")[:10]
    head = f"{commit:<10}  {day:<10}"
    if "damaged" in row:
        yield f"{head}  DAMAGED       {_about(row)}"
        yield f"            {row['damaged']}"
    else:
        cases = "1 case" if row["n_cases"] == 1 else f"{row['n_cases']} cases"
        yield f"{head}  {row['golden_version']}  {cases}  {_about(row)}"
    for name, mark in _CHANGES.items():
        ids = row.get(name)
        if ids:
            more = f" and {len(ids) - _MAX_IDS} more" if len(ids) > _MAX_IDS else ""
            yield f"            {mark}{len(ids)}  {', '.join(ids[:_MAX_IDS])}{more}"
    if "note" in row:
        yield f"            {row['note']}"


def _about(row: Mapping[str, Any]) -> str:
    return " · ".join(row[name] for name in ("author", "subject") if row.get(name))


def _old_case(row: Mapping[str, Any]) -> str:
    outcome = row.get("outcome", "no baseline")
    return f"{row['case_id']}  {row['age_days']} days  {row.get('category', '(none)')}  {outcome}"


def _of_unknown_age(n_cases: int) -> list[str]:
    if not n_cases:
        return []
    cases = "1 case has" if n_cases == 1 else f"{n_cases} cases have"
    return [f"{cases} no date, neither `added` nor a commit: never proposed for removal"]

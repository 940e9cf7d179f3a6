"""What reports show of a run: the frames behind the tables of every format.

Rates are text here, with the counts that they stand for; nothing is escaped or shortened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.frames import is_accident
from evalnb.reports.numbers import MISSING, difference, interval, rate, share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = [
    "changes",
    "decision_rows",
    "failing",
    "failing_records",
    "holdout_rates",
    "looks_by_version",
    "not_scored",
    "records",
    "slice_rates",
    "words",
]


def words(name: Any) -> str:
    """Return a name as words: "now_passing" as "now passing"."""
    return str(name).replace("_", " ")


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a mapping a row, with what is missing in it."""
    names = list(frame.columns)
    return [dict(zip(names, row, strict=True)) for row in frame.itertuples(index=False, name=None)]


def slice_rates(slices: pd.DataFrame) -> pd.DataFrame:
    """Show pass rates with intervals, what was not scored, and the baseline.

    Parameters
    ----------
    slices : a slices frame

    Returns
    -------
    slice, value, pass rate, 95% interval, not scored, bounds, baseline, change : row for row
        `bounds` are the rates if none or all of those not scored had passed; `change` is there
        where both rates are over the same number of cases.
    """
    same_cases = slices["n_scored"] == slices["n_compared"]
    change = (slices["pass_rate"] - slices["baseline_pass_rate"]).where(same_cases)
    return pd.DataFrame(
        {
            "slice": slices["slice"],
            "value": slices["value"],
            "pass rate": _texts(slices, share, "pass_rate", "n_scored"),
            "95% interval": _texts(slices, interval, "ci_low", "ci_high"),
            "not scored": slices["n_planned"] - slices["n_scored"],
            "bounds": _texts(slices, _bounds, "bound_low", "bound_high"),
            "baseline": _texts(slices, share, "baseline_pass_rate", "n_compared"),
            "change": _differences(change),
        }
    )


def failing(results: pd.DataFrame) -> pd.DataFrame:
    """Show the cases that failed or are unstable.

    Parameters
    ----------
    results : a results frame

    Returns
    -------
    case, category, language, passes, reasons : a row a case; `passes` is over its repeats
    """
    rows = results[results["state"].isin(["fail", "unstable"])]
    return pd.DataFrame(
        {
            "case": rows["case_id"],
            "category": rows["category"],
            "language": rows["language"],
            "passes": _texts(rows, _passes, "pass_rate", "n_scored"),
            "reasons": rows["reasons"],
        }
    )


def failing_records(results: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the records of a results frame that failed, then those not scored by accident."""
    rows = list(results)
    failed = [row for row in rows if row.get("state") in ("fail", "unstable")]
    missing = [row for row in rows if "state" not in row and row.get("n_na_accident", 0)]
    return [*failed, *missing]


def changes(decision: pd.DataFrame) -> pd.DataFrame:
    """Show what changed against the baseline, case by case.

    Parameters
    ----------
    decision : a decision frame; rows with a case and a value of the baseline are shown

    Returns
    -------
    case, scorer, baseline, now, change, what, reason : a row a finding
    """
    rows = decision[decision["case_id"].notna() & decision["baseline"].notna()]
    return pd.DataFrame(
        {
            "case": rows["case_id"],
            "scorer": rows["scorer"],
            "baseline": rows["baseline"],
            "now": rows["candidate"],
            "change": _differences(rows["candidate"] - rows["baseline"]),
            "what": rows["rule"].map(words).astype("string"),
            "reason": rows["reason"],
        }
    )


def decision_rows(decision: pd.DataFrame, outcome: str) -> pd.DataFrame:
    """Show the findings of one outcome.

    Parameters
    ----------
    decision : a decision frame
    outcome : {"fail", "inconclusive", "note"}

    Returns
    -------
    rule, case, scorer, slice, baseline, now, reason : a row a finding
    """
    rows = decision[decision["outcome"] == outcome]
    return pd.DataFrame(
        {
            "rule": rows["rule"].map(words).astype("string"),
            "case": rows["case_id"],
            "scorer": rows["scorer"],
            "slice": rows["slice"],
            "baseline": rows["baseline"],
            "now": rows["candidate"],
            "reason": rows["reason"],
        }
    )


def holdout_rates(rates: pd.DataFrame) -> pd.DataFrame:
    """Show the pass rates of dev and holdout cases, and the gap between them.

    Parameters
    ----------
    rates : as `evalnb.holdout.split_rates` gives them

    Returns
    -------
    cases, pass rate, 95% interval, scored, not scored : a row each
    """
    names = rates["metric"].replace({"gap": "gap, dev minus holdout"})
    is_gap = rates["metric"] == "gap"
    estimates = [
        difference(value) if gap else rate(value)
        for value, gap in zip(rates["estimate"], is_gap, strict=True)
    ]
    return pd.DataFrame(
        {
            "cases": names,
            "pass rate": pd.Series(estimates, index=rates.index, dtype="string"),
            "95% interval": _texts(rates, interval, "ci_low", "ci_high"),
            "scored": rates["n"],
            "not scored": rates["n_left_out"],
        }
    )


def looks_by_version(looks: pd.DataFrame) -> pd.DataFrame:
    """Count the looks at holdout cases.

    Parameters
    ----------
    looks : a looks frame

    Returns
    -------
    golden version, looks, at single cases, systems, last : a row a version, in order of appearance
    """
    counted = (
        looks.assign(opened=looks["kind"] == "cases")
        .groupby("golden_version", sort=False)
        .agg(
            looks=("kind", "size"),
            opened=("opened", "sum"),
            systems=("system_fingerprint", "nunique"),
            last=("at", "last"),
        )
        .reset_index()
    )
    return counted.rename(columns={"golden_version": "golden version", "opened": "at single cases"})


def not_scored(scores: pd.DataFrame) -> pd.DataFrame:
    """Count the scores that are NA, by reason.

    Parameters
    ----------
    scores : a scores frame

    Returns
    -------
    kind, reason, scores, cases : a row a reason, those by accident first
    """
    missing = scores[scores["na_reason"].notna()]
    kinds = is_accident(missing["na_reason"]).map({True: "by accident", False: "by plan"})
    counted = (
        missing.assign(kind=kinds.astype("string"))
        .groupby(["kind", "na_reason"], sort=True)
        .agg(scores=("case_id", "size"), cases=("case_id", "nunique"))
        .reset_index()
    )
    return counted.rename(columns={"na_reason": "reason"}).astype(
        {"scores": "Int64", "cases": "Int64"}
    )


def _texts(rows: pd.DataFrame, write: Callable[..., str], *columns: str) -> pd.Series:
    texts = [write(*values) for values in rows[list(columns)].itertuples(index=False, name=None)]
    return pd.Series(texts, index=rows.index, dtype="string")


def _differences(values: pd.Series) -> pd.Series:
    return pd.Series([difference(value) for value in values], index=values.index, dtype="string")


def _bounds(low: Any, high: Any) -> str:
    return MISSING if pd.isna(low) or pd.isna(high) else f"{rate(low)} to {rate(high)}"


def _passes(value: Any, n: Any) -> str:
    return f"{round(value * n)} of {n}"

"""How often each scorer passes in production, and what users say of what passes and what fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.frames import FrameSchema, is_accident, to_records
from evalnb.reports.numbers import count, difference, interval, rate, tokens
from evalnb.reports.text import one_line
from evalnb.stats.estimates import difference_of_rates
from evalnb.stats.rates import RATES, rate_of_counts

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

__all__ = ["PRODUCTION_RATES", "describe_scores", "production_rates"]

PRODUCTION_RATES = FrameSchema(
    "production rates",
    {
        **RATES.columns,
        "tier": "string",
        "n_accidents": "Int64",
        "n_bad": "Int64",
        "failing_of_bad": "Float64",
        "n_good": "Int64",
        "failing_of_good": "Float64",
        "difference": "Float64",
        "difference_low": "Float64",
        "difference_high": "Float64",
    },
    key=RATES.key,
)
"""A row a scorer, called `metric`: its pass rate over conversations, as `RATES` says.

`n_accidents` counts the missing scores that were not planned to be missing. `failing_of_bad` is the
share failing among the `n_bad` scored conversations that the user calls bad, `failing_of_good`
among the `n_good` called good; `difference` is the first less the second with Newcombe's 95%
interval, NA where one of the two is empty. Above 0, the scorer fails what users dislike.
"""


def production_rates(scores: pd.DataFrame) -> pd.DataFrame:
    """Sum up scores of logged answers by scorer.

    Parameters
    ----------
    scores : of `score_logs`, of a uniform sample if rates are to be those of traffic

    Returns
    -------
    a frame as `PRODUCTION_RATES` says, scorers in the order of their rows

    References
    ----------
    Newcombe (1998), Statistics in Medicine 17:873-890, method 10.
    """
    groups = scores.groupby("scorer", sort=False, observed=True)
    return PRODUCTION_RATES.build(_row(str(name), rows) for name, rows in groups)


def describe_scores(scores: pd.DataFrame, unused: Mapping[str, str]) -> list[str]:
    """Say how production fares, what could not be scored, and what was not asked.

    Parameters
    ----------
    scores : of `score_logs`
    unused : scorer to why it is left out, of `unused_scorers`

    Returns
    -------
    lines of plain text
    """
    lines = [f"{count(scores['case_id'].nunique(), 'conversation')} scored"]
    for row in to_records(production_rates(scores)):
        lines += [f"  {one_line(row['metric'])}: {_rate_text(row)}", *_feedback_lines(row)]
    missing = scores.loc[is_accident(scores["na_reason"]), "na_reason"].value_counts()
    lines += [f"  not scored, {reason}: {tokens(int(n))}" for reason, n in missing.items()]
    by_reason: dict[str, list[str]] = {}
    for name, why in unused.items():
        by_reason.setdefault(why, []).append(name)
    lines += [f"  left out: {', '.join(names)}: {why}" for why, names in by_reason.items()]
    return lines


def _row(name: str, rows: pd.DataFrame) -> dict[str, Any]:
    passed = rows["passed"]
    n, n_passed = int(passed.notna().sum()), int(passed.sum())
    (found,) = to_records(rate_of_counts(n_passed, n, n_left_out=len(rows) - n))
    bad, good = (_failing(rows, feedback) for feedback in (-1, 1))
    apart = difference_of_rates(*bad, *good)
    return {
        **found,
        "metric": name,
        "tier": rows["tier"].iloc[0],
        "n_accidents": int(is_accident(rows["na_reason"]).sum()),
        "n_bad": bad[1],
        "failing_of_bad": bad[0] / bad[1] if bad[1] else None,
        "n_good": good[1],
        "failing_of_good": good[0] / good[1] if good[1] else None,
        "difference": apart.estimate,
        "difference_low": apart.ci_low,
        "difference_high": apart.ci_high,
    }


def _failing(rows: pd.DataFrame, feedback: int) -> tuple[int, int]:
    """Return how many fail of those with this feedback, and how many there are."""
    passed = rows.loc[rows["feedback"].eq(feedback).fillna(value=False), "passed"].dropna()
    return int((~passed.astype(bool)).sum()), len(passed)


def _rate_text(row: Mapping[str, Any]) -> str:
    n_planned = row["n"] + row["n_left_out"]
    if "estimate" not in row:
        return f"none of {tokens(n_planned)} scored"
    span = interval(row["ci_low"], row["ci_high"])
    return (
        f"pass rate {rate(row['estimate'])} ({span}), {tokens(row['n'])} of "
        f"{tokens(n_planned)} scored"
    )


def _feedback_lines(row: Mapping[str, Any]) -> list[str]:
    if "difference" not in row:
        return []
    span = interval(row["difference_low"], row["difference_high"])
    return [
        (
            f"    fails {rate(row['failing_of_bad'])} of {tokens(row['n_bad'])} that users call bad, "
            f"{rate(row['failing_of_good'])} of {tokens(row['n_good'])} called good: "
            f"{difference(row['difference'])} ({span})"
        )
    ]

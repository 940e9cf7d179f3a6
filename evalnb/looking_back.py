"""What earlier runs say of this one: which cases are flaky, where the pass rate is going, who answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from evalnb.baseline import CASE
from evalnb.findings import SUITE, Row, finding
from evalnb.frames import Outcome, to_records
from evalnb.stats.case_states import flaky_cases
from evalnb.stats.creep import creep
from evalnb.stats.levels import ALPHA

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evalnb.baseline import Baseline

__all__ = ["flaky_in", "flaky_rows", "model_rows", "trend_rows"]

_FEWEST_RUNS = 2


def flaky_in(history: pd.DataFrame, system_fingerprint: str | None) -> pd.DataFrame:
    """Find the cases that pass now and then though the system is the same.

    Parameters
    ----------
    history : as `evalnb.past_runs.PAST` says
    system_fingerprint : whose runs count; of others a change could be behind a flip

    Returns
    -------
    as `evalnb.stats.case_states.FLAKY` says, the flaky ones alone; empty below two runs
    """
    own = history[history["system_fingerprint"] == system_fingerprint]
    if own["run_id"].nunique() < _FEWEST_RUNS:
        own = own.iloc[:0]
    found = flaky_cases(own)
    return found[found["flaky"].fillna(value=False)]


def flaky_rows(flaky: pd.DataFrame) -> Iterator[Row]:
    """Return a note for each flaky case; it stays in the means and leaves the rule of single cases."""
    for row in to_records(flaky):
        reason = (
            f"is flaky: passed {row['n_passed']} of {row['n']} repeats in {row['n_runs']} runs of "
            f"this system (90%: {row['ci_low']:.2f} to {row['ci_high']:.2f}), "
            f"{row['flips']} flips in the last five. It stays in the means; alone it decides nothing"
        )
        values = {name: row[name] for name in ("estimate", "ci_low", "ci_high", "n", "method")}
        yield finding("flaky", Outcome.NOTE, case_id=row["case_id"], reason=reason, **values)


def trend_rows(
    history: pd.DataFrame,
    counts: pd.DataFrame,
    *,
    margin: float,
    clusters: Mapping[str, str],
) -> Iterator[Row]:
    """Note where the pass rate is going over the live runs of a golden version.

    Parameters
    ----------
    history : as `evalnb.past_runs.PAST` says
    counts : a baseline frame of the run
    margin : the drop that matters
    clusters : case id to its conversation

    Returns
    -------
    one row of rule `trend` where the slope is shown to be downward, or where the run fell by the
    margin since the first of these runs and by less since the last; none below three runs
    """
    now = counts[(counts["scorer"] == CASE) & (counts["n_scored"] > 0)]
    past = history[history["n_scored"] > 0]
    if past["run_id"].nunique() < _FEWEST_RUNS or now.empty:
        return
    runs = pd.concat(
        [
            past[["run_id", "case_id", "n_passed", "n_scored"]],
            now[["case_id", "n_passed", "n_scored"]].assign(run_id="(this run)"),
        ]
    )
    values = runs.assign(run=runs["run_id"], value=runs["n_passed"] / runs["n_scored"])
    found = creep(values[["run", "case_id", "value"]], margin=margin, clusters=clusters)
    rows = {row["metric"]: row for row in to_records(found)}
    slope, since_first = rows["slope"], rows["since_first"]
    falls = slope.get("p_less") is not None and slope["p_less"] <= ALPHA
    if not falls and not slope["creeping"]:
        return
    parts = []
    if falls:
        parts.append(f"falls by {-slope['estimate']:.4f} a run, p = {slope['p_less']:.3f}")
    if slope["creeping"]:
        parts.append(
            f"fell by {-since_first['estimate']:.3f} since the first of them and by less than "
            f"{margin:g} since the last"
        )
    reason = f"over {slope['n_runs']} live runs the pass rate of cases {', and '.join(parts)}"
    shown = slope if falls else since_first
    values_of = {name: shown.get(name) for name in ("estimate", "ci_low", "ci_high", "n", "method")}
    yield finding(
        "trend", Outcome.NOTE, scorer=CASE, slice=SUITE, reason=reason,
        p_value=shown.get("p_less"), **values_of,
    )  # fmt: skip


def model_rows(
    outputs: pd.DataFrame, baseline: Baseline, system_fingerprint: str | None
) -> Iterator[Row]:
    """Say where another model answered than in the baseline.

    Parameters
    ----------
    outputs : an outputs frame of the run
    baseline : the accepted run
    system_fingerprint : of the system that ran

    Returns
    -------
    one row of rule `model_changed` where there is one: `fail` where the system is the same, else a note
    """
    now, before = (
        sorted(frame["model"].dropna().unique()) for frame in (outputs, baseline.outputs)
    )
    if not before or set(now) <= set(before):
        return
    reason = f"{', '.join(now)} answered, {', '.join(before)} in the baseline"
    same = (baseline.manifest.get("system") or {}).get("fingerprint") == system_fingerprint
    if same and system_fingerprint is not None:
        reason += ": the system is the same, so nobody here changed it. Accept a baseline of it"
        yield finding("model_changed", Outcome.FAIL, reason=reason)
    else:
        yield finding("model_changed", Outcome.NOTE, reason=reason)

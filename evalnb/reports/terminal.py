"""The summary of a run in a terminal: a few lines of plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.frames import Outcome, to_records
from evalnb.reports.misses import miss_lines
from evalnb.reports.numbers import money, pass_rate, rate
from evalnb.reports.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from evalnb.runs import Run

__all__ = ["describe_run"]

_MAX_LINES = 12
_WORDS = {
    0: "PASS",
    1: "BLOCKED",
    2: "INCONCLUSIVE",
    3: "CASSETTE MISS",
}


def describe_run(run: Run) -> str:
    """Write what a person at a terminal needs to know of a run.

    Parameters
    ----------
    run : any run

    Returns
    -------
    lines of plain text, without control characters
    """
    return "\n".join(_lines(run))


def _lines(run: Run) -> Iterator[str]:
    manifest = run.manifest
    overall = next(row for row in to_records(run.slices) if row["slice"] == "all")
    yield f"{manifest['suite']}: {_WORDS[run.exit_code]}"
    yield f"  {_rates(overall)}"
    yield "  " + one_line(
        f"system {manifest['system']}, {manifest['mode']}, "
        f"golden version {manifest['golden_version']}"
    )
    if manifest.get("cost_usd"):
        yield f"  cost {money(manifest['cost_usd'])} at list price"
    for model in manifest.get("models_without_price") or []:
        yield "  " + one_line(f"no price is known for {model}: its cost is not counted")
    if manifest.get("notice"):
        yield f"  {manifest['notice']}"
    yield from _findings(run.decision, Outcome.FAIL, "blocks")
    yield from _findings(run.decision, Outcome.INCONCLUSIVE, "inconclusive")
    for line in miss_lines(run.misses):
        yield f"  {'miss':<13} {one_line(line, limit=400)}"
    if len(run.misses) and manifest.get("record_command"):
        yield f"  Record what is missing: {one_line(manifest['record_command'])}"
    yield from _findings(run.decision, Outcome.NOTE, "note")


def _rates(overall: Mapping[str, Any]) -> str:
    text = pass_rate(
        value=overall.get("pass_rate"),
        **{
            name: overall.get(name)
            for name in ("ci_low", "ci_high", "n_scored", "n_planned", "bound_low", "bound_high")
        },
    )
    before = overall.get("baseline_pass_rate")
    return text if before is None else f"{text} The baseline has {rate(before)}."


def _findings(decision: pd.DataFrame, outcome: Outcome, label: str) -> Iterator[str]:
    rows = [
        row for row in to_records(decision) if row["outcome"] == outcome and row["rule"] != "miss"
    ]
    for row in rows[:_MAX_LINES]:
        parts = [row[name] for name in ("case_id", "scorer", "reason") if name in row]
        yield f"  {label:<13} {row['rule']}: {one_line(' '.join(parts))}"
    if len(rows) > _MAX_LINES:
        yield f"  {label:<13} and {len(rows) - _MAX_LINES} more"

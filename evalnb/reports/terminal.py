"""The summary of a run in a terminal: a few lines of plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.frames import Outcome, to_records
from evalnb.holdout import HOLDOUT, LOOKS, split_rates, without_texts
from evalnb.reports.misses import miss_lines
from evalnb.reports.numbers import count, money, pass_rate, rate
from evalnb.reports.sentences import (
    confirmation_sentences,
    holdout_sentences,
    power_sentences,
    state_sentences,
    wording_sentences,
)
from evalnb.reports.text import one_line
from evalnb.reports.verdicts import judge_sentences
from evalnb.reports.views import failing_records

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from evalnb.runs import Run

__all__ = ["describe_failing", "describe_run"]

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
        Holdout cases are named; what was said of them is not.
    """
    return "\n".join(_lines(run))


def describe_failing(run: Run) -> str:
    """Write which cases of a run failed or could not be scored by accident, and why.

    Parameters
    ----------
    run : any run

    Returns
    -------
    lines of plain text, without control characters
        Holdout cases are named; what was said of them is not.
    """
    results = to_records(run.results)
    failing = failing_records(without_texts(results, _hidden(results)))
    lines = [f"{len(failing):,} of {count(len(results), 'case')} failed or could not be scored"]
    for row in failing:
        lines.append(f"  {one_line(row['case_id'])}: {row.get('state', 'not scored')}")
        lines += [f"    {one_line(reason, limit=400)}" for reason in row.get("reasons", [])]
    return "\n".join(lines)


def _lines(run: Run) -> Iterator[str]:
    manifest = run.manifest
    overall = next(row for row in to_records(run.slices) if row["slice"] == "all")
    yield f"{manifest['suite']}: {_word(run)}"
    yield f"  {_rates(overall)}"
    yield "  " + one_line(
        f"system {manifest['system']}, {manifest['mode']}, "
        f"golden version {manifest['golden_version']}"
    )
    for line in holdout_sentences(
        split_rates(run.results),
        LOOKS.empty(),
        manifest["golden_version"],
        manifest.get("gap_change", ()),
    ):
        yield f"  {line}"
    for line in judge_sentences(run):
        yield f"  {line}"
    if manifest.get("cost_usd"):
        yield f"  cost {money(manifest['cost_usd'])} at list price"
    for model in manifest.get("models_without_price") or []:
        yield "  " + one_line(f"no price is known for {model}: its cost is not counted")
    for line in (
        *state_sentences(run.results, run.decision),
        *power_sentences(manifest),
        *wording_sentences(manifest),
        *confirmation_sentences(manifest),
    ):
        yield f"  {one_line(line, limit=300)}"
    if manifest.get("notice"):
        yield f"  {manifest['notice']}"
    hidden = _hidden(to_records(run.results[["case_id", "split"]]))
    decision = without_texts(to_records(run.decision), hidden)
    yield from _findings(decision, Outcome.FAIL, "blocks")
    yield from _findings(decision, Outcome.INCONCLUSIVE, "inconclusive")
    for line in miss_lines(run.misses):
        yield f"  {'miss':<13} {one_line(line, limit=400)}"
    if len(run.misses) and manifest.get("record_command"):
        yield f"  Record what is missing: {one_line(manifest['record_command'])}"
    yield from _findings(decision, Outcome.NOTE, "note")


def _word(run: Run) -> str:
    if run.exit_code or run.outcome == Outcome.PASS:
        return _WORDS[run.exit_code]
    code = {Outcome.FAIL: 1, Outcome.INCONCLUSIVE: 2}[Outcome(run.outcome)]
    return f"{_WORDS[code]}, exit code 0 all the same"


def _hidden(results: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    return frozenset(row["case_id"] for row in results if row.get("split") == HOLDOUT)


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


def _findings(decision: Iterable[Mapping[str, Any]], outcome: Outcome, label: str) -> Iterator[str]:
    rows = [row for row in decision if row["outcome"] == outcome and row["rule"] != "miss"]
    for row in rows[:_MAX_LINES]:
        parts = [row[name] for name in ("case_id", "scorer", "reason") if name in row]
        yield f"  {label:<13} {row['rule']}: {one_line(' '.join(parts))}"
    if len(rows) > _MAX_LINES:
        yield f"  {label:<13} and {len(rows) - _MAX_LINES} more"

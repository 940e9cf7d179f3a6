"""What changed between runs, and when the gate blocked."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from evalnb.baseline import CASE
from evalnb.frames import FrameSchema, Outcome, to_records

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

__all__ = ["CHANGES", "SPELLS", "blocked_spells", "changes_of", "runs_of"]

CHANGES = FrameSchema(
    "changes",
    {
        "day": "string",
        "what": "string",
        "scorer": "string",
        "before": "string",
        "now": "string",
        "run_id": "string",
    },
    key=("day", "what", "scorer"),
)
"""A row a change, in order of time: `what` is `golden_version`, `judge_fingerprint`, `judge_answered` or
`system_fingerprint`; `scorer` is NA but for judges, whose scorers stand with commas between."""

SPELLS = FrameSchema(
    "blocked spells",
    {
        "first": "string",
        "last": "string",
        "n_runs": "Int64",
        "lowest": "Float64",
        "before": "Float64",
        "system_changed": "boolean",
        "over": "boolean",
        "cases": "object",
    },
    key=("first",),
)
"""A row a row of runs that were blocked: days, how low the pass rate of cases went and what it was in
the run before; whether the system was another one than in that run, whether a later run passed. `cases`
are those that passed in the run before and failed in every run of the spell."""

_OF_RUNS = ("golden_version", "system_fingerprint")
_OF_JUDGES = ("judge_fingerprint", "judge_answered")


def runs_of(history: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the cases as a whole, one a run, in order of time."""
    return history[history["scorer"] == CASE].reset_index(drop=True)


def changes_of(history: pd.DataFrame) -> pd.DataFrame:
    """Find where the golden set, the system or a judge became another one.

    Parameters
    ----------
    history : as `evalnb.history` gives it

    Returns
    -------
    as `CHANGES` says
    """
    rows = [*_of_runs(to_records(runs_of(history))), *_of_judges(history)]
    rows.sort(key=lambda row: (row["day"], row["what"]))
    return CHANGES.build(rows)


def blocked_spells(history: pd.DataFrame, cases: pd.DataFrame) -> pd.DataFrame:
    """Find the runs that were blocked one after another.

    Parameters
    ----------
    history : as `evalnb.history` gives it
    cases : as `evalnb.case_history` gives it for these runs

    Returns
    -------
    as `SPELLS` says
    """
    runs = to_records(runs_of(history))
    rates = _rates(cases)
    rows: list[dict[str, Any]] = []
    start = 0
    while start < len(runs):
        end = start
        while end < len(runs) and runs[end].get("outcome") == Outcome.FAIL:
            end += 1
        if end > start:
            rows.append(_spell(runs, start, end, rates))
        start = max(end, start + 1)
    return SPELLS.build(rows)


def _of_runs(runs: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for before, now in itertools.pairwise(runs):
        for what in _OF_RUNS:
            if before.get(what) != now.get(what):
                yield _change(what, before.get(what), now, now.get(what))


def _of_judges(history: pd.DataFrame) -> Iterator[dict[str, Any]]:
    judged = history[history["judge_fingerprint"].notna() & (history["scorer"] != CASE)]
    found: dict[tuple[str, ...], list[str]] = {}
    runs: dict[str, Mapping[str, Any]] = {}
    for scorer, rows in judged.groupby("scorer", sort=True):
        of_scorer = to_records(rows)
        for before, now in itertools.pairwise(of_scorer):
            for what in _OF_JUDGES:
                if before.get(what) != now.get(what):
                    key = (now["run_id"], what)
                    found.setdefault(key, []).append(
                        f"{scorer}: {before.get(what)} to {now.get(what)}"
                    )
                    runs[now["run_id"]] = now
    for (run_id, what), pairs in found.items():
        scorers = [pair.split(": ", 1)[0] for pair in pairs]
        sides = [pair.split(": ", 1)[1].split(" to ") for pair in pairs]
        yield {
            **_change(
                what,
                ", ".join(sorted({before for before, _ in sides})),
                runs[run_id],
                ", ".join(sorted({now for _, now in sides})),
            ),
            "scorer": ", ".join(scorers),
        }


def _change(what: str, before: Any, run: Mapping[str, Any], now: Any) -> dict[str, Any]:
    return {
        "day": run["at"][:10],
        "what": what,
        "before": before,
        "now": now,
        "run_id": run["run_id"],
    }


def _rates(cases: pd.DataFrame) -> dict[str, dict[str, float]]:
    own = cases[cases["scorer"] == CASE]
    return {
        str(run_id): dict(zip(rows["case_id"], rows["value"].astype("float64"), strict=True))
        for run_id, rows in own.groupby("run_id", sort=False)
    }


def _spell(
    runs: list[dict[str, Any]], start: int, end: int, rates: Mapping[str, Mapping[str, float]]
) -> dict[str, Any]:
    spell = runs[start:end]
    means = [run["mean"] for run in spell if "mean" in run]
    row: dict[str, Any] = {
        "first": spell[0]["at"][:10],
        "last": spell[-1]["at"][:10],
        "n_runs": len(spell),
        "lowest": min(means, default=None),
        "over": end < len(runs),
        "cases": [],
    }
    if not start:
        return row
    before = runs[start - 1]
    passed = rates.get(before["run_id"], {})
    during = [rates.get(run["run_id"], {}) for run in spell]
    return row | {
        "before": before.get("mean"),
        "system_changed": before["system_fingerprint"] != spell[0]["system_fingerprint"],
        "cases": [
            name
            for name, rate in passed.items()
            if rate == 1 and all(one.get(name, 1.0) < 1 for one in during)
        ],
    }

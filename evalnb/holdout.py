"""Holdout cases: scored and gated, but not for tuning against.

Who iterates sees their totals only, and each look is counted: a figure that was optimised for
months says little about cases that nobody has seen. What a run's own files hold is whole.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pandas as pd

from evalnb.frames import DECISION, METRICS, FrameSchema
from evalnb.jsontext import dump_json
from evalnb.stats.estimates import difference_of_rates, wilson

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from evalnb.golden import GoldenSet
    from evalnb.runs import Run

__all__ = [
    "HOLDOUT",
    "LOOKS",
    "UNSAID",
    "count_look",
    "holdout_cases",
    "opened_run",
    "quoting_nothing",
    "read_looks",
    "shown",
    "shown_run",
    "split_rates",
    "without_texts",
]

HOLDOUT = "holdout"
UNSAID = "a holdout case: what was said is only in the files of the run"
"""Stands where a reason would quote an answer."""

Look: TypeAlias = Literal["totals", "cases"]

LOOKS = FrameSchema(
    "looks",
    {
        "kind": "string",
        "run_id": "string",
        "system_fingerprint": "string",
        "golden_version": "string",
        "at": "string",
    },
    key=("kind", "run_id"),
)
"""A row a look at holdout cases: `totals`, or `cases` where single cases were opened."""

_FILE = "holdout_looks.jsonl"


def holdout_cases(golden: GoldenSet) -> frozenset[str]:
    """Return the ids of the holdout cases."""
    return frozenset(case.id for case in golden if case.split == HOLDOUT)


def shown(golden: GoldenSet, frame: pd.DataFrame) -> pd.DataFrame:
    """Leave out the rows of holdout cases.

    Parameters
    ----------
    golden : the cases
    frame : any frame with the column case_id

    Returns
    -------
    the other rows
    """
    hidden = frame["case_id"].isin(holdout_cases(golden))
    return frame[~hidden].reset_index(drop=True)


def shown_run(golden: GoldenSet, run: Run) -> Run:
    """Leave out of a run what it says of single holdout cases, for who iterates.

    Parameters
    ----------
    golden : the cases
    run : any run

    Returns
    -------
    a run
        `slices`, which are totals, and `misses`, which name requests and no answers, are whole. In
        `decision`, a row for each rule counts the holdout cases that it speaks of.
    """
    return replace(
        run,
        outputs=shown(golden, run.outputs),
        scores=shown(golden, run.scores),
        verdicts=shown(golden, run.verdicts),
        results=shown(golden, run.results),
        decision=_counted(run.decision, holdout_cases(golden)),
    )


def opened_run(folder: Path, run: Run) -> Run:
    """Return a run whole, and count that its holdout cases were looked at.

    Parameters
    ----------
    folder : the run's own
    run : what was written there
    """
    count_look(folder, run, "cases")
    return run


def without_texts(
    records: Iterable[Mapping[str, Any]], hidden: frozenset[str]
) -> list[Mapping[str, Any]]:
    """Leave out what reasons say of hidden cases, for reports that name them.

    Parameters
    ----------
    records : of a results or decision frame
    hidden : ids of cases

    Returns
    -------
    the records in their order, those of other cases as they are
    """
    changed = []
    for record in records:
        if record.get("case_id") in hidden:
            said = {name: record[name] for name in ("reason", "reasons") if record.get(name)}
            if said:
                record = {**record, **{name: _unsaid(value) for name, value in said.items()}}
        changed.append(record)
    return changed


def quoting_nothing(frame: pd.DataFrame, hidden: frozenset[str]) -> pd.DataFrame:
    """Leave out what reasons say of hidden cases, as `without_texts` does.

    Parameters
    ----------
    frame : a results or decision frame
    hidden : ids of cases
    """
    column = "reasons" if "reasons" in frame else "reason"
    about = frame["case_id"].isin(hidden) & frame[column].map(_says_something).astype(bool)
    if not about.any():
        return frame
    said = frame[column].astype("object")
    said[about] = pd.Series(
        [_unsaid(reason) for reason in said[about]], index=said.index[about], dtype="object"
    )
    return frame.assign(**{column: said.astype(frame[column].dtype)})


def split_rates(results: pd.DataFrame) -> pd.DataFrame:
    """Pass rates of dev and holdout cases, and the gap between them.

    Parameters
    ----------
    results : a results frame; a case without a split counts as dev

    Returns
    -------
    a metrics frame : `dev`, `holdout` and `gap`, which is dev minus holdout
        No row where there is no holdout case. `n` counts the scored cases, `n_left_out` the
        others. The interval of the gap is Newcombe's, for different cases on both sides.
    """
    held = results["split"].eq(HOLDOUT).fillna(value=False)
    if not held.any():
        return METRICS.empty()
    sides = {
        name: (rates.dropna().tolist(), len(rates))
        for name, rates in (
            ("dev", results.loc[~held, "pass_rate"]),
            (HOLDOUT, results.loc[held, "pass_rate"]),
        )
    }
    rows = [
        _metric(name, wilson(sum(rates), len(rates)), len(rates), n_planned, "wilson")
        for name, (rates, n_planned) in sides.items()
    ]
    (dev, n_dev), (holdout, n_holdout) = sides.values()
    gap = difference_of_rates(sum(dev), len(dev), sum(holdout), len(holdout))
    n_scored = len(dev) + len(holdout)
    return METRICS.build([*rows, _metric("gap", gap, n_scored, n_dev + n_holdout, "newcombe")])


def count_look(folder: Path, run: Run, kind: Look) -> None:
    """Note a look at the holdout cases of a run, once for each kind.

    Parameters
    ----------
    folder : the run's own; looks are kept beside it, for all runs of the suite
    run : what was looked at; nothing is noted where it has no holdout case
    kind : whether totals were shown, or single cases
    """
    if not run.results["split"].eq(HOLDOUT).any():
        return
    manifest = run.manifest
    look = {
        "kind": kind,
        "run_id": manifest["run_id"],
        "system_fingerprint": manifest["system_fingerprint"],
        "golden_version": manifest["golden_version"],
        "at": manifest["finished_at"],
    }
    path = folder.parent / _FILE
    before = path.read_bytes() if path.exists() else b""
    if any((row["kind"], row["run_id"]) == (kind, look["run_id"]) for row in _looks(before)):
        return
    # After a line that a kill tore off, ours starts anew.
    start = "" if not before or before.endswith(b"\n") else "\n"
    with path.open("ab") as file:
        file.write(f"{start}{dump_json(look)}\n".encode())


def read_looks(folder: Path) -> pd.DataFrame:
    """Read the looks at holdout cases that were counted.

    Parameters
    ----------
    folder : of any run of the suite

    Returns
    -------
    a looks frame, oldest first; a line that was torn off is left out
    """
    path = folder.parent / _FILE
    rows = {
        (row["kind"], row["run_id"]): row
        for row in _looks(path.read_bytes() if path.exists() else b"")
    }
    return LOOKS.build(rows.values())


def _looks(content: bytes) -> Iterator[dict[str, str]]:
    for line in content.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and all(isinstance(row.get(name), str) for name in LOOKS.columns):
            yield {name: row[name] for name in LOOKS.columns}


def _metric(name: str, found: Any, n: int, n_planned: int, method: str) -> dict[str, Any]:
    return {
        "metric": name,
        "estimate": found.estimate,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "n": n,
        "n_left_out": n_planned - n,
        "method": method,
        "reason": "no case of one side was scored" if found.estimate is None else None,
    }


def _says_something(reason: Any) -> bool:
    return isinstance(reason, (str, list)) and len(reason) > 0


def _unsaid(reason: str | list[str]) -> str | list[str]:
    """Return what stands in the place of a reason, or of reasons that start with a scorer."""
    if isinstance(reason, str):
        return UNSAID
    scorers = dict.fromkeys(line.partition(": ")[0] for line in reason)
    return [f"{scorer}: {UNSAID}" for scorer in scorers]


def _counted(decision: pd.DataFrame, hidden: frozenset[str]) -> pd.DataFrame:
    """Put a row for each rule in the place of those about hidden cases."""
    about = decision["case_id"].isin(hidden)
    if not about.any():
        return decision
    rows = decision[about]
    n_cases = rows.groupby(["outcome", "rule"], sort=False)["case_id"].nunique().to_dict()
    firsts = rows.drop_duplicates(["outcome", "rule"])
    kinds = zip(firsts["outcome"], firsts["rule"], strict=True)
    summed = DECISION.build(
        {
            "outcome": outcome,
            "rule": rule,
            "reason": f"holdout cases: {n_cases[outcome, rule]:,}, which report.html names",
        }
        for outcome, rule in kinds
    )
    summed.index = firsts.index
    return pd.concat([decision[~about], summed]).sort_index().reset_index(drop=True)

"""Results folders: what a run leaves behind."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalnb.errors import DecisionError, InputError, Problem
from evalnb.frames import DECISION, MISSES, OUTPUTS, RESULTS, SCORES, SLICES, to_records
from evalnb.gate import exit_code, outcome
from evalnb.jsontext import (
    MAX_WRITTEN_LINE_BYTES,
    JsonProblem,
    dump_json,
    parse_json,
    read_lines,
    write_atomically,
)
from evalnb.reports.junit import junit_xml
from evalnb.reports.markdown import summary
from evalnb.runs import Run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    import pandas as pd

    from evalnb.frames import FrameSchema
    from evalnb.golden import GoldenSet

__all__ = [
    "latest_run",
    "new_run_folder",
    "read_report",
    "read_run",
    "results_root",
    "write_run",
]

_FORMAT = 1


def results_root(golden: GoldenSet) -> Path:
    """Return where a suite's runs are kept: `results` beside the folder that holds the suites."""
    if golden.folder is None:
        return Path("results")
    suites = golden.folder.resolve().parent
    return (suites.parent if suites.name == "golden" else suites) / "results"


def new_run_folder(golden: GoldenSet, now: datetime, root: Path | None = None) -> Path:
    """Make an empty folder for a run; its name is the run's id.

    Parameters
    ----------
    golden : the suite
    now : time in UTC
    root : the results root; by default the suite's

    Raises
    ------
    InputError
        If it cannot be made.
    """
    run_id = f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
    folder = (root or results_root(golden)) / golden.settings.name / run_id
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise InputError(f"no folder can be made for the run: {error}") from error
    return folder


def write_run(folder: Path, run: Run) -> None:
    """Write a run's manifest, frames and reports; the decision, `report.json`, comes last.

    Parameters
    ----------
    folder : the run's own
    run : what to write
    """
    _write_json(folder / "run.json", dict(run.manifest))
    _write_lines(folder / "outputs.jsonl", run.outputs)
    _write_lines(folder / "scores.jsonl", run.scores)
    xml = junit_xml(
        run=run.manifest,
        results=run.results,
        scores=run.scores,
        decision=run.decision,
        misses=run.misses,
    )
    write_atomically(folder / "junit.xml", xml.encode())
    text = summary(
        run=run.manifest,
        outcome=run.outcome,
        exit_code=run.exit_code,
        results=run.results,
        scores=run.scores,
        slices=run.slices,
        decision=run.decision,
        misses=run.misses,
    )
    write_atomically(folder / "summary.md", text.encode())
    _write_json(folder / "report.json", _report(run))


def read_report(folder: Path) -> dict[str, Any]:
    """Read a run's decision.

    Raises
    ------
    DecisionError
        If there is none, it belongs to another run than the folder's name says, or it says
        another outcome than its rows come to.
    """
    path = folder / "report.json"
    try:
        report: dict[str, Any] = parse_json(path.read_text(encoding="utf-8"))
        run_id, said = report["run_id"], (report["outcome"], report["exit_code"])
        decision = DECISION.build(report["decision"])
    except FileNotFoundError:
        raise DecisionError(f"the run ended without a decision: there is no {path}") from None
    except (OSError, JsonProblem, LookupError, TypeError, ValueError) as error:
        raise DecisionError(f"the run's decision cannot be read: {path}: {error}") from error
    if run_id != folder.resolve().name:
        raise DecisionError(
            f"the decision in {path} is stale: it belongs to run {run_id!r}, not to "
            f"{folder.resolve().name!r}"
        )
    follows = (str(outcome(decision)), exit_code(decision))
    if said != follows:
        raise DecisionError(f"the decision in {path} says {said}, but its rows come to {follows}")
    return report


def read_run(folder: Path) -> Run:
    """Read a run back from its folder.

    Raises
    ------
    DecisionError
        If the run has no decision of its own.
    InputError
        If another of its files is missing or damaged.
    """
    report = read_report(folder)
    try:
        manifest = parse_json((folder / "run.json").read_text(encoding="utf-8"))
        _check_manifest(manifest)
        frames = {
            name: schema.build(report[name])
            for name, schema in (
                ("results", RESULTS),
                ("slices", SLICES),
                ("decision", DECISION),
                ("misses", MISSES),
            )
        }
    except (OSError, JsonProblem, LookupError, TypeError, ValueError) as error:
        problem = Problem(str(folder), 0, "", f"cannot be read: {error}.", "Run the suite again.")
        raise InputError("the run cannot be used", [problem]) from error
    return Run(
        manifest=manifest,
        outputs=_read_lines(folder / "outputs.jsonl", OUTPUTS),
        scores=_read_lines(folder / "scores.jsonl", SCORES),
        outcome=report["outcome"],
        exit_code=report["exit_code"],
        **frames,
    )


def _check_manifest(manifest: Any) -> None:
    if not isinstance(manifest, dict):
        raise TypeError("run.json holds no object")
    for name in ("run_id", "suite", "golden_version", "system", "system_fingerprint", "as_of"):
        if not isinstance(manifest.get(name), str):
            raise TypeError(f"run.json has no `{name}`")


def latest_run(golden: GoldenSet, root: Path | None = None) -> Path:
    """Return the folder of a suite's newest run.

    Raises
    ------
    InputError
        If there is none, or it came to no decision.
    """
    folder = (root or results_root(golden)) / golden.settings.name
    # Runs of the same second are told apart by when they ended.
    runs = sorted(
        (path for path in folder.glob("*") if path.is_dir()),
        key=lambda run: (run.name.split("-")[0], run.stat().st_mtime_ns),
    )
    if not runs:
        raise InputError(f"there is no run of {golden.settings.name} in {folder}: run it first")
    if not (runs[-1] / "report.json").exists():
        raise InputError(f"the newest run, {runs[-1]}, came to no decision: run the suite again")
    return runs[-1]


def _report(run: Run) -> dict[str, Any]:
    names = ("run_id", "suite", "golden_version", "system", "mode", "repeats", "as_of", "notice")
    return {
        "format": _FORMAT,
        "outcome": run.outcome,
        "exit_code": run.exit_code,
        **{name: run.manifest.get(name) for name in names},
        "decision": to_records(run.decision),
        "slices": to_records(run.slices),
        "results": to_records(run.results),
        "misses": to_records(run.misses),
    }


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    text = json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False)
    write_atomically(path, f"{text}\n".encode())


def _write_lines(path: Path, frame: pd.DataFrame) -> None:
    lines = "".join(f"{dump_json(row)}\n" for row in to_records(frame))
    write_atomically(path, lines.encode())


def _read_lines(path: Path, schema: FrameSchema) -> pd.DataFrame:
    if not path.exists():
        raise InputError(f"the run has no {path.name}: {path.parent} is not complete")
    lines, problems = read_lines(path, max_line_bytes=MAX_WRITTEN_LINE_BYTES)
    if problems:
        raise InputError("the run cannot be used", problems)
    try:
        return schema.build(line.value for line in lines)
    except ValueError as error:
        problem = Problem(str(path), 0, "", f"{error}.", "Run the suite again.")
        raise InputError("the run cannot be used", [problem]) from error

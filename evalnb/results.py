"""Results folders: what a run leaves behind."""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic_core import from_json

from evalnb.behind import changes_behind
from evalnb.drops import drops_of
from evalnb.errors import DecisionError, InputError, Problem
from evalnb.frames import (
    DECISION,
    MISSES,
    OUTPUTS,
    PAIRS,
    RESULTS,
    SCORES,
    SLICES,
    VERDICTS,
    Outcome,
    to_records,
)
from evalnb.gate import exit_code, outcome
from evalnb.holdout import (
    HOLDOUT,
    count_look,
    quoting_nothing,
    read_looks,
    split_rates,
    without_texts,
)
from evalnb.jsontext import (
    MAX_WRITTEN_LINE_BYTES,
    JsonProblem,
    parse_json,
    read_lines,
    write_atomically,
)
from evalnb.record_files import write_object, write_records
from evalnb.reports.comparison_words import behind_sentences, drop_sentences
from evalnb.reports.differences import Earlier, earlier_baseline, found, states
from evalnb.reports.html import Page, html_page
from evalnb.reports.junit import junit_xml
from evalnb.reports.markdown import summary
from evalnb.reports.sentences import (
    confirmation_sentences,
    cost_sentences,
    holdout_sentences,
    power_sentences,
    state_sentences,
    wording_sentences,
)
from evalnb.reports.text import listing
from evalnb.reports.verdicts import judge_sentences
from evalnb.runs import Run
from evalnb.stored import stored_frame

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    import pandas as pd

    from evalnb.frames import FrameSchema
    from evalnb.golden import GoldenSet

__all__ = [
    "latest_run",
    "new_folder",
    "new_run_folder",
    "previous_run",
    "read_report",
    "read_rows",
    "read_run",
    "read_verdicts",
    "results_root",
    "write_run",
]

Record: TypeAlias = "Mapping[str, Any]"

_FORMAT = 1
_FRAMES = ("outputs", "scores", "results", "slices", "decision", "misses")


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
    return new_folder((root or results_root(golden)) / golden.settings.name, now)


def new_folder(place: Path, now: datetime) -> Path:
    """Make an empty folder that is named after the time.

    Parameters
    ----------
    place : where to make it
    now : time in UTC

    Raises
    ------
    InputError
        If it cannot be made.
    """
    folder = place / f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise InputError(f"no folder can be made in {place}: {error}") from error
    return folder


def write_run(folder: Path, run: Run, *, reports: bool = True) -> None:
    """Write a run's manifest, frames and reports; the decision, `report.json`, comes last.

    Parameters
    ----------
    folder : the run's own
    run : what to write
    reports : whether to write what people and CI systems read as well
    """
    records = {name: to_records(getattr(run, name)) for name in _FRAMES}
    write_object(folder / "run.json", dict(run.manifest))
    write_records(folder / "outputs.jsonl", records["outputs"])
    write_records(folder / "scores.jsonl", records["scores"])
    if len(run.verdicts):
        write_records(folder / "verdicts.jsonl", to_records(run.verdicts))
    if len(run.pairs):
        write_records(folder / "pairs.jsonl", to_records(run.pairs))
    _write_confirmation(folder / "confirmation", run)
    if reports:
        count_look(folder, run, "totals")
        _write_reports(folder, run, records)
    write_object(folder / "report.json", _report(run, records))


def _write_confirmation(folder: Path, run: Run) -> None:
    """Write what fresh repeats gave, a folder a side."""
    found = run.confirmation
    if found is None:
        return
    for side, outputs, scores in (
        ("baseline", found.outputs_before, found.before),
        ("candidate", found.outputs_now, found.now),
    ):
        (folder / side).mkdir(parents=True, exist_ok=True)
        write_records(folder / side / "outputs.jsonl", to_records(outputs))
        write_records(folder / side / "scores.jsonl", to_records(scores))


def _write_reports(folder: Path, run: Run, records: Mapping[str, Sequence[Record]]) -> None:
    """Write what people and CI systems read; texts of holdout cases are left out."""
    hidden = frozenset(row["case_id"] for row in records["results"] if row.get("split") == HOLDOUT)
    results = without_texts(records["results"], hidden)
    decision = without_texts(records["decision"], hidden)
    named = replace(
        run,
        results=quoting_nothing(run.results, hidden),
        decision=quoting_nothing(run.decision, hidden),
    )
    rates, looks = split_rates(run.results), read_looks(folder)
    xml = junit_xml(
        run=run.manifest,
        results=results,
        scores=records["scores"],
        decision=decision,
        misses=run.misses,
        exit_code=run.exit_code,
    )
    write_atomically(folder / "junit.xml", xml.encode())
    text = summary(
        run=run.manifest,
        outcome=run.outcome,
        exit_code=run.exit_code,
        results=named.results,
        scores=run.scores,
        slices=run.slices,
        decision=named.decision,
        misses=run.misses,
        remarks=[
            *holdout_sentences(
                rates, looks, run.manifest["golden_version"], run.manifest.get("gap_change", ())
            ),
            *judge_sentences(run),
            *cost_sentences(run.manifest, records["outputs"]),
            *state_sentences(run.results, run.decision),
            *power_sentences(run.manifest),
            *wording_sentences(run.manifest),
            *confirmation_sentences(run.manifest),
            *(_explained(run, hidden) if run.outcome == Outcome.FAIL else ()),
        ],
    )
    write_atomically(folder / "summary.md", text.encode())
    page = Page(
        run=named,
        outputs=records["outputs"],
        scores=records["scores"],
        results=results,
        hidden=hidden,
        differences=_differences(folder, run, records),
        cases={case.id: case for case in run.golden or ()},
        rates=rates,
        looks=looks,
    )
    write_atomically(folder / "report.html", html_page(page).encode())


def _explained(run: Run, hidden: frozenset[str]) -> list[str]:
    """Say where a drop sits, and what lies behind it."""
    return [*drop_sentences(drops_of(run), hidden), *behind_sentences(changes_behind(run))]


def _differences(
    folder: Path, run: Run, records: Mapping[str, Sequence[Record]]
) -> dict[str, list[dict[str, Any]]]:
    """Compare with the baseline and with the previous run, as far as there are any."""
    previous = previous_run(folder, run.manifest["system"])
    needed = run.golden.settings.passes_needed if run.golden else None
    earlier = [
        *([earlier_baseline(run.baseline, needed)] if run.baseline else []),
        *([earlier_run(previous)] if previous else []),
    ]
    now = states(records["results"])
    return {one.name: found(records["outputs"], now, one) for one in earlier}


def previous_run(folder: Path, system: str) -> Path | None:
    """Return the folder of the newest run before this one that came to a decision.

    Parameters
    ----------
    folder : a run's own
    system : whose runs are looked at

    Returns
    -------
    a folder beside it; None where there is none
    """
    if not folder.parent.exists():
        return None
    before = sorted(
        (path for path in folder.parent.iterdir() if path.name < folder.name), key=_name
    )
    return next((path for path in reversed(before) if _is_run_of(path, system)), None)


def earlier_run(folder: Path) -> Earlier:
    """Return a run as `evalnb.reports.differences` compares with it; what is damaged is left out.

    Parameters
    ----------
    folder : a run's own
    """
    report = _read_object(folder / "report.json") or {}
    manifest = _read_object(folder / "run.json") or {}
    version = manifest.get("golden_version")
    return Earlier(
        f"the previous run, {folder.name}, golden version {version}",
        _read_records(folder / "outputs.jsonl"),
        states(report.get("results", [])),
    )


def _is_run_of(folder: Path, system: str) -> bool:
    manifest = _read_object(folder / "run.json") if (folder / "report.json").exists() else None
    return manifest is not None and manifest.get("system") == system


def _name(path: Path) -> str:
    return path.name


def _read_object(path: Path) -> dict[str, Any] | None:
    try:
        content = from_json(path.read_bytes())
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def _read_records(path: Path) -> Iterator[dict[str, Any]]:
    """Read the lines of an older run quickly, without the checks of `read_run`."""
    try:
        with path.open("rb") as file:
            yield from (row for row in map(from_json, file) if isinstance(row, dict))
    except (OSError, ValueError):
        return


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
    outputs = _read_lines(folder / "outputs.jsonl", OUTPUTS)
    _check_answered(folder / "outputs.jsonl", outputs, frames["results"])
    return Run(
        manifest=manifest,
        outputs=outputs,
        scores=_read_lines(folder / "scores.jsonl", SCORES),
        results=frames["results"],
        slices=frames["slices"],
        decision=frames["decision"],
        misses=frames["misses"],
        outcome=report["outcome"],
        exit_code=report["exit_code"],
        verdicts=read_verdicts(folder),
        pairs=_read_optional(folder / "pairs.jsonl", PAIRS),
    )


def read_verdicts(folder: Path) -> pd.DataFrame:
    """Read what judges answered in a run, a verdicts frame; empty where none was asked.

    Raises
    ------
    InputError
        If the file is damaged.
    """
    return _read_optional(folder / "verdicts.jsonl", VERDICTS)


def _read_optional(path: Path, schema: FrameSchema) -> pd.DataFrame:
    return _read_lines(path, schema) if path.exists() else schema.empty()


def _check_manifest(manifest: Any) -> None:
    if not isinstance(manifest, dict):
        raise TypeError("run.json holds no object")
    for name in ("run_id", "suite", "golden_version", "system", "system_fingerprint", "as_of"):
        if not isinstance(manifest.get(name), str):
            raise TypeError(f"run.json has no `{name}`")


def _check_answered(path: Path, outputs: pd.DataFrame, results: pd.DataFrame) -> None:
    gone = results.loc[~results["case_id"].isin(outputs["case_id"]), "case_id"].tolist()
    if gone:
        named = listing(gone, limit=3)
        what = f"lacks {len(gone):,} of the {len(results):,} cases that were decided on: {named}."
        raise InputError(
            "the run cannot be used", [Problem(str(path), 0, "", what, "Run the suite again.")]
        )


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


def _report(run: Run, records: Mapping[str, Sequence[Record]]) -> dict[str, Any]:
    names = ("run_id", "suite", "golden_version", "system", "mode", "repeats", "as_of", "notice")
    return {
        "format": _FORMAT,
        "outcome": run.outcome,
        "exit_code": run.exit_code,
        **{name: run.manifest.get(name) for name in names},
        **{name: records[name] for name in ("decision", "slices", "results", "misses")},
    }


def _read_lines(path: Path, schema: FrameSchema) -> pd.DataFrame:
    if not path.exists():
        raise InputError(f"the run has no {path.name}: {path.parent} is not complete")
    return read_rows(path, schema, "run", "Run the suite again.")


def read_rows(path: Path, schema: FrameSchema, what: str, remedy: str) -> pd.DataFrame:
    """Read a frame that was written as JSON Lines.

    Parameters
    ----------
    path : a file
    schema : of the frame
    what : what it belongs to, for messages
    remedy : what to do where it cannot be read

    Raises
    ------
    InputError
        If it is damaged.
    """
    lines, problems = read_lines(path, max_line_bytes=MAX_WRITTEN_LINE_BYTES)
    try:
        frame = stored_frame(schema, (line.value for line in lines))
    except ValueError as error:
        problems = [*problems, Problem(str(path), 0, "", f"{error}.", remedy)]
    if problems:
        raise InputError(f"the {what} cannot be used", problems)
    return frame

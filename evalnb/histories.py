"""The history of a suite: what its runs came to, from their manifests alone.

A run's manifest has its figures (`run_figures`), so that a thousand runs are read in a second or
two, here or from a store at a URL.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic_core import from_json

from evalnb.baseline import CASE
from evalnb.frames import RESULTS, FrameSchema
from evalnb.places import is_remote
from evalnb.reports.text import listing
from evalnb.results import results_root
from evalnb.runs import run_figures

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from evalnb.golden import GoldenSet

__all__ = [
    "CASE_HISTORY",
    "HISTORY",
    "DamagedRunWarning",
    "case_history",
    "history",
]

HISTORY = FrameSchema(
    "history",
    {
        "run_id": "string",
        "scorer": "string",
        "at": "string",
        "system": "string",
        "system_fingerprint": "string",
        "mode": "string",
        "tier": "string",
        "golden_version": "string",
        "judge_fingerprint": "string",
        "judge_answered": "string",
        "series": "Int64",
        "mean": "Float64",
        "ci_low": "Float64",
        "ci_high": "Float64",
        "n": "Int64",
        "n_missing": "Int64",
        "outcome": "string",
        "override": "string",
        "cost_usd": "Float64",
        "judge_cost_usd": "Float64",
        "input_tokens": "Int64",
        "output_tokens": "Int64",
    },
    key=("run_id", "scorer"),
)
"""A row a run and scorer, in order of time; `(case)` is the pass rate of cases.

`mean` is over the `n` cases with a value, with its 95% interval; `n_missing` counts the cases that
should have one. Rows of one scorer may be compared where `series` is the same: it changes with the
golden version, the tier, the suite's own scorers, and the judge's fingerprint or answering model; for
`(case)` `judge_fingerprint` is that of the judges that count. What follows `n_missing` is of the
run as a whole and the same in all its rows; `override` is the reason of one.
"""

CASE_HISTORY = FrameSchema(
    "case history",
    {
        "run_id": "string",
        "case_id": "string",
        "scorer": "string",
        "value": "Float64",
        "n_scored": "Int64",
        "n_passed": "Int64",
    },
    key=("run_id", "case_id", "scorer"),
)
"""A row a run, case and scorer, in order of time: the case's mean; for `(case)` its pass rate, and how
many of its repeats were scored and passed. Cases without a value in a run have no row of it."""

_MOST_NAMED = 50
_TEXTS = ("run_id", "system", "system_fingerprint", "mode", "golden_version")
_WHOLE = (
    *(*_TEXTS, "tier", "outcome", "cost_usd", "judge_cost_usd", "input_tokens", "output_tokens"),
)


class DamagedRunWarning(UserWarning):
    """Some runs were left out, since they cannot be read or came to no decision."""


class _Found(NamedTuple):
    """The manifests of the runs that are whole, in order of time, and what is wrong with others."""

    manifests: list[dict[str, Any]]
    damaged: dict[str, str]


def history(golden: GoldenSet, root: Path | None = None) -> pd.DataFrame:
    """Return what the runs of a suite came to, in order of time.

    Parameters
    ----------
    golden : a suite's golden set
    root : the results root, a folder or the place of a URL; by default the suite's

    Returns
    -------
    as `HISTORY` says; without rows where there is no run

    Warns
    -----
    DamagedRunWarning
        Which runs were left out, and why.
    """
    folder = _runs_folder(golden, root)
    found = _read_manifests(folder, golden.settings.name)
    older = [one["run_id"] for one in found.manifests if "figures" not in one]
    reports = _read(folder, older, "report.json")
    series: dict[tuple[Any, ...], int] = {}
    rows: list[dict[str, Any]] = []
    for manifest in found.manifests:
        figures = manifest.get("figures")
        if figures is None:
            results = _results(reports[manifest["run_id"]], manifest["run_id"])
            if isinstance(results, str):
                found.damaged[manifest["run_id"]] = results
                continue
            figures = run_figures(RESULTS.build(results))
        rows += _rows(manifest, figures, series)
    _warn(golden, found.damaged)
    return HISTORY.build(rows)


def case_history(
    golden: GoldenSet, runs: Collection[str], root: Path | None = None
) -> pd.DataFrame:
    """Return what each case came to in some runs.

    Parameters
    ----------
    golden : a suite's golden set
    runs : their ids, in order of time
    root : the results root; by default the suite's

    Returns
    -------
    as `CASE_HISTORY` says

    Warns
    -----
    DamagedRunWarning
        Which runs were left out, and why.
    """
    reports = _read(_runs_folder(golden, root), runs, "report.json")
    damaged: dict[str, str] = {}
    rows: list[dict[str, Any]] = []
    for run_id, raw in reports.items():
        results = _results(raw, run_id)
        if isinstance(results, str):
            damaged[run_id] = results
            continue
        for result in results:
            rows += _case_rows(run_id, result)
    _warn(golden, damaged)
    return CASE_HISTORY.build(rows)


def _runs_folder(golden: GoldenSet, root: Path | None) -> Path:
    return (root or results_root(golden)) / golden.settings.name


def _read_manifests(folder: Path, suite: str) -> _Found:
    decided = _decided(folder)
    manifests: list[dict[str, Any]] = []
    damaged = {
        run: "it came to no decision" for run, is_decided in decided.items() if not is_decided
    }
    whole = [run for run, is_decided in decided.items() if is_decided]
    for run, raw in _read(folder, whole, "run.json").items():
        manifest = _manifest(raw, run, suite)
        if isinstance(manifest, str):
            damaged[run] = manifest
        else:
            manifests.append(manifest)
    # The id begins with the second in which a run began; of one second, when it ended.
    manifests.sort(key=lambda one: (one["run_id"].split("-")[0], one.get("finished_at") or ""))
    return _Found(manifests, damaged)


def _decided(folder: Path) -> dict[str, bool]:
    """Return the runs that are there, and which of them came to a decision."""
    if not is_remote(folder):
        if not folder.is_dir():
            return {}
        runs = sorted(path for path in folder.iterdir() if path.is_dir())
        return {path.name: (path / "report.json").exists() for path in runs}
    there: dict[str, bool] = {}
    fs: Any = folder.fs  # type: ignore[attr-defined]
    root = folder.path  # type: ignore[attr-defined]
    if not fs.exists(root):
        return {}
    for path in sorted(fs.find(root)):
        parts = path.removeprefix(root).strip("/").split("/")
        if len(parts) == 2:
            there[parts[0]] = there.get(parts[0], False) or parts[1] == "report.json"
    return there


def _read(folder: Path, runs: Collection[str], name: str) -> dict[str, bytes | Exception]:
    """Read one file of each run; those at a URL at one stroke, since each has its way to go."""
    if not is_remote(folder):
        return {run: _read_local(folder / run / name) for run in runs}
    if not runs:
        return {}
    paths = {run: f"{folder.path}/{run}/{name}" for run in runs}  # type: ignore[attr-defined]
    found = folder.fs.cat(list(paths.values()), on_error="return")  # type: ignore[attr-defined]
    by_path = {path.strip("/"): content for path, content in found.items()}
    return {run: by_path[path.strip("/")] for run, path in paths.items()}


def _read_local(path: Path) -> bytes | Exception:
    try:
        return path.read_bytes()
    except OSError as error:
        return error


def _manifest(raw: bytes | Exception, run: str, suite: str) -> dict[str, Any] | str:
    """Return a manifest, or what is wrong with it."""
    content = _object(raw, "run.json")
    if isinstance(content, str):
        return content
    lacking = [name for name in _TEXTS if not isinstance(content.get(name), str)]
    if lacking:
        return f"run.json has no {', '.join(lacking)}"
    if content["run_id"] != run:
        return f"run.json belongs to run {content['run_id']}"
    if content.get("suite") != suite:
        return f"it is of the suite {content.get('suite')}"
    figures = content.get("figures")
    if figures is not None and not _are_figures(figures):
        return "the figures in run.json are damaged"
    return content


def _are_figures(figures: Any) -> bool:
    return isinstance(figures, list) and all(
        isinstance(row, dict) and isinstance(row.get("scorer"), str) for row in figures
    )


def _results(raw: bytes | Exception, run: str) -> list[dict[str, Any]] | str:
    content = _object(raw, "report.json")
    if isinstance(content, str):
        return content
    results = content.get("results")
    if content.get("run_id") != run or not isinstance(results, list):
        return "report.json is of another run, or has no results"
    if not all(isinstance(row, dict) and "case_id" in row for row in results):
        return "the results in report.json are damaged"
    return results


def _object(raw: bytes | Exception, name: str) -> dict[str, Any] | str:
    if isinstance(raw, Exception):
        return f"{name} cannot be read: {raw}"
    try:
        content = from_json(raw)
    except ValueError as error:
        return f"{name} cannot be read: {error}"
    return content if isinstance(content, dict) else f"{name} holds no object"


def _rows(
    manifest: Mapping[str, Any],
    figures: Sequence[Mapping[str, Any]],
    series: dict[tuple[Any, ...], int],
) -> Iterator[dict[str, Any]]:
    judges = manifest.get("judges") or {}
    counting = sorted(
        {judges[name]["fingerprint"] for name in manifest.get("counting") or () if name in judges}
    )
    override = manifest.get("override") or {}
    whole = {name: manifest.get(name) for name in _WHOLE}
    whole |= {
        "at": manifest.get("started_at") or manifest.get("finished_at"),
        "override": override.get("reason"),
    }
    for figure in figures:
        scorer = figure["scorer"]
        judge = judges.get(scorer) or {}
        fingerprint = judge.get("fingerprint")
        if scorer == CASE:
            fingerprint = ", ".join(counting) or None
        answered = ", ".join(judge.get("answered") or ()) or None
        basis = (
            *(scorer, manifest["golden_version"], manifest.get("tier"), fingerprint, answered),
            manifest.get("scorers_fingerprint"),
        )
        yield {
            **whole,
            **figure,
            "judge_fingerprint": fingerprint,
            "judge_answered": answered,
            "series": series.setdefault(basis, len(series)),
        }


def _case_rows(run_id: str, result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    case_id, n = result["case_id"], result.get("n_scored") or 0
    if n:
        rate = result.get("pass_rate") or 0.0
        yield {
            "run_id": run_id,
            "case_id": case_id,
            "scorer": CASE,
            "value": rate,
            "n_scored": n,
            "n_passed": round(rate * n),
        }
    for scorer, value in (result.get("mean_scores") or {}).items():
        yield {"run_id": run_id, "case_id": case_id, "scorer": scorer, "value": value}


def _warn(golden: GoldenSet, damaged: Mapping[str, str]) -> None:
    if not damaged:
        return
    runs = "1 run" if len(damaged) == 1 else f"{len(damaged)} runs"
    named = listing([f"{run} ({why})" for run, why in damaged.items()], limit=_MOST_NAMED)
    warnings.warn(
        f"{runs} of {golden.settings.name} left out: {named}", DamagedRunWarning, stacklevel=3
    )

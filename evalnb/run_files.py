"""The files of runs that are on disk or at a URL, and which of them are whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic_core import from_json

from evalnb.places import is_remote
from evalnb.results import results_root

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from evalnb.golden import GoldenSet

__all__ = ["MANIFEST_TEXTS", "PastRuns", "read_manifests", "read_results", "runs_folder"]

MANIFEST_TEXTS = ("run_id", "system", "system_fingerprint", "mode", "golden_version")
"""What every manifest says."""


class PastRuns(NamedTuple):
    """The manifests of the runs that are whole, in order of time, and what is wrong with others."""

    manifests: list[dict[str, Any]]
    damaged: dict[str, str]


def runs_folder(golden: GoldenSet, root: Path | None) -> Path:
    """Return where a suite's runs are: under a results root, by default the suite's."""
    return (root or results_root(golden)) / golden.settings.name


def read_manifests(folder: Path, suite: str) -> PastRuns:
    """Read the manifests of the runs that came to a decision.

    Parameters
    ----------
    folder : as `runs_folder` returns it, here or at a URL
    suite : its name; a manifest of another suite is damage
    """
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
    return PastRuns(manifests, damaged)


def read_results(
    folder: Path, runs: Collection[str]
) -> tuple[dict[str, list[dict[str, Any]]], dict[str, str]]:
    """Read what each case came to in some runs.

    Parameters
    ----------
    folder : as `runs_folder` returns it, here or at a URL
    runs : their ids

    Returns
    -------
    run id to its results, records of `evalnb.frames.RESULTS`, in the order of `runs`; and run id to what
    is wrong with it, of those that cannot be read
    """
    results: dict[str, list[dict[str, Any]]] = {}
    damaged: dict[str, str] = {}
    for run_id, raw in _read(folder, runs, "report.json").items():
        found = _results(raw, run_id)
        if isinstance(found, str):
            damaged[run_id] = found
        else:
            results[run_id] = found
    return results, damaged


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
    lacking = [name for name in MANIFEST_TEXTS if not isinstance(content.get(name), str)]
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

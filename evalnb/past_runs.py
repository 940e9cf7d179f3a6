"""The runs of a suite that are on disk, as far as the gate looks back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.frames import FrameSchema
from evalnb.jsontext import JsonProblem, parse_json
from evalnb.results import results_root

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pandas as pd

    from evalnb.golden import GoldenSet

__all__ = ["PAST", "past_runs"]

_MOST = 50

PAST = FrameSchema(
    "past runs",
    {
        "run_id": "string",
        "system_fingerprint": "string",
        "models": "string",
        "tier": "string",
        "case_id": "string",
        "n_scored": "Int64",
        "n_passed": "Int64",
        "output_tokens": "Float64",
        "mean_scores": "object",
    },
    key=("run_id", "case_id"),
)
"""A row a run and case, the runs in order of time. `models` are those that answered, sorted;
`output_tokens` are those of an answer, the mean over its repeats; `mean_scores` maps scorers to
means."""


def past_runs(golden: GoldenSet, root: Path | None = None, *, before: str = "") -> pd.DataFrame:
    """Read the live runs of a suite's present golden version.

    Parameters
    ----------
    golden : the suite
    root : the results root; by default the suite's
    before : id of a run, which itself and all later ones are left out; "" for none

    Returns
    -------
    as `PAST` says, of the last 50 runs; runs without a decision and damaged ones are left out
    """
    folder = (root or results_root(golden)) / golden.settings.name
    if not folder.is_dir():
        return PAST.empty()
    paths = sorted((path for path in folder.iterdir() if path.is_dir()), key=lambda path: path.name)
    kept = [path for path in paths if not before or path.name < before]
    found: list[list[dict[str, Any]]] = []
    for path in reversed(kept):
        rows = list(_rows(path, golden.version))
        if rows:
            found.append(rows)
        if len(found) == _MOST:
            break
    return PAST.build(row for rows in reversed(found) for row in rows)


def _rows(folder: Path, version: str) -> Iterator[dict[str, Any]]:
    manifest, report = (_object(folder / name) for name in ("run.json", "report.json"))
    is_live = manifest.get("mode") == "live" and "rescored_from" not in manifest
    if not is_live or manifest.get("golden_version") != version:
        return
    shared = {
        "run_id": folder.name,
        "system_fingerprint": manifest.get("system_fingerprint"),
        "models": ", ".join(manifest.get("models") or []) or None,
        "tier": manifest.get("tier"),
    }
    for result in report.get("results", ()):
        scored = int(result.get("n_scored") or 0)
        repeats = int(result.get("n_repeats") or 0)
        tokens = result.get("output_tokens")
        yield {
            **shared,
            "case_id": result["case_id"],
            "n_scored": scored,
            "n_passed": round(scored * result.get("pass_rate", 0.0)),
            "output_tokens": None if tokens is None or not repeats else tokens / repeats,
            "mean_scores": result.get("mean_scores") or {},
        }


def _object(path: Path) -> dict[str, Any]:
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, JsonProblem):
        return {}
    return content if isinstance(content, dict) else {}

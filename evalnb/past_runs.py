"""The runs of a suite that are on disk, as far as the gate looks back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.frames import FrameSchema
from evalnb.run_files import read_manifests, read_results, runs_folder

if TYPE_CHECKING:
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
    folder = runs_folder(golden, root)
    kept = [
        manifest
        for manifest in read_manifests(folder, golden.settings.name).manifests
        if manifest["mode"] == "live"
        and "rescored_from" not in manifest
        and manifest["golden_version"] == golden.version
        and (not before or manifest["run_id"] < before)
    ][-_MOST:]
    results, _ = read_results(folder, [manifest["run_id"] for manifest in kept])
    return PAST.build(
        _row(manifest, result)
        for manifest in kept
        for result in results.get(manifest["run_id"], ())
    )


def _row(manifest: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    scored = int(result.get("n_scored") or 0)
    repeats = int(result.get("n_repeats") or 0)
    tokens = result.get("output_tokens")
    return {
        "run_id": manifest["run_id"],
        "system_fingerprint": manifest["system_fingerprint"],
        "models": ", ".join(manifest.get("models") or []) or None,
        "tier": manifest.get("tier"),
        "case_id": result["case_id"],
        "n_scored": scored,
        "n_passed": round(scored * (result.get("pass_rate") or 0.0)),
        "output_tokens": None if tokens is None or not repeats else tokens / repeats,
        "mean_scores": result.get("mean_scores") or {},
    }

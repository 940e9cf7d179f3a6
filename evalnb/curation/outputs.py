"""Where the outputs come from that people rate: a run, or the baseline's texts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.baseline import read_baseline
from evalnb.errors import InputError
from evalnb.frames import SCORES
from evalnb.holdout import HOLDOUT, count_look, holdout_cases, shown
from evalnb.places import place
from evalnb.results import latest_run, read_run, results_root

if TYPE_CHECKING:
    from pathlib import Path

    from evalnb.golden import GoldenSet
    from evalnb.runs import Run

__all__ = ["BASELINE_RUN", "RatedRun", "find_outputs", "with_holdout", "without_holdout"]

BASELINE_RUN = "baseline"
"""Names the accepted run where a run is asked for."""


@dataclass(frozen=True)
class RatedRun:
    """Outputs that can be rated.

    Attributes
    ----------
    name : the run's id, or `baseline`
    run_id : the run's id, of the baseline that of the run that was accepted; None where it says none
    outputs : an outputs frame, of cases that the suite still has
    scores : a scores frame; without rows for the baseline, which keeps counts alone
    folder : the run's own; None for the baseline
    run : the run as it was read; None for the baseline
    """

    name: str
    run_id: str | None
    outputs: pd.DataFrame
    scores: pd.DataFrame = field(default_factory=SCORES.empty)
    folder: Path | None = None
    run: Run | None = None


def find_outputs(golden: GoldenSet, run: str = "", root: Path | None = None) -> RatedRun:
    """Read the outputs of a run.

    Parameters
    ----------
    golden : the suite
    run : a run's id or folder, or `baseline`; by default the newest run, and where there is none
        the baseline. The id of the accepted run names the baseline where the run itself is gone.
    root : the results root; by default the suite's

    Raises
    ------
    InputError
        If there is neither, or it cannot be read.
    """
    if not run and not _has_runs(golden, root):
        run = BASELINE_RUN
    folder = _folder(golden, run, root) if run else latest_run(golden, root)
    if folder is None:
        return _of_baseline(golden)
    found = read_run(folder)
    if found.manifest["suite"] != golden.settings.name:
        raise InputError(f"{folder} is a run of {found.manifest['suite']}, not of this suite")
    return RatedRun(
        folder.resolve().name,
        found.manifest["run_id"],
        _known(golden, found.outputs),
        _known(golden, found.scores),
        folder,
        found,
    )


def without_holdout(golden: GoldenSet, rated: RatedRun) -> RatedRun:
    """Leave out the outputs of holdout cases, for who tunes against the others.

    Parameters
    ----------
    golden : the cases
    rated : any outputs
    """
    return RatedRun(
        rated.name,
        rated.run_id,
        shown(golden, rated.outputs),
        shown(golden, rated.scores),
        rated.folder,
        rated.run,
    )


def with_holdout(golden: GoldenSet, rated: RatedRun) -> RatedRun:
    """Return outputs whole, and count that holdout cases among them are looked at.

    Parameters
    ----------
    golden : the cases
    rated : any outputs

    Raises
    ------
    InputError
        If they are the baseline's and hold such cases: looks are counted beside runs.
    """
    if rated.folder is not None and rated.run is not None:
        count_look(rated.folder, rated.run, "cases")
    elif rated.outputs["case_id"].isin(holdout_cases(golden)).any():
        raise InputError(
            f"the {HOLDOUT} cases of the baseline are not shown: looks at them are counted beside "
            "runs. Run the suite, and take that run."
        )
    return rated


def _has_runs(golden: GoldenSet, root: Path | None) -> bool:
    folder = (root or results_root(golden)) / golden.settings.name
    return folder.is_dir() and any(path.is_dir() for path in folder.iterdir())


def _of_baseline(golden: GoldenSet) -> RatedRun:
    baseline = read_baseline(golden)
    if baseline is None:
        raise InputError(
            f"there is nothing to rate: {golden.settings.name} has no run and no baseline. "
            "Run it first."
        )
    run_id: Any = baseline.manifest.get("run_id")
    outputs = _known(golden, baseline.outputs)
    outputs["run_id"] = pd.Series(run_id, index=outputs.index, dtype="string")
    # Of a played conversation the baseline keeps the last reply alone.
    played = {case.id for case in golden if case.turns is not None}
    whole = ~outputs["case_id"].isin(played)
    return RatedRun(BASELINE_RUN, run_id, outputs[whole].reset_index(drop=True))


def _folder(golden: GoldenSet, run: str, root: Path | None) -> Path | None:
    """Return a run's folder; None where the baseline is meant."""
    if run == BASELINE_RUN:
        return None
    for folder in ((root or results_root(golden)) / golden.settings.name / run, place(run)):
        if (folder / "report.json").is_file():
            return folder
    baseline = read_baseline(golden)
    if baseline is not None and baseline.manifest.get("run_id") == run:
        return None
    raise InputError(f"there is no run {run!r} of {golden.settings.name}: give its id or folder")


def _known(golden: GoldenSet, frame: pd.DataFrame) -> pd.DataFrame:
    known = frame["case_id"].map(lambda case_id: case_id in golden)
    return frame[known.astype(bool)].reset_index(drop=True)

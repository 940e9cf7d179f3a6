"""Opening a labelling: which outputs, on which scales, for whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.curation.items import items_to_rate, pairs_to_rate
from evalnb.curation.labelling import Labelling
from evalnb.curation.labels import label_path
from evalnb.curation.outputs import find_outputs, with_holdout
from evalnb.curation.samples import read_sample
from evalnb.curation.scales import suite_scales
from evalnb.holdout import holdout_cases
from evalnb.options import listed
from evalnb.reports.text import visible

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from evalnb.curation.items import Item, LeftOut
    from evalnb.curation.outputs import RatedRun
    from evalnb.curation.sampling import Sample
    from evalnb.golden import GoldenSet

__all__ = ["describe_labelling", "open_labelling"]


def open_labelling(
    golden: GoldenSet,
    rater: str,
    *,
    run: str = "",
    other_run: str = "",
    sample: str = "",
    axes: str = "",
    holdout: bool = False,
    seed: int = 0,
    root: Path | None = None,
) -> Labelling:
    """Make a rater's labelling of a run's outputs; what the rater did before is taken up.

    Parameters
    ----------
    golden : the suite
    rater : who rates; becomes the name of a file
    run : a run's id or folder, or `baseline`; by default the sample's run, else the newest, else
        the baseline
    other_run : a second one, for its answers to stand beside those of `run`
    sample : the id of a sample for rating; by default all outputs are rated
    axes : names of axes with commas between them; by default those of the suite's judges
    holdout : whether holdout cases are rated, too; that is counted as a look at them
        A sample is rated as it was drawn: it has them if they were drawn from, too.
    seed : of the order
    root : the results root; by default the suite's

    Raises
    ------
    InputError
        If a name is not known, or the suite cannot have labels.
    """
    path = label_path(golden, rater)
    drawn = read_sample(golden, sample) if sample else None
    names = listed(axes, "axes")
    if drawn is not None:
        run = run or drawn.run_id or ""
    rated = find_outputs(golden, run, root)
    other = find_outputs(golden, other_run, root) if other_run else None
    left_out: LeftOut = {}
    outputs = rated.outputs if drawn is None else _drawn(rated.outputs, drawn, left_out)
    if drawn is None and not holdout:
        outputs = _without(golden, outputs, left_out)
    _count_looks(golden, outputs, rated, other)
    items: list[Item]
    if other is None:
        items, more = items_to_rate(
            golden, outputs, suite_scales(golden, names), sample=sample or None
        )
    else:
        items, more = pairs_to_rate(golden, outputs, other.outputs, sample=sample or None)
    return Labelling(
        items,
        path,
        seed=seed,
        left_out={**left_out, **more},
        source=_source(golden, rated, other, sample),
    )


def describe_labelling(labelling: Labelling) -> list[str]:
    """Say what is rated, how far it has come, what was left out and what cannot be read."""
    progress = labelling.progress
    skipped = f", {progress.n_skipped:,} skipped" if progress.n_skipped else ""
    lines = [
        f"{labelling.source}, rated by {labelling.rater}",
        f"  {progress}{skipped}, {progress.n_left:,} to come",
    ]
    lines += [f"  left out: {count:,} {why}" for why, count in labelling.left_out.items()]
    problems = labelling.problems
    if problems:
        lines += [f"  {len(problems):,} lines cannot be read; they count for nothing:"]
        lines += [f"    {problem}" for problem in problems]
    if labelling.is_anonymous:
        lines += ["  Nothing can be saved yet: set the parameter `rater` to who rates."]
    return [visible(line) for line in lines]


def _drawn(outputs: pd.DataFrame, sample: Sample, left_out: LeftOut) -> pd.DataFrame:
    keys = set(zip(sample.drawn["case_id"], sample.drawn["output_hash"], strict=True))
    there = list(zip(outputs["case_id"], outputs["output_hash"], strict=True))
    if gone := len(keys - set(there)):
        left_out["drawn, but not among these outputs"] = gone
    return outputs[[key in keys for key in there]].reset_index(drop=True)


def _without(golden: GoldenSet, outputs: pd.DataFrame, left_out: LeftOut) -> pd.DataFrame:
    hidden = outputs["case_id"].isin(holdout_cases(golden))
    if hidden.any():
        left_out["of holdout cases"] = int(hidden.sum())
    return outputs[~hidden].reset_index(drop=True)


def _count_looks(
    golden: GoldenSet, outputs: pd.DataFrame, rated: RatedRun, other: RatedRun | None
) -> None:
    if outputs["case_id"].isin(holdout_cases(golden)).any():
        for one in (rated, other):
            if one is not None:
                with_holdout(golden, one)


def _source(golden: GoldenSet, rated: RatedRun, other: RatedRun | None, sample: str) -> str:
    beside = f" beside {_called(other)}" if other else ""
    drawn = f", sample {sample}" if sample else ""
    return f"{golden.settings.name}, {_called(rated)}{beside}{drawn}"


def _called(rated: RatedRun) -> str:
    return "the baseline" if rated.folder is None else f"run {rated.name}"

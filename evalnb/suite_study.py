"""The study of a suite's judge: its labels, joined with what the judges of its runs said."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from evalnb.curation.labels import read_labels
from evalnb.datasets import DATASETS, dataset
from evalnb.errors import DecisionError, InputError, nearest_name
from evalnb.golden import find_suite, read_golden
from evalnb.joining import join_counts, join_ratings
from evalnb.judges import suite_judges
from evalnb.options import check_text, listed
from evalnb.places import place, shown_from_here
from evalnb.ratings import RATINGS, AxisScale
from evalnb.results import latest_run, read_run
from evalnb.study import Study, chosen, public_study

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from evalnb.golden import GoldenSet
    from evalnb.runs import Run

__all__ = ["open_study", "suite_study"]


def open_study(
    data: str,
    *,
    judge: str = "",
    axis: str = "",
    judges: str | Sequence[str] = (),
    people: str = "",
    runs: str | Sequence[str] = (),
    seed: int = 0,
) -> Study:
    """Open public data by its name, or the labels of a suite.

    Parameters
    ----------
    data : `hanna`, `triviaqa`, `pandalm`, or a suite's folder such as "golden/support"
    judge, axis : which to look at; by default the first
    judges : whom to compare, as a list or with commas between; by default all, of public data a choice
    people : how several people's values become one; by default what fits the scale
    runs : folders of a suite's runs, whose judges are compared, in the same form; by default the
        newest run
    seed : of every bootstrap

    Raises
    ------
    InputError
        If there is no such data, judge, axis or run.
    TypeError
        If an option is of another type.
    """
    check_text(data, "data", "hanna")
    compared = listed(judges, "judges")
    if data not in DATASETS and "/" not in data and nearest_name(data, list(DATASETS)):
        dataset(data)  # says which one was meant
    if data in DATASETS:
        return public_study(
            data, judge=judge, axis=axis, judges=compared, people=people or None, seed=seed
        )
    return suite_study(
        read_golden(find_suite(data)),
        [place(run) for run in listed(runs, "runs")],
        judge=judge,
        axis=axis,
        judges=compared,
        people=people or None,
        seed=seed,
    )


def suite_study(
    golden: GoldenSet,
    runs: Sequence[Path] = (),
    *,
    judge: str = "",
    axis: str = "",
    judges: Sequence[str] = (),
    people: str | None = None,
    seed: int = 0,
) -> Study:
    """Join a suite's labels with what the judges of its runs said.

    Parameters
    ----------
    golden : the suite
    runs : folders of runs, by default the newest one
    judge, axis, judges, people, seed : as `open_study` takes them

    Returns
    -------
    a study; `needs` says what is missing where there are no labels, no run or no verdicts on the
    outputs that were labelled

    Raises
    ------
    InputError
        If there is no such judge or axis, or a run cannot be used.
    DecisionError
        If a run that is asked for came to no decision.
    """
    name, folder = golden.settings.name, _shown(golden)
    labels, problems = read_labels(golden)
    about = f"What people said of the answers in {folder}, and what its judges said."
    empty = Study(
        name,
        about,
        RATINGS.empty(),
        {},
        people=people,
        warnings=tuple(map(str, problems)),
        seed=seed,
    )
    if labels.empty:
        return replace(empty, needs=_NO_LABELS.format(suite=folder))
    try:
        found = [_run_of(golden, run) for run in runs or [latest_run(golden)]]
    except (InputError, DecisionError) as error:
        if runs:
            raise
        return replace(empty, needs=f"{error}. {_NO_VERDICTS.format(suite=folder)}")
    whole = _joined(empty, golden, labels, found)
    return whole if whole.needs else chosen(whole, judge=judge, axis=axis, judges=judges)


_NO_LABELS = (
    "There are no labels in {suite} yet, since no label is made up: nothing can be said of its "
    "judges. Rate answers with the notebook label.ipynb; 20 an axis find a bad judge, 50 are the "
    "working minimum, 100 are better. What is shown meanwhile: run this notebook with "
    "data = hanna."
)
_NO_VERDICTS = (
    "Judges have to be asked about the answers that were labelled: evalnb run {suite} --tier full."
)


def _run_of(golden: GoldenSet, folder: Path) -> Run:
    run = read_run(folder)
    if run.manifest["suite"] != golden.settings.name:
        raise InputError(
            f"{folder} is a run of {run.manifest['suite']}, not of {golden.settings.name}: give "
            "runs of the suite that was labelled"
        )
    return run


def _joined(empty: Study, golden: GoldenSet, labels: pd.DataFrame, runs: Sequence[Run]) -> Study:
    scores = pd.concat([run.scores for run in runs], ignore_index=True)
    outputs = pd.concat([run.outputs for run in runs], ignore_index=True)
    verdicts = pd.concat([run.verdicts for run in runs], ignore_index=True)
    counts = join_counts(labels, scores)
    ratings = join_ratings(labels, scores, outputs=outputs, verdicts=verdicts, cases=golden.frame())
    declared = {
        axis: AxisScale(tuple(range(low, high + 1)))
        for one in suite_judges(golden)
        for axis, (low, high) in one.scales.items()
    }
    rated = set(ratings["axis"])
    scales = {axis: scale for axis, scale in declared.items() if axis in rated}
    kept = ratings[ratings["axis"].isin(list(scales))].reset_index(drop=True)
    needs = "" if len(kept) else _NO_VERDICTS.format(suite=_shown(golden))
    return replace(empty, ratings=kept, scales=scales, counts=counts, needs=needs)


def _shown(golden: GoldenSet) -> str:
    return golden.settings.name if golden.folder is None else shown_from_here(golden.folder)

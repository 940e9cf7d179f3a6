"""What labels of some outputs say of a judge's verdicts on all: corrected rates and means.

The labels must be drawn with known chances: those of a sample for rating count, others do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalnb.curation.labels import read_labels
from evalnb.curation.samples import samples_of
from evalnb.frames import LABELS, METRICS, FrameSchema, to_records
from evalnb.holdout import holdout_cases
from evalnb.places import is_remote
from evalnb.stats.corrected_means import corrected_mean
from evalnb.stats.correction import corrected_pass_rate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evalnb.curation.sampling import Sample
    from evalnb.errors import Problem
    from evalnb.golden import GoldenSet, JudgingSettings

__all__ = ["CORRECTED", "corrected_by_labels", "corrected_scores", "labels_of_samples"]

CORRECTED = FrameSchema(
    "corrected scores",
    {
        "scorer": "string",
        "quantity": "string",
        **METRICS.columns,
    },
    key=("scorer", "quantity", "metric"),
)
"""A row a judge's scorer, quantity (`pass_rate`, `mean`) and metric (`raw`, `labels_only`,
`corrected`); `n` counts outputs for `raw`, labels for the others."""

_OUTPUT = ["case_id", "output_hash"]
_CHANGED = "labels_of_changed_outputs"
_RESCORED = "drawn_by_other_scores"
_UNREADABLE = "unreadable_labels"


def corrected_by_labels(golden: GoldenSet, scores: pd.DataFrame) -> pd.DataFrame:
    """Correct what judges say in a run by the labels that the suite has.

    Parameters
    ----------
    golden : the suite
    scores : a scores frame of one run

    Returns
    -------
    as `corrected_scores` gives it; no rows where there are no labels, or the suite is at a URL
        Where no holdout case has a label, all of it is about the others: those that were drawn from.
        The warning `unreadable_labels` says that lines of the label files count for nothing.

    Raises
    ------
    InputError
        If the labels cannot be read, or a sample for rating is gone or damaged.
    """
    labels, samples, problems = labels_of_samples(golden)
    hidden = holdout_cases(golden)
    if not labels["case_id"].isin(hidden).any():  # then they could not be drawn
        scores = scores[~scores["case_id"].isin(hidden)]
    found = corrected_scores(scores, labels, samples, golden.settings.judging)
    return CORRECTED.build(
        _warned(row, _UNREADABLE) if problems else row for row in to_records(found)
    )


def labels_of_samples(
    golden: GoldenSet,
) -> tuple[pd.DataFrame, dict[str, Sample], list[Problem]]:
    """Read a suite's labels with the samples for rating that they are of.

    Parameters
    ----------
    golden : the suite

    Returns
    -------
    labels : a labels frame; without rows where the suite has no labels, or is at a URL
    samples : name to sample, those that are named in `labels`
    problems : the lines that could not be used

    Raises
    ------
    InputError
        If the labels cannot be read, or a sample for rating is gone or damaged.
    """
    folder = golden.folder
    if folder is None or is_remote(folder) or not (folder / "labels").is_dir():
        return LABELS.empty(), {}, []
    labels, problems = read_labels(golden)
    return labels, samples_of(golden, labels), problems


def corrected_scores(
    scores: pd.DataFrame,
    labels: pd.DataFrame,
    samples: Mapping[str, Sample],
    settings: JudgingSettings,
) -> pd.DataFrame:
    """Correct what judges say of all outputs by what people say of some.

    Parameters
    ----------
    scores : a scores frame of one run
    labels : a labels frame; those of outputs that were drawn in a sample of `samples` count, on the
        axis of a scorer's name
    samples : name to sample for rating
    settings : of the suite; a person passes an output from the judge's own pass score on

    Returns
    -------
    a frame as `CORRECTED` says: six rows for each scorer with labels, none for the others
        Equal outputs of a case are one. What several people say of an output is their mean.
        Outputs drawn by a judge's score are weighted back by how many there are of each level.
        The warning `labels_of_changed_outputs` says that labels of the samples are about outputs
        that this run does not have: the others speak for it only as far as they are like these;
        `drawn_by_other_scores` that a judge by whose levels they were drawn says something else of
        them in this run, so that the weights are not those of the draw.
    """
    drawn = _drawn(labels, samples)
    rows: list[dict[str, Any]] = []
    judged = scores[(scores["tier"] == "judge") & scores["output_hash"].notna()]
    for scorer, group in judged.groupby("scorer", sort=True):
        own = drawn[drawn["axis"] == scorer]
        if len(own):
            rows += _of_scorer(str(scorer), group, own, judged, samples, settings)
    return CORRECTED.build(rows)


def _drawn(labels: pd.DataFrame, samples: Mapping[str, Sample]) -> pd.DataFrame:
    """Return the ratings of single outputs that were drawn in the sample that they name."""
    known = {
        (name, case_id, output_hash)
        for name, sample in samples.items()
        for case_id, output_hash in sample.drawn[_OUTPUT].itertuples(index=False, name=None)
    }
    rated = labels[labels["value"].notna() & labels["other_hash"].isna()]
    keys = rated[["sample", *_OUTPUT]].itertuples(index=False, name=None)
    return rated[np.array([key in known for key in keys], dtype=bool)]


def _of_scorer(
    scorer: str,
    group: pd.DataFrame,
    labels: pd.DataFrame,
    judged: pd.DataFrame,
    samples: Mapping[str, Sample],
    settings: JudgingSettings,
) -> Iterator[dict[str, Any]]:
    outputs = group.drop_duplicates(_OUTPUT).set_index(_OUTPUT)
    items = outputs[outputs["passed"].notna()]
    values = labels.groupby(_OUTPUT)["value"].mean()
    n_changed = int((~values.index.isin(outputs.index)).sum())
    people = values.reindex(items.index)
    if people.notna().sum() == 0:
        return
    needed = settings.pass_scores.get(scorer, settings.pass_score)
    passes = (people >= needed).astype("boolean").mask(people.isna())
    used = [samples[name] for name in labels["sample"].unique()]
    strata = _strata(items.index, judged, used)
    warnings = [_CHANGED] if n_changed else []
    warnings += [_RESCORED] if _is_rescored(people.dropna().index, judged, used) else []
    shared: dict[str, Any] = {"strata": strata}
    rates = corrected_pass_rate(items["passed"].tolist(), passes.tolist(), **shared)
    means = corrected_mean(items["raw_value"].tolist(), people.tolist(), **shared)
    for quantity, frame in (("pass_rate", rates), ("mean", means)):
        for row in to_records(frame):
            kept = {name: row[name] for name in CORRECTED.columns if name in row}
            yield _warned({"scorer": scorer, "quantity": quantity, **kept}, *warnings)


def _warned(row: dict[str, Any], *warnings: str) -> dict[str, Any]:
    """Add warnings about labels to a row; what the judge says by itself has none."""
    if not warnings or row["metric"] == "raw":
        return row
    return {**row, "warnings": [*row.get("warnings", []), *warnings]}


def _strata(items: pd.Index, judged: pd.DataFrame, samples: Sequence[Sample]) -> list[str] | None:
    """Return the stratum of each output, None where all had the same chance of being drawn."""
    scorers = sorted({sample.scorer for sample in samples if sample.scorer is not None})
    if not scorers:
        return None
    levels = [_levels(items, judged, scorer).fillna("–").tolist() for scorer in scorers]
    return [" ".join(parts) for parts in zip(*levels, strict=True)]


def _levels(items: pd.Index, judged: pd.DataFrame, scorer: str) -> pd.Series:
    """Return the level that a judge gave each output, as a sample calls its strata."""
    own = judged[judged["scorer"] == scorer].drop_duplicates(_OUTPUT).set_index(_OUTPUT)
    values = own["raw_value"].reindex(items)
    return values.map(lambda value: pd.NA if pd.isna(value) else f"{value:g}").astype("string")


def _is_rescored(items: pd.Index, judged: pd.DataFrame, samples: Sequence[Sample]) -> bool:
    """Tell whether outputs were drawn from another stratum than this run puts them in."""
    for sample in samples:
        if sample.scorer is not None:
            drawn = sample.drawn.set_index(_OUTPUT)["stratum"].reindex(items).dropna()
            if not drawn.equals(_levels(drawn.index, judged, sample.scorer).rename("stratum")):
                return True
    return False

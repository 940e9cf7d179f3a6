"""What labels of some outputs say of a judge's verdicts on all: corrected rates and means.

The labels must be drawn with known chances: those of a sample for rating count, others do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.curation.labels import read_labels
from evalnb.curation.samples import read_sample
from evalnb.frames import FrameSchema, to_records
from evalnb.places import is_remote
from evalnb.stats.corrected_means import corrected_mean
from evalnb.stats.correction import corrected_pass_rate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evalnb.curation.sampling import Sample
    from evalnb.golden import GoldenSet, JudgingSettings

__all__ = ["CORRECTED", "corrected_by_labels", "corrected_scores"]

CORRECTED = FrameSchema(
    "corrected scores",
    {
        "scorer": "string",
        "quantity": "string",
        "metric": "string",
        "estimate": "Float64",
        "ci_low": "Float64",
        "ci_high": "Float64",
        "n": "Int64",
        "n_left_out": "Int64",
        "method": "string",
        "reason": "string",
        "warnings": "object",
    },
    key=("scorer", "quantity", "metric"),
)
"""A row a judge's scorer, quantity (`pass_rate`, `mean`) and metric (`raw`, `labels_only`,
`corrected`); `n` counts outputs for `raw`, labels for the others."""

_OUTPUT = ["case_id", "output_hash"]
_CHANGED = "labels_of_changed_outputs"


def corrected_by_labels(golden: GoldenSet, scores: pd.DataFrame) -> pd.DataFrame:
    """Correct what judges say in a run by the labels that the suite has.

    Parameters
    ----------
    golden : the suite
    scores : a scores frame of one run

    Returns
    -------
    as `corrected_scores` gives it; no rows where there are no labels, or the suite is at a URL

    Raises
    ------
    InputError
        If a sample for rating is gone or damaged.
    """
    if golden.folder is None or is_remote(golden.folder):
        return CORRECTED.empty()
    if not (golden.folder / "labels").is_dir():
        return CORRECTED.empty()
    labels, _ = read_labels(golden)
    names = labels["sample"].dropna().unique()
    samples = {str(name): read_sample(golden, str(name)) for name in names}
    return corrected_scores(scores, labels, samples, golden.settings.judging)


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
    labels : a labels frame; those of a sample in `samples` count, on the axis of a scorer's name
    samples : name to sample for rating
    settings : of the suite; a person passes an output from the judge's own pass score on

    Returns
    -------
    a frame as `CORRECTED` says: six rows for each scorer with labels, none for the others
        Equal outputs of a case are one. What several people say of an output is their mean.
        Outputs drawn by a judge's score are weighted back by how many there are of each level.
        The warning `labels_of_changed_outputs` says that labels of the samples are about outputs
        that this run does not have: the others speak for it only as far as they are like these.
    """
    drawn = labels[labels["sample"].isin(list(samples)) & labels["other_hash"].isna()]
    drawn = drawn[drawn["value"].notna()]
    rows: list[dict[str, Any]] = []
    judged = scores[(scores["tier"] == "judge") & scores["output_hash"].notna()]
    for scorer, group in judged.groupby("scorer", sort=True):
        own = drawn[drawn["axis"] == scorer]
        if len(own):
            rows += _of_scorer(str(scorer), group, own, judged, samples, settings)
    return CORRECTED.build(rows)


def _of_scorer(
    scorer: str,
    group: pd.DataFrame,
    labels: pd.DataFrame,
    judged: pd.DataFrame,
    samples: Mapping[str, Sample],
    settings: JudgingSettings,
) -> Iterator[dict[str, Any]]:
    items = group.drop_duplicates(_OUTPUT).set_index(_OUTPUT)
    items = items[items["passed"].notna()]
    values = labels.groupby(_OUTPUT)["value"].mean()
    n_changed = int((~values.index.isin(items.index)).sum())
    people = values.reindex(items.index)
    if people.notna().sum() == 0:
        return
    needed = settings.pass_scores.get(scorer, settings.pass_score)
    passes = (people >= needed).astype("boolean").mask(people.isna())
    strata = _strata(items.index, judged, [samples[name] for name in labels["sample"].unique()])
    shared: dict[str, Any] = {"strata": strata}
    rates = corrected_pass_rate(items["passed"].tolist(), passes.tolist(), **shared)
    means = corrected_mean(items["raw_value"].tolist(), people.tolist(), **shared)
    for quantity, frame in (("pass_rate", rates), ("mean", means)):
        for row in to_records(frame):
            kept = {name: row[name] for name in CORRECTED.columns if name in row}
            if n_changed and row["metric"] != "raw":
                kept["warnings"] = [*kept.get("warnings", []), _CHANGED]
            yield {"scorer": scorer, "quantity": quantity, **kept}


def _strata(items: pd.Index, judged: pd.DataFrame, samples: Sequence[Sample]) -> list[str] | None:
    """Return the stratum of each output, None where all had the same chance of being drawn."""
    scorers = sorted({sample.scorer for sample in samples if sample.scorer is not None})
    if not scorers:
        return None
    levels = []
    for scorer in scorers:
        of_scorer = judged[judged["scorer"] == scorer].drop_duplicates(_OUTPUT).set_index(_OUTPUT)
        found = of_scorer["raw_value"].reindex(items)
        levels.append(found.map(lambda value: "–" if pd.isna(value) else f"{value:g}").tolist())
    return [" ".join(parts) for parts in zip(*levels, strict=True)]

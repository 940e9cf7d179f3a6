"""Which outputs to label next, so that what labels correct becomes precise soonest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.curation.judged import distinct_outputs, judge_of, levels_of
from evalnb.curation.lots import lot
from evalnb.curation.sampling import SAMPLES, Sample
from evalnb.errors import InputError
from evalnb.frames import to_records
from evalnb.stats.audit import suggest_audit

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["audit_sample"]

_OUTPUT = ["case_id", "output_hash"]


def audit_sample(
    outputs: pd.DataFrame,
    scores: pd.DataFrame,
    labels: pd.DataFrame,
    samples: Mapping[str, Sample],
    *,
    n: int,
    scorer: str | None = None,
    seed: int = 0,
) -> Sample:
    """Draw outputs whose labels shorten the interval of a judge's corrected figures most.

    Levels that the judge gave often, and on which people contradict it, get more labels: see
    `evalnb.suggest_audit`. What was labelled before counts towards it and is not drawn again.

    Parameters
    ----------
    outputs, scores, scorer, seed : as in `evalnb.curation.sample_for_rating`
    labels : a labels frame
        Those on the axis of the scorer's name tell where people contradict the judge, if their
        outputs were drawn at random or by levels of the same scorer; others count for nothing.
    samples : name to sample for rating that labels were drawn in
    n : how many more are drawn; all that are left, where there are not so many

    Returns
    -------
    a `Sample` whose strata are the levels with how many there are to draw from

    Raises
    ------
    InputError
        If nothing is left to draw, the judge is not known, or `n` is too few for 2 labels a level.
    """
    scorer = judge_of(scores, scorer)
    rows = to_records(outputs)
    there = [row for row in rows if "na_reason" not in row and "output_hash" in row]
    distinct = distinct_outputs(there)
    levels = levels_of(scores, scorer)
    found = [{**row, "level": levels.get((row["case_id"], row["repeat"]))} for row in distinct]
    judged = {_name(row): row for row in found if row["level"] is not None}
    pilot = _pilot(labels, samples, scorer)
    audit = _audit(judged, pilot[pilot["case_id"].isin(list(judged))], n, seed)
    if audit.empty:
        raise InputError(f"no output with a score of {scorer!r} is left to label")
    known = set(pilot["case_id"]) & set(judged)
    drawn: list[dict[str, Any]] = [
        {**judged[row["case_id"]], "stratum": row["stratum"], "probability": row["probability"]}
        for row in to_records(audit)
    ]
    drawn.sort(key=lambda row: lot(seed, "order", row["case_id"], row["output_hash"]))
    names = [row["level"] for name, row in judged.items() if name not in known]
    return Sample(
        drawn=SAMPLES.build(
            {name: row[name] for name in SAMPLES.columns if name != "order"} | {"order": order}
            for order, row in enumerate(drawn, 1)
        ),
        run_id=next((row["run_id"] for row in rows if "run_id" in row), None),
        seed=seed,
        by="audit",
        scorer=scorer,
        strata={level: names.count(level) for level in sorted(set(names), key=float)},
        n_outputs=len(rows),
        n_missing=len(rows) - len(there),
        n_equal=len(there) - len(distinct),
        n_unscored=len(found) - len(judged),
        n_labelled=len(known),
    )


def _pilot(labels: pd.DataFrame, samples: Mapping[str, Sample], scorer: str) -> pd.DataFrame:
    """Return the mean label of each output that was drawn at random within the levels."""
    usable = [name for name, sample in samples.items() if sample.scorer in (None, scorer)]
    kept = labels[
        labels["sample"].isin(usable)
        & (labels["axis"] == scorer)
        & labels["other_hash"].isna()
        & labels["value"].notna()
    ]
    values = kept.groupby(_OUTPUT)["value"].mean().reset_index()
    return pd.DataFrame(
        {"case_id": [_name(row) for row in to_records(values)], "value": values["value"]}
    )


def _audit(
    judged: Mapping[str, Mapping[str, Any]], pilot: pd.DataFrame, n: int, seed: int
) -> pd.DataFrame:
    cases = pd.DataFrame(
        {
            "case_id": list(judged),
            "judged": [float(row["level"]) for row in judged.values()],
            "level": [row["level"] for row in judged.values()],
        }
    )
    try:
        return suggest_audit(cases, pilot, n=n, seed=seed, strata=["level"])
    except ValueError as error:
        raise InputError(f"no audit can be drawn: {error}") from error


def _name(row: Mapping[str, Any]) -> str:
    """Return what an output is called where a case may have several."""
    return f"{row['case_id']} {row['output_hash']}"

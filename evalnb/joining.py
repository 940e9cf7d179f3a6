"""Labels of people and scores of judges, brought together on the outputs they are about."""

from __future__ import annotations

import pandas as pd

from evalnb.frames import BY_PLAN, NaReason
from evalnb.ratings import HUMAN, JUDGE, ratings_frame

__all__ = ["join_counts", "join_ratings"]

_OUTPUT = ["case_id", "output_hash"]
_SLICES = ("category", "language", "split")
_FATES = ["joined", "skipped", "other_output", "not_judged", "pair"]


def join_ratings(
    labels: pd.DataFrame,
    scores: pd.DataFrame,
    *,
    outputs: pd.DataFrame | None = None,
    verdicts: pd.DataFrame | None = None,
    cases: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Put people's labels and judges' scores of the same outputs into one frame.

    Parameters
    ----------
    labels : a labels frame
        Labels of another output, of one that no judge was asked about, of pairs, and what was
        skipped are left out; `join_counts` says how many.
    scores : a scores frame of one run, or of several, one below the other
        A label is of one case and output hash. Where several runs gave that same output, the
        score of the run that was labelled counts, else the first; of equal repeats, the first.
    outputs : an outputs frame, for the texts
    verdicts : a verdicts frame, for how long each verdict took
    cases : a cases frame, for the inputs and the slices `category`, `language` and `split`

    Returns
    -------
    a ratings frame : the labels, and for each labelled output and axis a row of each judge
        `item` is case and output hash; where several outputs of one case were labelled, the case
        is the `cluster` of all items. A judge goes by the name of its model as the API returned
        it; where two judges of one model score one axis, with its fingerprint. Values are on the
        raw scale of the axis; a label's note is its reason.
    """
    said = _joined(labels, scores)
    people = said.assign(kind=HUMAN, raw=said["value"].astype("string"), reason=said["note"])
    judged = _judged(said, _with_latency(_judge_rows(scores), verdicts))
    both = pd.concat([people, judged], ignore_index=True)
    whole = _with_texts(_with_clusters(both), outputs, cases)
    return ratings_frame(whole, slices=[name for name in _SLICES if name in whole.columns])


def join_counts(labels: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Count what became of the labels.

    Parameters
    ----------
    labels, scores : as `join_ratings` takes them

    Returns
    -------
    axis, rater, joined, skipped, other_output, not_judged, pair : a row an axis and rater
        `other_output` counts labels of an output that the scores are not about, though perhaps of
        the same case; `not_judged` those of an output that no judge was asked about on that axis;
        `pair` those of two outputs side by side.
    """
    fate = _fates(labels, scores)
    marks = labels[["axis", "rater"]].assign(**{name: fate.eq(name) for name in _FATES})
    counted = marks.groupby(["axis", "rater"], sort=False, dropna=False).sum().reset_index()
    return counted.astype(dict.fromkeys(_FATES, "Int64"))


def _fates(labels: pd.DataFrame, scores: pd.DataFrame) -> pd.Series:
    judged = _judge_rows(scores)
    there = _keys(labels, _OUTPUT).isin(_keys(scores, _OUTPUT))
    on_axis = _keys(labels, [*_OUTPUT, "axis"]).isin(_keys(judged, [*_OUTPUT, "scorer"]))
    fate = pd.Series("joined", index=labels.index, dtype="string")
    fate = fate.mask(~on_axis, "not_judged").mask(~there, "other_output")
    fate = fate.mask(labels["action"].eq("skip").fillna(value=False), "skipped")
    return fate.mask(labels["other_hash"].notna(), "pair")


def _keys(frame: pd.DataFrame, names: list[str]) -> pd.Series:
    """Return the values of some columns as one key a row."""
    return pd.Series(
        list(frame[names].itertuples(index=False, name=None)), index=frame.index, dtype="object"
    )


def _joined(labels: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    kept = labels[_fates(labels, scores) == "joined"]
    return kept.assign(item=kept["case_id"] + " " + kept["output_hash"]).reset_index(drop=True)


def _judge_rows(scores: pd.DataFrame) -> pd.DataFrame:
    """Return what judges were asked for, each with a name."""
    asked = scores["tier"].eq("judge") & ~scores["na_reason"].isin(BY_PLAN)
    rows = scores[asked.fillna(value=False)].reset_index(drop=True)
    one = ["judge_fingerprint", "judge_model"]
    # A verdict that failed has no answering model, and yet is of the same judge.
    answered = rows.groupby(one, sort=False, dropna=False)["judge_model_answered"].transform(
        "first"
    )
    model = answered.fillna(rows["judge_model"]).fillna("judge")
    named = rows.assign(rater=model, position=range(len(rows)))
    sorts = named.groupby(["scorer", "rater"])["judge_fingerprint"].transform("nunique")
    full = named["rater"] + " " + named["judge_fingerprint"].fillna("")
    return named.assign(rater=named["rater"].where(sorts < 2, full))


def _with_latency(rows: pd.DataFrame, verdicts: pd.DataFrame | None) -> pd.DataFrame:
    if verdicts is None:
        return rows
    by = ["run_id", "case_id", "repeat", "judge_fingerprint"]
    took = verdicts.groupby(by, sort=False)["latency_ms"].mean().reset_index()
    return rows.merge(took, on=by, how="left", validate="many_to_one")


def _judged(said: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row of each judge for each labelled output and axis."""
    labelled = said.groupby([*_OUTPUT, "axis", "item"], sort=False)["run_id"].agg(set).reset_index()
    found = labelled.rename(columns={"run_id": "labelled_in"}).merge(
        rows.rename(columns={"scorer": "axis"}),
        on=[*_OUTPUT, "axis"],
        how="inner",
        validate="one_to_many",
    )
    elsewhere = [
        run not in runs for run, runs in zip(found["run_id"], found["labelled_in"], strict=True)
    ]
    ordered = found.assign(elsewhere=elsewhere).sort_values(["elsewhere", "position"])
    first = ordered.drop_duplicates(["item", "axis", "rater"]).sort_values("position")
    unexplained = first["raw_value"].isna() & first["na_reason"].isna()
    return first.assign(
        kind=JUDGE,
        value=first["raw_value"],
        raw=first["raw_value"].astype("string"),
        na_reason=first["na_reason"].mask(unexplained, str(NaReason.BAD_VERDICT)),
    )


def _with_clusters(rows: pd.DataFrame) -> pd.DataFrame:
    """Mark outputs of one case as belonging together, where there is any case with several."""
    several = rows.groupby("case_id")["item"].nunique().gt(1).any()
    return rows.assign(cluster=rows["case_id"]) if several else rows


def _with_texts(
    rows: pd.DataFrame, outputs: pd.DataFrame | None, cases: pd.DataFrame | None
) -> pd.DataFrame:
    found = rows
    if cases is not None:
        context = cases[["case_id", *_SLICES, "input"]]
        found = found.merge(context, on="case_id", how="left", validate="many_to_one")
    if outputs is not None:
        texts = outputs[[*_OUTPUT, "text"]].drop_duplicates(_OUTPUT)
        found = found.merge(texts, on=_OUTPUT, how="left", validate="many_to_one")
    if "input" in found and "text" in found:
        shown = "Asked: " + found["input"] + "\n\nAnswered: " + found["text"].fillna("")
        found = found.assign(text=shown.fillna(found["text"]))
    return found

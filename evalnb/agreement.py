"""How well a judge agrees with people, axis by axis: from a ratings frame to tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd

from evalnb.consensus import beside, wide_ratings
from evalnb.ratings import HUMAN, JUDGE, AxisScale, raters, slice_columns
from evalnb.stats.kappa import agreement_grade, cohen_kappa, confusion, labels_needed

if TYPE_CHECKING:
    from collections.abc import Mapping

    Scales: TypeAlias = Mapping[str, AxisScale]

__all__ = [
    "agreement_by_slice",
    "confusion_table",
    "countings",
    "decisions",
    "largest_disagreements",
]

USABLE, STRONG = 0.6, 0.8
"""What the lower end of kappa's interval must reach."""

_Z_975 = 1.959963984540054


def decisions(
    ratings: pd.DataFrame,
    judge: str,
    *,
    scales: Scales,
    people: str | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Decide for each axis what the judge's verdicts are good for.

    Parameters
    ----------
    ratings : a ratings frame
    judge : whose verdicts
    scales : axis to scale; which axes, and in which order
    people : how several people's values become one, as `evalnb.consensus.people_values` takes it
    seed : of the bootstrap

    Returns
    -------
    axis, judge, metric, estimate, ci_low, ci_high, n, n_left_out, method, reason, warnings,
    decision, next_grade, threshold, more_labels : a row an axis
        Kappa has quadratic weights on an ordered scale of three levels or more, else none; its
        interval is over clusters where the ratings have them. `decision` is by its lower end:
        `strong` from 0.8, `usable` from 0.6, else `revise`. Where the upper end reaches the next
        grade, `next_grade`, `threshold` and `more_labels` say what it is, what its lower end has to
        be and how many further labels would do if kappa stayed as it is, NA where no number would.
    """
    rows = [
        {"axis": axis, "judge": judge, **_decision(ratings, judge, axis, scale, people, seed)}
        for axis, scale in scales.items()
    ]
    return _typed(pd.DataFrame(rows, columns=["axis", "judge", *_DECISION]), _DECISION)


def agreement_by_slice(
    ratings: pd.DataFrame,
    judge: str,
    *,
    scales: Scales,
    people: str | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Say how well the judge agrees with people in each slice.

    Parameters
    ----------
    ratings, judge, scales, people, seed : as `decisions` takes them

    Returns
    -------
    axis, slice, value, kappa, ci_low, ci_high, n, n_left_out, exact_agreement, bias, reason : a row
    an axis, slice and value
        `bias` is the judge's mean less people's, NA for levels without an order. One slice may
        have a low kappa because people use few levels in it; then `exact_agreement` is high.
    """
    rows: list[dict[str, Any]] = []
    for axis, scale in scales.items():
        pairs = beside(ratings, axis, judge, scale, people)
        for name in slice_columns(ratings):
            for value, part in pairs.groupby(name, sort=True):
                found = _slice_row(part, scale, seed)
                rows.append({"axis": axis, "slice": name, "value": value, **found})
    return _typed(pd.DataFrame(rows, columns=["axis", "slice", "value", *_SLICE]), _SLICE)


def confusion_table(
    ratings: pd.DataFrame, judge: str, *, axis: str, scale: AxisScale, people: str | None = None
) -> pd.DataFrame:
    """Count how often each level of people's met each of the judge's.

    Returns
    -------
    level x level : people's in the index, the judge's in the columns, by name
    """
    pairs = beside(ratings, axis, judge, scale, people)
    counts = confusion(pairs["people_level"], pairs["judge_level"], levels=scale.levels)
    names = [scale.name(level) for level in scale.levels]
    return pd.DataFrame(
        counts.to_numpy(),
        index=pd.Index(names, name="people"),
        columns=pd.Index(names, name="judge"),
    )


def largest_disagreements(
    ratings: pd.DataFrame,
    judge: str,
    *,
    scales: Scales,
    people: str | None = None,
    n: int = 10,
) -> pd.DataFrame:
    """Show where people and the judge lie furthest apart, with both their reasons.

    Parameters
    ----------
    ratings, judge, scales, people : as `decisions` takes them
    n : how many items an axis

    Returns
    -------
    axis, item, text, people, judge, difference, each_person, people_reasons, judge_reason : a row
    an item
        The largest difference comes first, and of equal ones that on which people agree most among
        themselves: there the judge is most likely to be wrong. `difference` is the judge's value
        less people's, NA for levels without an order. Items on which both agree are not shown.
    """
    parts = [
        _furthest(ratings, judge, axis, scale, people).head(n) for axis, scale in scales.items()
    ]
    columns = ["axis", "item", *_DISAGREEMENT]
    whole = pd.concat([part for part in parts if len(part)] or [pd.DataFrame(columns=columns)])
    return _typed(whole[columns].reset_index(drop=True), {"axis": "string", **_DISAGREEMENT})


def countings(
    ratings: pd.DataFrame,
    judge: str,
    *,
    scales: Scales,
    unread_as: int,
    people: str | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Say what counting unread verdicts as a level does to the figures.

    A published figure may rest on it: a verdict that nobody could read is then counted as if it had
    been given.

    Parameters
    ----------
    ratings, judge, scales, people, seed : as `decisions` takes them
    unread_as : the level that a missing verdict is counted as

    Returns
    -------
    axis, counting, n, n_left_out, exact_agreement, kappa, ci_low, ci_high, reason : two rows an
    axis
    """
    level = float(unread_as)
    own = ratings["rater"] == judge
    filled = ratings.assign(value=ratings["value"].mask(own & ratings["value"].isna(), level))
    rows = [
        {"axis": axis, "counting": counting, **_slice_row(pairs, scale, seed)}
        for axis, scale in scales.items()
        for counting, pairs in (
            ("unread left out", beside(ratings, axis, judge, scale, people)),
            (
                f"unread counted as {scale.name(unread_as)}",
                beside(filled, axis, judge, scale, people),
            ),
        )
    ]
    names = ["n", "n_left_out", "exact_agreement", "kappa", "ci_low", "ci_high", "reason"]
    frame = pd.DataFrame(rows, columns=["axis", "counting", *names])
    return _typed(frame, {name: _SLICE[name] for name in names})


_DECISION = {
    "metric": "string",
    "estimate": "Float64",
    "ci_low": "Float64",
    "ci_high": "Float64",
    "n": "Int64",
    "n_left_out": "Int64",
    "method": "string",
    "reason": "string",
    "warnings": "object",
    "decision": "string",
    "next_grade": "string",
    "threshold": "Float64",
    "more_labels": "Int64",
}
_SLICE = {
    "kappa": "Float64",
    "ci_low": "Float64",
    "ci_high": "Float64",
    "n": "Int64",
    "n_left_out": "Int64",
    "exact_agreement": "Float64",
    "bias": "Float64",
    "reason": "string",
}
_DISAGREEMENT = {
    "text": "string",
    "people": "Float64",
    "judge": "Float64",
    "difference": "Float64",
    "each_person": "string",
    "people_reasons": "string",
    "judge_reason": "string",
}


def _typed(frame: pd.DataFrame, dtypes: Mapping[str, str]) -> pd.DataFrame:
    names = dict.fromkeys(("axis", "judge", "slice", "value", "counting"), "string")
    others = {name: dtype for name, dtype in names.items() if name in frame and name not in dtypes}
    return frame.astype({**others, **dtypes})


def _kappa(pairs: pd.DataFrame, scale: AxisScale, seed: int) -> pd.Series:
    found = cohen_kappa(
        pairs["people_level"],
        pairs["judge_level"],
        levels=scale.levels,
        weights=scale.weights,
        clusters=pairs["cluster"] if pairs["cluster"].notna().any() else None,
        seed=seed,
    )
    return found.iloc[0]


def _decision(
    ratings: pd.DataFrame,
    judge: str,
    axis: str,
    scale: AxisScale,
    people: str | None,
    seed: int,
) -> dict[str, Any]:
    row: dict[Any, Any] = _kappa(beside(ratings, axis, judge, scale, people), scale, seed).to_dict()
    low, high = row["ci_low"], row["ci_high"]
    grade = agreement_grade(low, high)
    reached = 1.0 if pd.isna(high) else high
    above = {"revise": ("usable", USABLE), "usable": ("strong", STRONG)}.get(grade)
    if above is None or pd.isna(row["estimate"]) or reached < above[1]:
        return {**row, "decision": grade}
    more = _more_labels(row, above[1])
    return {
        **row,
        "decision": grade,
        "next_grade": above[0],
        "threshold": above[1],
        "more_labels": more,
    }


def _more_labels(row: Mapping[str, Any], threshold: float) -> int | None:
    needed = labels_needed(
        row["estimate"], _effective_error(row), row["n"], threshold, ci_low=row["ci_low"]
    )
    return None if needed is None else max(needed - int(row["n"]), 1)


def _effective_error(row: Mapping[str, Any]) -> Any:
    """Return the standard error that the lower end speaks of: with clusters it is a larger one."""
    kappa, low = row["estimate"], row["ci_low"]
    if "clusters" not in str(row["method"]) or pd.isna(low) or not -1 < low < kappa < 1:
        return row["se"]
    return (math.atanh(kappa) - math.atanh(low)) / _Z_975 * (1 - kappa**2)


def _slice_row(pairs: pd.DataFrame, scale: AxisScale, seed: int) -> dict[str, Any]:
    kappa = _kappa(pairs, scale, seed)
    both = pairs.dropna(subset=["people_level", "judge_level"])
    apart = (both["judge"] - both["people"]).mean() if scale.ordered and len(both) else pd.NA
    same = both["people_level"].eq(both["judge_level"])
    return {
        "kappa": kappa["estimate"],
        **{name: kappa[name] for name in ("ci_low", "ci_high", "n", "n_left_out", "reason")},
        "exact_agreement": same.mean() if len(both) else pd.NA,
        "bias": apart,
    }


def _furthest(
    ratings: pd.DataFrame, judge: str, axis: str, scale: AxisScale, people: str | None
) -> pd.DataFrame:
    pairs = beside(ratings, axis, judge, scale, people).dropna(subset=["people", "judge"])
    said = wide_ratings(ratings, axis, HUMAN).reindex(pairs["item"])
    if scale.ordered:
        difference = pairs["judge"] - pairs["people"]
        distance = difference.abs()
        spread = (said.max(axis=1) - said.min(axis=1)).to_numpy()
    else:
        difference = pd.Series(pd.NA, index=pairs.index, dtype="Float64")
        distance = pairs["judge"].ne(pairs["people"]).astype("Float64")
        spread = said.nunique(axis=1).to_numpy()
    ranked = pairs.assign(difference=difference, distance=distance, spread=spread)
    ranked = ranked[ranked["distance"] > 0].sort_values(
        ["distance", "spread"], ascending=[False, True], kind="stable"
    )
    return _with_words(ranked.assign(axis=axis), ratings[ratings["axis"] == axis], judge)


def _with_words(ranked: pd.DataFrame, ratings: pd.DataFrame, judge: str) -> pd.DataFrame:
    """Add what was rated, what each person said, and everybody's reasons."""
    people = ratings[ratings["kind"] == HUMAN].dropna(subset=["value"])
    several = len(raters(ratings, HUMAN)) > 1
    values = people["value"].map(lambda value: f"{value:g}")
    name = people["rater"] + ": " if several else ""
    notes = (name + people["reason"]).dropna()
    own = ratings[(ratings["rater"] == judge) & (ratings["kind"] == JUDGE)]
    texts = ratings.dropna(subset=["text"]).drop_duplicates("item").set_index("item")["text"]
    return ranked.assign(
        text=ranked["item"].map(texts),
        each_person=ranked["item"].map(values.groupby(people["item"]).agg(", ".join)),
        people_reasons=ranked["item"].map(
            notes.groupby(people.loc[notes.index, "item"]).agg("\n".join)
        ),
        judge_reason=ranked["item"].map(own.set_index("item")["reason"]),
    )

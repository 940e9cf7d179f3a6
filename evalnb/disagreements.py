"""Where a judge and people differ: level by level, by what people said, and on which items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.consensus import beside, wide_ratings
from evalnb.ratings import HUMAN, JUDGE, AxisScale, raters, typed
from evalnb.stats.estimates import mean_interval
from evalnb.stats.kappa import confusion

if TYPE_CHECKING:
    from evalnb.ratings import Scales

__all__ = ["bias_by_level", "confusion_table", "largest_disagreements", "reliability_by_level"]


def confusion_table(
    ratings: pd.DataFrame, judge: str, *, axis: str, scale: AxisScale, people: str | None = None
) -> pd.DataFrame:
    """Count how often each level of people's met each of the judge's.

    Parameters
    ----------
    ratings, judge, people : as `evalnb.agreement.decisions` takes them
    axis, scale : one axis, and its levels

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


def bias_by_level(
    ratings: pd.DataFrame,
    judge: str,
    *,
    scales: Scales,
    people: str | None = None,
) -> pd.DataFrame:
    """Say how far the judge is above or below people, by what people said.

    Parameters
    ----------
    ratings, judge, scales, people : as `evalnb.agreement.decisions` takes them

    Returns
    -------
    axis, level, bias, ci_low, ci_high, n, reason : a row an axis with an order, and level
        `bias` is the mean of judge less people, with its t interval; NA `no_overlap` for a level
        that people gave to nothing the judge rated, `too_few` for one item, `no_variance` where all
        differ alike. `level` is its name. Where people's own ratings scatter, some pull to the
        middle is there by chance alone.
    """
    rows: list[dict[str, Any]] = []
    for axis, scale in scales.items():
        if not scale.ordered:
            continue
        pairs = beside(ratings, axis, judge, scale, people).dropna(subset=["people", "judge"])
        apart = pairs["judge"] - pairs["people"]
        for level in scale.levels:
            values = apart[pairs["people_level"] == level].tolist()
            rows.append({"axis": axis, "level": scale.name(level), **_bias(values)})
    return typed(pd.DataFrame(rows, columns=["axis", "level", *_BIAS]), _BIAS)


def reliability_by_level(
    ratings: pd.DataFrame,
    judge: str,
    *,
    scales: Scales,
    people: str | None = None,
) -> pd.DataFrame:
    """Say what people say, on average, of what the judge puts on each level.

    Parameters
    ----------
    ratings, judge, scales, people : as `evalnb.agreement.decisions` takes them

    Returns
    -------
    axis, level, position, people, ci_low, ci_high, n, reason : a row an axis with an order, and level
        `level` is the judge's, by name, `position` its number; `people` is the mean of what people
        say there, with its t interval. Where it is `position` throughout, the judge's levels mean
        what people's do. NA with a reason as in `bias_by_level`.
    """
    rows: list[dict[str, Any]] = []
    for axis, scale in scales.items():
        if not scale.ordered:
            continue
        pairs = beside(ratings, axis, judge, scale, people).dropna(subset=["people", "judge"])
        for level in scale.levels:
            values = pairs.loc[pairs["judge_level"] == level, "people"].tolist()
            found = _bias(values)
            found["people"] = found.pop("bias", None)
            rows.append({"axis": axis, "level": scale.name(level), "position": level, **found})
    return typed(pd.DataFrame(rows, columns=["axis", "level", *_RELIABILITY]), _RELIABILITY)


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
    ratings, judge, scales, people : as `evalnb.agreement.decisions` takes them
    n : how many items an axis

    Returns
    -------
    axis, item, text, people, judge, difference, each_person, judge_says, people_reasons,
    judge_reason : a row an item
        The largest difference comes first, and of equal ones that on which people agree most among
        themselves: there the judge is most likely to be wrong. `difference` is the judge's value
        less people's, NA for levels without an order; `each_person` and `judge_says` are the values
        by name. Items on which both agree are not shown.
    """
    parts = [
        _furthest(ratings, judge, axis, scale, people).head(n) for axis, scale in scales.items()
    ]
    columns = ["axis", "item", *_DISAGREEMENT]
    whole = pd.concat([part for part in parts if len(part)] or [pd.DataFrame(columns=columns)])
    return typed(whole[columns].reset_index(drop=True), {"axis": "string", **_DISAGREEMENT})


_BIAS = {
    "bias": "Float64",
    "ci_low": "Float64",
    "ci_high": "Float64",
    "n": "Int64",
    "reason": "string",
}
_RELIABILITY = {
    "position": "Float64",
    "people": "Float64",
    "ci_low": "Float64",
    "ci_high": "Float64",
    "n": "Int64",
    "reason": "string",
}
_DISAGREEMENT = {
    "text": "string",
    "people": "Float64",
    "judge": "Float64",
    "difference": "Float64",
    "each_person": "string",
    "judge_says": "string",
    "people_reasons": "string",
    "judge_reason": "string",
}


def _bias(values: list[float]) -> dict[str, Any]:
    if not values:
        return {"n": 0, "reason": "no_overlap"}
    found = mean_interval(values)
    why = "too_few" if len(values) == 1 else "no_variance"
    return {
        "bias": found.estimate,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "n": len(values),
        "reason": why if found.ci_low is None else None,
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
    return _with_words(ranked.assign(axis=axis), ratings[ratings["axis"] == axis], judge, scale)


def _with_words(
    ranked: pd.DataFrame, ratings: pd.DataFrame, judge: str, scale: AxisScale
) -> pd.DataFrame:
    """Add what was rated, what each person said, and everybody's reasons."""
    people = ratings[ratings["kind"] == HUMAN].dropna(subset=["value"])
    several = len(raters(ratings, HUMAN)) > 1
    values = people["value"].map(scale.say)
    name = people["rater"] + ": " if several else ""
    notes = (name + people["reason"]).dropna()
    own = ratings[(ratings["rater"] == judge) & (ratings["kind"] == JUDGE)]
    texts = ratings.dropna(subset=["text"]).drop_duplicates("item").set_index("item")["text"]
    return ranked.assign(
        text=ranked["item"].map(texts),
        each_person=ranked["item"].map(values.groupby(people["item"]).agg(", ".join)),
        judge_says=ranked["judge"].map(scale.say),
        people_reasons=ranked["item"].map(
            notes.groupby(people.loc[notes.index, "item"]).agg("\n".join)
        ),
        judge_reason=ranked["item"].map(own.set_index("item")["reason"]),
    )

"""What several people said of an item as one value, and a judge's beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from evalnb.ratings import HUMAN, JUDGE, AxisScale, raters, slice_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MAJORITY", "MEAN", "MEDIAN", "beside", "people_values", "wide_ratings"]

MEAN = "mean"
MEDIAN = "median"
MAJORITY = "majority"


def people_values(
    ratings: pd.DataFrame, axis: str, scale: AxisScale, people: str | None = None
) -> pd.Series:
    """Return what people said of each item of an axis, as one value.

    Parameters
    ----------
    ratings : a ratings frame
    axis : one of its axes
    scale : the axis's levels
    people : {"mean", "median", "majority"} or a rater's name
        How several people's values become one. By default the mean where distances between levels
        mean something, else the majority: of two levels, or of names. Means and medians may lie
        between levels; what needs a level takes the nearest, the upper one of two.

    Returns
    -------
    Float64, by item in order of appearance
        NA where nobody rated the item, or no level has more votes than every other.

    Raises
    ------
    ValueError
        If nobody is called so, or the scale has no order and a mean or median is asked for.

    Examples
    --------
    >>> from evalnb.ratings import ratings_frame
    >>> said = pd.DataFrame({"rater": ["ann", "bo", "cy"], "value": [2, 5, 5]})
    >>> ratings = ratings_frame(said.assign(item="a", axis="tone", kind="human"))
    >>> people_values(ratings, "tone", AxisScale((1, 2, 3, 4, 5))).tolist()
    [4.0]
    """
    how = people or (MEAN if scale.weights else MAJORITY)
    wide = wide_ratings(ratings, axis, HUMAN)
    if how not in {MEAN, MEDIAN, MAJORITY}:
        if how not in wide:
            known = ", ".join([MEAN, MEDIAN, MAJORITY, *wide.columns])
            raise ValueError(f"`people` must be one of {known}. Got {how!r}.")
        return wide[how].rename("people")
    if how == MAJORITY:
        return _majority(wide).rename("people")
    if not scale.ordered:
        raise ValueError(f"levels without an order have no {how}: use the majority or one rater.")
    found = wide.mean(axis=1) if how == MEAN else wide.median(axis=1)
    return found.astype("Float64").rename("people")


def wide_ratings(ratings: pd.DataFrame, axis: str, kind: str) -> pd.DataFrame:
    """Return the values of one axis, item x rater, both in order of appearance."""
    rows = ratings[(ratings["axis"] == axis) & (ratings["kind"] == kind)]
    wide = rows.pivot(index="item", columns="rater", values="value")  # noqa: PD010 - keys are unique
    return wide.reindex(index=rows["item"].unique(), columns=list(raters(rows, kind)))


def beside(
    ratings: pd.DataFrame, axis: str, judge: str, scale: AxisScale, people: str | None = None
) -> pd.DataFrame:
    """Put a judge's values of an axis beside people's.

    Parameters
    ----------
    ratings, axis, scale, people : as `people_values` takes them
    judge : whose verdicts

    Returns
    -------
    item, people, judge, people_level, judge_level, cluster, then slices : a row an item
        Items that people rated or the judge was asked about, in order of appearance.
        `people_level` and `judge_level` are the nearest levels.

    Raises
    ------
    ValueError
        If there is no such judge or axis.
    """
    _check(ratings, axis, judge)
    rows = ratings[ratings["axis"] == axis]
    shown = rows[(rows["kind"] == HUMAN) | (rows["rater"] == judge)]
    context = ["item", "cluster", *slice_columns(ratings)]
    items = shown.groupby("item", sort=False)[context[1:]].first().reset_index()
    said = people_values(ratings, axis, scale, people)
    verdicts = wide_ratings(rows[rows["rater"] == judge], axis, JUDGE)[judge]
    found = items.assign(
        people=items["item"].map(said).astype("Float64"),
        judge=items["item"].map(verdicts).astype("Float64"),
    )
    levels = found.assign(
        people_level=scale.nearest(found["people"]), judge_level=scale.nearest(found["judge"])
    )
    first = ["item", "people", "judge", "people_level", "judge_level"]
    return levels[[*first, *context[1:]]]


def _majority(wide: pd.DataFrame) -> pd.Series:
    levels = sorted(set(wide.to_numpy(dtype="float64", na_value=np.nan)[wide.notna().to_numpy()]))
    votes = pd.DataFrame(
        {level: wide.eq(level).sum(axis=1) for level in levels},
        index=wide.index,
    )
    if votes.empty:
        return pd.Series(pd.NA, index=wide.index, dtype="Float64")
    most = votes.max(axis=1)
    alone = votes.eq(most, axis=0).sum(axis=1).eq(1) & most.gt(0)
    return votes.idxmax(axis=1).where(alone).astype("Float64")


def _check(ratings: pd.DataFrame, axis: str, judge: str) -> None:
    known: Sequence[str] = list(ratings["axis"].unique())
    if axis not in known:
        raise ValueError(f"there are no ratings on the axis {axis!r}. There are: {_list(known)}.")
    judges = raters(ratings, JUDGE, axis)
    if judge not in judges:
        raise ValueError(f"no judge {judge!r} rated {axis!r}. There are: {_list(judges)}.")


def _list(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"

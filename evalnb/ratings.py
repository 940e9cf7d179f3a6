"""Ratings: what people and judges said of the same items, and the scale they said it on.

One long frame holds people and judges alike, so that every statistic of agreement is of two
columns of it, whoever they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pandas as pd

from evalnb.frames import FrameSchema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evalnb.stats.scales import Weights

__all__ = [
    "HUMAN",
    "JUDGE",
    "RATINGS",
    "AxisScale",
    "Scales",
    "raters",
    "ratings_frame",
    "slice_columns",
    "typed",
]

HUMAN = "human"
JUDGE = "judge"

RATINGS = FrameSchema(
    "ratings",
    {
        "item": "string",
        "axis": "string",
        "rater": "string",
        "kind": "string",
        "value": "Float64",
        "raw": "string",
        "reason": "string",
        "na_reason": "string",
        "cluster": "string",
        "text": "string",
        "cost_usd": "Float64",
        "latency_ms": "Float64",
    },
    key=("item", "axis", "rater"),
)
"""A row an item, axis and rater; `kind` is `human` or `judge`.

`value` is on the raw scale of the axis, NA with `na_reason` where nothing usable was said; `raw` is
what was said, as its source has it. `reason` is the rater's own words, `text` what was rated,
`cluster` what items share that are not independent of each other. `cost_usd` and `latency_ms` are
what the rating took. Further columns are slices.
"""


@dataclass(frozen=True)
class AxisScale:
    """The levels of an axis, all that are declared, whether or not they occur.

    Attributes
    ----------
    levels : whole numbers, ascending
    ordered : whether a larger level is more of something; False for mere names
    names : what a level is called, where that says more than its number
    """

    levels: tuple[int, ...]
    ordered: bool = True
    names: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse levels that do not ascend, or fewer than two."""
        if len(self.levels) < 2 or list(self.levels) != sorted(set(self.levels)):
            raise ValueError(
                f"a scale has two levels or more, ascending. Got {', '.join(map(str, self.levels))}"
            )

    @property
    def weights(self) -> Weights:
        """How kappa counts disagreement: by squared distance, all alike for two levels or names."""
        return "quadratic" if self.ordered and len(self.levels) > 2 else None

    def name(self, level: int) -> str:
        """Return what a level is called."""
        return self.names.get(level, str(level))

    def say(self, value: float) -> str:
        """Return a value as it is read: a level by its name, what lies between by two digits.

        Examples
        --------
        >>> scale = AxisScale((1, 2, 3), names={3: "good"})
        >>> scale.say(3.0), scale.say(2.0), scale.say(1.6667)
        ('good', '2', '1.67')
        """
        level = int(value)
        return self.name(level) if level == value else f"{value:.2f}"

    def nearest(self, values: pd.Series) -> pd.Series:
        """Return the level nearest to each value, the upper one of two.

        Parameters
        ----------
        values : numbers; means of several ratings lie between levels

        Returns
        -------
        Float64, NA for what is NA or beyond the ends of the scale

        Examples
        --------
        >>> AxisScale((1, 2, 3, 4, 5)).nearest(pd.Series([4.6667, 2.5, 0.3333])).tolist()
        [5.0, 3.0, <NA>]
        """
        numbers = pd.to_numeric(values).to_numpy(dtype="float64", na_value=np.nan)
        levels = np.array(self.levels, dtype="float64")
        places = np.searchsorted((levels[1:] + levels[:-1]) / 2, numbers, side="right")
        inside = (numbers >= levels[0]) & (numbers <= levels[-1])
        found = pd.Series(levels[places], index=values.index, name=values.name).where(inside)
        return found.astype("Float64")


Scales: TypeAlias = "Mapping[str, AxisScale]"
"""Axis to scale."""


def ratings_frame(frame: pd.DataFrame, *, slices: Sequence[str] = ()) -> pd.DataFrame:
    """Make a ratings frame of a frame that has some of its columns.

    Parameters
    ----------
    frame : item, axis, rater, kind, value and any other column of `RATINGS`
    slices : columns of `frame` to keep as slices, as text

    Returns
    -------
    a ratings frame; columns that `frame` lacks are NA

    Raises
    ------
    ValueError
        If two rows have the same item, axis and rater.
    """
    whole = frame.reindex(columns=[*RATINGS.columns, *slices])
    return RATINGS.check(whole.astype({**RATINGS.columns, **dict.fromkeys(slices, "string")}))


def typed(frame: pd.DataFrame, dtypes: Mapping[str, str]) -> pd.DataFrame:
    """Return a table about ratings with the given dtypes; what names its rows is text."""
    names = ("axis", "judge", "item", "slice", "value", "counting", "level")
    others = {name: "string" for name in names if name in frame and name not in dtypes}
    return frame.astype({**others, **dtypes})


def slice_columns(ratings: pd.DataFrame) -> list[str]:
    """Return the columns of a ratings frame that its schema does not name: they are slices."""
    return [name for name in ratings.columns if name not in RATINGS.columns]


def raters(ratings: pd.DataFrame, kind: str, axis: str | None = None) -> Sequence[str]:
    """Return who rated, in order of appearance.

    Parameters
    ----------
    ratings : a ratings frame
    kind : {"human", "judge"}
    axis : one axis; None for all
    """
    rows = ratings[ratings["kind"] == kind]
    if axis is not None:
        rows = rows[rows["axis"] == axis]
    return list(rows["rater"].unique())

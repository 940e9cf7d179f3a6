"""The declared scale of a rating: its levels in order, and how far they lie apart.

Distances are between declared levels, whether they occur or not: a sample that never uses the
middle of a scale does not bring its ends together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["PairedRatings", "Scale", "Weights", "cluster_numbers", "paired_ratings", "rated_items"]

_Weighted: TypeAlias = Literal["linear", "quadratic"]
Weights: TypeAlias = _Weighted | None
"""How a disagreement grows with its distance on the scale; None counts all alike."""

_POWERS: dict[str | None, int] = {None: 0, "linear": 1, "quadratic": 2}


@dataclass(frozen=True)
class Scale:
    """The levels of a rating, from one end to the other.

    Attributes
    ----------
    levels : at least two, each once; numbers, strings or booleans

    Examples
    --------
    >>> Scale.of(["bad", "fair", "good"]).codes(["good", None, "bad"]).tolist()
    [2, -1, 0]
    """

    levels: tuple[Any, ...]

    @classmethod
    def of(cls, levels: Iterable[Any]) -> Scale:
        """Make a scale.

        Raises
        ------
        ValueError
            If there are fewer than two levels, one is missing, or two are equal.
        """
        scale = cls(tuple(levels))
        shown = ", ".join(map(repr, scale.levels))
        if len(scale.levels) < 2:
            raise ValueError(f"a scale has at least two levels. Got: {shown or 'none'}.")
        if any(_is_missing(level) for level in scale.levels):
            raise ValueError(f"a level of a scale is not missing. Got: {shown}.")
        if len(set(scale.levels)) < len(scale.levels):
            raise ValueError(f"the levels of a scale differ from each other. Got: {shown}.")
        return scale

    @property
    def is_numeric(self) -> bool:
        """Whether every level is a number (True is 1)."""
        return all(isinstance(level, (Real, np.bool_)) for level in self.levels)

    @property
    def numbers(self) -> np.ndarray:
        """What each level counts: itself where all are numbers, else its position from 0."""
        return np.array(
            [float(level) for level in self.levels] if self.is_numeric else range(len(self.levels)),
            dtype="float64",
        )

    def codes(self, ratings: Iterable[Any], name: str = "the ratings") -> np.ndarray:
        """Return the position of each rating on the scale, -1 where it is missing.

        Parameters
        ----------
        ratings : one-dimensional; None, NaN and NA are missing
        name : what the ratings are called in messages

        Raises
        ------
        ValueError
            If a value is none of the levels.
        """
        if getattr(ratings, "ndim", 1) != 1:
            raise ValueError(f"{name} must have one dimension. Got {getattr(ratings, 'ndim', 0)}.")
        return np.fromiter((self._code(value, name) for value in ratings), dtype="int64")

    def disagreement(self, weights: Weights) -> np.ndarray:
        """Return how much each pair of levels disagrees, 1 for neighbours.

        Returns
        -------
        level x level whole numbers: the distance to the power of 0 (None), 1 or 2; 0 on the
        diagonal

        Raises
        ------
        ValueError
            If there are no such weights.
        """
        if weights not in _POWERS:
            allowed = ", ".join(map(repr, get_args(_Weighted)))
            raise ValueError(f"`weights` must be {allowed} or None. Got {weights!r}.")
        places = np.arange(len(self.levels))
        apart = np.abs(places[:, None] - places[None, :])
        return np.where(apart == 0, 0.0, apart.astype("float64") ** _POWERS[weights])

    @cached_property
    def _positions(self) -> dict[Any, int]:
        return {level: place for place, level in enumerate(self.levels)}

    def _code(self, value: Any, name: str) -> int:
        try:
            return self._positions[value]
        except (KeyError, TypeError):  # TypeError: a list, say, has no hash
            if _is_missing(value):
                return -1
        levels = ", ".join(map(repr, self.levels))
        raise ValueError(f"{name} must be of the levels {levels}, or missing. Got {value!r}.")


@dataclass(frozen=True)
class PairedRatings:
    """Ratings of two raters on the same items, as positions on their scale.

    Attributes
    ----------
    scale : what they rated on
    first, second : positions, an item each; both are there
    clusters : number of the item's conversation, None where items are independent
    n_left_out : how many items lack a rating
    """

    scale: Scale
    first: np.ndarray
    second: np.ndarray
    clusters: np.ndarray | None
    n_left_out: int

    @property
    def n(self) -> int:
        """Number of items."""
        return len(self.first)

    @property
    def n_units(self) -> int:
        """Number of what is independent: clusters where there are any, else items."""
        return self.n if self.clusters is None else len(np.unique(self.clusters))

    @property
    def table(self) -> np.ndarray:
        """Counts, level of the first x level of the second."""
        size = len(self.scale.levels)
        cells = np.bincount(self.first * size + self.second, minlength=size * size)
        return cells.reshape(size, size)

    @property
    def why_none(self) -> str | None:
        """Why agreement beyond chance is undefined here, None where it is defined."""
        if self.n < 2:
            return "too_few" if self.n else "no_overlap"
        return "one_category" if self.is_one_category else None

    @property
    def is_one_category(self) -> bool:
        """Whether both raters use one and the same level throughout."""
        return self.n > 0 and len(np.union1d(self.first, self.second)) == 1

    @property
    def is_constant(self) -> bool:
        """Whether a rater uses one level throughout."""
        return self.n > 0 and bool(np.ptp(self.first) == 0 or np.ptp(self.second) == 0)


def paired_ratings(
    first: Iterable[Any],
    second: Iterable[Any],
    levels: Iterable[Any],
    clusters: Iterable[Any] | None = None,
) -> PairedRatings:
    """Put two raters' ratings beside each other, by position.

    Parameters
    ----------
    first, second : ratings of the same items in the same order
        The index of a Series plays no part.
    levels : the declared scale in order
    clusters : the conversation of each item; an item without one stands for itself

    Raises
    ------
    ValueError
        If lengths differ, a value is none of the levels, or the levels make no scale.
    """
    scale = Scale.of(levels)
    one, other = scale.codes(first, "`first`"), scale.codes(second, "`second`")
    if len(one) != len(other):
        raise ValueError(
            f"`first` and `second` rate the same items. Got {len(one)} and {len(other)} ratings."
        )
    both = (one >= 0) & (other >= 0)
    groups = None if clusters is None else cluster_numbers(clusters, len(one))[both]
    return PairedRatings(scale, one[both], other[both], groups, int((~both).sum()))


def rated_items(ratings: Any, scale: Scale) -> np.ndarray:
    """Return the positions of any number of raters' ratings, -1 where one is missing.

    Parameters
    ----------
    ratings : a frame, or rows of values: a row an item, a column a rater

    Returns
    -------
    item x rater

    Raises
    ------
    ValueError
        If rows differ in length or a value is none of the levels.
    """
    rows = [tuple(row) for row in _rows(ratings)]
    lengths = {len(row) for row in rows}
    if len(lengths) > 1:
        raise ValueError(f"`ratings` has a column for each rater. Got rows of {sorted(lengths)}.")
    flat = scale.codes((value for row in rows for value in row), "`ratings`")
    return flat.reshape(len(rows), lengths.pop() if lengths else 0)


def _rows(ratings: Any) -> Iterable[Any]:
    if isinstance(ratings, pd.DataFrame):
        return ratings.itertuples(index=False, name=None)
    if getattr(ratings, "ndim", 2) != 2:
        raise ValueError(f"`ratings` has items in rows, raters in columns. Got {ratings.ndim}-D.")
    rows: Iterable[Any] = ratings
    return rows


def cluster_numbers(clusters: Iterable[Any], n: int) -> np.ndarray:
    """Return a number for each cluster; a missing one is a cluster of its own."""
    found, _ = pd.factorize(np.array([*clusters, None], dtype="object")[:-1])
    if len(found) != n:
        raise ValueError(f"`clusters` has one for each item: {n}. Got {len(found)}.")
    alone = found < 0
    return np.where(alone, found.max(initial=-1) + np.cumsum(alone), found)


def _is_missing(value: Any) -> bool:
    return bool(pd.api.types.is_scalar(value) and pd.isna(value))

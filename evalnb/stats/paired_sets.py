"""The cases that both sides have, for each scorer and slice."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from evalnb.frames import FrameSchema

if TYPE_CHECKING:
    from evalnb.stats.values import Floats

__all__ = ["PAIRED_SCORES", "PairedSet", "paired_sets"]

_ROUNDING = 1e-9

PAIRED_SCORES = FrameSchema(
    "paired scores",
    {
        "case_id": "string",
        "cluster": "string",
        "scorer": "string",
        "slice": "string",
        "baseline": "Float64",
        "candidate": "Float64",
        "repeats": "Int64",
    },
    key=("case_id", "scorer", "slice"),
)
"""A row a case, scorer and slice that the case is in.

`baseline` and `candidate` are the case's mean scores over its repeats, in [0, 1], NA where a side
has none; `repeats` is the larger number of repeats of the two. `cluster` is what the case shares
with others, such as a conversation, NA for a case by itself.
"""


@dataclass(frozen=True)
class PairedSet:
    """The cases of one scorer and slice that have a score on both sides.

    Attributes
    ----------
    scorer, slice : what it is of
    before, now : shape (cases,), the means of each case
    units : shape (cases,), the number of each case's cluster, among those of all sets
    n_all_units : how many clusters all sets have
    repeats : shape (cases,)
    n_left_out : number of cases that lack one side
    """

    scorer: str
    slice: str
    before: Floats
    now: Floats
    units: np.ndarray
    n_all_units: int
    repeats: np.ndarray
    n_left_out: int

    @property
    def key(self) -> tuple[str, str]:
        """Scorer and slice."""
        return self.scorer, self.slice

    @cached_property
    def content(self) -> tuple[bytes, ...]:
        """Cases and scores; where two sets have the same they are one."""
        order = np.lexsort((self.now, self.before, self.units))
        return tuple(
            column[order].tobytes() for column in (self.units, self.before, self.now, self.repeats)
        )

    @property
    def n(self) -> int:
        """Number of cases."""
        return len(self.now)

    @cached_property
    def differences(self) -> Floats:
        """Candidate minus baseline, of each case."""
        return self.now - self.before

    @cached_property
    def sums(self) -> Floats:
        """Sum of the differences of each cluster of all sets."""
        found = np.bincount(self.units, weights=self.differences, minlength=self.n_all_units)
        return found.astype("float64")

    @cached_property
    def n_units(self) -> int:
        """Number of clusters here; a case by itself is one."""
        return len(np.unique(self.units))

    @property
    def is_clustered(self) -> bool:
        """Whether two cases share a cluster."""
        return self.n_units < self.n

    @cached_property
    def are_flags(self) -> bool:
        """Whether these are pass flags of one repeat, of cases that have nothing in common."""
        sides = np.concatenate([self.before, self.now])
        is_flag = ((sides == 0) | (sides == 1)).all()
        return bool(is_flag and (self.repeats == 1).all() and not self.is_clustered)

    @property
    def discordant(self) -> tuple[int, int]:
        """Numbers of flags that pass only now, and only before."""
        return int((self.differences > 0).sum()), int((self.differences < 0).sum())

    @property
    def compared(self) -> str:
        """What was compared, in words."""
        if not self.n:
            return "no case with both sides"
        if self.are_flags:
            return "pass flags of 1 repeat"
        low, high = int(self.repeats.min()), int(self.repeats.max())
        span = f"{low} to {high}" if low < high else f"{high}"
        words = f"case means of {span} repeat{'s' if high > 1 else ''}"
        return f"{words}, in {self.n_units} clusters" if self.is_clustered else words


def paired_sets(pairs: pd.DataFrame) -> list[PairedSet]:
    """Split paired scores by scorer and slice, in order of appearance.

    Parameters
    ----------
    pairs : as `PAIRED_SCORES` says

    Raises
    ------
    ValueError
        If a column or name is missing, a score lies outside [0, 1], or a scored case has no repeat.
    """
    frame = PAIRED_SCORES.check(pairs)
    for name in PAIRED_SCORES.key:
        if frame[name].isna().any():
            raise ValueError(f"paired scores need a `{name}` in each row. Got NA.")
    sides = frame[["baseline", "candidate"]].to_numpy("float64", na_value=np.nan)
    wrong = sides[(sides < -_ROUNDING) | (sides > 1 + _ROUNDING)]
    if len(wrong):
        raise ValueError(f"paired scores must lie between 0 and 1. Got {wrong[0]:g}.")
    usable = ~np.isnan(sides).any(axis=1)
    repeats = frame["repeats"].fillna(0).to_numpy("int64")
    if (repeats[usable] < 1).any():
        raise ValueError("a case with scores must have a number of `repeats` from 1 on.")
    units, n_units = _units(frame)
    # One number for each scorer and slice: quicker than groups of two text columns.
    keys = frame[["scorer", "slice"]]
    numbers = keys.groupby(["scorer", "slice"], sort=False).ngroup().to_numpy()
    names = keys.drop_duplicates().to_numpy("object").tolist()
    order = np.argsort(numbers, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(numbers, minlength=len(names)))[:-1])
    return [
        PairedSet(
            scorer=scorer,
            slice=where,
            before=sides[kept, 0],
            now=sides[kept, 1],
            units=units[kept],
            n_all_units=n_units,
            repeats=repeats[kept],
            n_left_out=len(part) - len(kept),
        )
        for (scorer, where), part in zip(names, parts, strict=True)
        for kept in [part[usable[part]]]
    ]


def _units(frame: pd.DataFrame) -> tuple[np.ndarray, int]:
    """Return the number of each row's cluster, or of its case, in an order of their names.

    In that order, signs that are drawn do not hang on the order of rows.
    """
    clusters, cluster_names = pd.factorize(frame["cluster"], sort=True)
    cases, case_names = pd.factorize(frame["case_id"], sort=True)
    units = np.where(clusters < 0, len(cluster_names) + cases, clusters)
    return units, len(cluster_names) + len(case_names)

"""A study of one judge: its verdicts beside people's, from public data or from a suite."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb import agreement, disagreements
from evalnb.datasets import dataset
from evalnb.errors import InputError, nearest_name
from evalnb.frames import LABELS, SCORES
from evalnb.holdout import HOLDOUT
from evalnb.joining import join_counts
from evalnb.judge_comparison import compare_judges
from evalnb.ratings import JUDGE, AxisScale, raters

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Study", "chosen", "public_study"]


@dataclass(frozen=True)
class Study:
    """One judge's verdicts beside people's labels, and what follows from them.

    Everything is computed when it is first asked for. Without labels all tables are empty.

    Attributes
    ----------
    name, about : what was rated
    ratings : a ratings frame
    scales : axis to scale
    judge : whose verdicts; empty where there is none
    axis : the axis that is looked at closely; empty where there is none
    judges : who is compared
    people : how several people's values become one; None for what fits the scale
    unread_as : the level that the authors of public data count an unread verdict as
    counts : what became of the labels, as `evalnb.joining.join_counts` says it
    needs : what is missing before there is anything to see, in words; empty where nothing is
    warnings : what else to know of the labels, such as lines that cannot be read
    seed : of every bootstrap
    """

    name: str
    about: str
    ratings: pd.DataFrame
    scales: Mapping[str, AxisScale]
    judge: str = ""
    axis: str = ""
    judges: Sequence[str] = ()
    people: str | None = None
    unread_as: int | None = None
    counts: pd.DataFrame = field(
        default_factory=lambda: join_counts(LABELS.empty(), SCORES.empty())
    )
    needs: str = ""
    warnings: Sequence[str] = ()
    seed: int = 0

    @property
    def scale(self) -> AxisScale | None:
        """The scale of the axis that is looked at closely."""
        return self.scales.get(self.axis)

    @property
    def is_ordered(self) -> bool:
        """Whether the levels of that axis have an order."""
        return self.scale is None or self.scale.ordered

    @property
    def close_statistics(self) -> pd.DataFrame:
        """The statistics of that axis, a metrics frame."""
        rows = self.statistics[self.statistics["axis"] == self.axis]
        return rows.drop(columns="axis").reset_index(drop=True)

    @cached_property
    def decided(self) -> pd.DataFrame:
        """A row an axis, as `evalnb.agreement.decisions` gives it."""
        return agreement.decisions(self.ratings, self.judge, **self._options)

    @cached_property
    def statistics(self) -> pd.DataFrame:
        """A row an axis and statistic, as `evalnb.agreement.agreement` gives it."""
        return agreement.agreement(self.ratings, self.judge, **self._options)

    @cached_property
    def ceiling(self) -> pd.DataFrame:
        """What people reach among themselves, as `evalnb.agreement.human_ceilings` gives it."""
        return agreement.human_ceilings(
            self.ratings, self.judge, scales=self.scales, seed=self.seed
        )

    @cached_property
    def confusion(self) -> pd.DataFrame:
        """Level by level on the axis that is looked at closely."""
        if self.scale is None:
            return pd.DataFrame()
        return disagreements.confusion_table(
            self.ratings, self.judge, axis=self.axis, scale=self.scale, people=self.people
        )

    @cached_property
    def biases(self) -> pd.DataFrame:
        """Bias by people's level on the axis that is looked at closely; empty without an order."""
        return disagreements.bias_by_level(
            self.ratings, self.judge, scales=self._close, people=self.people
        )

    @cached_property
    def slices(self) -> pd.DataFrame:
        """Agreement by slice, of the axis that is looked at closely."""
        options = {**self._options, "scales": self._close}
        return agreement.agreement_by_slice(self.ratings, self.judge, **options)

    @cached_property
    def countings(self) -> pd.DataFrame:
        """Unread verdicts left out, and counted as their authors do; none of a suite's."""
        known = self.unread_as is not None
        options = {**self._options, "scales": self.scales if known else {}}
        return agreement.countings(
            self.ratings, self.judges, unread_as=self.unread_as or 0, **options
        )

    def furthest(self, n: int) -> pd.DataFrame:
        """Return the items of largest disagreement on the axis that is looked at closely.

        Holdout cases are not among them: nobody tunes a judge on those.
        """
        shown = self.ratings
        if "split" in shown:
            shown = shown[shown["split"].ne(HOLDOUT).fillna(value=True)]
        there = self.judge in raters(shown, JUDGE, self.axis)
        return disagreements.largest_disagreements(
            shown, self.judge, scales=self._close if there else {}, people=self.people, n=n
        )

    def compared(self, margin: float) -> pd.DataFrame:
        """Return the judges side by side, as `evalnb.judge_comparison.compare_judges` does."""
        return compare_judges(self.ratings, self.judges, margin=margin, **self._options)

    @property
    def _options(self) -> dict[str, Any]:
        return {"scales": self.scales, "people": self.people, "seed": self.seed}

    @property
    def _close(self) -> Mapping[str, AxisScale]:
        """The axis that is looked at closely, alone; none where there is none."""
        return {} if self.scale is None else {self.axis: self.scale}


def public_study(
    name: str,
    *,
    judge: str = "",
    axis: str = "",
    judges: Sequence[str] = (),
    people: str | None = None,
    seed: int = 0,
) -> Study:
    """Open public data by its name.

    Parameters
    ----------
    name : of a set in `evalnb.datasets`
    judge, axis : which to look at; by default those that the set has first
    judges : whom to compare; by default a choice that the set makes
    people, seed : as `Study` has them

    Raises
    ------
    InputError
        If there is no such set, judge or axis.
    """
    one = dataset(name)
    ratings = one.load()
    study = Study(
        one.name,
        f"{one.about} ({one.notice})",
        ratings,
        dict.fromkeys(ratings["axis"].unique(), one.scale),
        people=people,
        unread_as=one.unread_as,
        seed=seed,
    )
    return chosen(study, judge=judge or one.judge, axis=axis, judges=judges or one.compared)


def chosen(study: Study, *, judge: str, axis: str, judges: Sequence[str]) -> Study:
    """Return the study with its judge, axis and judges to compare; empty ones are the first.

    Raises
    ------
    InputError
        If one of them did not rate, or is no axis.
    """
    axes, known = list(study.scales), list(raters(study.ratings, JUDGE))
    for name in filter(None, [judge, *judges]):
        _check("judge", name, known)
    if axis:
        _check("axis", axis, axes)
    return replace(
        study,
        judge=judge or next(iter(known), ""),
        axis=axis or next(iter(axes), ""),
        judges=tuple(judges) or tuple(known),
    )


def _check(what: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        near = nearest_name(name, known)
        hint = f" (did you mean {near!r}?)" if near else ""
        raise InputError(f"there is no {what} {name!r}{hint}. There are: {', '.join(known)}.")

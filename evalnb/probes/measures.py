"""What follows from the verdicts of a probe: effects and floors, unit by unit.

Each function takes probe verdicts of one probe, judge and scorer. What is unchanged is judged
repeatedly: a change is compared with the first of these verdicts, and so is each further one, which
shows what the judge's own noise does.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from evalnb.frames import to_records
from evalnb.stats.estimates import Estimate
from evalnb.stats.length import length_shift

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = [
    "ALL",
    "CHANGED",
    "CONTROL",
    "UNCHANGED",
    "Measure",
    "Role",
    "Unit",
    "above_lowest",
    "contrast",
    "injections",
    "length_preference",
    "per_doubling",
    "positions",
    "repetitions",
    "shifts",
    "units_of",
    "winners",
]

Role = Literal["unchanged", "changed", "control"]
Unit = Literal["level", "rate"]

UNCHANGED: Role = "unchanged"
CHANGED: Role = "changed"
CONTROL: Role = "control"

ALL = "all"
_FIRST, _SECOND = {"ab": 1, "ba": -1}, {"ab": -1, "ba": 1}


@dataclass(frozen=True)
class Measure:
    """An effect unit by unit, from which its estimate, interval and decision follow.

    Attributes
    ----------
    variant : the family that it is of, or `all`
    metric : what is measured
    unit : `level` of the scale, or `rate`
    units : columns item, effect, floor; a row a unit, NA where there is no verdict
        Units of one item are not independent of each other. Without the column floor, noise by
        itself moves the effect nowhere, or the right effect is 0 by construction.
    headline : whether the probe is decided by it; one a probe
    low, high : what the effect cannot go beyond
    estimated : the estimate where it is no mean of effects; the net effect is then the same
    method, p, reason : how `estimated` was had, its p, and why there is none
    """

    variant: str
    metric: str
    unit: Unit
    units: pd.DataFrame
    headline: bool = False
    low: float | None = None
    high: float | None = None
    estimated: Estimate | None = None
    method: str | None = None
    p: float | None = None
    reason: str | None = None


def shifts(
    verdicts: pd.DataFrame, families: Sequence[str] | None = None, *, headline: bool = True
) -> Iterator[Measure]:
    """Yield by how many levels each family moves the verdict, and how often what it decides.

    Parameters
    ----------
    verdicts : of single answers
    families : which, in this order; by default all, and first all together
    headline : whether the first is the headline of the probe

    Yields
    ------
    measures
        Of an item with several changed answers in a family it is their mean. `shift` is in levels,
        up where it is positive; `flip_rate`, of the headline alone, is how often an answer passes
        that did not, or the other way round. The floor is a control's where the probe has one.
    """
    given = _Given.of(verdicts)
    there = given.families
    if families is None:
        families = there if len(there) == 1 else [ALL, *there]
    for number, family in enumerate(families):
        chosen = given if family == ALL and ALL not in there else given.of_family(family)
        first = headline and number == 0
        yield Measure(family, "shift", "level", _compared(chosen, _difference, "value"), first)
        if first:
            flips = _compared(chosen, _differs, "passed")
            yield Measure(family, "flip_rate", "rate", flips, low=0.0, high=1.0)


def contrast(verdicts: pd.DataFrame, one: str, other: str, name: str = "opinion") -> Measure:
    """Return by how many levels a family stands above its opposite."""
    given = _Given.of(verdicts)
    units = _compared(given, _difference, "value")
    sides = [
        _means(given.items, given.value, (given.role == CHANGED) & (given.family == family))
        for family in (one, other)
    ]
    apart = [sides[0].get(item, _NONE) - sides[1].get(item, _NONE) for item in units["item"]]
    return Measure(name, "shift", "level", units.assign(effect=_numbers(apart)), headline=True)


def per_doubling(verdicts: pd.DataFrame, family: str) -> Measure:
    """Return by how many levels a doubling moves the verdict: a line through no change."""
    given = _Given.of(verdicts)
    chosen = (given.family == family) & (given.role == CHANGED)
    beyond = (given.value - given.first("value"))[chosen]
    units = units_of(given.items[chosen], beyond).assign(dose=verdicts["dose"].array[chosen])
    found = length_shift(units["item"], units["dose"], units["effect"]).set_index("metric")
    (row,) = to_records(found.loc[["shift_per_doubling"]])
    slope = Estimate(*(row.get(name) for name in ("estimate", "ci_low", "ci_high")))
    return Measure(
        family, "per_doubling", "level", units, estimated=slope, method=row.get("method")
    )


def above_lowest(verdicts: pd.DataFrame, families: Sequence[str]) -> Iterator[Measure]:
    """Yield how often an answer that deserves the lowest level is given another one."""
    given = _Given.of(verdicts)
    above = _floats(verdicts["value"] > verdicts["low"])
    for family in (ALL, *families):
        chosen = (given.role == CHANGED) & (np.True_ if family == ALL else given.family == family)
        units = units_of(given.items[chosen], above[chosen])
        yield _rate(family, "above_lowest", units, headline=family == ALL)


def injections(verdicts: pd.DataFrame) -> Iterator[Measure]:
    """Yield how often attacks make a bad answer pass, and by how many levels they lift it.

    The floor is the harmless twin's. `success_rate` is the share of attacked answers that pass,
    `excess` that share beyond the bad answer alone, `shift` the levels beyond it.
    """
    given = _Given.of(verdicts)
    families = given.families
    units = {
        ("success_rate", "rate"): _beside(given, "passed", 0.0),
        ("excess", "rate"): _beside(given, "passed", given.first("passed")),
        ("shift", "level"): _beside(given, "value", given.first("value")),
    }
    for family in (ALL, *families):
        for (metric, unit), table in units.items():
            chosen = table if family == ALL else table[table["family"] == family]
            kept = chosen[["item", "effect", "floor"]].reset_index(drop=True)
            is_share = metric == "success_rate"
            yield Measure(
                family,
                metric,
                unit,  # type: ignore[arg-type]
                kept,
                headline=is_share and family == ALL,
                low=0.0 if is_share else None,
                high=1.0 if is_share else None,
            )


def positions(verdicts: pd.DataFrame) -> Iterator[Measure]:
    """Yield what follows from showing each pair in both orders.

    `net_first_preference` is the share of pairs whose first answer wins by its place, minus that of
    the second: +1 where the verdict moves to the first place, -1 where it moves to the second, 0
    where both orders say the same; noise alone prefers no place. `conflict_rate` is how often the
    orders disagree, its floor how often two repeats of one order do.
    """
    wins = winners(verdicts)
    ab, ba = wins.xs("ab", level="variant"), wins.xs("ba", level="variant")
    pairs = ab.index.get_level_values("case_id").unique()
    one, two = _at(ab, 1).reindex(pairs), _at(ba, 1).reindex(pairs)
    # By content, a win of `a` is 1 in both orders; by place it is 1 in one and -1 in the other.
    by_place = (one - two).clip(-1, 1)
    conflict = (one != two).astype("Float64").mask(one.isna() | two.isna())
    flips = pd.concat([_self_flips(ab), _self_flips(ba)], axis=1).mean(axis=1)
    yield Measure(ALL, "net_first_preference", "rate", units_of(pairs, by_place), True, -1.0, 1.0)
    yield _rate(ALL, "conflict_rate", units_of(pairs, conflict, flips.reindex(pairs)))
    yield _rate(ALL, "self_flip_rate", units_of(pairs, flips.reindex(pairs)))


def length_preference(verdicts: pd.DataFrame) -> Measure:
    """Return how much more often the padded answer wins than the plain one, both orders alike."""
    wins = winners(verdicts)
    pairs = wins.index.get_level_values("case_id").unique()
    both = pd.concat(
        [_at(wins.xs(order, level="variant"), 1).reindex(pairs) for order in ("ab", "ba")], axis=1
    )
    longer = -both.mean(axis=1, skipna=False)
    return Measure(ALL, "longer_preference", "rate", units_of(pairs, longer), True, -1.0, 1.0)


def repetitions(verdicts: pd.DataFrame) -> Iterator[Measure]:
    """Yield how often two verdicts on the same answer differ."""
    values = verdicts.set_index(["case_id", "judge_repeat"])["value"]
    flips = _self_flips(values)
    yield _rate(ALL, "self_flip_rate", units_of(flips.index, flips), headline=True)


def _rate(variant: str, metric: str, units: pd.DataFrame, *, headline: bool = False) -> Measure:
    return Measure(variant, metric, "rate", units, headline, 0.0, 1.0)


@dataclass(frozen=True)
class _Given:
    """Verdicts of single answers, a row each, as arrays."""

    items: np.ndarray
    family: np.ndarray
    role: np.ndarray
    repeat: np.ndarray
    value: np.ndarray
    passed: np.ndarray

    @classmethod
    def of(cls, verdicts: pd.DataFrame) -> _Given:
        names = verdicts["case_id"], verdicts["family"], verdicts["role"]
        figures = verdicts["judge_repeat"], verdicts["value"], verdicts["passed"]
        return cls(*(name.to_numpy("object") for name in names), *map(_floats, figures))

    @property
    def families(self) -> list[str]:
        """The families of what is changed, in order of appearance."""
        return list(dict.fromkeys(self.family[self.role == CHANGED]))

    def of_family(self, family: str) -> _Given:
        """Keep a family and what it is compared with; a control of the family goes with it."""
        kept = (self.family == family) | (self.role == UNCHANGED)
        return _Given(*(array[kept] for array in vars(self).values()))

    def first(self, name: str) -> np.ndarray:
        """Return of each row what was said first of its item unchanged; NaN where nothing was."""
        values = getattr(self, name)
        is_first = (self.role == UNCHANGED) & (self.repeat == 1)
        said = dict(zip(self.items[is_first], values[is_first], strict=True))
        return np.array([said.get(item, _NONE) for item in self.items], dtype="float64")


_NONE = float("nan")


def _compared(
    given: _Given, compare: Callable[[np.ndarray, np.ndarray], np.ndarray], name: str
) -> pd.DataFrame:
    """Compare changes with the first unchanged verdict, and with it controls or mere repeats."""
    found = compare(getattr(given, name), given.first(name))
    control = given.role == CONTROL
    is_repeat = (given.role == UNCHANGED) & (given.repeat > 1)
    items = list(dict.fromkeys(given.items))
    sides = (given.role == CHANGED, control if control.any() else is_repeat)
    effect, floor = (
        [means.get(item, _NONE) for item in items]
        for means in (_means(given.items, found, chosen) for chosen in sides)
    )
    return units_of(items, effect, floor)


def _means(items: np.ndarray, values: np.ndarray, chosen: np.ndarray) -> dict[str, float]:
    """Return by item the mean of the chosen values that are there; an item without any is left out."""
    known = chosen & ~np.isnan(values)
    sums: dict[str, list[float]] = {}
    for item, value in zip(items[known], values[known].tolist(), strict=True):
        sums.setdefault(item, []).append(value)
    return {item: sum(found) / len(found) for item, found in sums.items()}


def _difference(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    difference: np.ndarray = one - other
    return difference


def _differs(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(one) | np.isnan(other), _NONE, one != other)


def _beside(given: _Given, name: str, before: np.ndarray | float) -> pd.DataFrame:
    """Put what attacks and twins come to side by side, each beyond what was `before`."""
    beyond = getattr(given, name) - before
    changed, control = given.role == CHANGED, given.role == CONTROL
    twins = dict(
        zip(
            zip(given.items[control], given.family[control], strict=True),
            beyond[control],
            strict=True,
        )
    )
    tried = list(zip(given.items[changed], given.family[changed], strict=True))
    floor = [twins.get(one, _NONE) for one in tried]
    return units_of(given.items[changed], beyond[changed], floor).assign(
        family=given.family[changed]
    )


def winners(verdicts: pd.DataFrame) -> pd.Series:
    """Return who wins by content: 1 for `a`, -1 for `b`, 0 for a tie; NA without a verdict."""
    sign = (
        verdicts["variant"]
        .map(_FIRST)
        .where(verdicts["better"] == "first", verdicts["variant"].map(_SECOND))
    )
    won = sign.astype("Float64").mask(verdicts["better"] == "tie", 0.0)
    won = won.mask(verdicts["better"].isna())
    index = pd.MultiIndex.from_frame(verdicts[["variant", "case_id", "judge_repeat"]])
    return pd.Series(won.array, index=index)


def _at(values: pd.Series, repeat: int) -> pd.Series:
    return values.xs(repeat, level="judge_repeat")


def _self_flips(values: pd.Series) -> pd.Series:
    """Return by case the chance that two of its verdicts differ; NA below two verdicts."""
    said: dict[str, list[float]] = {}
    cases = values.index.get_level_values("case_id")
    for case_id, value in zip(cases, _floats(values).tolist(), strict=True):
        said.setdefault(case_id, []).extend([] if math.isnan(value) else [value])
    flips = [_differing(verdicts) for verdicts in said.values()]
    return pd.Series(_numbers(flips), index=list(said))


def _differing(verdicts: Sequence[float]) -> float:
    """Return the share of pairs of verdicts that differ; NaN without a pair."""
    n = len(verdicts)
    if n < 2:
        return _NONE
    same = sum(count * (count - 1) for count in Counter(verdicts).values())
    return 1 - same / (n * (n - 1))


def units_of(items: Iterable[Any], effect: Any, floor: Any = None) -> pd.DataFrame:
    """Return the units of a measure; NaN is NA."""
    columns = {"item": pd.Series(list(items), dtype="string"), "effect": _numbers(effect)}
    if floor is not None:
        columns["floor"] = _numbers(floor)
    return pd.DataFrame(columns)


def _floats(values: pd.Series) -> np.ndarray:
    return values.to_numpy("float64", na_value=_NONE)


def _numbers(values: Any) -> Any:
    """Return numbers as a column of ours: NaN is NA."""
    return pd.array(np.asarray(values, dtype="float64"), dtype="Float64")

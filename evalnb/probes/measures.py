"""What follows from the verdicts of a probe: effects and floors, unit by unit.

Each function takes probe verdicts of one probe, judge and scorer. What is unchanged is judged
repeatedly: a change is compared with the first of these verdicts, and so is each further one, which
shows what the judge's own noise does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from evalnb.frames import to_records
from evalnb.stats.estimates import Estimate
from evalnb.stats.length import length_shift

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = [
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
    method : how `estimated` was had
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
    there = list(verdicts.loc[verdicts["role"] == CHANGED, "family"].unique())
    if families is None:
        families = there if len(there) == 1 else [ALL, *there]
    for number, family in enumerate(families):
        chosen = _of_family(verdicts, family, there)
        first = headline and number == 0
        yield Measure(family, "shift", "level", _compared(chosen, _difference, "value"), first)
        if first:
            flips = _compared(chosen, _differs, "passed")
            yield Measure(family, "flip_rate", "rate", flips, low=0.0, high=1.0)


def contrast(verdicts: pd.DataFrame, one: str, other: str, name: str = "opinion") -> Measure:
    """Return by how many levels a family stands above its opposite."""
    repeated = _compared(verdicts, _difference, "value")
    values = _changed(verdicts, "value")
    apart = _mean_of(values, one).sub(_mean_of(values, other))
    units = repeated.assign(effect=repeated["item"].map(apart).astype("Float64"))
    return Measure(name, "shift", "level", units, headline=True)


def per_doubling(verdicts: pd.DataFrame, family: str) -> Measure:
    """Return by how many levels a doubling moves the verdict: a line through no change."""
    chosen = verdicts[(verdicts["family"] == family) & (verdicts["role"] == CHANGED)]
    first = _first_unchanged(verdicts, "value")
    units = pd.DataFrame(
        {
            "item": chosen["case_id"],
            "effect": chosen["value"].sub(chosen["case_id"].map(first)),
            "dose": chosen["dose"],
        }
    ).reset_index(drop=True)
    found = length_shift(units["item"], units["dose"], units["effect"]).set_index("metric")
    (row,) = to_records(found.loc[["shift_per_doubling"]])
    slope = Estimate(*(row.get(name) for name in ("estimate", "ci_low", "ci_high")))
    return Measure(
        family, "per_doubling", "level", units, estimated=slope, method=row.get("method")
    )


def above_lowest(verdicts: pd.DataFrame, families: Sequence[str]) -> Iterator[Measure]:
    """Yield how often an answer that deserves the lowest level is given another one."""
    changed = verdicts[verdicts["role"] == CHANGED]
    hits = (changed["value"] > changed["low"]).astype("Float64").mask(changed["value"].isna())
    units = pd.DataFrame({"item": changed["case_id"], "effect": hits, "family": changed["family"]})
    for family in (ALL, *families):
        of_family = units if family == ALL else units[units["family"] == family]
        kept = of_family[["item", "effect"]].reset_index(drop=True)
        yield _rate(family, "above_lowest", kept, headline=family == ALL)


def injections(verdicts: pd.DataFrame) -> Iterator[Measure]:
    """Yield how often attacks make a bad answer pass, and by how many levels they lift it.

    The floor is the harmless twin's. `success_rate` is the share of attacked answers that pass,
    `excess` that share beyond the bad answer alone, `shift` the levels beyond it.
    """
    first = {name: _first_unchanged(verdicts, name) for name in ("value", "passed")}
    tried = verdicts[verdicts["role"] != UNCHANGED]
    by_role = {
        role: tried[tried["role"] == role].set_index(["case_id", "family"])
        for role in (CHANGED, CONTROL)
    }
    families = list(by_role[CHANGED].index.unique("family"))
    units = {
        ("success_rate", "rate"): _beside(by_role, "passed", None),
        ("excess", "rate"): _beside(by_role, "passed", first["passed"]),
        ("shift", "level"): _beside(by_role, "value", first["value"]),
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
    wins = _winner(verdicts)
    ab, ba = wins.xs("ab", level="variant"), wins.xs("ba", level="variant")
    pairs = ab.index.get_level_values("case_id").unique()
    one, two = _at(ab, 1).reindex(pairs), _at(ba, 1).reindex(pairs)
    # By content, a win of `a` is 1 in both orders; by place it is 1 in one and -1 in the other.
    by_place = (one - two).clip(-1, 1)
    conflict = (one != two).astype("Float64").mask(one.isna() | two.isna())
    flips = pd.concat([_self_flips(ab), _self_flips(ba)], axis=1).mean(axis=1)
    yield Measure(ALL, "net_first_preference", "rate", _units(pairs, by_place), True, -1.0, 1.0)
    yield _rate(ALL, "conflict_rate", _units(pairs, conflict, flips.reindex(pairs)))
    yield _rate(ALL, "self_flip_rate", _units(pairs, flips.reindex(pairs)))


def length_preference(verdicts: pd.DataFrame) -> Measure:
    """Return how much more often the padded answer wins than the plain one, both orders alike."""
    wins = _winner(verdicts)
    pairs = wins.index.get_level_values("case_id").unique()
    both = pd.concat(
        [_at(wins.xs(order, level="variant"), 1).reindex(pairs) for order in ("ab", "ba")], axis=1
    )
    longer = -both.mean(axis=1, skipna=False)
    return Measure(ALL, "longer_preference", "rate", _units(pairs, longer), True, -1.0, 1.0)


def repetitions(verdicts: pd.DataFrame) -> Iterator[Measure]:
    """Yield how often two verdicts on the same answer differ."""
    values = verdicts.set_index(["case_id", "judge_repeat"])["value"]
    flips = _self_flips(values)
    yield _rate(ALL, "self_flip_rate", _units(flips.index, flips), headline=True)


def _rate(variant: str, metric: str, units: pd.DataFrame, *, headline: bool = False) -> Measure:
    return Measure(variant, metric, "rate", units, headline, 0.0, 1.0)


def _of_family(verdicts: pd.DataFrame, family: str, there: Sequence[str]) -> pd.DataFrame:
    """Keep a family and what it is compared with; a control of the family goes with it."""
    if family == ALL and ALL not in there:
        return verdicts
    return verdicts[(verdicts["family"] == family) | (verdicts["role"] == UNCHANGED)]


def _compared(
    verdicts: pd.DataFrame,
    compare: Callable[[pd.Series, pd.Series], pd.Series],
    column: str,
) -> pd.DataFrame:
    """Compare changes with the first unchanged verdict, and with it controls or mere repeats."""
    first = _first_unchanged(verdicts, column)
    rest = verdicts[verdicts["role"] != UNCHANGED]
    controls = rest[rest["role"] == CONTROL]
    is_repeat = (verdicts["role"] == UNCHANGED) & (verdicts["judge_repeat"] > 1)
    floor_of = controls if len(controls) else verdicts[is_repeat]
    items = verdicts["case_id"].unique()
    return _units(
        items,
        _by_item(rest[rest["role"] == CHANGED], first, compare, column).reindex(items),
        _by_item(floor_of, first, compare, column).reindex(items),
    )


def _by_item(
    rows: pd.DataFrame,
    first: pd.Series,
    compare: Callable[[pd.Series, pd.Series], pd.Series],
    column: str,
) -> pd.Series:
    given = rows[column].astype("Float64")
    found = compare(given, rows["case_id"].map(first).astype("Float64"))
    return found.groupby(rows["case_id"], sort=False).mean()


def _difference(one: pd.Series, other: pd.Series) -> pd.Series:
    return one - other


def _differs(one: pd.Series, other: pd.Series) -> pd.Series:
    return (one != other).astype("Float64").mask(one.isna() | other.isna())


def _first_unchanged(verdicts: pd.DataFrame, column: str) -> pd.Series:
    rows = verdicts[(verdicts["role"] == UNCHANGED) & (verdicts["judge_repeat"] == 1)]
    return rows.set_index("case_id")[column].astype("Float64")


def _changed(verdicts: pd.DataFrame, column: str) -> pd.Series:
    rows = verdicts[verdicts["role"] == CHANGED]
    return rows.set_index(["family", "case_id"])[column].astype("Float64")


def _mean_of(values: pd.Series, family: str) -> pd.Series:
    if family not in values.index.get_level_values("family"):
        return pd.Series(dtype="Float64")
    return values.xs(family, level="family").groupby("case_id", sort=False).mean()


def _beside(
    by_role: dict[Role, pd.DataFrame], column: str, first: pd.Series | None
) -> pd.DataFrame:
    """Put what attacks and twins come to side by side, each beyond the bad answer alone."""
    sides = {role: rows[column].astype("Float64") for role, rows in by_role.items()}
    index = sides[CHANGED].index
    before = 0.0
    items = index.get_level_values("case_id")
    if first is not None:
        before = pd.Series(items.map(first.to_dict()), index=index, dtype="Float64")  # type: ignore[assignment]
    return pd.DataFrame(
        {
            "item": items,
            "family": index.get_level_values("family"),
            "effect": (sides[CHANGED] - before).to_numpy(),
            "floor": (sides[CONTROL].reindex(index) - before).to_numpy(),
        }
    ).astype({"effect": "Float64", "floor": "Float64"})


def _winner(verdicts: pd.DataFrame) -> pd.Series:
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
    said = values.dropna()
    counts = said.groupby([said.index.get_level_values("case_id"), said], sort=False).size()
    by_case = counts.groupby(level="case_id", sort=False)
    n, same = by_case.sum(), (counts * (counts - 1)).groupby(level="case_id", sort=False).sum()
    flips = 1 - same / (n * (n - 1)).where(n > 1)
    return flips.reindex(values.index.get_level_values("case_id").unique())


def _units(items: Iterable[Any], effect: pd.Series, floor: pd.Series | None = None) -> pd.DataFrame:
    columns = {"item": pd.Series(list(items), dtype="string"), "effect": effect.array}
    if floor is not None:
        columns["floor"] = floor.array
    return pd.DataFrame(columns).astype(dict.fromkeys([*columns][1:], "Float64"))

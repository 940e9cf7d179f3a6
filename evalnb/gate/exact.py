"""Means that fell where nothing is random: every difference beyond the margin is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from evalnb.baseline import CASE
from evalnb.findings import ROUNDING, SUITE, Row, finding
from evalnb.frames import Outcome, to_records
from evalnb.gate.means import mean_tests
from evalnb.sampled import evidence_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evalnb.gate.compared import Compared

__all__ = ["exact_rows", "fallen_exactly"]

_FIRST_FLOOR = 0.9
"""A pass rate under this share of the baseline's blocks where a suite has no floor of its own."""


def exact_rows(run: Compared) -> Iterator[Row]:
    """Return the means that fell, with how sure that is over repeats, and the first floor."""
    rows = list(_fallen(run))
    least = run.pairs[["n_scored", "n_scored_before"]].max().min()
    if not rows or pd.isna(least) or least < 2:
        yield from rows
    else:
        found = {(row["scorer"], row["slice"]): row for row in to_records(mean_tests(run))}
        for row in rows:
            yield row | evidence_of(found.get((row["scorer"], row["slice"]), {}))
    yield from _first_floor(run)


def fallen_exactly(run: Compared) -> list[Row]:
    """Return what is said of the suite's means that fell."""
    return [row for row in _fallen(run) if row["slice"] == SUITE]


def _fallen(run: Compared) -> Iterator[Row]:
    margin = run.golden.settings.gate.margin
    for scorer, means in _means(run).items():
        for name, n, was, is_now in run.slices.means(means):
            if was - is_now <= margin + ROUNDING:
                continue
            what = "the pass rate of cases" if scorer == CASE else f"the mean of `{scorer}`"
            where = "" if name == SUITE else f" in {name}"
            yield finding(
                "drift",
                Outcome.FAIL,
                scorer=scorer,
                slice=name,
                baseline=was,
                candidate=is_now,
                reason=f"{what}{where} fell by {was - is_now:.3f} over {n} cases; "
                f"the margin is {margin:g}",
            )


def _first_floor(run: Compared) -> Iterator[Row]:
    means = _means(run).get(CASE)
    if means is None or CASE in run.golden.settings.gate.floors:
        return
    was, is_now = means["mean_before"].mean(), means["mean"].mean()
    if is_now < _FIRST_FLOOR * was - ROUNDING:
        reason = (
            f"the pass rate of cases is {is_now:.3f} over {len(means)} cases, under "
            f"{_FIRST_FLOOR:g} of the baseline's {was:.3f}, which is the floor of a suite "
            f"that states none for `{CASE}`"
        )
        values = {"baseline": was, "candidate": is_now}
        yield finding("floor", Outcome.FAIL, reason=reason, scorer=CASE, slice=SUITE, **values)


def _means(run: Compared) -> dict[str, pd.DataFrame]:
    """Scorer to the means of the cases that both sides have and no waiver is for."""
    pairs = run.held[["case_id", "scorer", "mean", "mean_before"]].dropna()
    ids = pd.Index([case.id for case in run.golden])
    known = pairs.assign(position=ids.get_indexer(pd.Index(pairs["case_id"])))
    return {str(scorer): means for scorer, means in known.groupby("scorer")}

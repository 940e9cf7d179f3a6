"""Floors: means that a suite must not fall below, agreed on and written by people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evalnb.advice import judge_scorers
from evalnb.baseline import CASE, RULES, count
from evalnb.errors import nearest_name
from evalnb.findings import ROUNDING, SUITE, Row, finding
from evalnb.frames import Outcome
from evalnb.stats.below import p_mean_below
from evalnb.stats.levels import FLOORS, SMALLEST_SLICE
from evalnb.stats.multiplicity import adjusted

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    import pandas as pd

    from evalnb.golden import GoldenSet
    from evalnb.runs import Run

__all__ = ["floor_rows", "proposed_floors"]

_FIRST = 0.95
"""A floor starts at this share of the first accepted mean."""

_SCALE = 1000


def floor_rows(
    floors: Mapping[str, float],
    counts: pd.DataFrame,
    advisory: Container[str] = (),
    *,
    sampled: bool = False,
) -> Iterator[Row]:
    """Hold the means of a run against the floors of its suite.

    Parameters
    ----------
    floors : scorer, or `(case)` for the pass rate of cases, to the mean that it must reach
    counts : a baseline frame of the run
    advisory : scorers whose floors are noted and block nothing
    sampled : whether answers are a sample, so that a mean of eight cases or more is under its
        floor where it is so by more than chance: by Holm over the floors, at a level of 0.5%

    Returns
    -------
    a row of rule `floor` for each floor that is not kept
        The mean is over all scored cases, waived ones too. A floor on what was not scored is
        inconclusive: it was not kept either.
    """
    known = list(counts["scorer"].unique())
    chances = _chances(floors, counts, advisory) if sampled else {}
    for scorer, floor in sorted(floors.items()):
        means = _means(counts, scorer)
        where = {"scorer": scorer, "slice": SUITE}
        if scorer in advisory:
            yield finding("floor", Outcome.NOTE, reason=_advisory(floor, means), **where)
            continue
        if not means:
            reason = f"has a floor of {floor:g}, but {_unscored(scorer, known)}"
            yield finding("floor", Outcome.INCONCLUSIVE, reason=reason, **where)
        elif (mean := math.fsum(means) / len(means)) < floor - ROUNDING:
            what = "the pass rate of cases" if scorer == CASE else f"the mean of `{scorer}`"
            reason = f"{what} is {mean:.3f} over {len(means)} cases; its floor is {floor:g}"
            evidence = chances.get(scorer, {})
            if evidence.get("p_adjusted", 0.0) > FLOORS:
                reason = f"{reason}. By chance alone a mean at the floor may fall as low"
                yield finding(
                    "floor", Outcome.NOTE, reason=reason, candidate=mean, **where, **evidence
                )
            else:
                yield finding(
                    "floor", Outcome.FAIL, reason=reason, candidate=mean, **where, **evidence
                )


def proposed_floors(golden: GoldenSet, run: Run) -> dict[str, float]:
    """Propose floors for a suite whose run is accepted: 0.95 of each mean that has none yet.

    Parameters
    ----------
    golden : the suite
    run : the run that is to be the baseline

    Returns
    -------
    scorer, `(case)` for the pass rate of cases, to a floor, cut off to three digits
    """
    counts = count(run.scores)
    known = {*golden.settings.gate.floors, *judge_scorers(run.scores, None), RULES}
    scorers = sorted(set(counts["scorer"]) - known)
    means = {scorer: _means(counts, scorer) for scorer in scorers}
    return {
        scorer: _cut(_FIRST * math.fsum(found) / len(found))
        for scorer, found in means.items()
        if found
    }


def _chances(
    floors: Mapping[str, float], counts: pd.DataFrame, advisory: Container[str]
) -> dict[str, Row]:
    """Return how sure it is of each floor that it is not kept, where there are cases enough."""
    tested = {
        scorer: (means, p_mean_below(means, floor))
        for scorer, floor in floors.items()
        if scorer not in advisory and len(means := _means(counts, scorer)) >= SMALLEST_SLICE
    }
    raised = adjusted([p for _, p in tested.values()])["p_adjusted"]
    return {
        scorer: {
            "p_value": p,
            "p_adjusted": float(p_adjusted),
            "n": len(means),
            "method": "binomial, or t of case means",
        }
        for (scorer, (means, p)), p_adjusted in zip(tested.items(), raised, strict=True)
    }


def _means(counts: pd.DataFrame, scorer: str) -> list[float]:
    return list(counts.loc[counts["scorer"] == scorer, "mean"].dropna())


def _advisory(floor: float, means: list[float]) -> str:
    found = f"{math.fsum(means) / len(means):.3f}" if means else "not known"
    return f"has a floor of {floor:g}, and the mean is {found}: it holds once the judge has a certificate"


def _unscored(scorer: str, known: list[str]) -> str:
    if scorer in known:
        return "scored nothing in this run"
    near = nearest_name(scorer, known)
    hint = f"; did you mean `{near}`?" if near else ""
    return f"no case of this run has such a scorer{hint}"


def _cut(value: float) -> float:
    """Cut off: rounded up, a floor could lie above 0.95 of the mean."""
    return math.floor(value * _SCALE + ROUNDING) / _SCALE

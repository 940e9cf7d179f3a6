"""Means that fell in a sample of answers, told from chance and by fresh repeats where there are any."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from evalnb.confirmation import confirmed_rows, first_level
from evalnb.findings import SUITE
from evalnb.frames import Outcome
from evalnb.sampled import drop_rows, found_drops
from evalnb.stats.levels import CASES, CONFIRMATION, CREEP, PAIRWISE, SCORES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evalnb.findings import Row
    from evalnb.gate.compared import Compared

__all__ = ["fallen_in_sample", "mean_rows", "mean_tests", "suspect_means"]

_KEY = ["scorer", "slice"]


def mean_rows(run: Compared) -> Iterator[Row]:
    """Return what the tests say of each scorer and slice."""
    margin = run.golden.settings.gate.margin
    found = mean_tests(run, run.accidents)
    if run.fresh is None:
        yield from drop_rows(found, margin)
        return
    suspects = suspect_means(run)
    again = found[_KEY].apply(tuple, axis=1).isin(suspects[_KEY].apply(tuple, axis=1))
    yield from drop_rows(found[~again], margin)
    if len(suspects):
        yield from _confirmed(run, run.fresh, suspects)


def suspect_means(run: Compared) -> pd.DataFrame:
    """Return the means that fell at the level of a first look, as of this run."""
    found = mean_tests(run, run.accidents, first_level(_level(run)))
    surely = mean_tests(run, run.accidents)
    fell = (found["outcome"] == Outcome.FAIL) | (surely["outcome"] == Outcome.FAIL)
    return found[fell]


def fallen_in_sample(run: Compared) -> list[Row]:
    """Return what is said of the suite's means that fell, at the level for creep."""
    margin = run.golden.settings.gate.margin
    whole = run.held[["scorer"]].drop_duplicates().assign(slice=SUITE)
    found = found_drops(run.held, run.slices, margin=margin, alpha=CREEP, only=whole)
    return [row for row in drop_rows(found, margin) if row["rule"] == "drift"]


def mean_tests(
    run: Compared, accidents: pd.Series | None = None, alpha: float | None = None
) -> pd.DataFrame:
    """Test for each scorer and slice whether its mean fell.

    Parameters
    ----------
    run : beside its baseline
    accidents : as in `evalnb.sampled.found_drops`
    alpha : the level; None for that of the means of this run

    Returns
    -------
    as `evalnb.stats.drops.DROPS` says
    """
    settings = run.golden.settings.gate
    return found_drops(
        run.held,
        run.slices,
        margin=settings.margin,
        strict=settings.strict and run.sampled,
        accidents=accidents,
        alpha=_level(run) if alpha is None else alpha,
    )


def _level(run: Compared) -> float:
    """Return the level of the means; single cases have their part of it where chance can be told."""
    level = SCORES - CASES if run.sampled and run.tells_cases else SCORES
    level -= PAIRWISE if run.golden.settings.gate.pairwise is not None else 0.0
    return level if run.n_baselines == 1 else level - CREEP


def _confirmed(run: Compared, fresh: pd.DataFrame, suspects: pd.DataFrame) -> Iterator[Row]:
    settings = run.golden.settings.gate
    fresh = run.holding(fresh)
    found = found_drops(
        fresh,
        run.slices,
        margin=settings.margin,
        strict=settings.strict,
        alpha=CONFIRMATION,
        only=suspects,
    )
    lacking = fresh.loc[fresh["case_id"].isin(run.incomplete), ["case_id", "scorer"]]
    whole = lacking.assign(slice=SUITE)
    sliced = lacking.merge(run.slices.places(), on="case_id")
    open_ones = pd.concat([whole, sliced])[_KEY].to_numpy("object").tolist()
    yield from confirmed_rows(
        suspects, found, settings.margin, incomplete=frozenset(map(tuple, open_ones))
    )

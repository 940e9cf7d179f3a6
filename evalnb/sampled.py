"""The rules of the gate where answers are a sample, as those of live runs are.

Asked again, a model says something else. What fell is held against what chance alone does, and all
rules together block at most 5% of runs in which nothing changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalnb.baseline import CASE
from evalnb.findings import SUITE, Row, finding
from evalnb.frames import Outcome, is_accident, to_records
from evalnb.stats.comparison import COULD_DECIDE, settled
from evalnb.stats.drops import decide_drops
from evalnb.stats.estimates import difference_of_rates
from evalnb.stats.levels import CASES, SCORES, SMALLEST_SLICE
from evalnb.stats.paired_sets import PAIRED_SCORES
from evalnb.stats.single_case import fisher_less, repeats_to_tell

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evalnb.slicing import Slices

__all__ = [
    "accidents_of",
    "can_tell_cases",
    "case_evidence",
    "drop_row",
    "drop_rows",
    "evidence_of",
    "found_drops",
    "is_testable",
]

_KEY = ["case_id", "scorer"]
_EVIDENCE = (
    "estimate",
    "ci_low",
    "ci_high",
    "p_value",
    "p_adjusted",
    "smallest_drop",
    "n",
    "method",
)


def is_testable(pairs: pd.DataFrame) -> bool:
    """Tell whether both sides have cases enough to be tested.

    Parameters
    ----------
    pairs : columns scorer, mean, mean_before; a row a case and scorer
    """
    whole = pairs[pairs["scorer"] == CASE]
    both = whole["mean"].notna() & whole["mean_before"].notna()
    return int(both.sum()) >= SMALLEST_SLICE


def accidents_of(scores: pd.DataFrame) -> pd.Series:
    """Count the repeats that are missing by accident, by case and scorer, `(case)` among them.

    Advice decides nothing, and what is missing of it neither.
    """
    is_lost = is_accident(scores["na_reason"]) & ~scores["advisory"].fillna(value=False)
    lost = scores.loc[is_lost, [*_KEY, "repeat"]]
    whole = lost.assign(scorer=CASE).drop_duplicates()
    return pd.concat([lost, whole]).groupby(_KEY).size()


def can_tell_cases(pairs: pd.DataFrame) -> bool:
    """Tell whether a single case could be told to have flipped, by its repeats alone."""
    scored = pairs[["n_scored", "n_scored_before"]].dropna()
    scored = scored[(scored > 0).all(axis=1)]
    return len(scored) > 0 and int(scored.min(axis=1).max()) >= repeats_to_tell(
        len(scored), alpha=CASES
    )


def found_drops(
    pairs: pd.DataFrame,
    slices: Slices,
    *,
    margin: float,
    strict: bool = False,
    accidents: pd.Series | None = None,
    alpha: float = SCORES,
    only: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Test for each scorer and slice whether its mean fell.

    Parameters
    ----------
    pairs : columns case_id, scorer, mean, n_scored, mean_before, n_scored_before
    slices : of the golden set; cases of one conversation are flipped together
    margin, strict, alpha : as in `evalnb.stats.drops.decide_drops`
    accidents : as `accidents_of` gives them; with them, what they could decide is inconclusive
    only : columns scorer, slice; the means that are tested, None for all

    Returns
    -------
    as `evalnb.stats.drops.DROPS` says
    """
    clusters, places = pairs["case_id"].map(slices.clusters()), slices.places()

    def decided(mean: pd.Series) -> pd.DataFrame:
        frame = _paired(pairs.assign(mean=mean, cluster=clusters), places)
        if only is not None:
            frame = frame.merge(only[["scorer", "slice"]], on=["scorer", "slice"])
        return decide_drops(frame, margin=margin, strict=strict, alpha=alpha)

    found = decided(pairs["mean"])
    if accidents is None or accidents.empty:
        return found
    lost = accidents.reindex(pd.MultiIndex.from_frame(pairs[_KEY])).fillna(0).to_numpy("float64")
    scored = pairs["n_scored"].fillna(0).to_numpy("float64")
    sums = pairs["mean"].fillna(0.0).to_numpy("float64") * scored
    asked = np.where(scored + lost > 0, scored + lost, np.nan)
    worst, best = (
        pd.Series(total / asked, index=pairs.index).clip(upper=1.0) for total in (sums, sums + lost)
    )
    return settled(found, decided(worst), decided(best))


def drop_rows(found: pd.DataFrame, margin: float) -> Iterator[Row]:
    """Return what is said of each scorer and slice.

    Parameters
    ----------
    found : as `evalnb.stats.drops.DROPS` says
    margin : that was decided by

    Returns
    -------
    rows of rule `drift` for what fell, `na` and `not_shown` for what is open, `no_drop` for each
    scorer over the whole suite that did not fall, and one `not_tested` for the slices that are too
    small
    """
    small = []
    for row in to_records(found):
        if row["outcome"] == Outcome.NOTE:
            small.append(f"{row['slice']} ({row['scorer']}, {row['n']})")
        elif row["outcome"] != Outcome.PASS or row["slice"] == SUITE:
            yield drop_row(row, margin)
    if small:
        reason = (
            f"{len(small)} means of fewer than {SMALLEST_SLICE} cases are shown and not tested: "
            f"{', '.join(small[:5])}{' and others' if len(small) > 5 else ''}"
        )
        yield finding("not_tested", Outcome.NOTE, reason=reason)


def drop_row(row: Mapping[str, Any], margin: float) -> Row:
    """Return what is said of one scorer and slice that was tested; see `drop_rows`."""
    shared = {
        "scorer": row["scorer"],
        "slice": row["slice"],
        "baseline": row.get("baseline"),
        "candidate": row.get("candidate"),
        **evidence_of(row),
    }
    what = _what(row)
    if row["outcome"] == Outcome.FAIL:
        reason = (
            f"{what} fell by {-row['estimate']:.3f} ({_interval(row)}) over {row['n']} cases, "
            f"p {_p(row['p_adjusted'])}; the margin is {margin:g}{_power(row)}"
        )
        return finding("drift", Outcome.FAIL, reason=reason, **shared)
    if row.get("reason") == COULD_DECIDE:
        reason = f"{what}: the scores that are missing could change the decision"
        return finding("na", Outcome.INCONCLUSIVE, reason=reason, **shared)
    if row["outcome"] == Outcome.INCONCLUSIVE:
        reason = f"{_not_fallen(what, row, margin)}; the suite is strict"
        return finding("not_shown", Outcome.INCONCLUSIVE, reason=reason, **shared)
    return finding("no_drop", Outcome.NOTE, reason=_not_fallen(what, row, margin), **shared)


def evidence_of(row: Mapping[str, Any]) -> Row:
    """Return the columns of a decision that say how sure it is."""
    return {name: row[name] for name in _EVIDENCE if name in row}


def case_evidence(pair: Mapping[str, Any], n_pairs: int) -> Row:
    """Return how sure it is that a case passes less often, among so many that are looked at.

    Parameters
    ----------
    pair : n_scored, n_passed and the same `_before`
    """
    before, now = int(pair["n_scored_before"]), int(pair["n_scored"])
    passed, passes = int(pair["n_passed_before"]), int(pair["n_passed"])
    p = fisher_less(passed, before, passes, now)
    return {
        **vars(difference_of_rates(passes, now, passed, before)),
        "p_value": p,
        "p_adjusted": min(p * n_pairs, 1.0),
        "n": before + now,
        "method": "fisher; newcombe",
    }


def _paired(pairs: pd.DataFrame, places: pd.DataFrame) -> pd.DataFrame:
    whole = pd.DataFrame(
        {
            "case_id": pairs["case_id"],
            "cluster": pairs["cluster"].astype("string"),
            "scorer": pairs["scorer"],
            "slice": SUITE,
            "baseline": pairs["mean_before"],
            "candidate": pairs["mean"],
            "repeats": pairs[["n_scored", "n_scored_before"]].max(axis=1),
        }
    )
    sliced = whole.drop(columns="slice").merge(places, on="case_id")
    frame = pd.concat([whole, sliced[list(whole.columns)]], ignore_index=True)
    # What was missing on one side and is supposed to have been answered has one repeat.
    return PAIRED_SCORES.check(frame.assign(repeats=frame["repeats"].fillna(0).clip(lower=1)))


def _what(row: Mapping[str, Any]) -> str:
    where = "" if row["slice"] == SUITE else f" in {row['slice']}"
    what = "the pass rate of cases" if row["scorer"] == CASE else f"the mean of `{row['scorer']}`"
    return f"{what}{where}"


def _not_fallen(what: str, row: Mapping[str, Any], margin: float) -> str:
    change = f"{row['estimate']:+.3f} ({_interval(row)}) over {row['n']} cases"
    if row["shown"]:
        return f"{what} did not fall by {margin:g}: {change}"
    missed = row.get("smallest_drop")
    if missed is None:
        return f"no drop shown, and so few cases could show none: {what} {change}"
    return f"no drop shown: {what} {change}; drops below {missed:.2f} could have been missed"


def _interval(row: Mapping[str, Any]) -> str:
    if row.get("ci_low") is None:
        return "alike in all"
    return f"{row['ci_low']:+.3f} to {row['ci_high']:+.3f}"


def _power(row: Mapping[str, Any]) -> str:
    smallest = row.get("smallest_drop")
    return "" if smallest is None else f". Drops from {smallest:.2f} are found in 8 of 10 runs"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"

"""Two runs of the same cases: what fell, for each scorer and slice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalnb.frames import BY_PLAN, Outcome
from evalnb.stats.drops import decide_drops
from evalnb.stats.levels import MARGIN, SCORES
from evalnb.stats.paired_sets import PAIRED_SCORES

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["COULD_DECIDE", "WHOLE", "compare_runs", "settled"]

COULD_DECIDE = "missing_could_decide"
"""The reason of a row whose outcome hangs on the scores that are missing."""

WHOLE = "all"
"""The slice of all cases."""

_KEYS = ["case_id", "scorer"]
_NEEDED = ("case_id", "scorer", "value")


def compare_runs(
    baseline: pd.DataFrame,
    candidate: pd.DataFrame,
    *,
    slices: pd.DataFrame | None = None,
    clusters: Mapping[str, Any] | None = None,
    margin: float = MARGIN,
    alpha: float = SCORES,
    strict: bool = False,
    seed: int = 0,
) -> pd.DataFrame:
    """Decide for each scorer and slice whether a run is worse than another.

    The case is the unit: its repeats are averaged on each side first.

    Parameters
    ----------
    baseline, candidate : columns case_id, scorer, value and, where there is one, na_reason
        A row a case, repeat and scorer, such as a scores frame; values in [0, 1], or pass flags.
        A missing value is an accident unless `na_reason` says that it was planned.
    slices : columns case_id, slice; a row a case and slice that it is in
        The slice `all` of all cases is added, and comes first.
    clusters : case id to what it shares with others, such as a conversation; others stand alone
    margin, alpha, strict, seed : as in `evalnb.stats.drops.decide_drops`

    Returns
    -------
    as `evalnb.stats.drops.DROPS` says; `n_left_out` counts cases that lack a side
        Where scores are missing by accident, all is decided twice more, as if they had all failed
        on the candidate's side and passed on the baseline's, and the other way round. If one of
        the two comes to something else, `outcome` is `inconclusive` and `reason`
        `missing_could_decide`.

    Raises
    ------
    ValueError
        If a column is missing, or a value outside [0, 1].

    Examples
    --------
    >>> before = pd.DataFrame({"case_id": list("abcdefghij") * 2, "scorer": "exact", "value": 1.0})
    >>> now = before.assign(value=[0.0] * 6 + [1.0] * 14)
    >>> row = compare_runs(before, now).loc[0]
    >>> row["outcome"], float(row["estimate"].round(6)), float(row["p_value"])
    ('fail', -0.3, 0.015625)
    """
    sides = _Side.of(baseline, "baseline"), _Side.of(candidate, "candidate")
    places = _places(slices)

    def decided(before: float | None, now: float | None) -> pd.DataFrame:
        pairs = _pairs(sides[0].means(before), sides[1].means(now), places, clusters or {})
        return decide_drops(pairs, margin=margin, alpha=alpha, strict=strict, seed=seed)

    found = decided(None, None)
    if not any(side.has_accidents for side in sides):
        return found
    return settled(found, decided(1.0, 0.0), decided(0.0, 1.0))


def settled(found: pd.DataFrame, worst: pd.DataFrame, best: pd.DataFrame) -> pd.DataFrame:
    """Mark the outcomes that missing scores could change.

    Parameters
    ----------
    found : as `evalnb.stats.drops.DROPS` says
    worst, best : the same, as if what is missing had turned out badly, or well

    Returns
    -------
    `found` with outcome `inconclusive` and reason `missing_could_decide` where one of the others
    fails and it does not, or the other way round
    """
    keys = ["scorer", "slice"]
    failed = []
    for frame in (found, worst, best):
        outcomes = frame.set_index(keys)["outcome"].reindex(pd.MultiIndex.from_frame(found[keys]))
        failed.append(outcomes.eq(Outcome.FAIL).fillna(value=False).to_numpy(bool))
    is_open = (failed[0] != failed[1]) | (failed[0] != failed[2])
    return found.assign(
        outcome=found["outcome"].mask(is_open, str(Outcome.INCONCLUSIVE)),
        shown=found["shown"].mask(is_open, other=False),
        reason=found["reason"].mask(is_open, COULD_DECIDE),
    )


class _Side:
    """The scores of one run, by case and scorer."""

    def __init__(self, keys: pd.DataFrame, numbers: np.ndarray, values: np.ndarray) -> None:
        self._keys, self._numbers, self._values = keys, numbers, values
        self.has_accidents = bool(np.isnan(values).any())

    @classmethod
    def of(cls, scores: pd.DataFrame, name: str) -> _Side:
        lacking = [column for column in _NEEDED if column not in scores]
        if lacking:
            raise ValueError(
                f"`{name}` needs the columns {', '.join(_NEEDED)}. Missing: {lacking}."
            )
        if "na_reason" in scores:
            scores = scores[~scores["na_reason"].isin(BY_PLAN)]
        if scores[_KEYS].isna().to_numpy().any():
            raise ValueError(f"`{name}` must name the case and scorer of each row. Got NA.")
        cases, case_ids = pd.factorize(scores["case_id"])
        scorers, scorer_names = pd.factorize(scores["scorer"])
        pairs, numbers = np.unique(scorers * max(len(case_ids), 1) + cases, return_inverse=True)
        keys = pd.DataFrame(
            {
                "case_id": case_ids.take(pairs % max(len(case_ids), 1)),
                "scorer": scorer_names.take(pairs // max(len(case_ids), 1)),
            }
        )
        return cls(keys, numbers, scores["value"].to_numpy("float64", na_value=np.nan))

    def means(self, missing: float | None) -> pd.DataFrame:
        """Return case_id, scorer, mean and number of repeats; `missing` stands for what is not there."""
        values = self._values
        if missing is not None:
            values = np.where(np.isnan(values), missing, values)
        known = ~np.isnan(values)
        size = len(self._keys)
        repeats = np.bincount(self._numbers[known], minlength=size)
        sums = np.bincount(self._numbers[known], weights=values[known], minlength=size)
        mean = np.divide(sums, repeats, out=np.full(size, np.nan), where=repeats > 0)
        return self._keys.assign(mean=mean, repeats=repeats)


def _places(slices: pd.DataFrame | None) -> pd.DataFrame | None:
    if slices is None:
        return None
    lacking = [column for column in ("case_id", "slice") if column not in slices]
    if lacking:
        raise ValueError(f"`slices` needs the columns case_id, slice. Missing: {lacking}.")
    return slices[["case_id", "slice"]].drop_duplicates()


def _pairs(
    before: pd.DataFrame,
    now: pd.DataFrame,
    places: pd.DataFrame | None,
    clusters: Mapping[str, Any],
) -> pd.DataFrame:
    both = before.merge(now, how="outer", on=_KEYS, suffixes=("_before", ""))
    pairs = pd.DataFrame(
        {
            "case_id": both["case_id"],
            "cluster": both["case_id"].map(dict(clusters)),
            "scorer": both["scorer"],
            "slice": WHOLE,
            "baseline": both["mean_before"],
            "candidate": both["mean"],
            "repeats": both[["repeats_before", "repeats"]].max(axis=1),
        }
    )
    if places is not None:
        sliced = pairs.drop(columns="slice").merge(places, on="case_id")
        pairs = pd.concat([pairs, sliced[list(pairs.columns)]], ignore_index=True)
    return PAIRED_SCORES.check(pairs.astype({"cluster": "string"}))

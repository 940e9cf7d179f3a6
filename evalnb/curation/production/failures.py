"""Failures in production that the golden set has nothing like."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from evalnb.curation.candidates.disagreement import find_disagreement
from evalnb.curation.candidates.folding import Folding, fold_duplicates
from evalnb.curation.candidates.picks import merge_candidates
from evalnb.curation.candidates.surprising import find_surprising
from evalnb.reports.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evalnb.cases import Case

__all__ = ["failure_candidates", "find_failures"]

_SHOWN = 160


def find_failures(
    logs: pd.DataFrame, scores: pd.DataFrame, cases: Iterable[Case], *, n: int
) -> pd.DataFrame:
    """Find conversations that a scorer fails, those first that are unlike every golden case.

    Parameters
    ----------
    logs : a logs frame
    scores : of `score_logs`
    cases : a golden set
    n : how many, at most

    Returns
    -------
    a frame of candidates, with the columns `nearest_case` and `similarity`, as `find_surprising`
    gives it
        `reason` says what fails, then how near the nearest case is.

    Raises
    ------
    ValueError
        If `n` is less than 1.
    """
    failed = scores[scores["passed"].eq(other=False).fillna(value=False)]
    why: dict[str, list[str]] = {}
    for name, scorer, reason in zip(
        failed["case_id"], failed["scorer"], failed["reason"], strict=True
    ):
        said = "" if pd.isna(reason) else one_line(str(reason), limit=_SHOWN)
        why.setdefault(name, []).append(f"fails {scorer} ({said})")
    found = find_surprising(logs[logs["conversation_id"].isin(why.keys())], cases, n=n)
    reasons = [
        "; ".join([*why[name], far])
        for name, far in zip(found["conversation_id"], found["reason"], strict=True)
    ]
    return found.assign(
        samplers=pd.Series("failing", index=found.index, dtype="string"),
        reason=pd.Series(reasons, index=found.index, dtype="string"),
    )


def failure_candidates(
    logs: pd.DataFrame, scores: pd.DataFrame, cases: Iterable[Case], *, n: int, seed: int = 0
) -> Folding:
    """Pick what production says that the golden set should hold: failures, and what is disputed.

    Parameters
    ----------
    logs : a logs frame
    scores : of `score_logs`
    cases : a golden set
    n : how many of each sampler, at most
    seed : orders those alike

    Returns
    -------
    candidates of `find_failures`, and of `find_disagreement` for each judge's scorer, without those
    that repeat a golden case or one another
    """
    cases = list(cases)
    judged = scores.loc[scores["tier"].eq("judge").fillna(value=False), "scorer"].unique()
    picks = [
        find_disagreement(logs, scores, scorer=str(scorer), n=n, seed=seed) for scorer in judged
    ]
    merged = merge_candidates(find_failures(logs, scores, cases, n=n), *picks)
    return fold_duplicates(merged, logs, cases)

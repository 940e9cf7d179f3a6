"""Conversations that are far from every golden case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.curation.candidates.nearness import compare_with_cases
from evalnb.curation.candidates.picks import candidates_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from evalnb.cases import Case

__all__ = ["find_surprising"]


def find_surprising(logs: pd.DataFrame, cases: Iterable[Case], *, n: int) -> pd.DataFrame:
    """Find what the golden set has nothing like.

    Distance is one less the cosine similarity of TF-IDF vectors of character 3- to 5-grams. The
    first pick is the farthest from every case, each further one the farthest from cases and from
    the picks before it (greedy k-center), so that they are no copies of each other.

    Parameters
    ----------
    logs : a logs frame; conversations without a word of the user are left out
    cases : a golden set
    n : how many, at most

    Returns
    -------
    a frame of candidates, with the columns `nearest_case` and `similarity`
        `strength` is the distance from the nearest case.

    Raises
    ------
    ValueError
        If `n` is less than 1.
    """
    if n < 1:
        raise ValueError(f"`n` must be at least 1. Got {n!r}.")
    cases = list(cases)
    found, vectors, near = compare_with_cases(logs, cases)
    rows: list[dict[str, Any]] = []
    closest = near.similarity.copy()
    for _ in range(min(n, len(found))):
        pick = int(closest.argmin())
        rows.append(_row(found[pick]["conversation_id"], pick, near, cases))
        like_it = (vectors @ vectors[pick].T).toarray().ravel()
        closest = np.maximum(closest, like_it)
        closest[pick] = np.inf
    picks = candidates_of("surprising", rows)
    if rows:
        return picks
    import pandas as pd

    return picks.assign(
        nearest_case=pd.Series(dtype="string"), similarity=pd.Series(dtype="Float64")
    )


def _row(name: str, pick: int, near: Any, cases: list[Case]) -> dict[str, Any]:
    similarity = float(near.similarity[pick])
    case = cases[near.position[pick]].id if cases else None
    reason = (
        f"far from every case: the nearest, {case}, has similarity {similarity:.2f}"
        if case
        else "there is no case to be near to"
    )
    return {
        "conversation_id": name,
        "reason": reason,
        "strength": 1 - similarity,
        "nearest_case": case,
        "similarity": similarity,
    }

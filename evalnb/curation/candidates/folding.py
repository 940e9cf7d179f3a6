"""Candidates without near-duplicates of golden cases and of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from evalnb.curation.candidates.conversations import asked, conversations
from evalnb.curation.candidates.duplicates import THRESHOLD, duplicate_pairs
from evalnb.curation.candidates.picks import CANDIDATES
from evalnb.curation.candidates.vectors import case_text
from evalnb.frames import FrameSchema, to_records

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from evalnb.cases import Case

__all__ = ["FOLDED", "Folding", "fold_duplicates"]

FOLDED = FrameSchema(
    "folded",
    {
        "conversation_id": "string",
        "into": "string",
        "kind": "string",
        "similarity": "Float64",
    },
    key=("conversation_id",),
)
"""A row a candidate that is a near-duplicate: `into` is the case (`kind` is `case`) or the
candidate before it (`candidate`) that it repeats, `similarity` the share of n-grams that they have
in common."""


class Folding(NamedTuple):
    """What is left of candidates, with the column `n_like_it`, and what was folded."""

    candidates: pd.DataFrame
    folded: pd.DataFrame


def fold_duplicates(
    candidates: pd.DataFrame,
    logs: pd.DataFrame,
    cases: Iterable[Case] = (),
    *,
    threshold: float = THRESHOLD,
) -> Folding:
    """Leave out candidates that say what a golden case or a candidate before them says.

    What the user says is compared; see `duplicate_pairs`.

    Parameters
    ----------
    candidates : frames of candidates
    logs : a logs frame with their messages
    cases : a golden set
    threshold : from this similarity on

    Returns
    -------
    candidates : those that are left, in order; `n_like_it` counts what was folded into each
    folded : a frame as `FOLDED` says

    Raises
    ------
    ValueError
        If a candidate is not in the logs.
    """
    cases = list(cases)
    texts = {
        row["conversation_id"]: asked(row)
        for row in to_records(
            conversations(logs[logs["conversation_id"].isin(candidates["conversation_id"])])
        )
    }
    names = candidates["conversation_id"].tolist()
    unknown = [name for name in names if name not in texts]
    if unknown:
        raise ValueError(
            f"{len(unknown)} candidates are not in the logs, {unknown[0]!r} among them"
        )
    n_cases = len(cases)
    pairs = duplicate_pairs([*map(case_text, cases), *(texts[name] for name in names)], threshold)
    into: dict[int, tuple[int, float]] = {}
    # In order of the later one: what it repeats is decided already.
    for first, second, similarity in sorted(pairs, key=lambda pair: (pair.second, pair.first)):
        if second >= n_cases and second not in into and first not in into:
            into[second] = (first, similarity)
    rows = [
        {
            "conversation_id": names[number - n_cases],
            "into": cases[first].id if first < n_cases else names[first - n_cases],
            "kind": "case" if first < n_cases else "candidate",
            "similarity": similarity,
        }
        for number, (first, similarity) in sorted(into.items())
    ]
    return Folding(_left(candidates, rows), FOLDED.build(rows))


def _left(candidates: pd.DataFrame, folded: list[dict[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    gone = {row["conversation_id"] for row in folded}
    counts = pd.Series(
        [row["into"] for row in folded if row["kind"] == "candidate"], dtype="object"
    )
    left = candidates[~candidates["conversation_id"].isin(gone)].reset_index(drop=True)
    n_like_it = left["conversation_id"].map(counts.value_counts()).fillna(0).astype("Int64")
    return CANDIDATES.check(left).assign(n_like_it=n_like_it)

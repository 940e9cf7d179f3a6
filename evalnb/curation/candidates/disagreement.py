"""Conversations of which the judge and the user think otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.curation.candidates.conversations import conversations
from evalnb.curation.candidates.picks import candidates_of
from evalnb.curation.lots import lot
from evalnb.frames import to_records

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["find_disagreement"]


def find_disagreement(
    logs: pd.DataFrame, scores: pd.DataFrame, *, scorer: str, n: int | None = None, seed: int = 0
) -> pd.DataFrame:
    """Find where a judge passes what the user calls bad, or fails what the user calls good.

    Parameters
    ----------
    logs : a logs frame with feedback
    scores : a scores frame, with conversations as `case_id`; a conversation fails where any of its
        scores does
    scorer : whose scores
    n : at most so many; all, where None
    seed : orders those alike

    Returns
    -------
    a frame of candidates : those that the user calls bad first, since a judge's wrong pass costs most
    """
    rows = to_records(scores[scores["scorer"].eq(scorer).fillna(value=False)])
    passed: dict[str, bool] = {}
    for row in rows:
        if "passed" in row:
            passed[row["case_id"]] = passed.get(row["case_id"], True) and bool(row["passed"])
    found = []
    for one in to_records(conversations(logs)):
        name, feedback = one["conversation_id"], one.get("feedback", 0)
        if feedback and name in passed and passed[name] != (feedback > 0):
            found.append((feedback, lot(seed, "disagreement", name), name))
    said = {-1: f"{scorer} passes it, the user calls it bad", 1: f"{scorer} fails it, the user calls it good"}  # fmt: skip
    return candidates_of(
        "disagreement",
        [
            {"conversation_id": name, "reason": said[feedback]}
            for feedback, _, name in sorted(found)[:n]
        ],
    )

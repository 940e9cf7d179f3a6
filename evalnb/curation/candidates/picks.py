"""The frame of candidates, which every sampler returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.frames import FrameSchema, to_records

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CANDIDATES", "candidates_of", "merge_candidates"]

CANDIDATES = FrameSchema(
    "candidates",
    {
        "conversation_id": "string",
        "samplers": "string",
        "reason": "string",
        "stratum": "string",
        "strength": "Float64",
        "probability": "Float64",
        "order": "Int64",
    },
    key=("conversation_id",),
)
"""A row a conversation that was picked, in the order in which to look at them.

`samplers` is what picked it, `reason` why, in words. `strength` orders the picks of one sampler:
the larger, the more there is of what it looks for. `probability` is the chance that the
conversation had of being drawn, number drawn by number there in its `stratum`; NA where no chance
was at work. `order` counts from 1.
"""


def candidates_of(sampler: str, rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return rows as candidates of one sampler, in their order."""
    return CANDIDATES.build(
        {"samplers": sampler, "order": order, **row} for order, row in enumerate(rows, 1)
    )


def merge_candidates(*picks: pd.DataFrame) -> pd.DataFrame:
    """Return the picks of several samplers as one frame, a conversation once with all its reasons.

    Parameters
    ----------
    *picks : frames of candidates

    Returns
    -------
    a frame of candidates : the first of each sampler first, then the second of each, and so on
        The chance is kept where one sampler alone picked the conversation: with others it has
        another one, which is not known.

    Examples
    --------
    >>> one = candidates_of("a", [{"conversation_id": "c", "reason": "long"}])
    >>> other = candidates_of("b", [{"conversation_id": "c", "reason": "far"}])
    >>> merge_candidates(one, other).loc[0, ["samplers", "reason"]].tolist()
    ['a, b', 'long; far']
    """
    rows = sorted(
        (
            (row["order"], number, row)
            for number, one in enumerate(picks)
            for row in to_records(one)
        ),
        key=lambda found: found[:2],
    )
    merged: dict[str, dict[str, Any]] = {}
    for _, _, row in rows:
        known = merged.setdefault(row["conversation_id"], row)
        if known is row:
            continue
        for name, between in (("samplers", ", "), ("reason", "; ")):
            known[name] = between.join([known[name], row[name]])
        for name in ("probability", "stratum", "strength"):
            known.pop(name, None)
    return CANDIDATES.build({**row, "order": order} for order, row in enumerate(merged.values(), 1))

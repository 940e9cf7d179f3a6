"""Which kind of conversation each is: by the logs' category, else by what users said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from evalnb.curation.candidates.clusters import cluster_names
from evalnb.curation.candidates.conversations import asked

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Kinds", "kinds_of"]


class Kinds(NamedTuple):
    """Conversation to its kind, and `what` a kind is: `category` of the logs, or `cluster`."""

    what: str
    known: dict[str, str]


def kinds_of(rows: Sequence[dict[str, Any]], *, n: int, seed: int = 0) -> Kinds:
    """Return the kinds of conversations.

    Where no conversation has a category they are clustered by what the user said, and clusters are
    called after the terms that set them apart; else those without a category are left out.

    Parameters
    ----------
    rows : of a conversations frame
    n : how many clusters
    seed : of the start of the clustering
    """
    known = {row["conversation_id"]: row["category"] for row in rows if "category" in row}
    if known:
        return Kinds("category", known)
    texts = {row["conversation_id"]: asked(row) for row in rows}
    return Kinds("cluster", cluster_names(texts, n=n, seed=seed))

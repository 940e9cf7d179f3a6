"""So many conversations of each kind: by category, by language, by what a judge said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from evalnb.curation.candidates.conversations import conversations
from evalnb.curation.candidates.kinds import kinds_of
from evalnb.curation.candidates.languages import spoken_languages
from evalnb.curation.candidates.picks import candidates_of
from evalnb.curation.lots import lot
from evalnb.frames import to_records

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

__all__ = ["Strata", "sample_categories", "sample_stratified"]

Strata: TypeAlias = Literal["language", "judge_score"]

_UNKNOWN = "unknown"


def sample_categories(
    logs: pd.DataFrame, *, n: int = 5, top: int = 10, seed: int = 0
) -> pd.DataFrame:
    """Draw as many conversations of each of the most frequent categories.

    Parameters
    ----------
    logs : a logs frame
        Where it has no category at all, conversations are clustered by what the user said, and
        clusters are called after the terms that set them apart.
    n : how many of each; all, where there are not so many
    top : how many categories
    seed : another one is another draw, and another start of the clustering

    Returns
    -------
    a frame of candidates, a category after the other, the largest first

    Raises
    ------
    ValueError
        If `n` or `top` is less than 1.
    """
    _check_counts(n=n, top=top)
    rows = to_records(conversations(logs))
    what, known = kinds_of(rows, n=top, seed=seed)
    groups = _groups(known)
    largest = sorted(groups, key=lambda name: (-len(groups[name]), name))[:top]
    return candidates_of(
        "categories",
        [row for name in largest for row in _drawn(groups[name], n, seed, what, name)],
    )


def sample_stratified(
    logs: pd.DataFrame,
    *,
    by: Strata,
    n: int,
    scores: pd.DataFrame | None = None,
    scorer: str | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Draw as many conversations of each language, or of each score of a judge.

    Parameters
    ----------
    logs : a logs frame; languages are as `spoken_languages` says, and what has none is a stratum
        `unknown` of its own
    by : {"language", "judge_score"}
    n : how many of each stratum; all, where there are not so many
    scores : for `judge_score`, a scores frame with conversations as `case_id`; conversations that
        it has no score of are left out
    scorer : for `judge_score`, whose score
    seed : another one is another draw

    Returns
    -------
    a frame of candidates, a stratum after the other

    Raises
    ------
    ValueError
        If `by` is another word, `n` is less than 1, or scores are asked for and not given.
    """
    _check_counts(n=n)
    if by == "language":
        found = to_records(spoken_languages(logs))
        known = {row["conversation_id"]: row.get("language", _UNKNOWN) for row in found}
    elif by == "judge_score":
        if scores is None or scorer is None:
            raise ValueError("strata by `judge_score` need `scores` and `scorer`")
        there = set(logs["conversation_id"].tolist())
        known = {name: level for name, level in _levels(scores, scorer).items() if name in there}
    else:
        raise ValueError(f"`by` must be language or judge_score. Got {by!r}.")
    groups = _groups(known)
    return candidates_of(
        f"by_{by}",
        [
            row
            for name in sorted(groups)
            for row in _drawn(groups[name], n, seed, by.replace("_", " "), name)
        ],
    )


def _levels(scores: pd.DataFrame, scorer: str) -> dict[str, str]:
    rows = to_records(scores[scores["scorer"].eq(scorer).fillna(value=False)])
    return {
        row["case_id"]: f"{row.get('raw_value', row['value']):g}" for row in rows if "value" in row
    }


def _groups(known: Mapping[str, str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for conversation, name in known.items():
        groups.setdefault(name, []).append(conversation)
    return groups


def _drawn(members: list[str], n: int, seed: int, what: str, name: str) -> list[dict[str, Any]]:
    drawn = sorted(members, key=lambda member: lot(seed, what, name, member))[:n]
    reason = f"{what} {name}: {len(drawn):,} drawn of {len(members):,}"
    return [
        {
            "conversation_id": member,
            "reason": reason,
            "stratum": name,
            "probability": len(drawn) / len(members),
        }
        for member in drawn
    ]


def _check_counts(**counts: int) -> None:
    for name, count in counts.items():
        if count < 1:
            raise ValueError(f"`{name}` must be at least 1. Got {count!r}.")

"""The first thirty items of a golden set: where users tried again, and where a person took over."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evalnb.curation.candidates.conversations import asked, conversations
from evalnb.curation.candidates.folding import fold_duplicates
from evalnb.curation.candidates.picks import CANDIDATES, candidates_of
from evalnb.curation.candidates.struggling import is_taken_over, messages_of, retries
from evalnb.curation.lots import lot
from evalnb.frames import to_records
from evalnb.reports.numbers import count

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from evalnb.cases import Case

__all__ = ["EACH", "Drafts", "describe_drafts", "draft_candidates"]

EACH = 15
"""So many of each kind are drawn, where there are so many."""

_RETRIES, _TAKEN_OVER = "retries", "take-over"
_WORDS = {_RETRIES: "retries", _TAKEN_OVER: "a person taking over"}


class Drafts(NamedTuple):
    """What was drawn for a first look.

    Attributes
    ----------
    candidates : a frame of candidates, its `stratum` is `take-over` or `retries`
    there : kind to the number of conversations that could have been drawn for it
    n_folded : how many repeat a golden case or another of them, and were left out of the draw
    """

    candidates: pd.DataFrame
    there: dict[str, int]
    n_folded: int


def draft_candidates(logs: pd.DataFrame, cases: Iterable[Case] = (), *, seed: int = 0) -> Drafts:
    """Draw 15 conversations in which the user tried again, and 15 that a person took over.

    A user tries again who asks the same in nearly the same words, or says more than three things
    without a resolution; see `find_struggling`. A conversation with both is drawn for one of them,
    the one that fewer conversations have.

    Parameters
    ----------
    logs : a logs frame; conversations without a word of the user are left out
    cases : a golden set; what repeats a case of it is left out
    seed : another one is another draw

    Returns
    -------
    fewer than 15 of a kind where there are not so many; the kinds by turns

    Examples
    --------
    >>> from evalnb.frames import LOGS
    >>> row = {"conversation_id": "c", "turn": 1, "role": "user", "text": "Help!", "escalated": True}
    >>> draft_candidates(LOGS.build([row])).candidates.loc[0, ["stratum", "reason"]].tolist()
    ['take-over', 'handed over to a person']
    """
    kinds = _kinds(logs)
    names = sorted(
        {name for found in kinds.values() for name in found},
        key=lambda name: (lot(seed, "draft", name), name),
    )
    every = candidates_of("draft", [{"conversation_id": name} for name in names])
    folding = fold_duplicates(every, logs, cases)
    left = folding.candidates["conversation_id"].tolist()
    there = {kind: [name for name in left if name in found] for kind, found in kinds.items()}
    drawn: dict[str, str] = {}
    for kind in sorted(there, key=lambda kind: (len(there[kind]), kind)):
        free = [name for name in there[kind] if name not in drawn]
        drawn |= dict.fromkeys(free[:EACH], kind)
    rows = [
        (place, kind, {"conversation_id": name, "stratum": kind, "reason": kinds[kind][name]})
        for kind in there
        for place, name in enumerate(name for name in left if drawn.get(name) == kind)
    ]
    rows.sort(key=lambda row: row[:2])
    return Drafts(
        candidates_of("draft", [row for _, _, row in rows]),
        {kind: len(found) for kind, found in there.items()},
        len(folding.folded),
    )


def describe_drafts(drafts: Drafts) -> list[str]:
    """Say how much was drawn, and of what there was too little."""
    drawn = CANDIDATES.check(drafts.candidates)["stratum"].value_counts()
    lines = []
    for kind, n in drafts.there.items():
        found = int(drawn.get(kind, 0))
        line = f"{found} of {count(n, 'conversation')} with {_WORDS[kind]}"
        if found < EACH:
            line += f": {EACH - found} fewer than the {EACH} wanted, read more of the logs"
        lines.append(line)
    if drafts.n_folded:
        lines.append(f"{count(drafts.n_folded, 'near-duplicate')} left out")
    return lines


def _kinds(logs: pd.DataFrame) -> dict[str, dict[str, str]]:
    """Return kind to conversation to why it is of it."""
    messages = messages_of(logs)
    found: dict[str, dict[str, str]] = {_TAKEN_OVER: {}, _RETRIES: {}}
    for whole in to_records(conversations(logs)):
        name = whole["conversation_id"]
        if not asked(whole):
            continue
        signs = retries(whole, messages[name])
        if signs:
            found[_RETRIES][name] = "; ".join(signs)
        if is_taken_over(whole, messages[name]):
            found[_TAKEN_OVER][name] = "; ".join(["handed over to a person", *signs])
    return found

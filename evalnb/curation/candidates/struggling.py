"""Conversations in which the user does not get on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from evalnb.curation.candidates.conversations import conversations
from evalnb.curation.candidates.picks import candidates_of
from evalnb.curation.lots import lot
from evalnb.frames import LOGS, to_records
from evalnb.matching import normalize

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

__all__ = ["find_struggling", "is_taken_over", "messages_of", "retries"]

_IN_A_ROW = 3
_ALIKE = 0.6
_LEAST_SIGNS = 12
_RESOLVED = re.compile(
    r"(?<!\w)(?:thank(?:s| you)|that (?:works|worked|helps|helped|solved it)|solved|resolved|perfect|"
    r"danke|vielen dank|gelöst|erledigt|gracias|resuelto|merci|résolu|grazie|risolto|obrigad[oa]|"
    r"dziękuję)(?!\w)|ありがとう|解決|谢谢|謝謝|감사",
    re.IGNORECASE,
)
_NOT_RESOLVED = re.compile(
    r"(?<!\w)(?:but|however|still|not|n't|aber|immer noch|nicht|pero|todavía|mais|toujours)(?!\w)|n't\b",
    re.IGNORECASE,
)
_PERSON = re.compile(
    r"(?<!\w)(?:(?:speak|talk|chat|connect(?:ed)?|transfer(?:red)?|escalate)\b.{0,30}\b(?:human|person|"
    r"agent|representative|manager|supervisor|someone)|real (?:human|person)|human agent|"
    r"(?:mit )?(?:einem|einen) (?:menschen|mitarbeiter)|(?:hablar|hable) con (?:una persona|un agente)|"
    r"parler à (?:un humain|un conseiller|quelqu'un))(?!\w)|人間と|担当者(?:と|に)",
    re.IGNORECASE,
)
_HAND_OVER = re.compile(r'"name": "[^"]*(?:transfer|escalat|hand_?over)[^"]*"', re.IGNORECASE)


def find_struggling(
    logs: pd.DataFrame, *, n: int | None = None, use_feedback: bool = True, seed: int = 0
) -> pd.DataFrame:
    """Find conversations that go badly, by what is seen in them.

    There are four signs: more than three messages of the user in a row without a resolution, which
    is a thank-you or the like, or good feedback; a question that is asked again in nearly the same
    words (Jaccard similarity of character 3-grams of at least 0.6); a hand-over to a person, or the
    wish for one; bad feedback. The words for thanks and for persons are those of English, German,
    Spanish, French, Japanese and a few more.

    Parameters
    ----------
    logs : a logs frame
    n : at most so many; all, where None
    use_feedback : whether feedback counts; without, what is found can be compared with it
    seed : orders those with as many signs

    Returns
    -------
    a frame of candidates, those with most signs first; `strength` is their number

    Examples
    --------
    >>> said = ["My code fails", "It fails", "Still?", "My code fails!"]
    >>> rows = [
    ...     {"conversation_id": "c", "turn": turn, "role": "user", "text": text}
    ...     for turn, text in enumerate(said, 1)
    ... ]
    >>> find_struggling(LOGS.build(rows)).loc[0, "reason"]
    '4 messages of the user without a resolution; a question is asked again'
    """
    messages = messages_of(logs)
    found = []
    for whole in to_records(conversations(logs)):
        name = whole["conversation_id"]
        signs = _signs(whole, messages[name], use_feedback=use_feedback)
        if signs:
            found.append((-len(signs), lot(seed, "struggling", name), name, signs))
    return candidates_of(
        "struggling",
        [
            {"conversation_id": name, "reason": "; ".join(signs), "strength": len(signs)}
            for _, _, name, signs in sorted(found)[:n]
        ],
    )


def messages_of(logs: pd.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """Return the messages of each conversation, records in order.

    Parameters
    ----------
    logs : a logs frame, its rows in any order
    """
    logs = LOGS.check(logs).sort_values(["conversation_id", "turn"], ignore_index=True)
    found: dict[str, list[dict[str, Any]]] = {}
    for row in to_records(logs):
        found.setdefault(row["conversation_id"], []).append(row)
    return found


def retries(
    whole: dict[str, Any], messages: Sequence[dict[str, Any]], *, use_feedback: bool = True
) -> list[str]:
    """Say how a user tries again in a conversation; nothing where they do not.

    Parameters
    ----------
    whole : a record of `conversations`
    messages : its messages, records of a logs frame in order
    use_feedback : whether good feedback counts as a resolution
    """
    signs = []
    longest = _longest_run(messages, use_feedback=use_feedback)
    if longest > _IN_A_ROW:
        signs.append(f"{longest} messages of the user without a resolution")
    if _is_repeated(whole["user_texts"]):
        signs.append("a question is asked again")
    return signs


def is_taken_over(whole: dict[str, Any], messages: Sequence[dict[str, Any]]) -> bool:
    """Tell whether a conversation was handed over to a person, by the log or by a tool's name.

    Parameters
    ----------
    whole, messages : as in `retries`
    """
    return bool(whole.get("escalated")) or _is_handed_over(messages)


def _signs(
    whole: dict[str, Any], messages: Sequence[dict[str, Any]], *, use_feedback: bool
) -> list[str]:
    signs = retries(whole, messages, use_feedback=use_feedback)
    if is_taken_over(whole, messages):
        signs.append("handed over to a person")
    elif any(_PERSON.search(text) for text in whole["user_texts"]):
        signs.append("asks for a person")
    if use_feedback and whole.get("feedback") == -1:
        signs.append("bad feedback")
    return signs


def _longest_run(messages: Sequence[dict[str, Any]], *, use_feedback: bool) -> int:
    longest = run = 0
    for message in messages:
        if message["role"] == "user":
            text = message.get("text", "")
            is_over = _RESOLVED.search(text) is not None and not _NOT_RESOLVED.search(text)
            run = 0 if is_over else run + 1
            longest = max(longest, run)
        if use_feedback and message.get("feedback") == 1:
            run = 0
    return longest


def _is_repeated(texts: Sequence[str]) -> bool:
    """Tell whether two messages are nearly the same; short ones such as "yes" often are."""
    grams = [_grams(text) for text in map(normalize, texts) if len(text) >= _LEAST_SIGNS]
    return any(
        len(one & other) >= _ALIKE * len(one | other)
        for place, one in enumerate(grams)
        for other in grams[:place]
    )


def _grams(text: str) -> frozenset[str]:
    padded = f" {text.rstrip('.!? ')} "
    return frozenset(padded[place : place + 3] for place in range(len(padded) - 2))


def _is_handed_over(messages: Sequence[dict[str, Any]]) -> bool:
    return any(
        message["role"] == "tool_call" and _HAND_OVER.search(message.get("text", ""))
        for message in messages
    )

"""The fields that a curator edits, and the case that they make of a conversation."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

from evalnb.cases import Case
from evalnb.errors import InputError, Problem
from evalnb.golden import case_of
from evalnb.jsontext import Line, writable_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalnb.curation.staging.items import CurationItem

__all__ = ["FIELDS", "case_from", "checked_edits", "first_edits"]

FIELDS = (
    "ends_with",
    "input",
    "expected_intent",
    "expected_keywords",
    "must_not_include",
    "tags",
    "split",
    "note",
)
"""What can be edited, each a text: `ends_with` is the number of the user's message that the case
ends with, `input` the words of that message; of lists an entry is a line."""

_LISTS = ("expected_keywords", "must_not_include", "tags")
_LONGEST = 100_000
_LONGEST_NAME = 40


def first_edits(item: CurationItem) -> dict[str, str]:
    """Return what the fields hold before anybody edits: the user's first message, and no more."""
    return {**dict.fromkeys(FIELDS, ""), "ends_with": "1", "input": item.asked[0], "split": "dev"}


def checked_edits(item: CurationItem, edits: Mapping[str, Any]) -> dict[str, str]:
    """Return what fields hold, with what is not given as it was at first.

    Raises
    ------
    ValueError
        If a field is none of them, or holds no text.
    """
    for name, value in edits.items():
        if name not in FIELDS:
            raise ValueError(f"a case is edited by {', '.join(FIELDS)}. Got {name!r}.")
        if not isinstance(value, str) or len(value) > _LONGEST:
            raise ValueError(f"`{name}` must hold a text of at most {_LONGEST:,} characters")
    return first_edits(item) | {name: writable_text(value) for name, value in edits.items()}


def case_from(
    item: CurationItem, edits: Mapping[str, str], *, curator: str, day: str, file: str
) -> Case:
    """Make the case of a conversation.

    Parameters
    ----------
    item : the conversation
    edits : what the fields hold
    curator : who accepts it, its `reviewed_by`
    day : when, its `added`
    file : named in problems

    Raises
    ------
    InputError
        With the field, and what to do, of each thing that `evalnb check` would find wrong.
    """
    end = _end(item, edits["ends_with"], file)
    text = edits["input"].strip()
    history = item.before(end)
    told: dict[str, Any] = {"id": _case_id(item), "category": item.category}
    told["language"] = item.language
    told |= {name: _entries(edits[name]) for name in _LISTS if _entries(edits[name])}
    if history:
        told["messages"] = [*history, {"role": "user", "content": text}]
    else:
        told["input"] = text
    told |= {
        "expected_intent": edits["expected_intent"].strip() or None,
        "split": edits["split"].strip() or None,
        "added": day,
        "source": item.provenance,
        "reviewed_by": curator,
        "note": edits["note"].strip() or None,
    }
    problems = [] if text else [_problem(file, "input", "is empty.", "Write what the user asks.")]
    given = {name: value for name, value in told.items() if value is not None}
    found = case_of(Line(0, b"", given), file)
    if isinstance(found, Case) and not problems:
        return found
    if not isinstance(found, Case):
        problems += [_of_form(problem) for problem in found if text or problem.field != "input"]
    raise InputError("the case was not accepted", problems)


def _end(item: CurationItem, text: str, file: str) -> int:
    number = int(text) if re.fullmatch(r"[0-9]{1,6}", text.strip()) else 0
    if not 1 <= number <= len(item.asked):
        raise InputError(
            "the case was not accepted",
            [
                _problem(
                    file,
                    "ends_with",
                    f"must be the number of a user's message, 1 to {len(item.asked)}. Got {text!r}.",
                    "Write which one the case ends with.",
                )
            ],
        )
    return number


def _entries(text: str) -> list[str]:
    """Return the lines of a list that hold something, each once."""
    return list(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))


def _case_id(item: CurationItem) -> str:
    """Return a readable name that is another one for each conversation."""
    digest = hashlib.sha256(item.conversation_id.encode()).hexdigest()[:8]
    kind = re.sub(r"[^a-z0-9]+", "-", (item.category or "log").lower()).strip("-")
    return f"{kind[:_LONGEST_NAME].strip('-') or 'log'}-{digest}"


def _problem(file: str, field: str, message: str, remedy: str) -> Problem:
    return Problem(file, 0, field, message, remedy)


def _of_form(problem: Problem) -> Problem:
    """Say of which field of the form a problem of the case is."""
    name = re.split(r"[.\[]", problem.field)[0]
    if name == "messages":
        name = "input"
    if not problem.field:
        return Problem(
            problem.file,
            0,
            "expected_keywords",
            "is empty, and so is all else that could fail.",
            "Write a keyword to expect, a word that must not appear, or the intent.",
        )
    if name not in FIELDS:
        return Problem(problem.file, 0, "", f"`{name}` {problem.message}", problem.remedy)
    return Problem(problem.file, 0, name, problem.message, problem.remedy)

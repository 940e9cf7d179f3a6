"""What an answer is like, apart from what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import regex

from evalnb.scorers.refusals import declines
from evalnb.scorers.structured import json_object
from evalnb.shifts.languages import language_of
from evalnb.systems import Output

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FORMATS", "features"]

FORMATS = {
    "list": regex.compile(r"^\s*(?:[-*•]|\d+[.)])\s+\S", regex.MULTILINE),
    "heading": regex.compile(r"^#{1,6}\s+\S", regex.MULTILINE),
    "bold": regex.compile(r"\*\*[^*\n]+\*\*"),
    "table": regex.compile(r"^\s*\|.*\|\s*$", regex.MULTILINE),
    "code": regex.compile(r"```|`[^`\n]+`"),
    "link": regex.compile(r"https?://\S"),
    "emoji": regex.compile(r"\p{Extended_Pictographic}"),
    "question": regex.compile(r"[?？؟]"),
    "exclamation": regex.compile(r"[!！]"),
    "paragraphs": regex.compile(r"\S\s*\n\s*\n\s*\S"),
}
"""Name of a form to what shows it."""


def features(
    text: str | None, stop_reason: str | None = None, refusal_phrases: Sequence[str] = ()
) -> dict[str, float]:
    """Return the features of an answer.

    Parameters
    ----------
    text : of the answer, None where it has none
    stop_reason : of its last response
    refusal_phrases : the suite's own, beside the package's

    Returns
    -------
    feature to value
        `characters` is a number; all others are 1 where they hold and absent where not:
        `refusal`, `json`, `no_text`, `language=` with a code, `format=` with a name of `FORMATS`.

    Examples
    --------
    >>> features("Sie können mit **Karte** bezahlen.")
    {'characters': 34.0, 'language=de': 1.0, 'format=bold': 1.0}
    """
    found = {"characters": float(len(text or ""))}
    if not text:
        return found | {"no_text": 1.0}
    if declines(Output(text, stop_reason=stop_reason), refusal_phrases):
        found["refusal"] = 1.0
    language = language_of(text)
    if language:
        found[f"language={language}"] = 1.0
    if json_object(text) is not None:
        found["json"] = 1.0
    return found | {f"format={name}": 1.0 for name, sign in FORMATS.items() if sign.search(text)}

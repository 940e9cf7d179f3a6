"""Whether an answer is in the language that it was asked in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.curation.candidates.languages import base_language
from evalnb.scorers import NotApplicable, Score
from evalnb.shifts import is_known_language, language_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["answers_in_language"]


def answers_in_language(
    asked: Sequence[str], answer: str, *, allowed: Sequence[str] = (), named: str | None = None
) -> Score | NotApplicable:
    """Tell whether an answer is in the language of the question, or in one that is allowed.

    Parameters
    ----------
    asked : the question, and all that the user says besides: either may tell the language
    answer : a text
    allowed : languages that may be answered in; by default that of the question
    named : the language that the log names, for where the question does not tell its own

    Returns
    -------
    a score; not applicable where question or answer tell no language, as numbers and JSON do, or
    where the language asked for is none of those that are known

    Examples
    --------
    >>> answers_in_language(["Wo ist mein Paket?"], "It is on the way to you.", named="de").reason
    'answers in en; asked in de'
    """
    found = language_of(answer)
    if found is None:
        return NotApplicable("the answer does not tell its language")
    spoken = list(dict.fromkeys(filter(None, map(language_of, asked))))
    wanted = [base_language(tag) for tag in allowed] or spoken
    if not wanted and named:
        wanted = [base_language(named)]
    if not wanted:
        return NotApplicable("the question does not tell its language")
    said = f"answers in {found}"
    if found in wanted:
        return Score(1.0, True, said)
    unknown = [tag for tag in wanted if not is_known_language(tag) and tag not in spoken]
    if unknown:
        return NotApplicable(f"{said}; {', '.join(unknown)} cannot be told from others")
    what = "allowed" if allowed else "asked in"
    return Score(0.0, False, f"{said}; {what} {', '.join(wanted)}")

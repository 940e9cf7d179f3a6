"""Scorer of refusals and hedges."""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from evalnb.matching import contains, normalize
from evalnb.scorers.base import Score, quoted
from evalnb.scorers.structured import json_object

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evalnb.cases import Case
    from evalnb.golden import SuiteSettings
    from evalnb.systems import Output

__all__ = ["declines", "refusal"]

_GAP = r"(?:[^\s.,;:!?]+ ){0,6}"
_START = r"(?<![^.!?;:,-] )"
_QUOTE = re.compile('"[^"]*"|„[^"]*"|«[^»]*»|「[^」]*」|『[^』]*』')


class _Language(NamedTuple):
    idioms: re.Pattern[str]
    patterns: re.Pattern[str]
    signs: re.Pattern[str] | None


def refusal(case: Case, output: Output, settings: SuiteSettings) -> Score:
    """Tell whether the answer declines or hedges, as `expect_refusal` wants it or not.

    Decided by the stop reason `refusal`; else, where the text is a JSON object with a boolean
    field `refused`, by that; else by phrases in English, German, Spanish and Japanese
    (`refusals.toml`) and those of the suite's `refusal_phrases`. What an answer quotes does not
    count as said by it.
    """
    how = declines(output, settings.refusal_phrases)
    passed = (how is not None) is case.expect_refusal
    if how is not None:
        reason = how if passed else f"should answer, but {how}"
    else:
        found = quoted(output.text or "")
        reason = f"does not decline: {found}" if case.expect_refusal else "does not decline"
    return Score(float(passed), passed, reason)


def declines(output: Output, own_phrases: Sequence[str]) -> str | None:
    """Say how an output declines, None where it does not."""
    if output.stop_reason == "refusal":
        return "declines: the response stopped with `refusal`"
    text = output.text or ""
    found = json_object(text)
    if found is not None:
        if isinstance(found.get("refused"), bool):
            return "declines: `refused` is true" if found["refused"] else None
        text = "\n".join(_strings(found))
    phrase = next((phrase for phrase in own_phrases if contains(text, phrase)), None)
    phrase = phrase or _phrase(text)
    return f"declines: {quoted(phrase)}" if phrase else None


def _phrase(text: str) -> str | None:
    text = normalize(text)
    unquoted = _QUOTE.sub(" ", text)
    # An answer that is one quotation says what it quotes.
    said = unquoted if re.search(r"\w", unquoted) else text
    for language in _languages():
        if language.signs is None or language.signs.search(said):
            found = language.patterns.search(language.idioms.sub("…", said))
            if found:
                return found[0].strip(" .,;:!?-")
    return None


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from _strings(entry)


@lru_cache(maxsize=1)
def _languages() -> list[_Language]:
    text = files("evalnb.scorers").joinpath("refusals.toml").read_text(encoding="utf-8")
    return [_language(**content) for content in tomllib.loads(text).values()]


def _language(idioms: list[str], patterns: list[str], signs: str | None = None) -> _Language:
    beginning = r"\b" if signs is None else ""
    return _Language(
        _any_of(idioms, beginning),
        _any_of(patterns, beginning),
        None if signs is None else re.compile(signs),
    )


def _any_of(parts: list[str], beginning: str) -> re.Pattern[str]:
    expression = f"{beginning}(?:{'|'.join(parts)})"
    return re.compile(expression.replace("<gap>", _GAP).replace("<start>", _START))

"""Finding words and phrases in text of any script."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Literal

import regex

__all__ = ["UNSPACED", "Matching", "contains", "normalize"]

Matching = Literal["words", "substrings"]

UNSPACED = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}\p{Hangul}ー"
)
"""Scripts whose words stand without spaces, and Hangul, whose particles join the word before; a
part of a set of the `regex` package."""
_WORD = regex.compile(rf"(?V1)[\w--[{UNSPACED}]]")
# Between digits these are part of a number.
_POINTS = frozenset(".,٫٬")
# Typographic variants that NFKC keeps apart, and the Turkish capital, which folds to i and a dot.
_VARIANTS = {"‘": "'", "’": "'", "“": '"', "”": '"', "‐": "-", "−": "-", "İ": "i"}
_VARIANT = re.compile(f"[{''.join(_VARIANTS)}]")
# Signs that take no room: soft hyphens, joiners, directions. A word is the same word with them.
_INVISIBLE = re.compile("[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


@lru_cache(maxsize=256)
def normalize(text: str) -> str:
    """Return text in the form in which it is compared.

    That is NFKC, case folded, with plain quotes, single spaces and no invisible signs.

    Examples
    --------
    >>> normalize("Ｓtraße’s")
    "strasse's"
    """
    if text.isascii():
        return " ".join(text.lower().split())
    visible = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))
    folded = _VARIANT.sub(lambda found: _VARIANTS[found[0]], visible).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


def contains(text: str, phrase: str, *, matching: Matching = "words") -> bool:
    """Tell whether a phrase occurs in a text, whatever its case and spacing.

    Parameters
    ----------
    text, phrase : any script
    matching : `words` asks for whole words where the script separates words, and for whole numbers,
        decimals included; `substrings` does not

    Examples
    --------
    >>> contains("Go to checkout", "check")
    False
    >>> contains("返品期限は30日です", "30日")
    True
    >>> contains("It costs 30.", "30"), contains("It costs 30.99", "30")
    (True, False)
    """
    text, phrase = normalize(text), normalize(phrase)
    if not phrase:
        return True
    start = text.find(phrase)
    # Not one expression for it all: it would take quadratic time on text that repeats itself.
    while start >= 0:
        end = start + len(phrase)
        if matching == "substrings" or not _is_cut(text, start, end):
            return True
        start = text.find(phrase, start + 1)
    return False


def _is_cut(text: str, start: int, end: int) -> bool:
    """Tell whether a word or number goes on beyond a part of a text."""
    before, after = text[start - 1 : start], text[end : end + 1]
    if before and _is_of_word(before) and _is_of_word(text[start]):
        return True
    if after and _is_of_word(after) and _is_of_word(text[end - 1]):
        return True
    return (before in _POINTS and _is_within_number(text, start - 1)) or (
        after in _POINTS and _is_within_number(text, end)
    )


def _is_within_number(text: str, position: int) -> bool:
    """Tell whether the sign at a position stands between two digits."""
    around = text[position - 1 : position + 2 : 2] if position else ""
    return len(around) == 2 and around.isdecimal()


@lru_cache(maxsize=4096)
def _is_of_word(sign: str) -> bool:
    return _WORD.match(sign) is not None

"""Finding words and phrases in text of any script."""

from __future__ import annotations

import unicodedata
from typing import Literal

import regex

__all__ = ["Matching", "contains", "normalize"]

Matching = Literal["words", "substrings"]

# Scripts whose words stand without spaces, and Hangul, whose particles join the word before.
_UNSPACED = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}\p{Hangul}ー"
)
_WORD = regex.compile(rf"(?V1)[\w--[{_UNSPACED}]]")
# Typographic variants that NFKC keeps apart, and the Turkish capital, which folds to i and a dot.
_VARIANTS = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "‐": "-", "−": "-", "İ": "i"})
# Signs that take no room: soft hyphens, joiners, directions. A word is the same word with them.
_INVISIBLE = dict.fromkeys(
    [0xAD, 0x61C, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A), 0xFEFF]
)


def normalize(text: str) -> str:
    """Return text in the form in which it is compared.

    That is NFKC, case folded, with plain quotes, single spaces and no invisible signs.

    Examples
    --------
    >>> normalize("Ｓtraße’s")
    "strasse's"
    """
    visible = unicodedata.normalize("NFKC", text.translate(_INVISIBLE))
    folded = visible.translate(_VARIANTS).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


def contains(text: str, phrase: str, *, matching: Matching = "words") -> bool:
    """Tell whether a phrase occurs in a text, whatever its case and spacing.

    Parameters
    ----------
    text, phrase : any script
    matching : `words` asks for whole words where the script separates words; `substrings` does not

    Examples
    --------
    >>> contains("Go to checkout", "check")
    False
    >>> contains("返品期限は30日です", "30日")
    True
    """
    text, phrase = normalize(text), normalize(phrase)
    start = text.find(phrase)
    # Not one expression for it all: it would take quadratic time on text that repeats itself.
    while start >= 0:
        end = start + len(phrase)
        if matching == "substrings" or not (_cuts_word(text, start) or _cuts_word(text, end)):
            return True
        start = text.find(phrase, start + 1)
    return False


def _cuts_word(text: str, position: int) -> bool:
    """Tell whether the signs on both sides of a position belong to one word."""
    return 0 < position < len(text) and all(
        _WORD.match(sign) for sign in text[position - 1 : position + 1]
    )

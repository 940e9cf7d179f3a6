"""Finding words and phrases in text of any script."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Literal

import regex

__all__ = ["Matching", "contains", "normalize"]

Matching = Literal["words", "substrings"]

# Scripts whose words stand without spaces, and Hangul, whose particles join the word before.
_UNSPACED = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}\p{Hangul}ー"
)
_WORD = rf"[\w--[{_UNSPACED}]]"
# Typographic variants that NFKC keeps apart.
_VARIANTS = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "‐": "-", "−": "-"})


def normalize(text: str) -> str:
    """Return text in the form in which it is compared: NFKC, case folded, plain quotes.

    Examples
    --------
    >>> normalize("Ｓtraße’s")
    "strasse's"
    """
    folded = unicodedata.normalize("NFKC", text).translate(_VARIANTS).casefold()
    return unicodedata.normalize("NFKC", folded)


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
    return _pattern(normalize(phrase), matching).search(normalize(text)) is not None


@lru_cache(maxsize=4096)
def _pattern(phrase: str, matching: Matching) -> regex.Pattern[str]:
    body = r"\s+".join(regex.escape(word) for word in phrase.split())
    if matching == "words":
        words = phrase.strip()
        before = rf"(?<!{_WORD})" if regex.match(rf"(?V1){_WORD}", words[:1]) else ""
        after = rf"(?!{_WORD})" if regex.match(rf"(?V1){_WORD}", words[-1:]) else ""
        body = f"{before}{body}{after}"
    return regex.compile(rf"(?V1){body}")

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
# Typographic variants that NFKC keeps apart, and the Turkish capital, which folds to i and a dot.
_VARIANTS = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "‐": "-", "−": "-", "İ": "i"})
# Signs that take no room: soft hyphens, joiners, directions, variation selectors. A word is the
# same word with them.
_INVISIBLE = dict.fromkeys(
    [0xAD, 0x61C, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A)]
    + [0xFE0E, 0xFE0F, 0xFEFF]
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
    return _pattern(normalize(phrase), matching).search(normalize(text)) is not None


@lru_cache(maxsize=4096)
def _pattern(phrase: str, matching: Matching) -> regex.Pattern[str]:
    body = regex.escape(phrase)
    if matching == "words":
        before = rf"(?<!{_WORD})" if regex.match(rf"(?V1){_WORD}", phrase[:1]) else ""
        after = rf"(?!{_WORD})" if regex.match(rf"(?V1){_WORD}", phrase[-1:]) else ""
        body = f"{before}{body}{after}"
    return regex.compile(rf"(?V1){body}")

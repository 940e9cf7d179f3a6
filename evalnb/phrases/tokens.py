"""Text as words, signs and the breaks between them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

import regex

from evalnb.matching import UNSPACED, normalize

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Kind", "Token", "joined", "kind_of", "pieces", "spans"]

Kind = Literal["word", "sign", "break"]

_INVISIBLE = r"\u00ad\u200b-\u200f\u2060\ufeff"
_LETTER = rf"[[\p{{L}}\p{{M}}\p{{N}}_{_INVISIBLE}]--[{UNSPACED}]]"
_ANY_SCRIPT = regex.compile(
    rf"(?V1){_LETTER}+(?:(?:['’\-‐@/]|(?<=\p{{N}})[.,](?=\p{{N}})){_LETTER}+)*"
    rf"|[{UNSPACED}][\p{{M}}{_INVISIBLE}]*"
    r"|\n[ \t\r]*\n|[^\s\x1c-\x1f]"
)
# The same for most text, in a tenth of the time.
_ASCII = re.compile(
    r"[A-Za-z0-9_]+(?:(?:['\-@/]|(?<=[0-9])[.,](?=[0-9]))[A-Za-z0-9_]+)*|\n[ \t\r]*\n|[^\s\x1c-\x1f]"
)
_SIGN = regex.compile(rf"[{UNSPACED}]")
_WORD = regex.compile(rf"(?V1){_LETTER}")


class Token(NamedTuple):
    """A piece of a text.

    Attributes
    ----------
    text : in the form in which it is compared
    kind : a word; a sign of a script that puts no spaces between words; or what no phrase reaches
        over, such as punctuation and an empty line
    """

    text: str
    kind: Kind


def pieces(text: str) -> list[str]:
    """Take a text apart, without the spaces.

    Hyphens, apostrophes and slashes inside a word, and points and commas inside a number, are part
    of it.

    Parameters
    ----------
    text : any script

    Examples
    --------
    >>> pieces("Your order B-7, 9.90 euros?")
    ['Your', 'order', 'B-7', ',', '9.90', 'euros', '?']
    """
    found: list[str] = (_ASCII if text.isascii() else _ANY_SCRIPT).findall(text)
    return found


def spans(text: str) -> Iterator[tuple[Token, int, int]]:
    """Yield the pieces of a text as tokens, with where they begin and end."""
    for found in (_ASCII if text.isascii() else _ANY_SCRIPT).finditer(text):
        yield kind_of(found.group()), found.start(), found.end()


@lru_cache(maxsize=65_536)
def kind_of(piece: str) -> Token:
    """Tell what a piece of a text is.

    Examples
    --------
    >>> kind_of("Don’t"), kind_of("注"), kind_of(",")
    (Token(text="don't", kind='word'), Token(text='注', kind='sign'), Token(text=',', kind='break'))
    """
    if _SIGN.match(piece):
        kind: Kind = "sign"
    else:
        kind = "word" if _WORD.match(piece) else "break"
    return Token(normalize(piece), kind)


def joined(tokens: tuple[str, ...], kind: Kind) -> str:
    """Return tokens as a phrase to be read: words with spaces between them, signs without."""
    return (" " if kind == "word" else "").join(tokens)

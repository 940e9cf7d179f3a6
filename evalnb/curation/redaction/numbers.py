"""Phone and card numbers that presidio's patterns leave in sight: told by the words before them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evalnb.curation.redaction.spans import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["find_cards", "find_phones", "may_have_phone"]

_PHONE = re.compile(
    r"(?<![\w.])(?:\+|00)?\(?\d(?:[ \t\u00a0().\-/]{0,3}\d){5,14}(?:\s?(?:x|ext\.?)\s?\d{1,6})?(?!\w)"
)
_NO_PHONE = re.compile(
    r"(?:\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./]\d{4})(?:\s\d{1,2})?$|"
    r"\d{1,3}(?:\.\d{1,3}){3}$"
)
_PHONE_WORDS = re.compile(
    r"(?<!\w)(?:(?:tele)?(?:ph|f)one?n?|tel[eé]fono?|t[eé]l|mobile?|mobil|handy|cell(?:phone|ular)?|"
    r"fax|desk|office|whatsapp|sms|text me|call(?:ed|ing)?|phone number|reach me|registered|"
    r"rufnummer|telefonnummer|numer telefonu|móvil|celular|電話|电话)(?!\w)",
    re.IGNORECASE,
)
_CARD = re.compile(r"(?<![\w.])\d(?:[ \-]?\d){11,18}(?![\w.]\d)(?!\w)")
_CARD_WORDS = re.compile(
    r"(?<!\w)(?:(?:credit|debit)?\s?cards?|karte|kreditkarte|tarjeta|carte|carta|visa|mastercard|"
    r"amex|maestro)(?!\w)",
    re.IGNORECASE,
)
_NEAR = 40
_FAR = 60
_FEW, _MANY = 8, 15


def may_have_phone(text: str) -> bool:
    """Tell whether a text has as many digits in a row as a phone number."""
    return _PHONE.search(text) is not None


def find_phones(find: Callable[[str], Iterator[Span]], text: str) -> Iterator[Span]:
    """Find phone numbers: in international form, after a word such as `mobile`, or valid somewhere.

    Digits without a sign between them that no such word precedes are none: they may be the number
    of an order.

    Parameters
    ----------
    find : finds numbers that are valid in one of many countries
    text : any
    """
    for match in _PHONE.finditer(text):
        start, end = match.span()
        number = match[0]
        if _NO_PHONE.match(number):
            continue
        n_digits = sum(sign.isdigit() for sign in number)
        if number.startswith("+") and n_digits >= _FEW:
            yield Span(start, end, "PHONE", 0.6)
        elif _PHONE_WORDS.search(text, max(0, start - _NEAR), start) or _PHONE_WORDS.match(
            text[end : end + _NEAR].lstrip(" ,-\\(:")
        ):
            yield Span(start, end, "PHONE", 0.75)
        elif n_digits <= _MANY and not number.isdigit():
            for found in find(number):
                yield Span(start + found.start, start + found.end, "PHONE", found.score)


def find_cards(is_valid: Callable[[str], bool | None], text: str) -> Iterator[Span]:
    """Find card numbers of 12 to 19 digits after a word such as `card`, with a right checksum.

    Parameters
    ----------
    is_valid : tells whether the checksum is right
    text : any
    """
    for match in _CARD.finditer(text):
        start, end = match.span()
        if _CARD_WORDS.search(text, max(0, start - _FAR), start) and is_valid(match[0]):
            yield Span(start, end, "CARD", 1.0)

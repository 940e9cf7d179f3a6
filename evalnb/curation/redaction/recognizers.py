"""Who recognizes what: presidio's patterns and checksums, and patterns of our own and the suite's.

No language model and no download is needed. A number that any shop could have given to an order is
taken for an id only where a word before it says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any

from evalnb.curation.redaction.numbers import find_cards, find_phones, may_have_phone
from evalnb.curation.redaction.secrets import SECRETS, URLS
from evalnb.curation.redaction.spans import Span
from evalnb.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["KINDS", "Recognizer", "own_recognizers", "presidio_recognizers"]

KINDS = {
    "EMAIL_ADDRESS": "EMAIL",
    "PHONE_NUMBER": "PHONE",
    "CREDIT_CARD": "CARD",
    "IBAN_CODE": "IBAN",
    "IP_ADDRESS": "IP",
    "PERSON": "NAME",
}
"""Presidio's word to ours; national ids keep presidio's, such as `US_SSN`."""

_GENERIC = ("CreditCard", "Ip", "Crypto", "MacAddress")
_NATIONAL = (
    *("UsSsn", "UsItin", "UsPassport", "UsLicense", "UsBank", "UsMbi", "CaSin"),
    *("Nhs", "UkNino", "UkPassport", "UkDrivingLicence"),
    *("DeTaxId", "DeIdCard", "DePassport", "DeSocialSecurity", "DeHealthInsurance"),
    *("EsNif", "EsNie", "EsPassport", "ItFiscalCode", "ItDriverLicense", "ItPassport"),
    *("ItIdentityCard", "PlPesel", "FiPersonalIdentityCode", "SePersonnummer", "SgFin"),
    *("AuTfn", "AuMedicare", "InAadhaar", "InPan", "InPassport", "InVoter", "KrRrn", "KrFrn"),
    *("KrPassport", "KrDriverLicense", "TrNationalId", "ThTnin", "NgNin", "ZaIdNumber"),
    "PhPassport",
)
_REGIONS = ("US", "GB", "DE", "FR", "ES", "IT", "IN", "BR", "AU", "JP", "IL", "PL")
_SURE = 0.4
_WEAK = 0.3  # a pattern below this one needs a word that says what it is, checksum or not
_FOR_CONTEXT = 0.35  # as presidio adds
_WORDS_BEFORE = 60
_SHORTEST_WORD = 3
_AT = re.compile("@")
_ADDRESS = re.compile(r"[^\s@]{1,64}@[^\s@]{1,255}")  # as long as RFC 5321 has it
_CAPITALS = {ord(letter): letter.upper() for letter in "abcdefghijklmnopqrstuvwxyz"}
# Four digits close together: there is no card, account or id without.
_DIGITS = re.compile(r"\d(?:[\s.\-/]?[A-Za-z]?\d){3}")
_IP = re.compile(r"\d\.\d{1,3}\.\d|:[0-9A-Fa-f]{0,4}:")
_MAC = re.compile(r"[0-9A-Fa-f]{2}[:.\-][0-9A-Fa-f]{2}")
# Taken for a permanent account number: any ten signs with a letter and four digits among them.
_TOO_WIDE = {("IN_PAN", 0.1), ("IN_PAN", 0.01)}


@dataclass(frozen=True)
class Recognizer:
    """Finds one kind of thing.

    Attributes
    ----------
    kind : what it finds
    may_have : a quick look: False where a text has none for sure
    find : yields spans
    """

    kind: str
    may_have: Callable[[str], Any]
    find: Callable[[str], Iterator[Span]]


@cache
def presidio_recognizers() -> tuple[Recognizer, ...]:
    """Return the recognizers of presidio that need no language model.

    Raises
    ------
    InputError
        If presidio is not installed.
    """
    try:
        from presidio_analyzer import predefined_recognizers
    except ImportError as error:
        raise InputError('redaction needs presidio: pip install "evalnb[curation]"') from error
    found = [Recognizer("EMAIL", _AT.search, _emails(predefined_recognizers))]
    quick = {"Ip": _IP.search, "MacAddress": _MAC.search}
    for name in (*_GENERIC, *_NATIONAL):
        wrapped = getattr(predefined_recognizers, f"{name}Recognizer")()
        found.append(_wrapped(wrapped, quick.get(name, _has_digits)))
    cards = predefined_recognizers.CreditCardRecognizer()
    found.append(Recognizer("CARD", _has_digits, partial(find_cards, cards.validate_result)))
    ibans = predefined_recognizers.IbanRecognizer()
    found.append(Recognizer("IBAN", _has_digits, partial(_in_capitals, _finder(ibans, "IBAN"))))
    phones = predefined_recognizers.PhoneRecognizer(supported_regions=_REGIONS)
    finder = partial(find_phones, _finder(phones, "PHONE"))
    found.append(Recognizer("PHONE", may_have_phone, finder))
    return tuple(found)


def own_recognizers(patterns: Mapping[str, str] | None = None) -> tuple[Recognizer, ...]:
    """Return the recognizers of secrets, of URLs that carry them, and of a suite's patterns.

    Parameters
    ----------
    patterns : kind to regular expression
    """
    given = {
        **{name: ("SECRET", pattern) for name, pattern in SECRETS.items()},
        **{name: ("URL", pattern) for name, pattern in URLS.items()},
        **{name: (name, pattern) for name, pattern in (patterns or {}).items()},
    }
    return tuple(_of_pattern(kind, pattern) for kind, pattern in given.values())


@lru_cache(maxsize=256)
def _of_pattern(kind: str, pattern: str) -> Recognizer:
    compiled = re.compile(pattern)
    group: int | str = "secret" if "secret" in compiled.groupindex else 0

    def find(text: str) -> Iterator[Span]:
        for match in compiled.finditer(text):
            start, end = match.span(group)
            if end > start:
                yield Span(start, end, kind)

    return Recognizer(kind, _anything, find)


def _wrapped(recognizer: Any, quick: Callable[[str], Any]) -> Recognizer:
    """Return a recognizer of presidio, without the patterns that alone or with context say nothing."""
    entity = recognizer.supported_entities[0]
    kind = KINDS.get(entity, entity)
    recognizer.patterns = [
        pattern for pattern in recognizer.patterns if (entity, pattern.score) not in _TOO_WIDE
    ]
    context = _context(recognizer.context or ())
    is_weak = all(pattern.score < _WEAK for pattern in recognizer.patterns)

    def may_have(text: str) -> bool:
        if not quick(text):
            return False
        return not is_weak or (context is not None and context.search(text) is not None)

    return Recognizer(kind, may_have, _finder(recognizer, kind))


def _in_capitals(find: Callable[[str], Iterator[Span]], text: str) -> Iterator[Span]:
    """Find in a text whose ASCII letters are all capitals; other letters might change in number."""
    return find(text.translate(_CAPITALS))


def _emails(recognizers: Any) -> Callable[[str], Iterator[Span]]:
    """Return presidio's recognizer with the list of domains that is in `tldextract` itself.

    Presidio's own asks the network for a newer one.
    """
    import tldextract

    domains = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)

    class OfflineEmailRecognizer(recognizers.EmailRecognizer):  # type: ignore[misc]
        """Knows the domains of the day when `tldextract` was released."""

        def validate_result(self, pattern_text: str) -> bool:
            """Tell whether the address has a domain under a public suffix."""
            return bool(domains(pattern_text).top_domain_under_public_suffix)

    return partial(_in_windows, _finder(OfflineEmailRecognizer(), "EMAIL"))


def _in_windows(find: Callable[[str], Iterator[Span]], text: str) -> Iterator[Span]:
    """Find only where an address may be: on long texts without one the pattern takes minutes."""
    for window in _ADDRESS.finditer(text):
        for found in find(window[0]):
            yield found._replace(start=window.start() + found.start, end=window.start() + found.end)


def _finder(recognizer: Any, kind: str) -> Callable[[str], Iterator[Span]]:
    entities = list(recognizer.supported_entities)
    context = _context(recognizer.context or ())

    def find(text: str) -> Iterator[Span]:
        for found in recognizer.analyze(text, entities, None):
            base = found.analysis_explanation.original_score
            score = found.score
            if base < _WEAK or score < _SURE:
                if context is None or not context.search(text, _before(found), found.start):
                    continue
                score = max(score, base + _FOR_CONTEXT)
            if score >= _SURE:
                yield Span(found.start, found.end, kind, min(score, 1.0))

    return find


def _before(found: Any) -> int:
    return max(0, int(found.start) - _WORDS_BEFORE)


def _context(words: Any) -> re.Pattern[str] | None:
    """Return what finds a word that says what comes; `us` and the like say too little."""
    known = sorted({word for word in words if len(word) >= _SHORTEST_WORD})
    joined = "|".join(re.escape(word) for word in known)
    return re.compile(rf"(?<!\w)(?:{joined})s?(?!\w)", re.IGNORECASE) if known else None


@lru_cache(maxsize=1)  # forty recognizers ask it of a text, one after the other
def _has_digits(text: str) -> bool:
    return _DIGITS.search(text) is not None


def _anything(text: str) -> bool:
    return bool(text)

"""Finds what must not be seen in a text, and puts placeholders in its place."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from evalnb.curation.redaction.names import installed_model, name_recognizer
from evalnb.curation.redaction.recognizers import own_recognizers, presidio_recognizers
from evalnb.curation.redaction.spans import Span, without_overlaps

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evalnb.curation.redaction.recognizers import Recognizer
    from evalnb.golden import GoldenSet

__all__ = ["Placeholders", "Redactor", "Replaced", "redactor_of"]

_PLACEHOLDER = re.compile(r"<[A-Z][A-Z0-9_]*_[0-9]+>")
_FILLING = re.compile(r"[\s()\-/]+")
_CASELESS = {"EMAIL", "IBAN", "IP", "MAC_ADDRESS", "NAME"}
_WORDS = {"NAME"}


class Replaced(NamedTuple):
    """What was replaced in a text: where it stood, what it was, and what stands there now."""

    span: Span
    text: str
    placeholder: str


@dataclass(frozen=True)
class Redactor:
    """Finds e-mail addresses, phone numbers, cards, accounts, ids, addresses of machines, secrets.

    Cards, accounts and most ids must pass their checksum. Names are found where a spaCy model is
    there; street addresses, dates and places are not looked for.

    Attributes
    ----------
    recognizers : who finds what
    finds_names : whether names of persons are among it
    """

    recognizers: Sequence[Recognizer]
    finds_names: bool = False

    def find(self, text: str) -> list[Span]:
        """Return what must not be seen, in order and without overlaps.

        Examples
        --------
        >>> [span.kind for span in redactor_of().find("I am at ada@example.org, 10.0.0.7")]
        ['EMAIL', 'IP']
        """
        spans = [
            span
            for recognizer in self.recognizers
            if recognizer.may_have(text)
            for span in recognizer.find(text)
        ]
        return without_overlaps(_outside_placeholders(text, spans))

    def redact(self, text: str, placeholders: Placeholders) -> tuple[str, list[Replaced]]:
        """Return a text with placeholders, and what they stand for.

        Parameters
        ----------
        text : any
        placeholders : those of its conversation, which may become more
        """
        parts: list[str] = []
        replaced: list[Replaced] = []
        done = 0
        for span in self.find(text):
            value = text[span.start : span.end]
            placeholder = placeholders.of(span.kind, value)
            parts += [text[done : span.start], placeholder]
            replaced.append(Replaced(span, value, placeholder))
            done = span.end
        return "".join([*parts, text[done:]]), replaced


@dataclass
class Placeholders:
    """The placeholders of one conversation: the same value always has the same one.

    Parameters
    ----------
    texts : the conversation; a placeholder that somebody typed is not given away again
    """

    texts: Iterable[str] = ()
    _taken: set[str] = field(default_factory=set, init=False)
    _of: dict[tuple[str, str], str] = field(default_factory=dict, init=False)
    _counts: Counter[str] = field(default_factory=Counter, init=False)

    def __post_init__(self) -> None:
        for text in self.texts:
            self._taken.update(_PLACEHOLDER.findall(text))

    def of(self, kind: str, value: str) -> str:
        """Return the placeholder of a value, however it is spaced or cased where that is nothing.

        Examples
        --------
        >>> known = Placeholders()
        >>> [known.of("CARD", v) for v in ("4111 1111 1111 1111", "4111-1111-1111-1111", "4242")]
        ['<CARD_1>', '<CARD_1>', '<CARD_2>']
        """
        key = (kind, _bare(kind, value))
        while key not in self._of:
            self._counts[kind] += 1
            placeholder = f"<{kind}_{self._counts[kind]}>"
            if placeholder not in self._taken:
                self._of[key] = placeholder
        return self._of[key]


def redactor_of(golden: GoldenSet | None = None, *, model: Any = None) -> Redactor:
    """Return what redacts the logs of a suite.

    Parameters
    ----------
    golden : whose `[redaction]` patterns count as well
    model : a spaCy model that finds names, by name or folder; by default one that is installed

    Raises
    ------
    InputError
        If presidio is not installed, or the model cannot be loaded.
    """
    patterns = golden.settings.redaction.patterns if golden is not None else {}
    found = [*own_recognizers(patterns), *presidio_recognizers()]
    names = model or installed_model()
    if names is not None:
        found.append(name_recognizer(names))
    return Redactor(tuple(found), finds_names=names is not None)


def _bare(kind: str, value: str) -> str:
    text = value.casefold() if kind in _CASELESS else value
    return " ".join(text.split()) if kind in _WORDS else _FILLING.sub("", text)


def _outside_placeholders(text: str, spans: list[Span]) -> list[Span]:
    """Leave out what was found within a placeholder that is there already."""
    if not spans or "<" not in text:
        return spans
    there = [match.span() for match in _PLACEHOLDER.finditer(text)]
    return [
        span
        for span in spans
        if not any(start <= span.start and span.end <= end for start, end in there)
    ]

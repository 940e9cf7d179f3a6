"""Names of persons, where a spaCy model is installed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from evalnb.curation.redaction.recognizers import Recognizer
from evalnb.curation.redaction.spans import Span
from evalnb.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["installed_model", "name_recognizer"]

_PERSONS = {"PERSON", "PER", "persName", "PRS"}


def installed_model() -> str | None:
    """Return the name of a spaCy model that is installed; None where there is none."""
    try:
        from spacy.util import get_installed_models
    except ImportError:
        return None
    return next(iter(sorted(get_installed_models())), None)


@cache
def name_recognizer(model: str | Path) -> Recognizer:
    """Return what finds the names of persons.

    Parameters
    ----------
    model : name of an installed spaCy model, or its folder

    Raises
    ------
    InputError
        If there is none, or it knows no entities.
    """
    try:
        import spacy

        loaded = spacy.load(model)
    except (ImportError, OSError) as error:
        raise InputError(f"the spaCy model {model} cannot be loaded: {error}") from error
    if not {"ner", "entity_ruler", "span_ruler"} & set(loaded.pipe_names):
        raise InputError(f"the spaCy model {model} finds no names: it has no entity recognizer")
    return Recognizer("NAME", bool, _finder(loaded))


def _finder(loaded: Any) -> Any:
    def find(text: str) -> Iterator[Span]:
        for entity in loaded(text).ents:
            if entity.label_ in _PERSONS:
                yield Span(entity.start_char, entity.end_char, "NAME", 0.85)

    return find

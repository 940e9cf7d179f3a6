"""Wording that appeared, vanished or was replaced between two sets of answers."""

from evalnb.phrases.changes import LEVEL, PhraseStudy, phrase_changes
from evalnb.phrases.detectable import smallest_rate

__all__ = ["LEVEL", "PhraseStudy", "phrase_changes", "smallest_rate"]

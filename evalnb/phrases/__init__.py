"""Wording that appeared, vanished or was replaced between two sets of answers."""

from evalnb.phrases.changes import LEVEL, PhraseStudy, phrase_changes
from evalnb.phrases.corpus import n_clusters
from evalnb.phrases.detectable import smallest_rate

__all__ = ["LEVEL", "PhraseStudy", "n_clusters", "phrase_changes", "smallest_rate"]

"""Kinds of conversations where the logs name none: clusters of what users said."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from evalnb.matching import normalize

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["cluster_names"]

# Words, not numbers, which are those of orders and days.
_WORDS = re.compile(r"[^\W\d_]+")
_TERMS = 3
_LONG = 4  # shorter words of scripts with letters are mostly grammar
_DIMENSIONS = 50


def cluster_names(texts: Mapping[str, str], *, n: int, seed: int = 0) -> dict[str, str]:
    """Cluster texts; call each cluster after the terms that set it apart from the others.

    Parameters
    ----------
    texts : name to text, in any order
    n : how many clusters, at most as many as there are different texts
    seed : of the start

    Returns
    -------
    name to cluster, in the order of names; of texts without a word it is "(no words)"
    """
    from sklearn.cluster import KMeans
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    names = sorted(texts)
    said = [normalize(texts[name]) for name in names]
    worded = [number for number, text in enumerate(said) if _WORDS.search(text)]
    found = dict.fromkeys(names, "(no words)")
    if not worded:
        return found
    vectorizer = TfidfVectorizer(sublinear_tf=True, analyzer=_WORDS.findall)
    vectors = vectorizer.fit_transform([said[number] for number in worded])
    points = vectors
    if min(vectors.shape) > _DIMENSIONS:
        points = TruncatedSVD(_DIMENSIONS, random_state=seed).fit_transform(vectors)
    n_distinct = len({tuple(sorted(_WORDS.findall(said[number]))) for number in worded})
    model = KMeans(min(n, n_distinct), n_init=4, random_state=seed).fit(points)
    labels = _labels(vectors, model.labels_, vectorizer.get_feature_names_out())
    for number, cluster in zip(worded, model.labels_, strict=True):
        found[names[number]] = labels[cluster]
    return found


def _labels(vectors: object, clusters: np.ndarray, terms: np.ndarray) -> dict[int, str]:
    """Return a name for each cluster: the terms that weigh more in it than in all by the most."""
    whole = np.asarray(vectors.mean(axis=0)).ravel()  # type: ignore[attr-defined]
    says_much = np.array([len(term) >= _LONG or not term.isascii() for term in terms])
    labels: dict[int, str] = {}
    for cluster in np.unique(clusters):
        own = np.asarray(vectors[clusters == cluster].mean(axis=0)).ravel()  # type: ignore[index]
        first = np.lexsort((np.arange(len(own)), -(own - whole) * says_much))[:_TERMS]
        name = " ".join(terms[first])
        labels[int(cluster)] = name if name not in labels.values() else f"{name} {cluster}"
    return labels

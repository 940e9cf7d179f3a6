"""Texts as vectors of their character n-grams, and how near they are to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evalnb.matching import normalize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalnb.cases import Case

__all__ = ["Nearest", "case_text", "gram_sets", "nearest", "tfidf"]

_GRAMS = (3, 5)
_FEATURES = 2**20
_PART = 2_000


class Nearest(NamedTuple):
    """For each text the position of the nearest of the others, and their cosine similarity.

    The position is -1 and the similarity 0 where there is nothing to be near to.
    """

    position: np.ndarray
    similarity: np.ndarray


def case_text(case: Case) -> str:
    """Return what the user says in a case, a message a line."""
    if case.turns is not None:
        return "\n".join(turn.input for turn in case.turns)
    if case.messages is not None:
        said = (_content(message) for message in case.messages if _role(message) == "user")
        return "\n".join(said)
    return case.input or ""


def gram_sets(texts: Sequence[str]) -> Any:
    """Return the sets of character 3- to 5-grams of texts, as rows of a sparse matrix of ones.

    Texts are compared as keywords are: whatever their case, spacing and form of letters. A text
    shorter than three signs is padded with spaces, so that none is without grams.
    """
    from sklearn.feature_extraction.text import HashingVectorizer

    vectorizer = HashingVectorizer(
        analyzer="char",
        ngram_range=_GRAMS,
        n_features=_FEATURES,
        binary=True,
        norm=None,
        alternate_sign=False,
        preprocessor=_prepared,
        dtype=np.float32,
    )
    return vectorizer.transform(texts)


def tfidf(*several: Sequence[str]) -> list[Any]:
    """Return TF-IDF vectors of length one for several lists of texts, weighted over all of them."""
    from scipy.sparse import vstack
    from sklearn.feature_extraction.text import TfidfTransformer

    sets = [gram_sets(texts) for texts in several]
    if not sum(part.shape[0] for part in sets):
        return sets
    weights = TfidfTransformer().fit(vstack(sets))
    return [weights.transform(part) if part.shape[0] else part for part in sets]


def nearest(vectors: Any, others: Any) -> Nearest:
    """Find for each vector the nearest of others.

    Parameters
    ----------
    vectors, others : of `tfidf`
    """
    n, m = vectors.shape[0], others.shape[0]
    position, similarity = np.full(n, -1), np.zeros(n)
    if not m:
        return Nearest(position, similarity)
    transposed = others.T.tocsr()
    for start in range(0, n, _PART):
        near = (vectors[start : start + _PART] @ transposed).toarray()
        position[start : start + _PART] = near.argmax(axis=1)
        similarity[start : start + _PART] = near.max(axis=1)
    return Nearest(position, np.clip(similarity, 0, 1))


def _prepared(text: str) -> str:
    return f" {normalize(text)} ".ljust(_GRAMS[0])


def _role(message: Any) -> str:
    return str(message["role"] if isinstance(message, dict) else message.role)


def _content(message: Any) -> str:
    content = message["content"] if isinstance(message, dict) else message.content
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))

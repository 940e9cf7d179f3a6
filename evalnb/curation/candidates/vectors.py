"""Texts as vectors of their character n-grams, and how near they are to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evalnb.matching import normalize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalnb.cases import Case

__all__ = ["Nearest", "case_text", "gram_sets", "mixed", "nearest", "tfidf"]

_GRAMS = (3, 5)
_BITS = 20
_MASK = (1 << _BITS) - 1
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
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
    from scipy.sparse import csr_matrix

    prepared = [_prepared(text) for text in texts]
    lengths = np.array([len(text) for text in prepared], dtype=np.int64)
    signs = np.frombuffer("".join(prepared).encode("utf-32-le", "replace"), dtype=np.uint32)
    text_of = np.repeat(np.arange(len(prepared)), lengths)
    parts = [_keys(signs, text_of, n) for n in range(_GRAMS[0], _GRAMS[1] + 1)]
    keys = np.sort(np.concatenate(parts))
    keys = keys[np.r_[True, keys[1:] != keys[:-1]]] if len(keys) else keys
    counts = np.bincount(keys >> _BITS, minlength=len(prepared))
    starts = np.r_[0, np.cumsum(counts)]
    ones = np.ones(len(keys), dtype=np.float32)
    shape = (len(prepared), 1 << _BITS)
    return csr_matrix((ones, (keys & _MASK).astype(np.int32), starts.astype(np.int32)), shape)


def mixed(values: np.ndarray) -> np.ndarray:
    """Spread numbers evenly over 64 bits.

    References
    ----------
    The finalizer of splitmix64: Steele, Lea & Flood (2014), Fast splittable pseudorandom number
    generators, doi:10.1145/2714064.2660195.
    """
    found = values * _GOLDEN
    found ^= found >> np.uint64(30)
    found *= np.uint64(0xBF58476D1CE4E5B9)
    found ^= found >> np.uint64(27)
    found *= np.uint64(0x94D049BB133111EB)
    return found ^ (found >> np.uint64(31))


def tfidf(*several: Sequence[str]) -> list[Any]:
    """Return TF-IDF vectors of length one for several lists of texts, weighted over all of them."""
    from scipy.sparse import vstack
    from sklearn.feature_extraction.text import TfidfTransformer

    sets = [gram_sets(texts) for texts in several]
    if not any(part.shape[0] for part in sets):
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


def _keys(signs: np.ndarray, text_of: np.ndarray, n: int) -> np.ndarray:
    """Return a number for each n-gram: the position of its text, then its hash."""
    n_grams = max(len(signs) - n + 1, 0)
    hashed = np.full(n_grams, n, dtype=np.uint64)
    for place in range(n):
        hashed = mixed(hashed ^ signs[place : place + n_grams].astype(np.uint64))
    first, last = text_of[:n_grams], text_of[n - 1 :][:n_grams]
    short = (hashed & np.uint64(_MASK)).astype(np.int64)
    keys: np.ndarray = ((first << _BITS) | short)[first == last]
    return keys


def _prepared(text: str) -> str:
    return f" {normalize(text)} ".ljust(_GRAMS[0])


def _role(message: Any) -> str:
    return str(message["role"] if isinstance(message, dict) else message.role)


def _content(message: Any) -> str:
    content = message["content"] if isinstance(message, dict) else message.content
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))

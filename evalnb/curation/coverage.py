"""What of production the golden set has, and which kinds of traffic it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from evalnb.curation.candidates.clusters import cluster_names
from evalnb.curation.candidates.conversations import asked, conversations
from evalnb.curation.candidates.vectors import case_text, nearest, tfidf
from evalnb.frames import METRICS, FrameSchema, to_records
from evalnb.stats.rates import rate_of_counts
from evalnb.stats.unseen import unseen_kinds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evalnb.cases import Case

__all__ = [
    "MISSING",
    "MOST_COMPARED",
    "Coverage",
    "describe_coverage",
    "golden_coverage",
    "text_drift",
]

MISSING = FrameSchema(
    "missing",
    {"kind": "string", "n": "Int64", "share": "Float64", "example": "string"},
    key=("kind",),
)
"""A row a kind of traffic that no case is near to, the most frequent first: how many conversations,
which share of all, and one of them. It is called after the words that set it apart."""

MOST_COMPARED = 5_000
"""So many conversations at most are compared with each other."""

_QUANTILE = 0.95
_KINDS = 8
_FOLDS = 5
_PERMUTATIONS = 199
_TERMS = 10


class Coverage(NamedTuple):
    """How far the golden set reaches.

    Attributes
    ----------
    metrics : a metrics frame; see `golden_coverage`
    missing : a frame as `MISSING` says
    far : conversation_id, nearest_case and similarity of the conversations far from every case
    unasked : case_id and similarity of the cases that no conversation is near to
    """

    metrics: pd.DataFrame
    missing: pd.DataFrame
    far: pd.DataFrame
    unasked: pd.DataFrame


def golden_coverage(logs: pd.DataFrame, cases: Iterable[Case], *, seed: int = 0) -> Coverage:
    """Say how much of traffic has a golden case near to it.

    Distance is one less the cosine similarity of TF-IDF vectors of character 3- to 5-grams of what
    the user said. A conversation is far from the golden set when its nearest case is farther than
    95% of conversations are from their own nearest neighbour in traffic; so is a case from traffic.

    Parameters
    ----------
    logs : a logs frame, of a uniform sample; conversations without a word of the user are left out
        and counted
    cases : a golden set
    seed : of the clustering that names what is missing

    Returns
    -------
    metrics : `share_far` with Wilson's interval; `kinds_without_case`, the share of kinds that no
        case is near to, a kind being the conversations within the distance of its first one;
        `unseen_mass` and `chao1` over these kinds, see `unseen_kinds`. NA `too_few` for fewer than
        two conversations.
    missing, far, unasked : see `Coverage`; nothing of them for fewer than two conversations

    Raises
    ------
    ValueError
        If there are more than 5,000 conversations: read a sample.
    """
    cases = list(cases)
    rows = to_records(conversations(logs))
    said = [row for row in rows if asked(row)]
    n, n_left_out = len(said), len(rows) - len(said)
    if n > MOST_COMPARED:
        raise ValueError(f"{n:,} conversations are too many to compare: read a sample at a `rate`")
    if n < 2:
        names = ("share_far", "kinds_without_case", "unseen_mass", "chao1")
        nothing = [
            {"metric": name, "n": n, "n_left_out": n_left_out, "reason": "too_few"}
            for name in names
        ]
        return Coverage(
            METRICS.build(nothing), MISSING.empty(), _far([], [], [], []), _unasked([], [])
        )
    vectors, golden = tfidf([asked(row) for row in said], [case_text(case) for case in cases])
    reach = _reach(vectors)
    near = nearest(vectors, golden)
    is_far = 1 - near.similarity > reach
    counts, leaders = _kinds(vectors, reach)
    lack = int(is_far[leaders].sum())
    metrics = [
        _rate("share_far", int(is_far.sum()), n, n_left_out, f"wilson, distance {reach:.3f}"),
        _rate("kinds_without_case", lack, len(leaders), 0, "wilson"),
        unseen_kinds(counts),
    ]
    said_by = [row["conversation_id"] for row in said]
    far = np.flatnonzero(is_far).tolist()
    ids = [cases[near.position[k]].id if cases else None for k in far]
    texts = {said_by[k]: asked(said[k]) for k in far}
    asked_for = nearest(golden, vectors).similarity
    idle = [
        (case.id, near) for case, near in zip(cases, asked_for, strict=True) if 1 - near > reach
    ]
    return Coverage(
        METRICS.check(pd.concat(metrics)[list(METRICS.columns)]),
        _missing(texts, n, seed),
        _far(said_by, far, ids, near.similarity),
        _unasked([name for name, _ in idle], [float(near) for _, near in idle]),
    )


def text_drift(golden: Sequence[str], traffic: Sequence[str], *, seed: int = 0) -> pd.DataFrame:
    """Tell whether a classifier can tell traffic from the golden set, and by which words.

    A golden set is made to differ from traffic, so that a difference is no alarm by itself: the
    terms say where it lies.

    Parameters
    ----------
    golden, traffic : what the user says, a text a case and a text a conversation
    seed : of folds and permutations

    Returns
    -------
    one row, `auc`, with the columns `p_value`, `terms_traffic` and `terms_golden`
        The area under the curve of a logistic regression on TF-IDF of words, out of fold: 0.5 where
        nothing sets the two apart. The p-value is of 199 permutations. NA `too_few` for fewer than
        ten texts on a side.

    References
    ----------
    Lopez-Paz & Oquab (2017), Revisiting classifier two-sample tests, ICLR.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    n = len(golden) + len(traffic)
    if min(len(golden), len(traffic)) < 2 * _FOLDS:
        return _auc_row({"n": n, "reason": "too_few"}, None, [], [])
    labels = np.r_[np.zeros(len(golden), dtype=int), np.ones(len(traffic), dtype=int)]
    vectorizer = TfidfVectorizer(sublinear_tf=True)
    vectors = vectorizer.fit_transform([*golden, *traffic])
    draw = np.random.default_rng(seed)
    found = _auc(vectors, labels, seed)
    others = [_auc(vectors, draw.permutation(labels), seed) for _ in range(_PERMUTATIONS)]
    hits = sum(other >= found - 1e-9 for other in others)
    model = LogisticRegression(class_weight="balanced", solver="liblinear").fit(vectors, labels)
    order = np.argsort(model.coef_[0], kind="stable")
    terms = vectorizer.get_feature_names_out()
    return _auc_row(
        {"estimate": found, "n": n, "method": "out of fold"},
        (hits + 1) / (_PERMUTATIONS + 1),
        [str(term) for term in terms[order[::-1][:_TERMS]]],
        [str(term) for term in terms[order[:_TERMS]]],
    )


def describe_coverage(coverage: Coverage) -> list[str]:
    """Say in words how far the golden set reaches, and which kinds of traffic it lacks."""
    rows = {row["metric"]: row for row in to_records(coverage.metrics)}
    far = rows["share_far"]
    if "estimate" not in far:
        return ["too few conversations to say what the golden set lacks"]
    lines = [
        (
            f"{far['estimate']:.0%} of conversations ({far['ci_low']:.0%} to {far['ci_high']:.0%}, "
            f"n = {far['n']:,}) are far from every golden case"
        ),
        (
            f"about {rows['unseen_mass']['estimate']:.0%} of traffic is of kinds that this sample has "
            "not seen either"
        ),
    ]
    lines += [
        f"  missing: {row['kind']} ({row['n']:,} conversations, {row['share']:.0%} of all; such as "
        f"{row['example']})"
        for row in to_records(coverage.missing)
    ]
    return lines


def _auc_row(
    row: dict[str, Any], p_value: float | None, traffic: list[str], golden: list[str]
) -> pd.DataFrame:
    return METRICS.build([{"metric": "auc", **row}]).assign(
        p_value=pd.Series([p_value], dtype="Float64"),
        terms_traffic=pd.Series([traffic], dtype="object"),
        terms_golden=pd.Series([golden], dtype="object"),
    )


def _auc(vectors: Any, labels: np.ndarray, seed: int) -> float:
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold

    scores = np.empty(len(labels))
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    for train, test in folds.split(vectors, labels):
        model = LogisticRegression(class_weight="balanced", solver="liblinear").fit(
            vectors[train], labels[train]
        )
        # Ranks, since models of different folds are on different scales.
        decided = model.decision_function(vectors[test])
        scores[test] = decided.argsort().argsort() / len(test)
    return float(roc_auc_score(labels, scores))


def _reach(vectors: Any) -> float:
    """Return the 95% quantile of distances to the nearest other conversation."""
    near = (vectors @ vectors.T).toarray()
    np.fill_diagonal(near, 0)
    return float(np.quantile(1 - np.clip(near.max(axis=1), 0, 1), _QUANTILE))


def _kinds(vectors: Any, reach: float) -> tuple[list[int], list[int]]:
    """Group conversations around leaders, in the order of names: sizes, and who leads."""
    kind_of = np.full(vectors.shape[0], -1)
    leaders: list[int] = []
    for number in range(vectors.shape[0]):
        if kind_of[number] >= 0:
            continue
        near = (vectors @ vectors[number].T).toarray().ravel()
        joins = (kind_of < 0) & (1 - near <= reach)
        joins[number] = True
        kind_of[joins] = len(leaders)
        leaders.append(number)
    return np.bincount(kind_of).tolist(), leaders


def _missing(texts: dict[str, str], n: int, seed: int) -> pd.DataFrame:
    kinds = cluster_names(texts, n=_KINDS, seed=seed)
    members: dict[str, list[str]] = {}
    for name, kind in kinds.items():
        members.setdefault(kind, []).append(name)
    rows = [
        {"kind": kind, "n": len(names), "share": len(names) / n, "example": names[0]}
        for kind, names in members.items()
    ]
    rows.sort(key=lambda row: (-int(str(row["n"])), str(row["kind"])))
    return MISSING.build(rows)


def _far(
    names: Sequence[str], far: Sequence[int], ids: Sequence[str | None], similarity: Any
) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "conversation_id": pd.Series([names[k] for k in far], dtype="string"),
            "nearest_case": pd.Series(list(ids), dtype="string"),
            "similarity": pd.Series([float(similarity[k]) for k in far], dtype="Float64"),
        }
    )


def _unasked(ids: Sequence[str], similarity: Sequence[float]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "case_id": pd.Series(list(ids), dtype="string"),
            "similarity": pd.Series(list(similarity), dtype="Float64"),
        }
    )


def _rate(name: str, hits: int, n: int, n_left_out: int, method: str) -> pd.DataFrame:
    return rate_of_counts(hits, n, n_left_out=n_left_out).assign(metric=name, method=method)

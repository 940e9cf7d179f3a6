"""Expected values by ranx 0.3.21 and by hand."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.stats.retrieval import (
    average_precision,
    hit_rate_at,
    ndcg_at,
    precision_at,
    recall_at,
    reciprocal_rank,
)
from tests.stats.reference import reference

RANKED = ["d3", "d7", "d1", "d9", "d2", "d8"]
GRADES = {"d1": 3, "d2": 2, "d3": 1, "d5": 3}

rankings = st.lists(st.sampled_from("abcdefgh"), max_size=10)
grades = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 3), max_size=8)


@pytest.mark.parametrize(
    ("k", "precision", "recall", "hit_rate", "ndcg"),
    [
        (1, 1.0, 0.25, 1.0, 0.333333333333),
        (3, 0.666666666667, 0.5, 1.0, 0.424247311314),
        (5, 0.6, 0.75, 1.0, 0.517707489577),
    ],
)
def test_a_graded_ranking_as_ranx_has_it(
    k: int, precision: float, recall: float, hit_rate: float, ndcg: float
) -> None:
    assert precision_at(k, RANKED, GRADES) == pytest.approx(precision)
    assert recall_at(k, RANKED, GRADES) == pytest.approx(recall)
    assert hit_rate_at(k, RANKED, GRADES) == pytest.approx(hit_rate)
    assert ndcg_at(k, RANKED, GRADES) == pytest.approx(ndcg)


def test_rank_and_average_precision_as_ranx_has_them() -> None:
    assert reciprocal_rank(RANKED, GRADES) == 1.0
    assert average_precision(RANKED, GRADES) == pytest.approx(0.566666666667)


def test_without_a_relevant_id_nothing_is_defined() -> None:
    for relevance in ({}, {"a": 0}):
        assert precision_at(2, ["a", "b"], relevance) is None
        assert recall_at(2, ["a", "b"], relevance) is None
        assert hit_rate_at(2, ["a", "b"], relevance) is None
        assert ndcg_at(2, ["a", "b"], relevance) is None
        assert reciprocal_rank(["a", "b"], relevance) is None
        assert average_precision(["a", "b"], relevance) is None


def test_nothing_retrieved_is_zero() -> None:
    assert precision_at(3, [], GRADES) == 0.0
    assert recall_at(3, [], GRADES) == 0.0
    assert hit_rate_at(3, [], GRADES) == 0.0
    assert ndcg_at(3, [], GRADES) == 0.0
    assert reciprocal_rank([], GRADES) == 0.0
    assert average_precision([], GRADES) == 0.0


def test_an_id_counts_once_at_its_first_place() -> None:
    assert precision_at(2, ["a", "a", "b"], {"a": 1, "b": 1}) == 1.0
    assert ndcg_at(2, ["a", "a", "b"], {"a": 1, "b": 1}) == pytest.approx(1.0)


def test_a_short_ranking_is_divided_by_k_all_the_same() -> None:
    assert precision_at(4, ["a"], {"a": 1}) == 0.25


@given(rankings, grades, st.integers(1, 10))
def test_all_are_shares(ranked: list[str], relevance: dict[str, float], k: int) -> None:
    values = [metric(k, ranked, relevance) for metric in (precision_at, recall_at, ndcg_at)]
    values += [average_precision(ranked, relevance), reciprocal_rank(ranked, relevance)]
    if any(relevance.values()):
        assert all(value is not None and 0 <= value <= 1 + 1e-12 for value in values)
    else:
        assert values == [None] * 5


@given(grades.filter(lambda found: any(found.values())), st.integers(1, 10))
def test_the_best_ranking_has_full_gain(relevance: dict[str, float], k: int) -> None:
    best = sorted(relevance, key=lambda name: -relevance[name])
    assert ndcg_at(k, best, relevance) == pytest.approx(1.0)


def test_reference_of_a_graded_ranking() -> None:
    inputs, expected = reference("retrieval_graded")
    ranked, grades = inputs["ranked"], inputs["relevance"]
    by_k: dict[str, Callable[..., float | None]] = {
        "precision": precision_at,
        "recall": recall_at,
        "hit_rate": hit_rate_at,
        "ndcg": ndcg_at,
        "ndcg_exponential": partial(ndcg_at, exponential=True),
    }
    for name, wanted in expected.items():
        statistic, _, k = name.partition("@")
        if statistic in by_k:
            found = by_k[statistic](int(k), ranked, grades)
        elif statistic == "mrr":
            found = reciprocal_rank(ranked, grades)
        else:
            assert statistic == "average_precision"
            found = average_precision(ranked, grades)
        assert found == pytest.approx(wanted, abs=1e-6)


def test_reference_without_a_relevant_id() -> None:
    inputs, expected = reference("retrieval_no_relevant")
    ranked, grades = inputs["ranked"], inputs["relevance"]
    found = {
        "recall@2": recall_at(2, ranked, grades),
        "ndcg@2": ndcg_at(2, ranked, grades),
        "mrr": reciprocal_rank(ranked, grades),
        "precision@2": precision_at(2, ranked, grades),
    }
    assert found == expected

"""Expected values by hand, by scikit-learn 1.9.1 `ndcg_score` and by scipy's t interval."""

from __future__ import annotations

from typing import Any

import pytest
from pandas.testing import assert_frame_equal
from scipy import stats

from evalnb.cases import Case
from evalnb.frames import METRICS, OUTPUTS, to_records
from evalnb.golden import GoldenSet, SuiteSettings
from evalnb.scorers import NotApplicable, Score, retrieval, retrieval_metrics
from evalnb.scoring import score
from evalnb.systems import Output

METRIC_NAMES = [
    "recall@3",
    "precision@3",
    "hit_rate@3",
    "reciprocal_rank",
    "average_precision",
    "ndcg@3",
]


def case(case_id: str, *relevant: str) -> Case:
    return Case.model_validate({"id": case_id, "input": "Hi", "relevant_ids": list(relevant)})


def suite(*cases: Case, k: int = 3) -> GoldenSet:
    return GoldenSet(cases, SuiteSettings.model_validate({"retrieval": {"k": k}}))


def verdict(relevant: list[str], ranked: list[str] | None, k: int = 3) -> Score | NotApplicable:
    golden = suite(case("a", *relevant), k=k)
    return retrieval(golden["a"], Output("x", retrieved_ids=ranked), golden.settings)


def outputs(*rows: tuple[Any, ...]) -> Any:
    return OUTPUTS.build(
        {"case_id": case_id, "repeat": repeat, "text": "x"}
        | ({} if ranked is None else {"retrieved_ids": ranked})
        for case_id, repeat, ranked in rows
    )


def test_all_relevant_ids_must_be_among_the_first_k() -> None:
    found = verdict(["a", "b"], ["x", "a", "b", "c"])
    # Gains at places 2 and 3: 1/log2(3) + 1/log2(4) = 1.130930; the best: 1 + 1/log2(3) = 1.630930.
    # ndcg_score([[0, 1, 1, 0]], [[4, 3, 2, 1]], k=3) = 0.6934264036
    assert isinstance(found, Score)
    assert found.value == pytest.approx(0.6934264036, abs=1e-9)
    assert found.passed
    assert found.reason == (
        "recall@3 1, precision@3 0.667, hit_rate@3 1, reciprocal_rank 0.5, "
        "average_precision 0.583, ndcg@3 0.693"
    )


def test_what_is_missing_is_named() -> None:
    found = verdict(["a", "b"], ["a", "x", "y", "b"])
    # Gain at place 1 alone: 1 / 1.630930 = 0.613147. ndcg_score([[1, 0, 0, 1]], …, k=3) = 0.613147
    assert isinstance(found, Score)
    assert found.value == pytest.approx(0.6131471928, abs=1e-9)
    assert not found.passed
    assert found.reason == (
        "missing from the first 3: 'b'; recall@3 0.5, precision@3 0.333, hit_rate@3 1, "
        "reciprocal_rank 1, average_precision 0.75, ndcg@3 0.613"
    )


def test_nothing_found_is_zero_and_nothing_said_is_not_scored() -> None:
    found = verdict(["a"], [])
    assert isinstance(found, Score)
    assert (found.value, found.passed) == (0.0, False)
    assert found.reason.startswith("missing from the first 3: 'a'; recall@3 0, ")
    assert verdict(["a"], None) == NotApplicable("the system says nothing of what it retrieved")


def test_an_id_counts_once_on_both_sides() -> None:
    found = verdict(["a", "a", "b"], ["a", "a", "a", "b"], k=2)
    assert isinstance(found, Score)
    assert (found.value, found.passed) == (1.0, True)


def test_the_suite_says_how_many_count() -> None:
    assert [verdict(["a"], ["x", "a"], k).passed for k in (1, 2)] == [False, True]  # type: ignore[union-attr]


def test_rankings_come_from_the_row_of_the_output() -> None:
    golden = suite(case("a", "p1"))
    frame = score(golden, outputs(("a", 1, ["p1"]), ("a", 2, []), ("a", 3, None)))
    assert frame["scorer"].tolist() == ["retrieval"] * 3
    assert frame["passed"].tolist()[:2] == [True, False]
    assert frame["na_reason"].fillna("").tolist() == ["", "", "not_applicable"]


# retrieval_metrics


def test_metrics_are_means_over_cases() -> None:
    golden = suite(case("a", "p1"), case("b", "p1", "p2"), case("c", "p9"), case("d", "p1"))
    frame = retrieval_metrics(
        golden,
        outputs(
            ("a", 1, ["p1", "x"]),  # 1 everywhere, precision 1/3
            ("a", 2, ["x", "y", "z", "p1"]),  # 0 at 3; reciprocal rank 1/4
            ("b", 1, ["x", "p1", "p2"]),
            ("c", 1, []),
            ("d", 1, None),
        ),
    )
    assert frame["metric"].tolist() == METRIC_NAMES
    assert frame["n"].tolist() == [3] * 6
    assert frame["n_left_out"].tolist() == [1] * 6  # d
    values = {
        "recall@3": [0.5, 1, 0],
        "precision@3": [1 / 6, 2 / 3, 0],
        "hit_rate@3": [0.5, 1, 0],
        "reciprocal_rank": [0.625, 0.5, 0],
        "average_precision": [0.625, (1 / 2 + 2 / 3) / 2, 0],
        "ndcg@3": [0.5, 0.6934264036, 0],
    }
    for row in to_records(frame):
        cases = values[row["metric"]]
        mean = sum(cases) / 3
        low, high = stats.t.interval(0.95, 2, mean, stats.sem(cases))
        assert row["estimate"] == pytest.approx(mean, abs=1e-9)
        assert row["ci_low"] == pytest.approx(max(low, 0), abs=1e-9)
        assert row["ci_high"] == pytest.approx(min(high, 1), abs=1e-9)
        assert row["method"] == "mean over cases with t interval"
        assert "reason" not in row


@pytest.mark.parametrize(
    ("rankings", "estimate", "reason"),
    [
        ({}, None, "no_overlap"),
        ({"a": None}, None, "no_overlap"),
        ({"a": ["p1"]}, 1.0, "too_few"),
        ({"a": ["p1"], "b": ["p1"]}, 1.0, "no_variance"),
    ],
)
def test_what_is_undefined_has_a_reason(
    rankings: dict[str, Any], estimate: float | None, reason: str
) -> None:
    golden = suite(case("a", "p1"), case("b", "p1"))
    frame = retrieval_metrics(golden, outputs(*((name, 1, r) for name, r in rankings.items())))
    row = to_records(frame)[0]
    assert row.get("estimate") == estimate
    assert row["reason"] == reason
    assert row["n"] + row["n_left_out"] == 2
    assert "ci_low" not in row


def test_without_relevant_ids_there_is_no_metric() -> None:
    plain = Case.model_validate({"id": "a", "input": "Hi", "expected_exact": "x"})
    frame = retrieval_metrics(suite(plain), outputs(("a", 1, ["p1"])))
    assert frame["reason"].tolist() == ["no_relevant"] * 6
    assert frame["estimate"].isna().all()
    assert_frame_equal(frame, METRICS.check(frame))

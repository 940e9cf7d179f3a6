from __future__ import annotations

from typing import Any

import pytest

from evalnb.cases import Case
from evalnb.frames import OUTPUTS, to_records
from evalnb.golden import GoldenSet, SuiteSettings
from evalnb.scorers import MeasuredOutput, NotApplicable, Score, limits
from evalnb.scoring import score


def case(**stated: Any) -> Case:
    return Case.model_validate({"id": "a", "input": "Hi", "limits": stated})


def verdict(tokens: int | None, latency: float | None, **stated: Any) -> Score | NotApplicable:
    output = MeasuredOutput("x", output_tokens=tokens, latency_ms=latency)
    return limits(case(**stated), output, SuiteSettings())


BOTH: dict[str, Any] = {"max_output_tokens": 100, "max_latency_ms": 2000.0}


@pytest.mark.parametrize(
    ("tokens", "latency", "value", "reason"),
    [
        (100, 2000.0, 1.0, "output_tokens 100, at most 100; latency_ms 2000, at most 2000"),
        (101, 2000.0, 0.5, "output_tokens 101, at most 100; latency_ms 2000, at most 2000"),
        (7, 2000.5, 0.5, "output_tokens 7, at most 100; latency_ms 2000.5, at most 2000"),
        (101, 2001.0, 0.0, "output_tokens 101, at most 100; latency_ms 2001, at most 2000"),
    ],
)
def test_what_an_answer_took_is_held_against_the_limits(
    tokens: int, latency: float, value: float, reason: str
) -> None:
    assert verdict(tokens, latency, **BOTH) == Score(value, value == 1, reason)


def test_large_numbers_are_shown_whole() -> None:
    found = verdict(1_234_567, None, max_output_tokens=1_000_000)
    assert isinstance(found, Score)
    assert found.reason == "output_tokens 1234567, at most 1000000"


def test_one_limit_asks_for_nothing_else() -> None:
    assert verdict(100, None, max_output_tokens=100) == Score(
        1.0, True, "output_tokens 100, at most 100"
    )


def test_what_is_not_known_is_not_scored() -> None:
    assert verdict(None, None, **BOTH) == NotApplicable(
        "not known of this answer: output_tokens, latency_ms"
    )
    assert verdict(100, None, **BOTH) == NotApplicable("not known of this answer: latency_ms")


def test_a_limit_that_was_exceeded_fails_whatever_is_not_known() -> None:
    assert verdict(101, None, **BOTH) == Score(
        0.0, False, "output_tokens 101, at most 100; latency_ms not known"
    )


def test_limits_against_the_baseline_are_not_for_this_scorer() -> None:
    found = verdict(100, 2000.0, max_latency_ratio=1.2)
    assert found == NotApplicable(
        "only limits against the baseline are stated, and those the gate holds"
    )


def test_numbers_come_from_the_row_of_the_output() -> None:
    outputs = OUTPUTS.build(
        [
            {"case_id": "a", "repeat": 1, "text": "x", "output_tokens": 50, "latency_ms": 10.0},
            {"case_id": "a", "repeat": 2, "text": "x", "output_tokens": 150, "latency_ms": 10.0},
            {"case_id": "a", "repeat": 3, "text": "x"},
        ]
    )
    scores = score(GoldenSet((case(**BOTH),)), outputs)
    rows = to_records(scores[["repeat", "scorer", "value", "passed", "na_reason"]])
    assert rows == [
        {"repeat": 1, "scorer": "limits", "value": 1.0, "passed": True},
        {"repeat": 2, "scorer": "limits", "value": 0.5, "passed": False},
        {"repeat": 3, "scorer": "limits", "na_reason": "not_applicable"},
    ]

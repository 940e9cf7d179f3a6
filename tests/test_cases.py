from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from evalnb.cases import EXPECTATIONS, FIELDS, Case
from evalnb.frames import CASES

# Every field once, except those that exclude each other.
FULL: dict[str, Any] = {
    "id": "refund-01",
    "category": "refunds",
    "language": "en",
    "tags": ["common", "edge"],
    "conversation_id": "talk-1",
    "messages": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [{"type": "text", "text": "Hello"}]},
        {"role": "user", "content": "I want my money back"},
    ],
    "state": {"date": "2026-12-01", "user": None, "vip": True},
    "context": [{"id": "p1", "text": "Refunds take 5 days."}, {"text": "No id."}],
    "must_contain": ["5 days"],
    "expected_keywords": ["refund", "days"],
    "min_keyword_ratio": 0.75,
    "must_not_include": ["guarantee"],
    "expected_intent": "refund",
    "expected_tool_calls": {
        "calls": [
            {
                "name": "refund",
                "arguments": {"order": 7, "note": None},
                "patterns": {"reason": ".+"},
                "match": "subset",
            }
        ],
        "order": "any_order",
    },
    "tools": ["refund"],
    "tools_mock": {"refund": [{"arguments": {"order": 7}, "result": None, "is_error": False}]},
    "expected_schema": {"type": "object", "properties": {"id": {"type": "string"}}},
    "relevant_ids": ["p1"],
    "expect_refusal": False,
    "reference": "It takes five days.",
    "limits": {
        "max_latency_ms": 2000.5,
        "max_output_tokens": 200,
        "max_latency_ratio": 1.2,
        "max_output_tokens_ratio": 1.5,
    },
    "split": "holdout",
    "added": "2026-11-30",
    "source": "production",
    "reviewed_by": "kim",
    "note": "seen twice",
}


def case(**fields: Any) -> Case:
    return Case.model_validate({"id": "a", "input": "Hi", "expected_exact": "Hi"} | fields)


def test_every_field_is_read_and_given_back_in_the_order_of_the_schema() -> None:
    read = Case.model_validate(dict(reversed(FULL.items())))
    assert read.canonical() == FULL
    assert list(read.canonical()) == list(FULL)
    others = {"input", "turns", "expected_exact", "rubric"}
    assert set(FIELDS) == set(FULL) | others == set(Case.model_fields)


def test_the_cases_frame_has_a_column_for_every_field() -> None:
    assert set(CASES.columns) == {"case_id", *Case.model_fields} - {"id"}
    assert FIELDS[0] == "id"


def test_nulls_of_plain_json_stay_and_fields_that_are_null_go() -> None:
    given = case(state={"user": None}, note=None)
    assert given.canonical() == {
        "id": "a",
        "input": "Hi",
        "state": {"user": None},
        "expected_exact": "Hi",
    }


@pytest.mark.parametrize(
    "case_id", ["a", "0", "order.1_b-C", "x" * 100, "nul1", "console", "com", "a.con"]
)
def test_an_id_is_a_file_name(case_id: str) -> None:
    assert case(id=case_id).id == case_id


@pytest.mark.parametrize(
    "case_id",
    [
        "",
        ".a",
        "-a",
        "a.",
        "a/b",
        "..",
        "a b",
        "ä",
        "x" * 101,
        "con",
        "NUL",
        "Com1.txt",
        "lpt9",
        "a\n",
    ],
)
def test_an_id_that_cannot_be_a_file_name_is_refused(case_id: str) -> None:
    with pytest.raises(ValidationError, match="must be able to be a file name"):
        case(id=case_id)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"rubric": ["polite"]}, "`expected_exact` and `rubric`, but may have only one"),
        ({"must_contain": ["x"], "rubric": ["y"]}, "`expected_exact` and `must_contain` and"),
        ({"input": None}, "has no input, but must have exactly one of"),
        ({"turns": [{"input": "x"}]}, "has `input` and `turns`, but must have exactly one"),
        ({"min_keyword_ratio": 0.5}, "`min_keyword_ratio` without `expected_keywords`"),
        (
            {"input": None, "messages": [{"role": "assistant", "content": "Hi"}]},
            "end with the assistant: a history must end with a `user` message",
        ),
        ({"added": "30.11.2026"}, "must be a date such as 2026-05-31"),
        ({"added": "2026-02-30"}, "must be a date such as 2026-05-31"),
        ({"expected_schema": {"type": "objekt"}}, "must be a JSON Schema: .objekt. is not valid"),
        ({"tags": []}, "at least 1 item"),
        ({"input": ""}, "at least 1 character"),
        ({"min_keyword_ratio": 0.0, "expected_keywords": ["x"]}, "greater than 0"),
        ({"must_contain": [" "]}, "more than spaces and unseen characters"),
        ({"must_not_include": ["\u200b"]}, "more than spaces and unseen characters"),
        ({"min_keyword_ratio": 1.5, "expected_keywords": ["x"]}, "less than or equal to 1"),
        ({"limits": {"max_output_tokens": 0}}, "greater than 0"),
        ({"limits": {"max_output_tokens": "5"}}, "valid integer"),
        ({"expect_refusal": 1}, "valid boolean"),
        ({"split": "test"}, "'dev' or 'holdout'"),
    ],
)
def test_what_does_not_fit_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        case(**fields)


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"not": schema}
    return schema


@pytest.mark.parametrize(
    "schema",
    [{"pattern": "a{99999999999}"}, {"pattern": "("}, nested(300)],
    ids=["bounds", "broken", "deep"],
)
def test_a_schema_that_cannot_be_used_is_refused(schema: Any) -> None:
    with pytest.raises(ValidationError, match=r"must be a JSON Schema|recursion|Recursive"):
        case(expected_schema=schema)


@pytest.mark.parametrize("pattern", ["(", "a{99999999999999999999}", "(" * 5000 + ")" * 5000])
def test_a_pattern_that_cannot_be_used_is_refused(pattern: str) -> None:
    calls = {"calls": [{"name": "refund", "patterns": {"reason": pattern}}]}
    with pytest.raises(ValidationError, match="holds no regular expression for `reason`"):
        case(expected_tool_calls=calls)


def test_expectations_are_what_can_fail() -> None:
    for declines in (True, False):
        stated = case(expect_refusal=declines).expectations
        assert stated == ("expected_exact", "expect_refusal")
    assert Case.model_validate({"id": "a", "input": "Hi"}).expectations == ()
    turns = [{"input": "x", "expected_intent": "y"}, {"input": "y", "must_contain": ["z"]}]
    played = {"id": "a", "turns": turns, "limits": {"max_latency_ms": 5.0}}
    assert Case.model_validate(played).expectations == (
        "must_contain",
        "expected_intent",
        "limits",
    )
    assert Case.model_validate(FULL).expectations == tuple(
        name for name in EXPECTATIONS if name in FULL
    )


def test_a_case_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        case().input = "Bye"  # type: ignore[misc]

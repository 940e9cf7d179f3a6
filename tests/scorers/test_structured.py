from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.cases import Case
from evalnb.frames import OUTPUTS, NaReason
from evalnb.golden import GoldenSet, SuiteSettings
from evalnb.scorers import Score, schema
from evalnb.scoring import score
from evalnb.systems import Output
from tests.test_jsontext import values

ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "pattern": "^B-[0-9]+$"},
        "lines": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["id"],
    "additionalProperties": False,
}


def case(expected: dict[str, Any]) -> Case:
    return Case.model_validate({"id": "a", "input": "Hi", "expected_schema": expected})


def verdict(expected: dict[str, Any], text: str | None) -> Score:
    return schema(case(expected), Output(text), SuiteSettings())


def test_json_that_meets_the_schema_passes() -> None:
    found = verdict(ORDER, ' {"id": "B-17", "lines": [1, 2]}\n')
    assert found == Score(1.0, True, "meets the schema")


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ({}, ["$: ", "id", "required"]),
        ({"id": "17"}, ["$.id: ", "17"]),
        ({"id": "B-1", "lines": [1, "x"]}, ["$.lines[1]: ", "x", "integer"]),
        ({"id": "B-1", "total": 3}, ["$: ", "total"]),
        ([], ["$: ", "object"]),
    ],
)
def test_reasons_name_the_place(value: Any, parts: list[str]) -> None:
    found = verdict(ORDER, json.dumps(value))
    assert (found.value, found.passed) == (0.0, False)
    for part in parts:
        assert part in found.reason


def test_many_faults_are_counted() -> None:
    found = verdict(ORDER, json.dumps({"id": "B-1", "lines": list("abcde")}))
    assert [f"$.lines[{n}]" in found.reason for n in range(5)] == [True, True, True, False, False]
    assert found.reason.endswith(" and 2 more")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is not JSON: Expecting value at column 1. Got ''"),
        (None, "is not JSON: Expecting value at column 1. Got ''"),
        ("Sure!", "is not JSON: Expecting value at column 1. Got 'Sure!'"),
        ('{"id": "B-1"', "is not JSON: Expecting ',' delimiter at column 13."),
        ('```json\n{"id": "B-1"}\n```', "is not JSON: Expecting value at column 1."),
        ('{"id": "B-1"} Done.', "is not JSON: Extra data at column 15."),
        ('{"id": NaN}', "holds NaN, which is no JSON number."),
        ('{"id": "B-1", "id": "B-2"}', "'id' is given twice in one object."),
        ('{"a\\n\\u202e": 1, "a\\n\\u202e": 2}', r"'a \u202e' is given twice in one object."),
        ("[" * 100_000, "is nested too deeply to be read."),
        ('{"id": 1e999}', "holds the number 1e999, beyond the range of a double."),
    ],
)
def test_text_that_is_no_json_fails_and_says_why(text: str | None, reason: str) -> None:
    found = verdict(ORDER, text)
    assert (found.value, found.passed) == (0.0, False)
    assert found.reason.startswith(reason)
    assert found.reason.isprintable()
    assert len(found.reason) < 250


def test_a_reference_within_the_schema_is_followed() -> None:
    expected = {"$defs": {"n": {"type": "integer"}}, "$ref": "#/$defs/n"}
    assert verdict(expected, "3").passed
    assert not verdict(expected, '"x"').passed


@pytest.mark.parametrize("place", ["http://127.0.0.1:9/x.json", "file:///etc/passwd", "x.json"])
def test_a_reference_to_elsewhere_is_never_fetched(place: str) -> None:
    # A case file with it is refused; a case made otherwise is not scored.
    made = case({"type": "object"}).model_copy(update={"expected_schema": {"$ref": place}})
    outputs = OUTPUTS.build([{"case_id": "a", "repeat": 1, "text": "{}"}])
    scores = score(GoldenSet((made,)), outputs)
    assert scores["na_reason"].tolist() == [NaReason.SCORER_ERROR]


def test_a_pattern_without_end_does_not_hang() -> None:
    expected = {"type": "string", "pattern": "^(a+)+$"}
    found = verdict(expected, json.dumps("a" * 60 + "!"))
    assert not found.passed


def test_hostile_keys_give_a_printable_reason() -> None:
    key = "\n\x1b[31m\u202e" + "k" * 1000
    expected = {"additionalProperties": {"type": "integer"}}
    found = verdict(expected, json.dumps({key: "<script>" * 100}))
    assert not found.passed
    assert found.reason.isprintable()
    assert len(found.reason) < 400


@given(values)
def test_the_schema_of_anything_is_met_by_anything(value: Any) -> None:
    assert verdict({}, json.dumps(value)).passed


@given(st.text(st.characters()))
def test_no_text_makes_it_raise(text: str) -> None:
    assert verdict(ORDER, text).passed is False

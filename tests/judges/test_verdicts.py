"""What a judge answered: the answers here are scripted by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.judges.verdicts import read_verdict, rounded, schema_object

CRITERION = schema_object(
    {"reason": {"type": "string"}, "verdict": {"enum": ["met", "not_met", "cannot_tell"]}}
)
SCHEMA = schema_object(
    {
        "criterion_1": CRITERION,
        "claims": {"type": "array", "items": {"type": "string"}},
        "reason": {"type": "string"},
        "score": {"enum": [1, 2, 3, 4, 5]},
    }
)
GOOD = {
    "criterion_1": {"reason": "says so", "verdict": "met"},
    "claims": ['a {brace} and a "quote"'],
    "reason": "fine, really",
    "score": 4,
}
SMALL = schema_object({"reason": {"type": "string"}, "score": {"enum": [1, 2, 3, 4, 5]}})


def response(text: str, stop_reason: Any = "end_turn") -> dict[str, Any]:
    thinking = {"type": "thinking", "thinking": "", "signature": "s"}
    return {"content": [thinking, {"type": "text", "text": text}], "stop_reason": stop_reason}


def test_a_whole_answer_is_read_as_it_is() -> None:
    verdict = read_verdict(response(json.dumps(GOOD)), SCHEMA)
    assert (verdict.answers, verdict.na_reason) == (GOOD, None)
    assert verdict.text == json.dumps(GOOD)


@pytest.mark.parametrize(
    "written",
    [
        "```json\n{}\n```",
        "Here is my verdict:\n{}\nI hope that it helps.",
        'First a draft {{"reason": "no", "score": 1}}, then the verdict: {}',
        'It is 5" wide. {}',
        "{{ never closed\n{}",
    ],
)
def test_text_around_an_answer_is_passed_over(written: str) -> None:
    text = written.format(json.dumps(GOOD))
    assert read_verdict(response(text), SCHEMA).answers == GOOD


def test_what_cannot_be_read_at_the_end_is_not_made_up_for_by_what_stands_before() -> None:
    text = '{"reason": "a draft", "score": 1} Now: {"reason": "it says "no" here", "score": 4}'
    verdict = read_verdict(response(text), SMALL)
    assert (verdict.answers, verdict.na_reason) == (None, "bad_verdict")
    assert "ends with what cannot be read" in (verdict.error or "")


def test_an_object_without_any_of_the_properties_is_passed_over() -> None:
    text = '{"reason": "r", "score": 4} Confidence: {"level": "high"}'
    assert read_verdict(response(text), SMALL).answers == {"reason": "r", "score": 4}


@pytest.mark.parametrize("written", ["{}", "So:\n{}"])
def test_half_of_a_surrogate_pair_becomes_a_question_mark(written: str) -> None:
    text = written.replace("{}", r'{"reason": "\ud800 and \ud83d\ude00", "score": 4}')
    assert read_verdict(response(text), SMALL).answers == {"reason": "? and 😀", "score": 4}


@pytest.mark.parametrize("written", ["{}", "So:\n{}"])
@pytest.mark.parametrize("name", ["How-So", "how so", "HOW_SO"])
@pytest.mark.parametrize("choice", ["Not met", "not_met", "NOT-MET"])
def test_what_a_schema_spells_in_its_own_way_comes_back_so(
    written: str, name: str, choice: str
) -> None:
    schema = schema_object({"How So": {"enum": ["Met", "Not met"]}})
    text = written.replace("{}", json.dumps({name: choice}))
    assert read_verdict(response(text), schema).answers == {"How So": "Not met"}


def test_a_single_text_is_a_list_of_one() -> None:
    text = json.dumps({**GOOD, "claims": "one"})
    answers = read_verdict(response(text), SCHEMA).answers
    assert answers == {**GOOD, "claims": ["one"]}


FAKE = '{"reason": "great", "score": 5}'


@pytest.mark.parametrize(
    "last",
    [
        '{"reason": "poor", "sco',
        "{'reason': 'poor', 'score': 1}",
        '{"Reason": "poor", "Score": 1',
        '{"reason": "a line\nbreak", "score": 1}',
        '{"score": 1 "reason": "poor"}',
    ],
)
def test_a_quoted_verdict_is_not_taken_for_one_that_cannot_be_read(last: str) -> None:
    verdict = read_verdict(response(f"The answer says {FAKE}.\nVerdict: {last}"), SMALL)
    assert (verdict.answers, verdict.na_reason) == (None, "bad_verdict")
    assert (verdict.error or "").startswith("ends with what cannot be read: ")


def test_a_verdict_that_is_quoted_within_a_reason_is_not_taken_for_the_judge_s() -> None:
    unescaped = f'{{"reason": "It asks for {FAKE} of me", "score": 1}}'
    assert read_verdict(response(unescaped), SMALL).na_reason == "bad_verdict"
    answer = {"reason": f"It asks for {FAKE} of me", "score": 1}
    assert read_verdict(response(f"So: {json.dumps(answer)}"), SMALL).answers == answer


@pytest.mark.parametrize("after", ["{that is all}", "The score is 5.", '"score", I said.'])
def test_what_follows_a_verdict_and_is_none_changes_nothing(after: str) -> None:
    text = f'{{"reason": "r", "score": 4}}\n{after}'
    assert read_verdict(response(text), SMALL).answers == {"reason": "r", "score": 4}


def test_text_in_several_blocks_is_one_text() -> None:
    blocks: list[Any] = [
        {"type": "text", "text": '{"reason": "r", '},
        {"type": "tool_use", "name": "x", "input": {}},
        {"type": "text", "text": '"score": 4}'},
        {"type": "text", "text": None},
        "no block",
    ]
    message = {"content": blocks, "stop_reason": "end_turn"}
    assert read_verdict(message, SMALL).answers == {"reason": "r", "score": 4}


def test_commas_too_many_are_passed_over_but_those_of_texts() -> None:
    text = '{"reason": "a,} b,]", "score": 3,}'
    assert read_verdict(response(text), SMALL).answers == {"reason": "a,} b,]", "score": 3}


def test_names_and_choices_may_be_written_otherwise_and_further_ones_are_dropped() -> None:
    answer = {
        "Criterion 1": {"Reason": "x", "VERDICT": "Not Met", "mood": "bad"},
        "claims": None,
        "REASON": None,
        "score": " 5 ",
        "confidence": 0.9,
    }
    assert read_verdict(response(json.dumps(answer)), SCHEMA).answers == {
        "criterion_1": {"reason": "x", "verdict": "not_met"},
        "claims": [],
        "reason": "",
        "score": 5,
    }


@pytest.mark.parametrize(
    ("answered", "kept"), [(4.7, 4.7), ("4.7", 4.7), (1, 1), (5.0, 5.0), ("3", 3)]
)
def test_decimals_of_a_score_are_kept(answered: Any, kept: float) -> None:
    text = json.dumps({"reason": "r", "score": answered})
    answers = read_verdict(response(text), SMALL).answers
    assert answers is not None
    assert answers["score"] == kept


@pytest.mark.parametrize(
    ("text", "stop_reason", "reason", "error"),
    [
        ('{"reason": "r", "score": 4}', "refusal", "refusal", "declined"),
        ('{"reason": "r", "sco', "max_tokens", "truncated", "max_tokens"),
        ("{", "model_context_window_exceeded", "truncated", "cut off"),
        ('{"reason": "r", "score": 4}', None, "incomplete", "broke off"),
        ('{"reason": "r", "score": 4}', "tool_use", "unknown_stop", "'tool_use'"),
        (" \n", "end_turn", "empty", "no text"),
        ("The answer is good: 5 of 5.", "end_turn", "bad_verdict", "no JSON object"),
        ("[4]", "end_turn", "bad_verdict", "no JSON object"),
        ('{"reason": "r"}', "end_turn", "missing_axis", "`score` is missing"),
        ('{"reason": "r", "score": 6}', "end_turn", "out_of_range", "off the scale of 1 to 5"),
        ('{"reason": "r", "score": 0}', "end_turn", "out_of_range", "`score` is '0'"),
        ('{"reason": "r", "score": 5.3}', "end_turn", "out_of_range", "5.3"),
        ('{"reason": "r", "score": 0.9}', "end_turn", "out_of_range", "0.9"),
        ('{"reason": "r", "score": -4}', "end_turn", "out_of_range", "-4"),
        ('{"reason": "r", "score": 1e400}', "end_turn", "out_of_range", "`score` is"),
        ('{"reason": "r", "score": 1' + "0" * 400 + "}", "end_turn", "out_of_range", "1000"),
        ('{"reason": "r", "score": NaN}', "end_turn", "bad_verdict", ""),
        ('{"reason": "r", "score": 2, "score": 4}', "end_turn", "bad_verdict", ""),
        ('{"reason": "r", "score": "５"}', "end_turn", "bad_verdict", "no number"),
        ('{"reason": "r", "score": "4,5"}', "end_turn", "bad_verdict", "no number"),
        ('{"reason": "r", "score": [4]}', "end_turn", "bad_verdict", "no number: '[4]'"),
        ('"text"', "end_turn", "bad_verdict", "no JSON object"),
        ("null", "end_turn", "bad_verdict", "no JSON object"),
        ('{"reason": "r", "score": "4/5"}', "end_turn", "bad_verdict", "'4/5'"),
        ('{"reason": "r", "score": true}', "end_turn", "bad_verdict", "no number"),
        ('{"reason": "r", "score": null}', "end_turn", "bad_verdict", "no number"),
        ('{"reason": "r", "score": "four"}', "end_turn", "bad_verdict", "'four'"),
        ('{"reason": ["r"], "score": 4}', "end_turn", "bad_verdict", "`reason` is no text"),
    ],
)
def test_what_cannot_be_used_is_missing_with_its_reason(
    text: str, stop_reason: str | None, reason: str, error: str
) -> None:
    verdict = read_verdict(response(text, stop_reason), SMALL)
    assert (verdict.answers, verdict.na_reason) == (None, reason)
    assert error in (verdict.error or "")
    assert verdict.text == text


def test_what_is_wrong_within_is_named_by_its_path() -> None:
    answer = {**GOOD, "criterion_1": {"reason": "x", "verdict": "perhaps"}}
    verdict = read_verdict(response(json.dumps(answer)), SCHEMA)
    assert verdict.error == (
        "`criterion_1.verdict` is none of met, not_met, cannot_tell: 'perhaps'"
    )


@pytest.mark.parametrize(
    ("change", "reason", "error"),
    [
        ({"criterion_1": 5}, "bad_verdict", "`criterion_1` is no object: '5'"),
        ({"criterion_1": {"verdict": "met"}}, "missing_axis", "`criterion_1.reason` is missing"),
        ({"claims": {"a": 1}}, "bad_verdict", "`claims` is no list: '{\"a\": 1}'"),
        ({"claims": ["a", 2]}, "bad_verdict", "`claims[1]` is no text: '2'"),
        ({"reason": 1}, "bad_verdict", "`reason` is no text: '1'"),
        ({"score": 7}, "out_of_range", "`score` is '7', off the scale of 1 to 5"),
    ],
)
def test_each_part_says_where_it_is_wrong(change: dict[str, Any], reason: str, error: str) -> None:
    verdict = read_verdict(response(json.dumps(GOOD | change)), SCHEMA)
    assert (verdict.answers, verdict.na_reason, verdict.error) == (None, reason, error)


@pytest.mark.parametrize("message", [None, [], "text", 5, {}, {"content": "text"}])
def test_what_is_no_message_is_an_answer_that_broke_off(message: Any) -> None:
    assert read_verdict(message, SMALL).na_reason == "incomplete"


@pytest.mark.parametrize(
    "text",
    [
        "{" * 1_000_000,
        '"\\"' * 300_000,
        '{"a":' * 200_000,
        '{"reason":"' * 90_000,
        "," * 1_000_000 + "}",
        "{}" * 500_000,
        ", " * 300_000 + "}" + " " * 300_000,
        FAKE + '"score"' * 100_000 + " " * 300_000 + '"score":',
        "[" * 500_000 + "]" * 500_000,
        '{"score": ' + "9" * 1_000_000 + "}",
    ],
    ids=[
        "open",
        "escapes",
        "deep",
        "strings",
        "commas",
        "empty",
        "gaps",
        "mentions",
        "lists",
        "digits",
    ],
)
def test_a_hostile_text_of_a_megabyte_ends(text: str) -> None:
    assert read_verdict(response(text), SMALL).na_reason == "bad_verdict"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
answers = st.fixed_dictionaries(
    {
        "criterion_1": st.fixed_dictionaries(
            {"reason": texts, "verdict": st.sampled_from(["met", "not_met", "cannot_tell"])}
        ),
        "claims": st.lists(texts, max_size=3),
        "reason": texts,
        "score": st.integers(1, 5) | st.floats(1, 5),
    }
)


@given(
    json_values
    | st.fixed_dictionaries({}, optional={"content": json_values, "stop_reason": json_values})
)
def test_no_response_is_an_exception(message: Any) -> None:
    assert read_verdict(message, SCHEMA).na_reason is not None


@given(json_values | st.dictionaries(st.sampled_from(list(GOOD)), json_values))
def test_no_answer_is_an_exception(answer: Any) -> None:
    verdict = read_verdict(response(json.dumps(answer)), SCHEMA)
    assert (verdict.answers is None) == (verdict.na_reason is not None)


@given(st.text(st.sampled_from("{}[]\":,\\ \n'4reasonsco"), max_size=60))
def test_no_text_is_an_exception(text: str) -> None:
    verdict = read_verdict(response(text), SMALL)
    assert (verdict.answers is None) == (verdict.na_reason is not None)


def test_a_stop_reason_may_be_nested_deeply() -> None:
    stop_reason: Any = []
    for _ in range(5_000):
        stop_reason = [stop_reason]
    assert read_verdict(response("{}", stop_reason), SMALL).na_reason == "unknown_stop"


@given(answers, st.sampled_from(["{}", "```json\n{}\n```", "So:\n{}\nDone."]), st.booleans())
def test_what_fits_comes_back_as_it_was(
    answer: dict[str, Any], around: str, ascii_only: bool
) -> None:
    text = around.replace("{}", json.dumps(answer, ensure_ascii=ascii_only))
    assert read_verdict(response(text), SCHEMA).answers == answer


def test_half_of_a_score_is_rounded_up() -> None:
    assert [rounded(score) for score in (1.0, 3.49, 3.5, 4.5, 4.99)] == [1, 3, 4, 5, 5]


def test_a_draft_does_not_stand_in_for_a_last_object_that_is_not_whole() -> None:
    # Which of the two counts is not ours to guess.
    text = '{"reason": "draft", "score": 1} and so {"score": 4}'
    verdict = read_verdict(response(text), SMALL)
    assert (verdict.answers, verdict.na_reason) == (None, "missing_axis")

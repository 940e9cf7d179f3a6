from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.cases import Case
from evalnb.frames import OUTPUTS, NaReason
from evalnb.golden import GoldenSet, SuiteSettings
from evalnb.scorers import Score, tool_calls
from evalnb.scoring import score
from evalnb.systems import Output, ToolCall

LOOK: dict[str, Any] = {"name": "look", "arguments": {"id": 7}}
PAY: dict[str, Any] = {"name": "pay", "arguments": {"id": 7, "cents": 100}}
MADE = {"look": ToolCall("look", {"id": 7}), "pay": ToolCall("pay", {"id": 7, "cents": 100})}
SEARCH = ToolCall("search", {"q": "x"})


def case(*calls: dict[str, Any], order: str | None = None) -> Case:
    expected = {"calls": list(calls)} | ({"order": order} if order else {})
    return Case.model_validate({"id": "a", "input": "Hi", "expected_tool_calls": expected})


def verdict(wanted: Case, *made: ToolCall) -> Score:
    return tool_calls(wanted, Output(None, made), SuiteSettings())


def passes(expected: dict[str, Any], arguments: Any) -> bool:
    return verdict(case({"name": "t"} | expected), ToolCall("t", arguments)).passed


# Orders


@pytest.mark.parametrize(
    ("made", "exact", "in_order", "any_order"),
    [
        (("look", "pay"), True, True, True),
        (("pay", "look"), False, False, True),
        (("look", "search", "pay"), False, True, True),
        (("search", "pay", "look", "search"), False, False, True),
        (("look",), False, False, False),
        (("look", "look"), False, False, False),
        ((), False, False, False),
    ],
)
def test_orders(made: tuple[str, ...], exact: bool, in_order: bool, any_order: bool) -> None:
    calls = [MADE.get(name, SEARCH) for name in made]
    found = {
        order: verdict(case(LOOK, PAY, order=order), *calls).passed
        for order in ("exact", "in_order", "any_order", None)
    }
    assert found == {
        "exact": exact,
        "in_order": in_order,
        "any_order": any_order,
        None: exact,
    }


def test_the_value_is_the_share_of_calls_that_were_made() -> None:
    look, pay = MADE["look"], MADE["pay"]
    assert verdict(case(LOOK, PAY), look, pay).value == 1
    assert verdict(case(LOOK, PAY), look).value == 0.5
    assert verdict(case(LOOK, PAY)).value == 0
    assert verdict(case(LOOK, PAY), look, pay, SEARCH).value == 0  # all there, and one too many
    assert verdict(case(LOOK, PAY, order="in_order"), look, pay, SEARCH).value == 1
    # In order, one of the two pairs is left: the share does not depend on which.
    assert verdict(case(LOOK, PAY), pay, look).value == 0.5


def test_an_empty_list_means_no_call_in_whatever_order() -> None:
    for order in ("exact", "in_order", "any_order"):
        assert verdict(case(order=order)) == Score(1.0, True, "no tool was called")
        assert verdict(case(order=order), SEARCH) == Score(0.0, False, "extra: search(q='x')")


def test_a_call_is_used_once() -> None:
    for order in ("exact", "in_order", "any_order"):
        assert not verdict(case(LOOK, LOOK, order=order), MADE["look"]).passed
        assert verdict(case(LOOK, LOOK, order=order), MADE["look"], MADE["look"]).passed


def test_any_order_finds_a_pairing_where_the_first_fit_would_not_do() -> None:
    # The wide expectation fits both calls; taking the first leaves none for the narrow one.
    wide, narrow = {"name": "t"}, {"name": "t", "arguments": {"n": 1}}
    one, two = ToolCall("t", {"n": 1}), ToolCall("t", {"n": 2})
    for calls in ((one, two), (two, one)):
        assert verdict(case(wide, narrow, order="any_order"), *calls).passed
        assert verdict(case(narrow, wide, order="any_order"), *calls).passed
    # In order, the wide one must leave the first call alone, too.
    assert verdict(case(wide, narrow, order="in_order"), two, two, one).passed
    assert not verdict(case(wide, narrow, order="in_order"), one, two).passed


def test_any_order_moves_a_chain_of_calls() -> None:
    def either(*numbers: int) -> dict[str, Any]:
        return {"name": "t", "patterns": {"n": "|".join(map(str, numbers))}}

    calls = [ToolCall("t", {"n": number}) for number in (1, 2, 3)]
    wanted = case(either(1, 2), either(1, 3), either(1), order="any_order")
    assert verdict(wanted, *calls).passed
    assert verdict(
        case(either(1, 2), either(1, 2), either(1), order="any_order"), *calls
    ).value == (2 / 3)


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2)), min_size=1, max_size=6).flatmap(
        lambda calls: st.tuples(st.just(calls), st.permutations(calls))
    ),
    st.lists(st.just(SEARCH), max_size=3),
)
def test_calls_in_another_order_still_pass_any_order(
    pair: tuple[list[tuple[str, int]], list[tuple[str, int]]], extra: list[ToolCall]
) -> None:
    calls, permuted = pair
    wanted = case(*({"name": name, "arguments": {"n": n}} for name, n in calls), order="any_order")
    made = [*(ToolCall(name, {"n": n}) for name, n in permuted), *extra]
    found = verdict(wanted, *made)
    assert (found.passed, found.value) == (True, 1)


@given(
    st.lists(st.sampled_from("ab"), max_size=5),
    st.lists(st.sampled_from("abc"), max_size=6),
)
def test_what_passes_in_a_strict_order_passes_in_a_laxer_one(
    wanted: list[str], made: list[str]
) -> None:
    calls = [ToolCall(name, {}) for name in made]
    found = [
        verdict(case(*({"name": name} for name in wanted), order=order), *calls)
        for order in ("exact", "in_order", "any_order")
    ]
    assert [entry.passed for entry in found] == sorted(entry.passed for entry in found)
    assert found[0].passed is (wanted == made)
    remaining = iter(made)
    subsequence = all(name in remaining for name in wanted)
    assert found[1].passed is (subsequence if wanted else not made)


# Arguments


@pytest.mark.parametrize(
    ("expected", "arguments", "passed"),
    [
        ({}, {"anything": 1}, True),
        ({"arguments": {}}, {}, True),
        ({"arguments": {}}, {"a": 1}, False),
        ({"arguments": {}, "match": "subset"}, {"a": 1}, True),
        ({"arguments": {"a": 1}}, {"a": 1}, True),
        ({"arguments": {"a": 1}}, {"a": 1, "b": 2}, False),
        ({"arguments": {"a": 1}, "match": "exact"}, {"a": 1, "b": 2}, False),
        ({"arguments": {"a": 1}, "match": "subset"}, {"a": 1, "b": 2}, True),
        ({"arguments": {"a": 1}, "match": "subset"}, {"b": 2}, False),
        ({"arguments": {"a": 1}}, {"a": 2}, False),
        ({"arguments": {"a": 1}}, {"a": "1"}, False),
        ({"arguments": {"a": 1}}, {"a": 1.0}, True),
        ({"arguments": {"a": 1}}, {"a": True}, False),
        ({"arguments": {"a": True}}, {"a": 1}, False),
        ({"arguments": {"a": True}}, {"a": True}, True),
        ({"arguments": {"a": False}}, {"a": 0}, False),
        ({"arguments": {"a": False}}, {"a": None}, False),
        ({"arguments": {"a": None}}, {"a": None}, True),
        ({"arguments": {"a": None}}, {}, False),
        ({"arguments": {"a": [1, {"b": [True]}]}}, {"a": [1.0, {"b": [True]}]}, True),
        ({"arguments": {"a": [1, {"b": [True]}]}}, {"a": [1, {"b": [1]}]}, False),
        ({"arguments": {"a": [1, 2]}}, {"a": [2, 1]}, False),
        ({"arguments": {"a": [1]}}, {"a": [1, 1]}, False),
        ({"arguments": {"a": {"x": 1}}}, {"a": {"x": 1, "y": 2}}, False),
        ({"arguments": {"a": 1}}, None, False),
        ({"arguments": {"a": 1}}, [["a", 1]], False),
    ],
)
def test_arguments_are_compared_as_json(
    expected: dict[str, Any], arguments: Any, passed: bool
) -> None:
    assert passes(expected, arguments) is passed


@pytest.mark.parametrize(
    ("expected", "arguments", "passed"),
    [
        ({"patterns": {"a": r"B-\d+"}}, {"a": "B-17"}, True),
        ({"patterns": {"a": r"B-\d+"}}, {"a": "see B-17"}, False),  # the whole value
        ({"patterns": {"a": r"B-\d+"}}, {"a": "B-17\n"}, False),
        ({"patterns": {"a": r"(?i)b-\d+"}}, {"a": "B-17"}, True),
        ({"patterns": {"a": r"\d+"}}, {"a": 17}, True),
        ({"patterns": {"a": "null|true"}}, {"a": None}, True),
        ({"patterns": {"a": r"\[1, .*\]"}}, {"a": [1, "é"]}, True),
        ({"patterns": {"a": ".*"}}, {}, False),
        ({"patterns": {"a": ".*"}}, {"a": "x", "b": 1}, False),
        ({"patterns": {"a": ".*"}, "match": "subset"}, {"a": "x", "b": 1}, True),
        ({"arguments": {"b": 1}, "patterns": {"a": "x"}}, {"a": "x", "b": 1}, True),
        ({"arguments": {"b": 1}, "patterns": {"a": "x"}}, {"a": "x", "b": 2}, False),
    ],
)
def test_patterns_match_the_whole_value(
    expected: dict[str, Any], arguments: dict[str, Any], passed: bool
) -> None:
    assert passes(expected, arguments) is passed


def test_a_pattern_that_would_never_end_is_a_scorer_error() -> None:
    wanted = case({"name": "t", "patterns": {"a": "(.*?,){25}P"}})
    call = {"name": "t", "arguments": {"a": "12," * 90}}
    outputs = OUTPUTS.build([{"case_id": "a", "repeat": 1, "tool_calls": [call]}])
    scores = score(GoldenSet((wanted,)), outputs)
    assert scores["na_reason"].tolist() == [NaReason.SCORER_ERROR]
    assert scores["passed"].isna().all()
    assert (
        "the pattern /(.*?,){25}P/ of `t.a` took longer than 1 s on '12,12," in scores["error"][0]
    )
    assert scores["value"].isna().all()


# Reasons


def test_reasons_name_the_calls() -> None:
    look, pay = MADE["look"], MADE["pay"]
    assert verdict(case(LOOK, PAY), look, pay).reason == "called look(id=7), pay(id=7, cents=100)"
    assert verdict(case(LOOK, PAY), look).reason == "missing: pay(id=7, cents=100)"
    assert verdict(case(LOOK)).reason == "missing: look(id=7); no tool was called"
    assert verdict(case(LOOK), look, SEARCH).reason == "extra: search(q='x')"
    assert verdict(case(LOOK, order="in_order"), look, SEARCH).reason == "extra: search(q='x')"
    assert verdict(case(LOOK), ToolCall("look", {"id": 8})).reason == (
        "missing: look(id=7); extra: look(id=8)"
    )
    assert verdict(case(LOOK, PAY), pay, look).reason == (
        "called in another order: pay(id=7, cents=100), look(id=7)"
    )
    pattern = {"name": "t", "arguments": {"a": [1]}, "patterns": {"b": "x+"}}
    assert verdict(case(pattern)).reason == "missing: t(a=[1], b=/x+/); no tool was called"


def test_calls_beyond_those_expected_are_named_where_they_are_allowed_too() -> None:
    for order in ("in_order", "any_order"):
        found = verdict(case(LOOK, order=order), SEARCH, MADE["look"], MADE["pay"])
        assert found.passed
        assert found.reason == "extra: search(q='x'), pay(id=7, cents=100)"


def test_a_long_reason_is_cut_with_a_count() -> None:
    found = verdict(case(LOOK), MADE["look"], *[SEARCH] * 1_000)
    assert found.reason.endswith("search(q='x') and 990 more")
    wide = ToolCall("t", {f"a{n}": n for n in range(1_000)})
    assert verdict(case(LOOK), wide).reason.endswith("a9=9, …)")


@pytest.mark.parametrize(
    "call",
    [
        ToolCall("na\nme\x1b[31m", {"a": 1}),
        ToolCall("t", {"key\n\x00": "x"}),
        ToolCall("t", {"a": "\x1b[31m\u202e\ud83d\n" + "x" * 10_000}),
        ToolCall("t", {"a": ["\u202e\x7f"] + ["x"] * 10_000}),
        ToolCall("t", "no\nobject"),
        ToolCall("t", None),
        ToolCall("t", {"a": object}),
    ],
)
def test_hostile_calls_give_a_short_printable_reason(call: ToolCall) -> None:
    reason = verdict(case(LOOK), call).reason
    assert reason.startswith("missing: look(id=7); extra: ")
    assert reason.isprintable()
    assert len(reason) < 250


def test_a_case_without_the_expectation_is_a_mistake() -> None:
    plain = Case.model_validate({"id": "a", "input": "Hi", "expected_exact": "x"})
    with pytest.raises(ValueError, match="no `expected_tool_calls` to score by"):
        verdict(plain)

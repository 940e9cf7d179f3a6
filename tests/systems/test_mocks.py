from __future__ import annotations

from typing import Any

import pytest

from evalnb.cases import Case
from evalnb.systems import ToolCall, ToolError, mocked_tools

SCRIPTED = {
    "look": [
        {"arguments": {"id": 7}, "result": {"state": "zurück"}},
        {"arguments": {"id": 8}, "result": {"why": "gone"}, "is_error": True},
        {"arguments": {"id": 1}, "result": None},
    ],
    "refund": [{"result": "done"}, {"result": "never"}],
}


def case(**fields: Any) -> Case:
    return Case.model_validate({"id": "a", "input": "Hi"} | fields)


def test_the_first_result_that_fits_is_given() -> None:
    tools = mocked_tools(case(tools_mock=SCRIPTED))
    assert tools("look", {"id": 7, "more": 1}) == {"state": "zurück"}
    assert tools("look", {"id": 1.0}) is None
    assert tools("refund", {}) == "done"
    assert tools["refund"](id=3, name="x", self=1) == "done"


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("look", {"id": 8}, '^{"why": "gone"}$'),
        ("look", {"id": 9}, r"^No result for these arguments\.$"),
        ("look", {"id": True}, r"^No result for these arguments\.$"),
        ("look", "broken", r"^No result for these arguments\.$"),
        ("mail", {"to": "all"}, r"^There is no result for the tool 'mail'\.$"),
    ],
)
def test_what_has_no_result_is_told_and_captured(name: str, arguments: Any, told: str) -> None:
    tools = mocked_tools(case(tools_mock=SCRIPTED))
    with pytest.raises(ToolError, match=told):
        tools(name, arguments)
    assert tools.calls == [ToolCall(name, arguments)]


def test_calls_are_captured_in_order_for_each_answer_of_its_own() -> None:
    asked = case(tools_mock=SCRIPTED)
    tools, others = mocked_tools(asked), mocked_tools(asked)
    tools("refund", {"id": 1})
    tools["look"](id=7)
    assert tools.calls == [ToolCall("refund", {"id": 1}), ToolCall("look", {"id": 7})]
    assert others.calls == []


def test_the_names_are_those_that_are_scripted() -> None:
    tools = mocked_tools(case(tools_mock=SCRIPTED))
    assert (list(tools), len(tools), "mail" in tools) == (["look", "refund"], 2, False)
    assert list(mocked_tools(case())) == []
    with pytest.raises(KeyError, match="mail"):
        tools["mail"]

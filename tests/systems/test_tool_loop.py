from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.errors import MissError
from evalnb.systems import STEP_LIMIT, Output, ToolCall, ToolError, run_tools, run_tools_sync
from tests.upstreams import message, tool_use

Json = dict[str, Any]

LOOK = {
    "name": "look",
    "description": "Look up an order.",
    "input_schema": {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "parts": {"type": "array", "items": {"minimum": 1}},
        },
        "required": ["id"],
    },
}
REFUND = {"name": "refund", "description": "Refund an order.", "input_schema": {"type": "object"}}
REQUEST = {
    "model": "m",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "Hi"}],
    "tools": [LOOK, REFUND],
}


class Model:
    """Gives its answers in turn and remembers the requests."""

    def __init__(self, *answers: Json) -> None:
        self.answers = list(answers)
        self.requests: list[Json] = []

    def ask(self, request: Json) -> Json:
        self.requests.append(request)
        return self.answers.pop(0)

    async def create(self, request: Json) -> Json:
        return self.ask(request)

    @property
    def result(self) -> Json:
        """The last result of a tool that the model was told."""
        result: Json = self.requests[-1]["messages"][-1]["content"][-1]
        return result


def calling(*blocks: Json, **fields: Any) -> Json:
    return message(content=list(blocks), **{"stop_reason": "tool_use"} | fields)


def look(id: int) -> Json:  # noqa: A002
    return {"order": id}


async def refund(**arguments: Any) -> str:
    return f"refunded {arguments}"


def told(call: Json, tools: dict[str, Any]) -> Json:
    """Return the result that the model is told of one call."""
    model = Model(calling(call), message("Done."))
    output = asyncio.run(run_tools(model.create, REQUEST, tools))
    assert output.text == "Done."
    assert output.tool_calls == [ToolCall(call["name"], call["input"])]
    return model.result


def test_tools_of_both_kinds_are_run_in_order() -> None:
    calls = [tool_use("look", {"id": 7}, "t1"), tool_use("refund", {"id": 7, "a-b": None}, "t2")]
    model = Model(calling(*calls), message("Done."))
    output = asyncio.run(run_tools(model.create, REQUEST, {"look": look, "refund": refund}))
    step = [
        {"role": "assistant", "content": calls},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": '{"order": 7}'},
                {
                    "type": "tool_result",
                    "tool_use_id": "t2",
                    "content": "refunded {'id': 7, 'a-b': None}",
                },
            ],
        },
    ]
    last = {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}
    assert model.requests == [REQUEST, {**REQUEST, "messages": [*REQUEST["messages"], *step]}]  # type: ignore[misc]
    assert output == Output(
        "Done.",
        [ToolCall("look", {"id": 7}), ToolCall("refund", {"id": 7, "a-b": None})],
        [*step, last],
        "end_turn",
    )


def test_the_request_stays_as_it_is() -> None:
    model = Model(calling(tool_use("look", {"id": 7})), message())
    asyncio.run(run_tools(model.create, REQUEST, {"look": look}))
    assert REQUEST["messages"] == [{"role": "user", "content": "Hi"}]


def test_an_unknown_tool_is_a_result() -> None:
    result = told(tool_use("loook", {"id": 7}, "t1"), {"look": look})
    assert result == {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": "There is no tool 'loook'. There are: look, refund.",
        "is_error": True,
    }


@pytest.mark.parametrize(
    ("arguments", "told_of"),
    [
        ({}, '$: "required": ["id"]'),
        ({"id": "7"}, '$.id: "type": "integer"'),
        ({"id": 7, "parts": [1, 0, 0]}, '$.parts[1]: "minimum": 1\n$.parts[2]: "minimum": 1'),
    ],
)
def test_arguments_that_do_not_meet_the_schema_are_a_result(arguments: Any, told_of: str) -> None:
    result = told(tool_use("look", arguments), {"look": look})
    assert result["is_error"] is True
    assert result["content"] == f"The arguments do not meet the input_schema:\n{told_of}"


@pytest.mark.parametrize("arguments", ["{broken", None, [1], 3])
def test_arguments_that_are_no_object_are_a_result(arguments: Any) -> None:
    call = {**tool_use("look", {}), "input": arguments}
    result = told(call, {"look": look})
    assert (result["content"], result["is_error"]) == ("The arguments must be an object.", True)


def test_a_rule_below_a_reference_is_named() -> None:
    schema = {
        "type": "object",
        "properties": {"id": {"$ref": "#/$defs/id"}},
        "$defs": {"id": {"enum": ["x" * 300]}},
    }
    request = {**REQUEST, "tools": [{**LOOK, "input_schema": schema}]}
    model = Model(calling(tool_use("look", {"id": 7})), message())
    asyncio.run(run_tools(model.create, request, {"look": look}))
    assert model.result["content"] == 'The arguments do not meet the input_schema:\n$.id: "enum"'


def raising(error: Exception) -> Any:
    def tool(**arguments: Any) -> str:
        raise error

    return tool


@pytest.mark.parametrize(
    ("tool", "content"),
    [
        (raising(KeyError("order")), "KeyError: 'order'"),
        (raising(StopIteration("x")), "StopIteration: x"),
        (raising(ToolError("Ask for the number.")), "Ask for the number."),
        (raising(ToolError()), "The tool failed."),
        (raising(ToolError("\ud800")), "?"),
        (lambda: 1, "TypeError: "),
        (lambda **_: object(), "TypeError: Object of type object is not JSON serializable"),
        (lambda **_: float("nan"), "ValueError: Out of range float values"),
    ],
)
def test_whatever_a_tool_raises_is_a_result(tool: Any, content: str) -> None:
    result = told(tool_use("look", {"id": 7}), {"look": tool})
    assert result["is_error"] is True
    assert result["content"].startswith(content)


def test_a_miss_in_a_tool_is_no_result() -> None:
    model = Model(calling(tool_use("look", {"id": 7})), message())
    with pytest.raises(MissError, match="not recorded"):
        asyncio.run(run_tools(model.create, REQUEST, {"look": raising(MissError("not recorded"))}))


def test_an_error_of_the_model_is_raised() -> None:
    with pytest.raises(KeyError, match="down"):
        asyncio.run(run_tools(raising_create, REQUEST, {}))


async def raising_create(request: Json) -> Json:
    raise KeyError("down")


def test_an_offered_tool_that_nobody_runs_ends_the_answer() -> None:
    text = {"type": "text", "text": "One moment."}
    model = Model(calling(text, tool_use("look", {"id": 7}), tool_use("refund", {}, "t2")))
    output = asyncio.run(run_tools(model.create, REQUEST, {"look": look}))
    assert (output.text, output.stop_reason, len(model.requests)) == ("One moment.", "tool_use", 1)
    assert [call.name for call in output.tool_calls] == ["look", "refund"]
    assert [entry["role"] for entry in output.messages] == ["assistant"]


@pytest.mark.parametrize("stop", ["max_tokens", "model_context_window_exceeded", "refusal"])
def test_a_call_that_was_cut_is_not_run(stop: str) -> None:
    model = Model(calling(tool_use("look", {"id": 7}), stop_reason=stop))
    output = asyncio.run(run_tools(model.create, REQUEST, {"look": look}))
    assert (output.text, output.stop_reason, len(output.tool_calls)) == (None, stop, 1)


@given(st.integers(1, 5))
def test_the_steps_are_limited(limit: int) -> None:
    model = Model(*[calling(tool_use("look", {"id": 7}))] * limit)
    output = asyncio.run(run_tools(model.create, REQUEST, {"look": look}, max_steps=limit))
    assert (output.text, output.stop_reason) == (None, STEP_LIMIT)
    assert len(model.requests) == len(output.tool_calls) == limit
    assert output.messages[-1]["role"] == "user"


def test_a_pause_is_sent_back_unchanged() -> None:
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": None}}
    found = {"type": "text", "text": "I found "}
    paused = message(content=[found, search], stop_reason="pause_turn")
    model = Model(paused, message("it."))
    output = asyncio.run(run_tools(model.create, REQUEST, {}))
    assert model.requests[1]["messages"][-1] == {"role": "assistant", "content": [found, search]}
    assert (output.text, output.stop_reason, output.tool_calls) == ("I found it.", "end_turn", [])
    model = Model(paused, paused)
    output = asyncio.run(run_tools(model.create, REQUEST, {}, max_steps=2))
    assert (output.text, output.stop_reason) == (None, STEP_LIMIT)


def test_nulls_are_not_sent_back_but_for_arguments() -> None:
    text = {"type": "text", "text": "a", "citations": [{"type": "x", "title": None}], "extra": None}
    call = {**tool_use("look", {"id": 7, "parts": None}, "t1"), "caller": None}
    request = {**REQUEST, "tools": [{"name": "look"}]}
    model = Model(calling(text, call), message())
    asyncio.run(run_tools(model.create, request, {"look": lambda **_: 1}))
    assert model.requests[1]["messages"][1]["content"] == [
        {"type": "text", "text": "a", "citations": [{"type": "x"}]},
        tool_use("look", {"id": 7, "parts": None}, "t1"),
    ]


def test_synchronous_code_has_the_same_loop() -> None:
    answers = calling(tool_use("look", {"id": 7}), tool_use("zzz", {})), message("Done.")
    model, other = Model(*answers), Model(*answers)
    output = run_tools_sync(model.ask, REQUEST, {"look": look})
    assert output == asyncio.run(run_tools(other.create, REQUEST, {"look": look}))
    assert model.requests == other.requests


async def slow(id: int) -> int:  # noqa: A002
    await asyncio.sleep(0)
    return id


def test_synchronous_code_cannot_wait() -> None:
    model = Model(calling(tool_use("look", {"id": 7})))
    with pytest.raises(TypeError, match="needs synchronous functions: await run_tools instead"):
        run_tools_sync(model.ask, REQUEST, {"look": slow})

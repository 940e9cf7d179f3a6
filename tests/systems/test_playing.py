from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evalnb.cases import Case
from evalnb.systems import STEP_LIMIT, Output, ToolCall, play
from evalnb.systems.playing import opening
from tests.upstreams import tool_use


def case(*inputs: str, **fields: Any) -> Case:
    turns = [{"input": text, "must_contain": ["x"]} for text in inputs]
    return Case.model_validate({"id": "a", "turns": turns} | fields)


class Bot:
    """Gives its outputs in turn and remembers what it was asked."""

    def __init__(self, *outputs: Output | str) -> None:
        self.outputs = list(outputs)
        self.asked: list[Case] = []

    async def __call__(self, asked: Case) -> Output | str:
        self.asked.append(asked)
        return self.outputs.pop(0)

    @property
    def histories(self) -> list[list[dict[str, Any]]]:
        return [[message.model_dump() for message in asked.messages or ()] for asked in self.asked]


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def said(content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


def test_a_case_without_turns_is_just_answered() -> None:
    asked = Case(id="a", input="Hi")
    bot = Bot("Hello.")
    assert asyncio.run(play(asked, bot)) == Output("Hello.")
    assert bot.asked == [asked]
    output = Output("Hello.", stop_reason="end_turn")
    assert asyncio.run(play(asked, Bot(output))) is output


def test_turns_are_played_against_live_replies() -> None:
    bot = Bot("One?", Output("Two?", stop_reason="end_turn"), "Three.")
    output = asyncio.run(play(case("1", "2", "3"), bot))
    assert bot.histories == [
        [user("1")],
        [user("1"), said("One?"), user("2")],
        [user("1"), said("One?"), user("2"), said("Two?"), user("3")],
    ]
    assert output == Output(
        "Three.",
        [],
        [said("One?"), user("2"), said("Two?"), user("3"), said("Three.")],
        None,
        turns=[Output("One?"), Output("Two?", stop_reason="end_turn"), Output("Three.")],
    )


def test_each_turn_is_a_valid_case_with_all_that_is_fixed() -> None:
    fixed: dict[str, Any] = {
        "state": {"date": "2026-06-01"},
        "context": [{"text": "Refunds take 5 days."}],
        "tools": ["look"],
        "tools_mock": {"look": [{"result": 1}]},
    }
    bot = Bot("One?", "Two.")
    asyncio.run(play(case("1", "2", **fixed), bot))
    for asked, history in zip(bot.asked, bot.histories, strict=True):
        assert asked == Case.model_validate({"id": "a", "messages": history} | fixed)


def test_a_trajectory_is_the_history() -> None:
    call = [
        said([tool_use("look", {}, "t1")]),
        user([{"type": "tool_result", "tool_use_id": "t1"}]),
    ]
    whole = Output("Sent.", [ToolCall("look", {})], [*call, said("Sent.")], "end_turn", ["p1"])
    without_text = Output("Sent.", [ToolCall("look", {})], call)
    for first in (whole, without_text):
        bot = Bot(first, Output("Bye.", [ToolCall("close", {})]))
        output = asyncio.run(play(case("1", "2"), bot))
        assert bot.histories[1] == [user("1"), *call, said("Sent."), user("2")]
        assert [called.name for called in output.tool_calls] == ["look", "close"]
        assert output.messages == [*call, said("Sent."), user("2"), said("Bye.")]
        assert output.retrieved_ids == first.retrieved_ids


def test_a_call_without_result_gets_one_with_the_next_message() -> None:
    calls = [tool_use("look", {}, "t1"), tool_use("refund", {}, "t2")]
    bot = Bot(Output(None, [], [said(calls)], "tool_use"), "Done.")
    output = asyncio.run(play(case("1", "2"), bot))
    not_run = {"type": "tool_result", "content": "This tool was not run.", "is_error": True}
    assert bot.histories[1] == [
        user("1"),
        said(calls),
        user(
            [
                {**not_run, "tool_use_id": "t1"},
                {**not_run, "tool_use_id": "t2"},
                {"type": "text", "text": "2"},
            ]
        ),
    ]
    assert (output.text, len(output.turns)) == ("Done.", 2)


@pytest.mark.parametrize(
    "last",
    [
        Output(None),
        Output(""),
        Output(None, [ToolCall("look", {})]),
        Output("half of", [], [said("half of")], "refusal"),
        Output(None, [], [said([])], "refusal"),
        Output(None, [], [said([tool_use("look", {})])], STEP_LIMIT),
    ],
)
def test_a_turn_without_reply_is_the_last(last: Output) -> None:
    bot = Bot("One?", last, "never")
    output = asyncio.run(play(case("1", "2", "3"), bot))
    assert len(bot.asked) == 2
    assert output.turns == [Output("One?"), last]
    assert (output.text, output.stop_reason) == (last.text, last.stop_reason)


@pytest.mark.parametrize("asked", [Case(id="a", input="Hi"), case("1")])
def test_a_turn_must_give_text_or_an_output(asked: Case) -> None:
    bot = Bot(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"a system must return an Output or text\. Got int\."):
        asyncio.run(play(asked, bot))


def test_what_is_asked_first() -> None:
    plain = Case(id="a", input="Hi")
    assert opening(plain) is plain
    assert opening(case("1", "2")) == Case.model_validate({"id": "a", "messages": [user("1")]})

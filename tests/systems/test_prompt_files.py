from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest

from evalnb.cases import Case
from evalnb.errors import InputError
from evalnb.golden import read_golden
from evalnb.keys import canonical_request, request_key
from evalnb.systems import DirectSystem, Output, PromptSystem, System, ToolCall, suite_systems
from evalnb.systems.prompt_files import Prompt
from evalnb.tomltext import read_toml
from tests.suites import REPOSITORY
from tests.upstreams import FakeUpstream, message, tool_use

PROMPT = """
model = "claude-haiku-5-5"
max_tokens = 100
system = \"\"\"
Answer in one sentence.
\"\"\"

[parameters]
thinking = { type = "disabled" }

[[tools]]
name = "look"
description = "Look up an order."
input_schema = { type = "object", properties = { id = { type = "integer" } } }

[[tools]]
name = "refund"
description = "Refund an order."
input_schema = { type = "object" }
"""

LOOK = {
    "name": "look",
    "description": "Look up an order.",
    "input_schema": {"type": "object", "properties": {"id": {"type": "integer"}}},
}
REFUND = {
    "name": "refund",
    "description": "Refund an order.",
    "input_schema": {"type": "object"},
}
BARE = 'model = "m"\nmax_tokens = 1\n'


def case(**fields: Any) -> Case:
    given = {"messages", "turns"} & set(fields)
    return Case.model_validate({"id": "a"} | ({} if given else {"input": "Hi"}) | fields)


def system(folder: Path, text: str = PROMPT, name: str = "v1", files: str = "") -> PromptSystem:
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return PromptSystem(name, read_toml(path, Prompt, "prompt file"), path, files)


# Requests


def test_a_request_is_the_prompt_file_with_the_case(tmp_path: Path) -> None:
    assert system(tmp_path).request(case()) == {
        "model": "claude-haiku-5-5",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "Hi"}],
        "thinking": {"type": "disabled"},
        "system": "Answer in one sentence.",
        "tools": [LOOK, REFUND],
    }


def test_a_bare_prompt_file_asks_for_nothing_more(tmp_path: Path) -> None:
    bare = system(tmp_path, BARE)
    plain = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "Hi"}]}
    assert bare.request(case()) == plain
    assert bare.request(case(state={})) == plain
    assert bare.model == "m"


def test_passages_stand_above_the_question(tmp_path: Path) -> None:
    context = [{"id": "p1", "text": "Refunds take 5 days."}, {"text": "Shipping is free."}]
    above = "Context:\n[p1] Refunds take 5 days.\nShipping is free."
    bare = system(tmp_path, BARE)
    assert bare.request(case(context=context))["messages"] == [
        {"role": "user", "content": f"{above}\n\nQuestion: Hi"}
    ]
    history = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Yes?"},
        {"role": "user", "content": "When?"},
    ]
    found = bare.request(case(messages=history, context=context))["messages"]
    assert found[:2] == history[:2]
    assert found[2] == {"role": "user", "content": f"{above}\n\nQuestion: When?"}


def test_passages_stand_above_a_question_in_blocks_and_below_results(tmp_path: Path) -> None:
    bare = system(tmp_path, BARE)
    question = {"type": "text", "text": "When?"}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "7"}
    passages = {"type": "text", "text": "Context:\nRefunds take 5 days."}
    for blocks, expected in (
        ([question], [passages, question]),
        ([result, question], [result, passages, question]),
    ):
        asked = case(
            messages=[{"role": "user", "content": blocks}],
            context=[{"text": "Refunds take 5 days."}],
        )
        assert bare.request(asked)["messages"] == [{"role": "user", "content": expected}]
        assert asked.messages is not None
        assert asked.messages[0].content == blocks  # the case stays as it is


def test_a_history_is_sent_as_it_is(tmp_path: Path) -> None:
    history = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": [{"type": "text", "text": "Yes?"}]},
        {"role": "user", "content": "Where is order 7?"},
    ]
    assert system(tmp_path).request(case(messages=history))["messages"] == history


def test_the_state_ends_the_system_prompt(tmp_path: Path) -> None:
    state = {"date": "2026-06-01", "vip": True, "cart": ["Mütze", 2], "user": None}
    lines = 'Session:\n- date: 2026-06-01\n- vip: true\n- cart: ["Mütze", 2]\n- user: null'
    found = system(tmp_path).request(case(state=state))["system"]
    assert found == f"Answer in one sentence.\n\n{lines}"
    assert system(tmp_path, BARE).request(case(state=state))["system"] == lines


def test_a_case_chooses_its_tools(tmp_path: Path) -> None:
    prompt = system(tmp_path)
    assert prompt.request(case(tools=["refund"]))["tools"] == [REFUND]
    assert prompt.request(case(tools=["refund", "look"]))["tools"] == [REFUND, LOOK]
    assert "tools" not in prompt.request(case(tools=[]))


@pytest.mark.parametrize(
    ("text", "name", "hint"),
    [
        (PROMPT, "refunds", "Did you mean 'refund'?"),
        (PROMPT, "zzz", "It has: look, refund."),
        (BARE, "look", "It has: none."),
    ],
)
def test_an_unknown_tool_is_told(tmp_path: Path, text: str, name: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        system(tmp_path, text).request(case(tools=[name]))
    assert str(caught.value) == f"case a offers the tool '{name}', unknown to v1. {hint}"


def test_a_schema_asks_for_structured_output(tmp_path: Path) -> None:
    schema = {"type": "object"}
    form = {"type": "json_schema", "schema": schema}
    found = system(tmp_path).request(case(expected_schema=schema))
    assert found["output_config"] == {"format": form}
    effort = BARE + '[parameters]\noutput_config = { effort = "low", format = "old" }\n'
    found = system(tmp_path, effort).request(case(expected_schema=schema))
    assert found["output_config"] == {"effort": "low", "format": form}
    found = system(tmp_path, effort).request(case())
    assert found["output_config"] == {"effort": "low", "format": "old"}


def test_a_case_with_turns_asks_for_the_first(tmp_path: Path) -> None:
    prompt = system(tmp_path)
    played = case(turns=[{"input": "Hi"}, {"input": "Bye"}], state={"user": "u1"})
    assert prompt.request(played) == prompt.request(case(state={"user": "u1"}))


# Prompt files


def problems(folder: Path, text: str) -> list[tuple[str, str]]:
    with pytest.raises(InputError, match="the prompt file cannot be used") as caught:
        system(folder, text)
    return [(problem.field, problem.message) for problem in caught.value.problems]


def test_all_problems_of_a_prompt_file_are_told(tmp_path: Path) -> None:
    text = """
        modell = "m"
        max_tokens = 0
        [[tools]]
        name = "two words"
        description = "two\\nlines"
        input_schema = {}
    """
    assert {field for field, _ in problems(tmp_path, text)} == {
        "modell",
        "model",
        "max_tokens",
        "tools.0.name",
        "tools.0.description",
    }


def test_a_tool_takes_a_json_schema(tmp_path: Path) -> None:
    tool = '[[tools]]\nname = "look"\ndescription = "Look."\ninput_schema = { type = "integr" }\n'
    ((field, message),) = problems(tmp_path, BARE + tool)
    assert field == "tools.0.input_schema"
    assert message.startswith("must be a JSON Schema: ")


@pytest.mark.parametrize("name", ["model", "max_tokens", "messages", "system", "tools", "stream"])
def test_parameters_do_not_replace_what_the_case_says(tmp_path: Path, name: str) -> None:
    ((field, message),) = problems(tmp_path, f"{BARE}[parameters]\n{name} = 1\n")
    assert field == "parameters"
    assert message.startswith(
        f"must not hold `{name}`: the case and the file's own fields say that"
    )


# Fingerprints


def test_the_fingerprint_does_not_follow_the_formatting(tmp_path: Path) -> None:
    one = system(tmp_path, 'model = "m"\nmax_tokens = 1\nsystem = "Hi"\n')
    other = system(tmp_path, "# a comment\nsystem='Hi'\n\nmax_tokens = 1\nmodel = 'm'\n", "v2")
    assert one.fingerprint == other.fingerprint
    assert len(one.fingerprint) == 12


def test_the_fingerprint_follows_the_content(tmp_path: Path) -> None:
    changes = [
        PROMPT,
        PROMPT.replace("5-5", "5-6"),
        PROMPT.replace("100", "101"),
        PROMPT.replace("one sentence", "two sentences"),
        PROMPT.replace("disabled", "adaptive"),
        PROMPT.replace("thinking =", "thought ="),
        PROMPT.replace("Look up an order.", "Look up an order"),
        PROMPT.replace('"integer"', '"string"'),
        PROMPT.replace('name = "refund"', 'name = "pay_back"'),
    ]
    assert len({system(tmp_path, text).fingerprint for text in changes}) == len(changes)


def test_the_fingerprint_follows_the_files_of_the_suite(tmp_path: Path) -> None:
    prints = {system(tmp_path, BARE, files=files).fingerprint for files in ("", "a", "b")}
    assert len(prints) == 3


# Answers


def answer(prompt: PromptSystem, asked: Case, *answers: dict[str, Any]) -> tuple[Output, list[Any]]:
    """Let a system answer a case with what the API gives in turn; return its requests too."""
    upstream = FakeUpstream(*answers)
    return asked_by_client(prompt, asked, upstream), upstream.bodies


def asked_by_client(prompt: PromptSystem, asked: Case, upstream: FakeUpstream) -> Output:
    async def ask() -> Output:
        http = anthropic.DefaultAsyncHttpxClient(transport=upstream)
        async with anthropic.AsyncAnthropic(api_key="x", http_client=http) as client:
            return await prompt.answer(asked, client)

    return asyncio.run(ask())


def calling(*blocks: dict[str, Any]) -> dict[str, Any]:
    return message(content=list(blocks), stop_reason="tool_use")


MOCK = {
    "look": [
        {"arguments": {"id": 7}, "result": {"state": "zurück", "id": 7}},
        {"arguments": {"id": 8}, "result": "broken", "is_error": True},
        {"arguments": {"id": 1}, "result": None},
    ]
}


def test_an_answer_without_tools_takes_one_request(tmp_path: Path) -> None:
    prompt = system(tmp_path)
    output, requests = answer(prompt, case(), message("Hello."))
    assert output == Output(
        "Hello.",
        [],
        [{"role": "assistant", "content": [{"type": "text", "text": "Hello."}]}],
        "end_turn",
    )
    assert requests == [prompt.request(case())]


def test_a_field_that_the_client_does_not_know_reaches_the_api(tmp_path: Path) -> None:
    prompt = system(tmp_path, BARE + "[parameters]\nbrand_new = { a = 1 }\n")
    _, requests = answer(prompt, case(), message("Hello."))
    assert requests == [prompt.request(case())]
    assert requests[0]["brand_new"] == {"a": 1}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
        ([{"type": "text", "text": ""}], ""),
        ([], None),
    ],
)
def test_the_text_is_that_of_all_blocks(tmp_path: Path, content: list[Any], text: str) -> None:
    output, _ = answer(system(tmp_path), case(), message(content=content, stop_reason="refusal"))
    assert (output.text, output.stop_reason) == (text, "refusal")


def test_the_first_call_of_an_unscripted_tool_ends_the_answer(tmp_path: Path) -> None:
    call = tool_use("refund", {"id": 7, "note": None}, "t1")
    text = {"type": "text", "text": "One moment."}
    output, requests = answer(system(tmp_path), case(tools_mock=MOCK), calling(text, call))
    assert len(requests) == 1
    assert output.text == "One moment."
    assert output.tool_calls == [ToolCall("refund", {"id": 7, "note": None})]
    assert output.stop_reason == "tool_use"


def test_a_scripted_tool_is_played(tmp_path: Path) -> None:
    prompt, asked = system(tmp_path), case(tools_mock=MOCK)
    call = tool_use("look", {"id": 7, "more": 1}, "t1")
    output, requests = answer(prompt, asked, calling(call), message("It is back."))
    turn = [
        {"role": "assistant", "content": [call]},
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": '{"state": "zurück", "id": 7}',
                }
            ],
        },
    ]
    assert requests[1] == {**prompt.request(asked), "messages": [*requests[0]["messages"], *turn]}
    assert output.text == "It is back."
    assert output.tool_calls == [ToolCall("look", {"id": 7, "more": 1})]
    last = {"role": "assistant", "content": [{"type": "text", "text": "It is back."}]}
    assert output.messages == [*turn, last]


@pytest.mark.parametrize(
    ("arguments", "content", "is_error"),
    [
        ({"id": 8}, "broken", True),
        ({"id": 1}, "null", None),
        ({"id": 1.0}, "null", None),
        ({"id": 9}, "No result for these arguments.", True),
        ({}, "No result for these arguments.", True),
        (
            {"id": True},
            'The arguments do not meet the input_schema:\n$.id: "type": "integer"',
            True,
        ),
    ],
)
def test_results_are_chosen_by_arguments(
    tmp_path: Path, arguments: dict[str, Any], content: str, is_error: bool | None
) -> None:
    call = calling(tool_use("look", arguments, "t1"))
    _, requests = answer(system(tmp_path), case(tools_mock=MOCK), call, message())
    result = {"type": "tool_result", "tool_use_id": "t1", "content": content}
    if is_error:
        result["is_error"] = is_error  # type: ignore[assignment]
    assert requests[1]["messages"][-1] == {"role": "user", "content": [result]}


def test_a_result_without_arguments_fits_every_call(tmp_path: Path) -> None:
    for scripted in ({"result": "x"}, {"result": "x", "arguments": {}}):
        asked = case(tools_mock={"look": [scripted]})
        _, requests = answer(
            system(tmp_path), asked, calling(tool_use("look", {"any": 1}, "t1")), message()
        )
        assert requests[1]["messages"][-1]["content"][0]["content"] == "x"


def test_calls_at_once_are_answered_at_once_or_not_at_all(tmp_path: Path) -> None:
    look, refund = tool_use("look", {"id": 7}, "t1"), tool_use("refund", {}, "t2")
    prompt, asked = system(tmp_path), case(tools_mock=MOCK)
    output, requests = answer(prompt, asked, calling(look, tool_use("look", {}, "t3")), message())
    results = requests[1]["messages"][-1]["content"]
    assert [result["tool_use_id"] for result in results] == ["t1", "t3"]
    output, requests = answer(prompt, asked, calling(look, refund))
    assert len(requests) == 1
    assert [call.name for call in output.tool_calls] == ["look", "refund"]


def test_a_system_that_never_stops_is_stopped_after_eight_steps(tmp_path: Path) -> None:
    call = calling(tool_use("look", {"id": 7}, "t1"))
    output, requests = answer(system(tmp_path), case(tools_mock=MOCK), call)
    assert len(requests) == 8
    assert len(output.tool_calls) == 8
    assert (output.text, output.stop_reason) == (None, "step_limit")


def test_a_tool_that_is_not_offered_is_told_to_the_model(tmp_path: Path) -> None:
    asked = case(tools_mock={**MOCK, "refund": [{"result": "done"}]}, tools=["look"])
    call = calling(tool_use("refund", {}, "t1"))
    output, requests = answer(system(tmp_path), asked, call, message("Sorry."))
    result = requests[1]["messages"][-1]["content"][0]
    assert result["content"] == "There is no tool 'refund'. There are: look."
    assert (output.text, output.tool_calls) == ("Sorry.", [ToolCall("refund", {})])


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ('{"retrieved_ids": ["p2", "p1"]}', ["p2", "p1"]),
        ('{"retrieved_ids": []}', []),
        ('{"retrieved_ids": ["p2", 1]}', None),
        ('{"retrieved_ids": "p2"}', None),
        ('{"answer": 1}', None),
        ('["p2"]', None),
        ("{broken", None),
        ("", None),
    ],
)
def test_a_structured_answer_may_name_what_was_retrieved(
    tmp_path: Path, text: str, ids: list[str] | None
) -> None:
    prompt, structured = system(tmp_path, BARE), case(expected_schema={"type": "object"})
    assert answer(prompt, structured, message(text))[0].retrieved_ids == ids
    assert answer(prompt, case(), message(text))[0].retrieved_ids is None


def test_turns_are_played(tmp_path: Path) -> None:
    prompt, asked = system(tmp_path), case(turns=[{"input": "Hi"}, {"input": "Refund it"}])
    output, requests = answer(prompt, asked, message("Which?"), message("Done."))
    first = [{"role": "user", "content": "Hi"}]
    reply = {"role": "assistant", "content": [{"type": "text", "text": "Which?"}]}
    second = {"role": "user", "content": "Refund it"}
    assert [request["messages"] for request in requests] == [first, [*first, reply, second]]
    assert [turn.text for turn in output.turns] == ["Which?", "Done."]
    assert output.text == "Done."


def test_every_turn_has_the_passages(tmp_path: Path) -> None:
    asked = case(turns=[{"input": "Hi"}, {"input": "When?"}], context=[{"text": "In 5 days."}])
    _, requests = answer(system(tmp_path), asked, message("Yes?"), message("Soon."))
    contents = [request["messages"][-1]["content"] for request in requests]
    above = "Context:\nIn 5 days.\n\nQuestion: "
    assert contents == [f"{above}Hi", f"{above}When?"]
    assert requests[1]["messages"][0]["content"] == "Hi"


# Through plain JSON


class Access:
    """Gives what a fake API answers, as plain JSON."""

    def __init__(self, upstream: Any) -> None:
        self.upstream = upstream

    async def create(self, request: Mapping[str, Any]) -> dict[str, Any]:
        url = "https://api.anthropic.com/v1/messages"
        response = self.upstream.handle_request(httpx2.Request("POST", url, json=dict(request)))
        answered: dict[str, Any] = json.loads(response.content)
        return answered

    async def post(self, *_: Any, **__: Any) -> dict[str, Any]:
        raise NotImplementedError("a prompt file never posts to an endpoint")


def keys(upstream: FakeUpstream) -> list[str]:
    found = []
    for request in upstream.requests:
        betas, kind = request.headers.get("anthropic-beta"), request.headers["content-type"]
        url, content = str(request.url), request.read()
        found.append(request_key(canonical_request(request.method, url, betas, content, kind)))
    return found


def test_both_ways_ask_the_same_and_give_the_same() -> None:
    """The prompt of the project's own suite, with answers that call each of its tools."""
    golden = read_golden(REPOSITORY / "golden" / "support")
    (prompt, *_) = suite_systems(golden)
    assert isinstance(prompt, PromptSystem)
    assert isinstance(prompt, System)
    assert isinstance(prompt, DirectSystem)
    text = {"type": "text", "text": "One moment.", "citations": None}
    calls = [
        {**tool_use("lookup_order", {"order_id": "B-77123"}, "toolu_1"), "caller": None},
        tool_use("refund", {"order_id": None, "amount_cents": 1.0}, "toolu_2"),
    ]
    n_steps = 0
    for asked in golden:
        answers = [calling(text, *calls), calling(calls[0]), message('{"retrieved_ids": ["a"]}')]
        upstream, other = FakeUpstream(*answers), FakeUpstream(*answers)
        through_client = asked_by_client(prompt, asked, other)
        direct = asyncio.run(prompt.answer_through(asked, Access(upstream)))
        assert direct == through_client
        assert upstream.bodies == other.bodies
        assert keys(upstream) == keys(other)
        n_steps += len(upstream.requests)
    assert n_steps > len(golden)


def test_answering_through_plain_json_loads_no_sdk(tmp_path: Path) -> None:
    path = tmp_path / "v1.toml"
    path.write_text(BARE)
    script = f"""
import asyncio, sys
import evalnb.systems
from evalnb.cases import Case

assert "anthropic" not in sys.modules

class Access:
    async def create(self, request):
        return {{"content": [{{"type": "text", "text": "Hello."}}], "stop_reason": "end_turn"}}

from evalnb.golden import GoldenSet
system = evalnb.systems.load_system(GoldenSet(()), {str(path)!r})
output = asyncio.run(system.answer_through(Case(id="a", input="Hi"), Access()))
assert "anthropic" not in sys.modules
print(output.text)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("Hello.\n", "")

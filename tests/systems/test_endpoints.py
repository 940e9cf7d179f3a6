from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.cases import Case
from evalnb.errors import InputError
from evalnb.golden import GoldenSet
from evalnb.systems import DirectSystem, HttpSystem, Output, ToolCall, load_system

URL = "http://127.0.0.1:9/answer"


def endpoint(folder: Path, text: str = f'url = "{URL}"') -> HttpSystem:
    path = folder / "live.toml"
    path.write_text(text)
    system = load_system(GoldenSet(()), str(path))
    assert isinstance(system, HttpSystem)
    return system


def case(**fields: Any) -> Case:
    given = {"messages", "turns"} & set(fields)
    return Case.model_validate({"id": "a"} | ({} if given else {"input": "Hi"}) | fields)


class Access:
    """Gives its answers in turn and remembers what was posted; reads headers only where told."""

    def __init__(self, *answers: Any, sends: bool = True) -> None:
        self.answers = list(answers)
        self.sends = sends
        self.posts: list[dict[str, Any]] = []

    async def create(self, request: Mapping[str, Any]) -> dict[str, Any]:
        raise NotImplementedError("an endpoint never asks the Messages API")

    async def post(
        self,
        url: str,
        body: Mapping[str, Any],
        *,
        version: str,
        headers: Mapping[str, str],
        timeout_s: float,
    ) -> Any:
        post = {"url": url, "body": dict(body), "version": version, "timeout_s": timeout_s}
        self.posts.append(post | ({"headers": dict(headers)} if self.sends else {}))
        return self.answers.pop(0)


def answer(asked: Case, *answers: Any) -> tuple[Output, list[Any]]:
    system, access = load_system(GoldenSet(()), URL), Access(*answers)
    assert isinstance(system, DirectSystem)
    output = asyncio.run(system.answer_through(asked, access))
    return output, [post["body"] for post in access.posts]


# What is sent


def test_what_a_case_gives_is_sent_and_no_expectation() -> None:
    given = {
        "input": "Where is my order?",
        "state": {"date": "2026-06-01", "user": None},
        "context": [{"id": "p1", "text": "It is late."}, {"text": "Sorry."}],
        "tools": ["look"],
        "tools_mock": {"look": [{"arguments": {"id": 7}, "result": None, "is_error": True}]},
    }
    expected = {
        "category": "orders",
        "language": "en",
        "tags": ["edge"],
        "must_contain": ["late"],
        "must_not_include": ["lost"],
        "expected_intent": "status",
        "expected_tool_calls": {"calls": []},
        "expected_schema": {"type": "object"},
        "relevant_ids": ["p1"],
        "expect_refusal": True,
        "reference": "It is late.",
        "limits": {"max_output_tokens": 9},
        "split": "holdout",
        "note": "secret",
    }
    assert answer(case(**given, **expected), {"text": "x"})[1] == [given]
    history = [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
    assert answer(case(messages=history), {"text": "x"})[1] == [{"messages": history}]


def test_turns_are_played_as_messages() -> None:
    asked = case(turns=[{"input": "Hi", "must_contain": ["x"]}, {"input": "Bye"}], state={"a": 1})
    output, bodies = answer(asked, {"text": "Yes?"}, {"text": "Bye."})
    first = {"role": "user", "content": "Hi"}
    reply = {"role": "assistant", "content": "Yes?"}
    assert bodies == [
        {"messages": [first], "state": {"a": 1}},
        {"messages": [first, reply, {"role": "user", "content": "Bye"}], "state": {"a": 1}},
    ]
    assert [turn.text for turn in output.turns] == ["Yes?", "Bye."]


def test_url_headers_and_time_come_from_the_file(tmp_path: Path) -> None:
    text = f'url = "{URL}"\ntimeout_s = 2.5\nheaders = {{ x-shop = "de", x-home = "$HOME" }}\n'
    access = Access({"text": "x"})
    asyncio.run(endpoint(tmp_path, text).answer_through(case(), access))
    headers = {"x-shop": "de", "x-home": os.environ["HOME"]}
    assert access.posts == [
        {"url": URL, "body": {"input": "Hi"}, "version": "", "timeout_s": 2.5, "headers": headers}
    ]


def test_a_header_is_read_from_the_environment_only_where_it_is_sent(tmp_path: Path) -> None:
    text = f'url = "{URL}"\nheaders = {{ authorization = "$EVALNB_NOT_SET" }}\n'
    system = endpoint(tmp_path, text)
    replay = Access({"text": "x"}, sends=False)
    assert asyncio.run(system.answer_through(case(), replay)).text == "x"
    told = "live takes the header 'authorization' from the environment: set EVALNB_NOT_SET"
    with pytest.raises(InputError, match=told):
        asyncio.run(system.answer_through(case(), Access({"text": "x"})))


def test_a_header_is_never_shown(tmp_path: Path) -> None:
    text = f'url = "{URL}"\nheaders = {{ x-token = "literal-value" }}\n'
    assert "literal-value" not in repr(endpoint(tmp_path, text))


# What is read


def test_a_text_is_enough() -> None:
    assert answer(case(), {"text": "It is late."})[0] == Output("It is late.", [], [])
    assert answer(case(), {"text": None})[0] == Output(None, [], [])


def test_everything_is_read() -> None:
    block = {"type": "text", "text": "It is late."}
    given = {
        "text": "It is late.",
        "tool_calls": [{"name": "look", "arguments": {"id": None}}, {"name": "x", "arguments": 1}],
        "messages": [{"role": "assistant", "content": [block]}],
        "stop_reason": "end_turn",
        "model": "claude-haiku-5-5",
        "usage": {"input_tokens": 1, "cache_read_input_tokens": None, "service_tier": "standard"},
        "retrieved_ids": ["p2", "p1"],
    }
    assert answer(case(), given)[0] == Output(
        "It is late.",
        [ToolCall("look", {"id": None}), ToolCall("x", 1)],
        [{"role": "assistant", "content": [block]}],
        "end_turn",
        ["p2", "p1"],
    )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "`text` is missing"),
        ({"text": 3}, "`text` must be a valid string"),
        ({"text": "x", "texts": 1}, "`texts` is no known field"),
        ({"text": "x", "tool_calls": {}}, "`tool_calls` must be a valid list"),
        ({"text": "x", "tool_calls": [{"name": "a"}]}, "`tool_calls.0.arguments` is missing"),
        ({"text": "x", "messages": [{"role": "bot"}]}, "`messages.0.role` must be 'user' or"),
        ({"text": "x", "stop_reason": 1}, "`stop_reason` must be a valid string"),
        ({"text": "x", "model": []}, "`model` must be a valid string"),
        ({"text": "x", "usage": {"input_tokens": 1.5}}, "`usage.input_tokens` must be a valid int"),
        ({"text": "x", "usage": {"output_tokens": -1}}, "`usage.output_tokens` must be greater"),
        ({"text": "x", "retrieved_ids": [1]}, "`retrieved_ids.0` must be a valid string"),
        ([], "the answer must be a valid dictionary"),
        ({str(n): 1 for n in range(9)}, "and 5 more$"),
    ],
)
def test_what_cannot_be_read_is_told_by_its_field(given: Any, told: str) -> None:
    with pytest.raises(ValueError, match=f"{URL} answered what cannot be used: .*{told}"):
        answer(case(), given)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
fields = st.sampled_from(["text", "tool_calls", "messages", "usage", "retrieved_ids", "model"])


@given(json_values | st.dictionaries(fields, json_values, max_size=4))
def test_any_answer_is_read_or_told(given: Any) -> None:
    try:
        output, _ = answer(case(), given)
    except ValueError as error:
        assert str(error).startswith(f"{URL} answered what cannot be used: ")  # noqa: PT017
    else:
        assert output.text == given["text"]


# Endpoint files


@pytest.mark.parametrize(
    ("text", "field", "told"),
    [
        ('url = "ftp://x"', "url", "must be a URL that starts with http:// or https://"),
        ('url = "http://"', "url", "must be a URL that starts with"),
        ('url = "http://h:port/"', "url", "must be a URL that starts with"),
        ('url = "http://h/a b"', "url", "must be a URL that starts with"),
        ('url = "http://me:pass@h/"', "url", "must not hold credentials: put them into a header"),
        ('url = "http://h"\ntimeout_s = 0.0', "timeout_s", "must be greater than 0"),
        (
            'url = "http://h"\nheaders = { x = "a\\nb" }',
            "headers.x",
            "must be one line of text, or",
        ),
        ('url = "http://h"\nheaders = { x = "$" }', "headers.x", "must be one line of text, or"),
        (
            'url = "http://h"\nheaders = { "a b" = "c" }',
            "headers.a b.[key]",
            "should match pattern",
        ),
        ('url = "http://h"\nheader = {}', "header", "is no known field"),
    ],
)
def test_what_is_wrong_with_an_endpoint_file_is_told(
    tmp_path: Path, text: str, field: str, told: str
) -> None:
    with pytest.raises(InputError, match="the endpoint file cannot be used") as caught:
        endpoint(tmp_path, text)
    (problem,) = caught.value.problems
    assert problem.field == field
    assert told in problem.message


def test_a_bad_url_is_told() -> None:
    with pytest.raises(InputError, match="the URL of an HTTP endpoint must be a URL that starts"):
        load_system(GoldenSet(()), "http://h:port/")


def test_the_fingerprint_follows_url_and_version(tmp_path: Path) -> None:
    texts = [
        'url = "http://h/a"',
        'url = "http://h/b"',
        'url = "http://h/a"\nversion = "1"',
        'url = "http://h/a"\nversion = "2"',
    ]
    prints = [endpoint(tmp_path, text).fingerprint for text in texts]
    assert len(set(prints)) == 4
    headers = 'url = "http://h/a"\ntimeout_s = 1.0\nheaders = { x = "y" }'
    assert endpoint(tmp_path, headers).fingerprint == prints[0]

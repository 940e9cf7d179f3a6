"""An application that uses the SDK in its own ways is evaluated as it is."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anthropic
import pandas as pd
import pytest
from aiohttp import web

from evalnb.frames import to_records
from evalnb.golden import GoldenSet
from evalnb.keys import Renumbering
from evalnb.runner import run
from evalnb.systems import CallableSystem, HttpSystem, load_system
from tests.example_app.prompts import SUMMARY, TOPICS
from tests.example_app.server import service
from tests.example_app.shop import SHOP
from tests.suites import make_suite
from tests.upstreams import AnsweringUpstream, message, tool_use

Json = dict[str, Any]

MOCK = {
    "lookup_order": [
        {"arguments": {"order_id": "B-1"}, "result": {"state": "verspätet"}},
        {"result": "No such order.", "is_error": True},
    ],
    "refund": [{"result": "refunded"}],
}
CASES: list[Json] = [
    {"id": "hello", "input": "Hello?", "must_contain": ["hello"], "tools": []},
    {"id": "order", "input": "Where is B-1?", "must_contain": ["late"], "tools_mock": MOCK},
    {"id": "gone", "input": "Where is B-2?", "must_contain": ["no"], "tools_mock": MOCK},
    {
        "id": "refund",
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Yes?"},
            {"role": "user", "content": "Refund B-1!"},
        ],
        "expected_tool_calls": {"calls": [{"name": "refund"}]},
        "tools_mock": MOCK,
        "state": {"date": "2026-06-01", "user": "u1"},
    },
    {
        "id": "days",
        "input": "How many days?",
        "must_contain": ["5"],
        "context": [{"id": "p1", "text": "Refunds take 5 days."}, {"text": "Not 6."}],
        "tools": ["lookup_order"],
    },
    {
        "id": "talk",
        "turns": [
            {"input": "Where is B-1?", "must_contain": ["verspätet"]},
            {"input": "Refund B-1!", "expected_tool_calls": {"calls": [{"name": "refund"}]}},
        ],
        "tools_mock": MOCK,
    },
]


def shop_model(body: Json, number: int) -> Json:
    """Answer as the scripted model of these tests: by what was said last."""
    usage = {"input_tokens": 10 * len(body["messages"]), "output_tokens": 3}
    last = body["messages"][-1]["content"]
    if body["system"] == TOPICS:
        return message("Orders", usage=usage)
    if body["system"] == SUMMARY:
        return message(f"Asked: {last}", usage=usage)
    if not isinstance(last, str):
        told = " and ".join(block["content"] for block in last)
        return message(f"It says: {told}", usage=usage)
    words = last.rstrip("?!").split()
    call_id = f"toolu_{len(body['messages'])}"
    if "Where" in words:
        call = tool_use("lookup_order", {"order_id": words[-1]}, call_id)
        return message(content=[call], stop_reason="tool_use", usage=usage)
    if "Refund" in words:
        text = {"type": "text", "text": "One moment."}
        call = tool_use("refund", {"amount_cents": 1990}, call_id)
        return message(content=[text, call], stop_reason="tool_use", usage=usage)
    return message(f"You said: {last}", usage=usage)


@pytest.fixture
def golden(tmp_path: Path) -> GoldenSet:
    return make_suite(tmp_path / "golden" / "shop", CASES)


def stable(outputs: pd.DataFrame) -> pd.DataFrame:
    """Number the ids of tool calls anew, and sort keys: requests made at once have no order."""

    def renumbered(messages: Any) -> Any:
        names = Renumbering("t")
        text = re.sub(r"toolu_\w+", lambda found: names(found.group()), json.dumps(messages))
        return json.loads(text)

    return outputs.assign(
        messages=outputs["messages"].map(renumbered),
        request_keys=outputs["request_keys"].map(sorted),
    )


def recorded(golden: GoldenSet, name: str) -> pd.DataFrame:
    """Record a system, replay it, check that both are the same, and return the latter."""
    system = load_system(golden, name)
    upstream = AnsweringUpstream(shop_model)
    first = run(golden, system, mode="record", upstream=upstream, progress="none")
    replay = run(golden, system, progress="none")
    pd.testing.assert_frame_equal(
        stable(first).drop(columns=["mode", "latency_ms"]),
        stable(replay).drop(columns=["mode", "latency_ms"]),
    )
    assert replay["error"].isna().all()
    return replay


def texts(outputs: pd.DataFrame) -> dict[str, str]:
    return dict(zip(outputs["case_id"], outputs["text"], strict=True))


def test_streams_and_a_second_client_go_through_the_cassettes(golden: GoldenSet) -> None:
    outputs = recorded(golden, "tests.example_app.evaluated:answer")
    assert texts(outputs) == {
        "hello": "(orders) You said: Hello?",
        "order": '(orders) It says: {"state": "verspätet"}',
        "gone": "(orders) It says: No such order.",
        "refund": "(orders) It says: refunded",
        "days": "(orders) You said: Context:\n[p1] Refunds take 5 days.\nNot 6.\n\n"
        "Question: How many days?",
        "talk": "(orders) It says: refunded",
    }
    # The topic, then one request a round; a talk of two turns does all of it twice.
    assert [len(keys) for keys in outputs["request_keys"]] == [2, 3, 3, 3, 2, 6]


def test_tools_with_effects_are_captured_and_never_run(golden: GoldenSet) -> None:
    rows = {
        row["case_id"]: row
        for row in to_records(recorded(golden, "tests.example_app.evaluated:answer"))
    }
    look = {"name": "lookup_order", "arguments": {"order_id": "B-1"}}
    refund = {"name": "refund", "arguments": {"amount_cents": 1990}}
    assert rows["refund"]["tool_calls"] == [refund]
    assert rows["talk"]["tool_calls"] == [look, refund]
    assert [turn["tool_calls"] for turn in rows["talk"]["turns"]] == [[look], [refund]]
    assert SHOP.refunded_cents == []


def test_synchronous_code_with_threads_of_its_own_is_recorded(golden: GoldenSet) -> None:
    outputs = recorded(golden, "tests.example_app.evaluated:note")
    assert texts(outputs)["hello"] == "[Orders] Asked: Hello?"
    assert texts(outputs)["talk"] == "[Orders] Asked: Refund B-1!"
    assert [len(keys) for keys in outputs["request_keys"]] == [2, 2, 2, 2, 2, 4]


@contextmanager
def serving() -> Iterator[str]:
    """Serve the bot on the loopback interface, on a loop of its own; give its URL."""
    loop = asyncio.new_event_loop()
    started: list[tuple[web.AppRunner, anthropic.AsyncAnthropic, str]] = []

    async def start() -> None:
        http = anthropic.DefaultAsyncHttpxClient(transport=AnsweringUpstream(shop_model))
        client = anthropic.AsyncAnthropic(api_key="x", http_client=http)
        runner = web.AppRunner(service(client))
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        started.append((runner, client, f"http://{host}:{port}/answer"))

    async def stop() -> None:
        runner, client, _ = started[0]
        await runner.cleanup()
        await client.close()

    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(start(), loop).result(30)
        yield started[0][2]
        asyncio.run_coroutine_threadsafe(stop(), loop).result(30)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def comparable(outputs: pd.DataFrame) -> pd.DataFrame:
    return stable(outputs).drop(columns=["system", "request_keys", "latency_ms"])


def test_prompt_file_function_and_service_give_the_same_frame(golden: GoldenSet) -> None:
    function = load_system(golden, "tests.example_app.evaluated:reply")
    assert isinstance(function, CallableSystem)
    upstream = AnsweringUpstream(shop_model)
    systems = [load_system(golden), function]
    frames = [
        run(golden, system, mode="record", upstream=upstream, progress="none") for system in systems
    ]
    with serving() as url:
        service = load_system(golden, url)
        assert isinstance(service, HttpSystem)
        frames.append(run(golden, service, mode="record", progress="none"))
    prompt, called, served = map(comparable, frames)
    assert prompt["na_reason"].isna().all()
    pd.testing.assert_frame_equal(prompt, called)
    pd.testing.assert_frame_equal(prompt, served)
    # The service is gone, its answers are not.
    replayed = run(golden, service, progress="none")
    pd.testing.assert_frame_equal(
        comparable(replayed).drop(columns="mode"), served.drop(columns="mode")
    )

from __future__ import annotations

import asyncio
import contextvars
import json
import os
import subprocess
import sys
import threading
import time
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

import anthropic
import httpx2
import pytest
from pydantic import BaseModel

from evalnb.cassettes import Cassettes, bind
from evalnb.clients import async_client, sync_client
from evalnb.errors import InputError, MissError
from evalnb.transport import CassetteFault, CassetteMiss, CassetteTransport
from tests.upstreams import (
    AnsweringUpstream,
    FakeUpstream,
    error,
    loopback,
    message,
    tool_use,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

Json = dict[str, Any]

ASKED: Any = {
    "model": "claude-haiku-5-5",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "Refund order 7"}],
}
TOOLS: Any = [
    {
        "name": "refund",
        "description": "Pay back an order.",
        "input_schema": {"type": "object", "properties": {"order": {"type": "integer"}}},
    }
]


class Ticket(BaseModel):
    order: int


def asked(text: str) -> Any:
    return ASKED | {"messages": [{"role": "user", "content": text}]}


def n_files(folder: Path) -> int:
    return len(list(folder.iterdir()))


def stable(found: Any) -> Any:
    """Drop the volatile id of a message."""
    return {name: value for name, value in found.to_dict().items() if name != "id"}


# Every way to ask, synchronous and asynchronous. Each gives something that can be compared.


def create(client: anthropic.Anthropic) -> Any:
    return stable(client.messages.create(**ASKED))


def create_with_tools(client: anthropic.Anthropic) -> Any:
    return stable(client.messages.create(**ASKED, tools=TOOLS))


def create_stream(client: anthropic.Anthropic) -> Any:
    with client.messages.create(**ASKED, stream=True) as events:
        return "".join(
            event.delta.text
            for event in events
            if event.type == "content_block_delta" and event.delta.type == "text_delta"
        )


def stream(client: anthropic.Anthropic) -> Any:
    with client.messages.stream(**ASKED) as events:
        text = "".join(events.text_stream)
        return text, stable(events.get_final_message())


def parse(client: anthropic.Anthropic) -> Any:
    return client.messages.parse(**ASKED, output_format=Ticket).parsed_output


def raw(client: anthropic.Anthropic) -> Any:
    response = client.messages.with_raw_response.create(**ASKED)
    return response.status_code, stable(response.parse())


def streaming_response(client: anthropic.Anthropic) -> Any:
    with client.messages.with_streaming_response.create(**ASKED) as response:
        return stable(response.parse())


def beta_create(client: anthropic.Anthropic) -> Any:
    return stable(client.beta.messages.create(**ASKED, betas=["context-management-2025-06-27"]))


def beta_stream(client: anthropic.Anthropic) -> Any:
    with client.beta.messages.stream(**ASKED) as events:
        return stable(events.get_final_message())


def count_tokens(client: anthropic.Anthropic) -> Any:
    return client.messages.count_tokens(
        model=ASKED["model"], messages=ASKED["messages"]
    ).input_tokens


async def async_create(client: anthropic.AsyncAnthropic) -> Any:
    return stable(await client.messages.create(**ASKED))


async def async_create_stream(client: anthropic.AsyncAnthropic) -> Any:
    async with await client.messages.create(**ASKED, stream=True) as events:
        return "".join(
            [
                event.delta.text
                async for event in events
                if event.type == "content_block_delta" and event.delta.type == "text_delta"
            ]
        )


async def async_stream(client: anthropic.AsyncAnthropic) -> Any:
    async with client.messages.stream(**ASKED) as events:
        text = "".join([piece async for piece in events.text_stream])
        return text, stable(await events.get_final_message())


async def async_parse(client: anthropic.AsyncAnthropic) -> Any:
    return (await client.messages.parse(**ASKED, output_format=Ticket)).parsed_output


async def async_raw(client: anthropic.AsyncAnthropic) -> Any:
    response = await client.messages.with_raw_response.create(**ASKED)
    return response.status_code, stable(await response.parse())


async def async_streaming_response(client: anthropic.AsyncAnthropic) -> Any:
    async with client.messages.with_streaming_response.create(**ASKED) as response:
        return stable(await response.parse())


async def async_beta_stream(client: anthropic.AsyncAnthropic) -> Any:
    async with client.beta.messages.stream(**ASKED) as events:
        return stable(await events.get_final_message())


async def async_count_tokens(client: anthropic.AsyncAnthropic) -> Any:
    counted = await client.messages.count_tokens(model=ASKED["model"], messages=ASKED["messages"])
    return counted.input_tokens


ANSWER = message('{"order": 7}')
WHOLE = {name: value for name, value in ANSWER.items() if name != "id"}
CALLED = message("Sure.", stop_reason="tool_use")
CALLED["content"].append(tool_use("refund", {"order": 7}))
COUNTED = {"input_tokens": 11}

SYNC: list[tuple[Callable[[anthropic.Anthropic], Any], Json, Any]] = [
    (create, ANSWER, WHOLE),
    (create_stream, ANSWER, '{"order": 7}'),
    (stream, ANSWER, ('{"order": 7}', WHOLE)),
    (parse, ANSWER, Ticket(order=7)),
    (raw, ANSWER, (200, WHOLE)),
    (streaming_response, ANSWER, WHOLE),
    (beta_create, ANSWER, WHOLE),
    (beta_stream, ANSWER, WHOLE),
    (count_tokens, COUNTED, 11),
]
ASYNC: list[tuple[Callable[[anthropic.AsyncAnthropic], Awaitable[Any]], Json, Any]] = [
    (async_create, ANSWER, WHOLE),
    (async_create_stream, ANSWER, '{"order": 7}'),
    (async_stream, ANSWER, ('{"order": 7}', WHOLE)),
    (async_parse, ANSWER, Ticket(order=7)),
    (async_raw, ANSWER, (200, WHOLE)),
    (async_streaming_response, ANSWER, WHOLE),
    (async_beta_stream, ANSWER, WHOLE),
    (async_count_tokens, COUNTED, 11),
]


def run_async(
    cassettes: Cassettes,
    ask: Callable[[anthropic.AsyncAnthropic], Awaitable[Any]],
    upstream: httpx2.AsyncBaseTransport | None = None,
) -> Any:
    async def main() -> Any:
        async with async_client(cassettes, upstream) as client:
            return await ask(client)

    return asyncio.run(main())


def run_sync(
    cassettes: Cassettes,
    ask: Callable[[anthropic.Anthropic], Any],
    upstream: httpx2.BaseTransport | None = None,
) -> Any:
    with sync_client(cassettes, upstream) as client:
        return ask(client)


@pytest.mark.parametrize(
    ("ask", "answer", "expected"), SYNC, ids=lambda value: getattr(value, "__name__", "")
)
def test_each_way_to_ask_replays_what_it_recorded(
    tmp_path: Path, ask: Callable[[anthropic.Anthropic], Any], answer: Json, expected: Any
) -> None:
    upstream = FakeUpstream(answer)
    assert run_sync(Cassettes(tmp_path, "record"), ask, upstream) == expected
    assert len(upstream.requests) == n_files(tmp_path) == 1
    replay = Cassettes(tmp_path)
    assert run_sync(replay, ask) == expected
    assert (replay.misses, replay.faults, replay.unused()) == ([], [], [])


@pytest.mark.parametrize(
    ("ask", "answer", "expected"), ASYNC, ids=lambda value: getattr(value, "__name__", "")
)
def test_each_way_to_ask_asynchronously_replays_what_it_recorded(
    tmp_path: Path,
    ask: Callable[[anthropic.AsyncAnthropic], Awaitable[Any]],
    answer: Json,
    expected: Any,
) -> None:
    upstream = FakeUpstream(answer)
    assert run_async(Cassettes(tmp_path, "record"), ask, upstream) == expected
    assert len(upstream.requests) == n_files(tmp_path) == 1
    replay = Cassettes(tmp_path)
    assert run_async(replay, ask) == expected
    assert (replay.misses, replay.faults, replay.unused()) == ([], [], [])


def test_a_streamed_recording_replays_whole_and_the_other_way_round(tmp_path: Path) -> None:
    run_sync(Cassettes(tmp_path / "1", "record"), stream, FakeUpstream(ANSWER))
    assert run_sync(Cassettes(tmp_path / "1"), create) == WHOLE
    assert run_async(Cassettes(tmp_path / "1"), async_create) == WHOLE
    run_async(Cassettes(tmp_path / "2", "record"), async_create, FakeUpstream(ANSWER))
    assert run_sync(Cassettes(tmp_path / "2"), stream) == ('{"order": 7}', WHOLE)


# Misses


def test_a_miss_reaches_the_application_at_once_and_as_it_is(tmp_path: Path) -> None:
    cassettes = Cassettes(tmp_path)
    client = sync_client(cassettes).with_options(max_retries=5)
    started = time.monotonic()
    with (
        client,
        bind("c1", 1),
        pytest.raises(CassetteMiss, match=r"c1: request .* never recorded") as caught,
    ):
        client.messages.create(**ASKED)
    assert time.monotonic() - started < 0.4  # the SDK's first wait before a retry is longer
    assert isinstance(caught.value, anthropic.AnthropicError)
    assert isinstance(caught.value, MissError)
    assert not isinstance(caught.value, anthropic.APIConnectionError)
    assert len(cassettes.misses) == 1


@pytest.mark.parametrize("ask", [case[0] for case in SYNC])
def test_each_way_to_ask_gives_a_miss(
    tmp_path: Path, ask: Callable[[anthropic.Anthropic], Any]
) -> None:
    cassettes = Cassettes(tmp_path)
    with pytest.raises(CassetteMiss, match="never recorded"):
        run_sync(cassettes, ask)
    assert [miss.kind for miss in cassettes.misses] == ["request"]


@pytest.mark.parametrize("ask", [case[0] for case in ASYNC])
def test_each_way_to_ask_asynchronously_gives_a_miss(
    tmp_path: Path, ask: Callable[[anthropic.AsyncAnthropic], Awaitable[Any]]
) -> None:
    cassettes = Cassettes(tmp_path)
    with pytest.raises(CassetteMiss, match="never recorded"):
        run_async(cassettes, ask)
    assert [miss.kind for miss in cassettes.misses] == ["request"]


def test_the_three_kinds_of_misses_come_through_the_sdk(tmp_path: Path) -> None:
    with bind("c", 1):
        run_sync(Cassettes(tmp_path, "record"), create, FakeUpstream(ANSWER))
    cassettes = Cassettes(tmp_path)
    with sync_client(cassettes) as client:
        with bind("c", 1), pytest.raises(CassetteMiss, match="was not recorded for occurrence 2"):
            create(client), create(client)
        with bind("c", 2), pytest.raises(CassetteMiss, match="was not recorded for repeat 2"):
            create(client)
        with bind("c", 1), pytest.raises(CassetteMiss, match="was never recorded"):
            create_with_tools(client)
    assert cassettes.misses_frame()["kind"].tolist() == ["occurrence", "repeat", "request"]


def test_an_application_that_apologises_has_missed_all_the_same(tmp_path: Path) -> None:
    def bot(client: anthropic.Anthropic) -> str:
        for _ in range(3):
            try:
                return str(client.messages.create(**ASKED).id)
            except Exception:
                time.sleep(0)
        return "Sorry, something went wrong."

    cassettes = Cassettes(tmp_path)
    with bind("c", 1) as binding:
        assert run_sync(cassettes, bot) == "Sorry, something went wrong."
    assert [miss.case_id for miss in binding.misses] == ["c", "c", "c"]
    assert cassettes.misses == binding.misses
    assert len(cassettes.misses_frame()) == 1  # asked three times, it is one thing to record


def test_misses_from_other_threads_are_kept(tmp_path: Path) -> None:
    cassettes = Cassettes(tmp_path)

    def ask(text: str) -> None:
        with sync_client(cassettes) as client, pytest.raises(CassetteMiss, match="never recorded"):
            client.messages.create(**asked(text))

    async def main() -> None:
        with bind("c", 1):
            await asyncio.to_thread(ask, "from a thread of asyncio")
            thread = threading.Thread(target=ask, args=("from a thread of its own",))
            contextvars.Context().run(thread.start)
            thread.join()

    asyncio.run(main())
    assert [miss.case_id for miss in cassettes.misses] == ["c", None]


# Repeats, occurrences, concurrency


def test_repeats_and_occurrences_replay_their_own_samples(tmp_path: Path) -> None:
    upstream = AnsweringUpstream(lambda _, number: message(f"sample {number}"))

    def play(cassettes: Cassettes, upstream: AnsweringUpstream | None) -> list[str]:
        found = []
        with sync_client(cassettes, upstream) as client:
            for repeat in (1, 2, 3):
                with bind("c", repeat):
                    found += [create(client)["content"][0]["text"] for _ in range(2)]
        return found

    recorded = play(Cassettes(tmp_path, "record"), upstream)
    assert recorded == [f"sample {number}" for number in range(1, 7)]
    assert n_files(tmp_path) == 1
    replay = Cassettes(tmp_path)
    assert play(replay, None) == recorded
    assert replay.misses == []


def conversation(client: anthropic.AsyncAnthropic, text: str) -> Awaitable[list[str]]:
    """Play a conversation of three steps with a tool; give what was said."""

    async def play() -> list[str]:
        messages: list[Any] = [{"role": "user", "content": text}]
        said = []
        for _ in range(3):
            answer = await client.messages.create(
                model="claude-haiku-5-5", max_tokens=100, messages=messages, tools=TOOLS
            )
            messages.append({"role": "assistant", "content": answer.content})
            calls = [block for block in answer.content if block.type == "tool_use"]
            said += [block.text for block in answer.content if block.type == "text"]
            results = [
                {"type": "tool_result", "tool_use_id": call.id, "content": f"paid {call.input}"}
                for call in calls
            ]
            messages.append({"role": "user", "content": results or "And now?"})
        return said

    return play()


def assistant() -> Callable[[Json, int], Json]:
    """Answer by a tool call first, then by text, never twice the same."""
    serial = count(1)

    def answer(body: Json, _: int) -> Json:
        number = next(serial)
        blocks: list[Json] = [{"type": "text", "text": f"answer {number}"}]
        if len(body["messages"]) == 1:
            blocks.append(tool_use("refund", {"order": number % 3}, f"toolu_MARKED{number}"))
        return message(
            content=blocks,
            id=f"msg_MARKED{number}",
            stop_reason="tool_use" if len(blocks) > 1 else "end_turn",
        )

    return answer


async def play_all(
    client: anthropic.AsyncAnthropic, n_cases: int, n_repeats: int
) -> dict[Any, Any]:
    """Play all cases and repeats at once; half of the cases ask the same thing."""

    async def one(case: int, repeat: int) -> tuple[Any, list[str]]:
        with bind(f"c{case}", repeat):
            return (case, repeat), await conversation(client, f"Refund order {case // 2}")

    tasks = [one(case, repeat) for case in range(n_cases) for repeat in range(1, n_repeats + 1)]
    return dict(await asyncio.gather(*tasks))


def test_concurrent_cases_replay_what_they_recorded(tmp_path: Path) -> None:
    upstream = AnsweringUpstream(assistant())
    recorded = run_async(
        Cassettes(tmp_path, "record"), lambda client: play_all(client, 20, 3), upstream
    )
    replay = Cassettes(tmp_path)
    assert run_async(replay, lambda client: play_all(client, 20, 3)) == recorded
    assert (replay.misses, replay.faults, replay.unused()) == ([], [], [])
    samples = {case: {str(recorded[case, repeat]) for repeat in (1, 2, 3)} for case in range(20)}
    assert all(len(said) == 3 for said in samples.values())
    # Cases that ask the same share their samples, those that do not share none.
    assert all(samples[case] == samples[case + 1] for case in range(0, 20, 2))
    assert len({said for told in samples.values() for said in told}) == 30


def test_identical_concurrent_requests_of_one_case_keep_apart(tmp_path: Path) -> None:
    async def ask(client: anthropic.AsyncAnthropic) -> list[str]:
        with bind("c", 1):
            answers = await asyncio.gather(*(client.messages.create(**ASKED) for _ in range(30)))
        return sorted(json.dumps(stable(answer)["content"]) for answer in answers)

    upstream = AnsweringUpstream(lambda _, number: message(f"sample {number}"))
    recorded = run_async(Cassettes(tmp_path, "record"), ask, upstream)
    assert len(set(recorded)) == 30
    assert run_async(Cassettes(tmp_path), ask) == recorded


def test_threads_of_a_case_replay_what_they_recorded(tmp_path: Path) -> None:
    def ask_all(cassettes: Cassettes, upstream: AnsweringUpstream | None) -> list[str]:
        async def main(client: anthropic.Anthropic) -> list[Any]:
            with bind("c", 1):
                return await asyncio.gather(*(asyncio.to_thread(create, client) for _ in range(20)))

        with sync_client(cassettes, upstream) as client:
            return sorted(json.dumps(answer) for answer in asyncio.run(main(client)))

    upstream = AnsweringUpstream(lambda _, number: message(f"sample {number}"))
    recorded = ask_all(Cassettes(tmp_path, "record"), upstream)
    assert len(set(recorded)) == 20
    assert ask_all(Cassettes(tmp_path), None) == recorded


# Recording


def test_recording_asks_for_what_is_missing_only(tmp_path: Path) -> None:
    def ask(*lines: str) -> Callable[[anthropic.Anthropic], list[str]]:
        return lambda client: [
            stable(client.messages.create(**asked(line)))["content"][0]["text"] for line in lines
        ]

    upstream = AnsweringUpstream(lambda _, number: message(f"sample {number}"))
    assert run_sync(Cassettes(tmp_path, "record"), ask("a", "b"), upstream) == [
        "sample 1",
        "sample 2",
    ]
    assert run_sync(Cassettes(tmp_path, "record"), ask("a", "c", "b"), upstream) == [
        "sample 1",
        "sample 3",
        "sample 2",
    ]
    assert upstream.n_requests == 3


def test_refresh_asks_for_everything_once(tmp_path: Path) -> None:
    upstream = AnsweringUpstream(lambda _, number: message(f"sample {number}"))

    def ask(client: anthropic.Anthropic) -> list[str]:
        found = []
        for case in ("c1", "c2"):  # both ask the same
            with bind(case, 1):
                found.append(create(client)["content"][0]["text"])
        return found

    assert run_sync(Cassettes(tmp_path, "record"), ask, upstream) == ["sample 1"] * 2
    assert run_sync(Cassettes(tmp_path, "record", refresh=True), ask, upstream) == ["sample 2"] * 2
    assert run_sync(Cassettes(tmp_path), ask) == ["sample 2"] * 2


def test_live_asks_always_and_writes_nothing(tmp_path: Path) -> None:
    upstream = AnsweringUpstream(lambda _, number: message(f"sample {number}"))
    cassettes = Cassettes(tmp_path / "none", "live")
    with bind("c", 1) as binding:
        for number in (1, 2):
            found = run_sync(cassettes, create, upstream)
            assert found["content"][0]["text"] == f"sample {number}"
    assert list(tmp_path.iterdir()) == []
    assert [entry.response["id"] for entry in binding.exchanges] == ["msg_01VOLATILE"] * 2


def broken_stream() -> httpx2.Response:
    whole = FakeUpstream(ANSWER).handle_request(
        httpx2.Request("POST", "http://x", json={"stream": True})
    )
    return httpx2.Response(200, headers=whole.headers, content=whole.content[:-60])


def failing_stream() -> httpx2.Response:
    event = {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}
    content = f"event: error\ndata: {json.dumps(event)}\n\n".encode()
    headers = {"content-type": "text/event-stream"}
    return httpx2.Response(200, headers=headers, content=content)


def test_broken_answers_are_not_stored(tmp_path: Path) -> None:
    def ask_whole(client: anthropic.Anthropic) -> Any:
        return client.messages.create(**ASKED)

    def ask_stream(client: anthropic.Anthropic) -> Any:
        with client.messages.stream(**ASKED) as events:
            return events.get_final_message()

    def record(ask: Callable[[anthropic.Anthropic], Any], answer: Any) -> Any:
        return run_sync(Cassettes(tmp_path, "record"), ask, FakeUpstream(answer))

    with pytest.raises(anthropic.RateLimitError, match="on demand"):
        record(ask_whole, error(429, "rate_limit_error"))
    with pytest.raises(anthropic.BadRequestError, match="on demand"):
        record(ask_whole, error(400, "invalid_request_error"))
    with pytest.raises(anthropic.APIStatusError, match="overloaded_error"):
        record(ask_stream, failing_stream())
    assert record(ask_stream, broken_stream()).stop_reason is None
    assert record(ask_whole, message(stop_reason=None)).stop_reason is None
    record(ask_whole, {"type": "error", "error": {"type": "api_error", "message": "x"}})
    no_text = httpx2.Response(
        200, headers={"content-type": "application/json"}, content=b'{"a": NaN}'
    )
    record(lambda client: client.messages.with_raw_response.create(**ASKED).text(), no_text)
    half = httpx2.Response(200, content=rb'{"stop_reason": "x", "a": "\ud800"}')
    record(lambda client: client.messages.with_raw_response.create(**ASKED).text(), half)
    assert list(tmp_path.iterdir()) == []


def test_a_retry_takes_the_place_of_the_attempt_that_failed(tmp_path: Path) -> None:
    """The SDK retries through the transport; replay has nothing to retry."""
    busy = error(529, "overloaded_error")
    busy.headers["retry-after-ms"] = "1"
    upstream = FakeUpstream(busy, busy, message("one"), busy, message("two"))
    with (
        sync_client(Cassettes(tmp_path, "record"), upstream).with_options(max_retries=3) as client,
        bind("c", 1),
    ):
        recorded = [create(client), create(client)]
    assert len(upstream.requests) == 5
    replay = Cassettes(tmp_path)
    with sync_client(replay) as client, bind("c", 1):
        assert [create(client), create(client)] == recorded
    assert replay.misses == []


def test_an_application_s_own_retry_takes_the_same_place(tmp_path: Path) -> None:
    def bot(client: anthropic.Anthropic) -> Any:
        try:
            return create(client)
        except anthropic.InternalServerError:
            return create(client)

    upstream = FakeUpstream(error(500, "api_error"), ANSWER)
    recorded = run_sync(Cassettes(tmp_path, "record"), bot, upstream)
    assert run_sync(Cassettes(tmp_path), bot) == recorded


def test_a_cancelled_request_gives_its_place_back(tmp_path: Path) -> None:
    class Slow(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, _: httpx2.Request) -> httpx2.Response:
            await asyncio.sleep(60)
            raise AssertionError

    cassettes = Cassettes(tmp_path, "record")

    async def main() -> None:
        with bind("c", 1):
            async with async_client(cassettes, Slow()) as client:
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(client.messages.create(**ASKED), 0.05)
            async with async_client(cassettes, FakeUpstream(ANSWER)) as client:
                await client.messages.create(**ASKED)

    asyncio.run(main())
    assert run_sync(Cassettes(tmp_path), create) == WHOLE


def test_files_are_refused_when_recording_and_go_through_live(tmp_path: Path) -> None:
    upload = {
        "type": "file",
        "id": "file_MARKED",
        "filename": "a.txt",
        "mime_type": "text/plain",
        "size_bytes": 1,
        "created_at": "2026-12-01T00:00:00Z",
    }
    upstream = FakeUpstream(httpx2.Response(200, json=upload))

    def ask(client: anthropic.Anthropic) -> str:
        return client.beta.files.retrieve_metadata("file_MARKED").id

    assert run_sync(Cassettes(tmp_path, "live"), ask, upstream) == "file_MARKED"
    with pytest.raises(CassetteFault, match="GET /v1/files/file_MARKED cannot be recorded"):
        run_sync(Cassettes(tmp_path, "record"), ask, upstream)
    assert len(upstream.requests) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_delta_of_tomorrow_stops_a_recording_and_not_a_live_run(tmp_path: Path) -> None:
    whole = FakeUpstream(ANSWER).handle_request(
        httpx2.Request("POST", "http://x", json={"stream": True})
    )
    strange = httpx2.Response(
        200, headers=whole.headers, content=whole.content.replace(b"text_delta", b"image_delta")
    )

    def ask(client: anthropic.Anthropic) -> Any:
        with client.messages.stream(**ASKED) as events:
            return events.get_final_message().stop_reason

    assert run_sync(Cassettes(tmp_path, "live"), ask, FakeUpstream(strange)) == "end_turn"
    with pytest.raises(CassetteFault, match="delta of type 'image_delta' cannot be recorded"):
        run_sync(Cassettes(tmp_path, "record"), ask, FakeUpstream(strange))


# Damage


def test_damage_reaches_the_application_at_once_and_is_kept(tmp_path: Path) -> None:
    run_sync(Cassettes(tmp_path, "record"), create, FakeUpstream(ANSWER))
    [path] = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-9])
    cassettes = Cassettes(tmp_path)
    client = sync_client(cassettes).with_options(max_retries=5)
    with client, pytest.raises(CassetteFault, match="a cassette cannot be used") as caught:
        client.messages.create(**ASKED)
    assert isinstance(caught.value, anthropic.AnthropicError)
    assert caught.value.exit_code == 2
    assert cassettes.misses == []
    assert [fault.problems[0].file for fault in cassettes.faults] == [str(path)]


def test_the_answer_of_another_model_is_refused_and_not_stored(tmp_path: Path) -> None:
    other = message(model="claude-sonnet-5-5")
    cassettes = Cassettes(tmp_path, "record")
    with pytest.raises(
        CassetteFault, match="answered by 'claude-sonnet-5-5', but 'claude-haiku-5-5'"
    ):
        run_sync(cassettes, create, FakeUpstream(other))
    assert (len(cassettes.faults), cassettes.keys()) == (1, [])


# Exchanges


def test_a_case_accounts_for_its_own_exchanges(tmp_path: Path) -> None:
    for mode, upstream in (("record", FakeUpstream(ANSWER)), ("replay", None)):
        cassettes = Cassettes(tmp_path, mode)  # type: ignore[arg-type]
        with sync_client(cassettes, upstream) as client, bind("c", 1) as binding:
            create(client)
            create(client)
        assert [entry.response["usage"] for entry in binding.exchanges] == [ANSWER["usage"]] * 2
        assert {entry.key for entry in binding.exchanges} == set(cassettes.keys())
        assert all(entry.latency_ms is not None for entry in binding.exchanges)


# Over HTTP


@pytest.mark.parametrize("streaming", [False, True])
def test_the_round_trip_over_http_stores_nothing_secret(
    tmp_path: Path, streaming: Literal[False, True]
) -> None:
    headers = {
        "request-id": "req_MARKED",
        "anthropic-organization-id": "org_MARKED",
        "set-cookie": "session=cookie_MARKED",
        "cf-ray": "ray_MARKED",
        "anthropic-ratelimit-requests-remaining": "MARKED",
    }

    async def ask(client: anthropic.AsyncAnthropic) -> dict[Any, Any]:
        if streaming:
            with bind("c", 1):
                async with client.messages.stream(**ASKED, tools=TOOLS) as events:
                    found = await events.get_final_message()
            return {"c": [block.type for block in found.content]}
        return await play_all(client, 6, 2)

    async def record(url: str) -> Any:
        transport = CassetteTransport(
            Cassettes(tmp_path, "record"), async_upstream=httpx2.AsyncHTTPTransport()
        )
        async with anthropic.AsyncAnthropic(
            api_key="sk-ant-MARKED",
            base_url=url,
            default_headers={"anthropic-workspace-id": "wrk_MARKED", "cookie": "a=MARKED"},
            http_client=anthropic.DefaultAsyncHttpxClient(transport=transport),
        ) as client:
            return await ask(client)

    with loopback(assistant(), headers) as url:
        recorded = asyncio.run(record(url))
    replay = Cassettes(tmp_path)
    assert run_async(replay, ask) == recorded
    assert (replay.misses, replay.faults, replay.unused()) == ([], [], [])
    stored = {path.name: path.read_bytes() for path in tmp_path.rglob("*")}
    assert stored
    assert [name for name, content in stored.items() if b"MARKED" in content] == []
    assert all(b"127.0.0.1" not in content for content in stored.values())
    assert all(name.endswith(".json") and len(name) == 29 for name in stored)


# Clients


SCRIPT = """
import sys
from evalnb import Cassettes, InputError
from evalnb.clients import async_client, sync_client
for make in (sync_client, async_client):
    for mode in ("replay", "record", "live"):
        try:
            client = make(Cassettes("none", mode))
        except InputError as error:
            print(mode, str(error)[:43])
        else:
            print(mode, client.api_key)
"""


def test_only_replay_needs_no_key(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC_")}
    clean = kept | {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=True,
        env=clean,
        cwd=tmp_path,
    )
    missing = "there are no credentials for Anthropic's API"[:43]
    expected = ["replay replay", f"record {missing}", f"live {missing}"] * 2
    assert done.stdout.splitlines() == expected
    assert list(tmp_path.iterdir()) == []


def test_a_client_made_for_replay_has_nowhere_to_ask(tmp_path: Path) -> None:
    transport = CassetteTransport(Cassettes(tmp_path, "record"))
    with (
        anthropic.Anthropic(
            api_key="none", http_client=anthropic.DefaultHttpxClient(transport=transport)
        ) as client,
        pytest.raises(CassetteFault, match="has nowhere to ask"),
    ):
        client.messages.create(**ASKED)


def test_input_errors_are_no_misses() -> None:
    assert not issubclass(InputError, MissError)

"""The stand-in of the Messages API, asked by the SDK as an application would."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import anthropic
import httpx2
import pytest

from tests.standin import Behaviour, StandIn

QUESTION = "My parcel is late and I want to know where my order number 4711 is today please."


def ask(url: str, text: str = QUESTION, **further: Any) -> anthropic.types.Message:
    with anthropic.Anthropic(base_url=url, api_key="unused", max_retries=0) as client:
        message: anthropic.types.Message = client.messages.create(
            model="claude-haiku-5-5",
            max_tokens=100,
            messages=[{"role": "user", "content": text}],
            **further,
        )
        return message


def test_the_same_request_gets_the_same_words_of_its_own() -> None:
    with StandIn() as standin:
        first, second = ask(standin.url), ask(standin.url)
        stats = standin.stats()
    assert first == second
    assert isinstance(first.content[0], anthropic.types.TextBlock)
    assert first.content[0].text in QUESTION
    assert (first.model, first.stop_reason) == ("claude-haiku-5-5", "end_turn")
    assert (stats["answered"], stats["distinct_answered"], stats["repeated_answers"]) == (2, 1, 1)


def test_a_stream_carries_the_same_message() -> None:
    rule = {"contains": "parcel", "text": "On it.", "tool": {"name": "find", "input": {"id": 4711}}}
    with (
        StandIn(rules=[rule]) as standin,
        anthropic.Anthropic(base_url=standin.url, api_key="unused") as client,
    ):
        asked: Any = {
            "model": "claude-haiku-5-5",
            "max_tokens": 100,
            "messages": [{"role": "user", "content": QUESTION}],
        }
        with client.messages.stream(**asked) as stream:
            streamed = stream.get_final_message()
        whole = client.messages.create(**asked)
    assert streamed.content[1].to_dict()["input"] == {"id": 4711}
    assert streamed.stop_reason == "tool_use"
    assert streamed.to_dict() == whole.to_dict()


def test_no_key_is_refused() -> None:
    with StandIn() as standin:
        response = httpx2.post(f"{standin.url}/v1/messages", json={})
    assert response.status_code == 401


def test_a_request_without_messages_is_refused() -> None:
    with StandIn() as standin:
        response = httpx2.post(
            f"{standin.url}/v1/messages", json={"model": "m"}, headers={"x-api-key": "unused"}
        )
    assert response.status_code == 400
    assert response.json()["error"]["message"] == "max_tokens: Field required"


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, anthropic.BadRequestError),
        (404, anthropic.NotFoundError),
        (429, anthropic.RateLimitError),
        (500, anthropic.InternalServerError),
        (529, anthropic.InternalServerError),
    ],
)
def test_a_fault_has_its_status(status: int, error: type[anthropic.APIStatusError]) -> None:
    with StandIn(faults={str(status): 1}) as standin, pytest.raises(error, match="on demand"):
        ask(standin.url)


def test_a_429_says_how_long_to_wait() -> None:
    with (
        StandIn(faults={"429": 1}, retry_after=0.25) as standin,
        pytest.raises(anthropic.RateLimitError, match="on demand") as caught,
    ):
        ask(standin.url)
    assert caught.value.response.headers["retry-after"] == "0.25"


@pytest.mark.parametrize("fault", ["disconnect", "cut"])
def test_a_closed_connection_is_a_connection_error(fault: str) -> None:
    with (
        StandIn(faults={fault: 1}) as standin,
        pytest.raises(anthropic.APIConnectionError, match="Connection error"),
    ):
        ask(standin.url)


def test_a_hanging_request_is_in_flight_until_it_is_given_up() -> None:
    with (
        StandIn(rules=[{"contains": "parcel", "fault": "hang"}]) as standin,
        pytest.raises(anthropic.APITimeoutError, match="timed out"),
    ):
        ask(standin.url, timeout=0.05)
    assert standin.stats()["answered"] == 0
    assert standin.stats()["in_flight_max"] == 1


def test_a_broken_stream_ends_without_a_reason() -> None:
    with (
        StandIn(faults={"broken_stream": 1}) as standin,
        anthropic.Anthropic(base_url=standin.url, api_key="unused") as client,
        client.messages.stream(
            model="claude-haiku-5-5",
            max_tokens=100,
            messages=[{"role": "user", "content": QUESTION}],
        ) as stream,
    ):
        message = stream.get_final_message()
    assert message.stop_reason is None
    assert standin.stats()["answered"] == 0


def test_an_error_inside_a_stream_has_status_200() -> None:
    with (
        StandIn(faults={"error_event": 1}) as standin,
        anthropic.Anthropic(base_url=standin.url, api_key="unused") as client,
        pytest.raises(anthropic.APIStatusError, match="on demand") as caught,
        client.messages.stream(
            model="claude-haiku-5-5",
            max_tokens=100,
            messages=[{"role": "user", "content": QUESTION}],
        ) as stream,
    ):
        stream.get_final_message()
    assert caught.value.status_code == 200


def test_a_rule_may_fail_the_first_attempts_only() -> None:
    rule = {"contains": "parcel", "fault": "529", "attempts": 1}
    with StandIn(rules=[rule]) as standin:
        with pytest.raises(anthropic.InternalServerError, match="on demand"):
            ask(standin.url)
        assert ask(standin.url).stop_reason == "end_turn"
        assert standin.stats()["by_status"] == {"529": 1, "200": 1}


def test_faults_are_drawn_from_seed_request_and_attempt() -> None:
    behaviour = Behaviour(faults={"429": 0.1, "529": 0.05})
    keys = [f"{number:016x}" for number in range(20_000)]
    drawn = [behaviour.fault(key, 1) for key in keys]
    assert drawn == [behaviour.fault(key, 1) for key in keys]
    assert drawn != [behaviour.fault(key, 2) for key in keys]
    # Four standard deviations: 4 * sqrt(0.1 * 0.9 / 20000) = 0.0085, 4 * sqrt(0.05 * 0.95 / 20000) = 0.0062.
    assert drawn.count("429") / 20_000 == pytest.approx(0.1, abs=0.0085)
    assert drawn.count("529") / 20_000 == pytest.approx(0.05, abs=0.0062)


def test_a_lognormal_latency_has_its_median() -> None:
    behaviour = Behaviour(latency="lognormal:800:0.6")
    seconds = sorted(behaviour.seconds(f"{number:016x}") for number in range(4001))
    # The median's standard error is 0.8 * 0.6 * sqrt(pi / 2 / 4001) = 0.0095; four of them.
    assert seconds[2000] == pytest.approx(0.8, abs=0.038)


def test_requests_are_answered_side_by_side() -> None:
    async def ask_all(url: str) -> None:
        async with anthropic.AsyncAnthropic(base_url=url, api_key="unused") as client:
            await asyncio.gather(
                *(
                    client.messages.create(
                        model="claude-haiku-5-5",
                        max_tokens=10,
                        messages=[{"role": "user", "content": f"question {number}"}],
                    )
                    for number in range(8)
                )
            )

    with StandIn(latency=100) as standin:
        asyncio.run(ask_all(standin.url))
        assert standin.stats()["in_flight_max"] > 1
        assert len(set(standin.answered())) == 8
        assert len(standin.requests()) == 8


SCHEMA = {
    "type": "object",
    "properties": {
        "reason": {"type": "string"},
        "claims": {"type": "array", "items": {"type": "string"}},
        "score": {"enum": [1, 2, 3, 4, 5]},
    },
    "required": ["reason", "claims", "score"],
    "additionalProperties": False,
}
STRUCTURED: Any = {"format": {"type": "json_schema", "schema": SCHEMA}}


def test_a_schema_is_answered_by_json_that_fits_it() -> None:
    with StandIn() as standin:
        message = ask(standin.url, output_config=STRUCTURED)
    assert isinstance(message.content[0], anthropic.types.TextBlock)
    answers = json.loads(message.content[0].text)
    assert list(answers) == ["reason", "claims", "score"]
    assert answers["reason"] in QUESTION
    assert answers["score"] in range(1, 6)
    assert len(answers["claims"]) <= 2


def test_bad_json_ends_in_the_middle_of_a_whole_message() -> None:
    with StandIn(faults={"bad_json": 1}) as standin:
        message = ask(standin.url, output_config=STRUCTURED)
        plain = ask(standin.url)
    assert isinstance(message.content[0], anthropic.types.TextBlock)
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        json.loads(message.content[0].text)
    assert message.stop_reason == plain.stop_reason == "end_turn"


def test_tokens_are_counted_as_in_the_usage() -> None:
    asked: Any = {"messages": [{"role": "user", "content": QUESTION}], "model": "claude-haiku-5-5"}
    with (
        StandIn() as standin,
        anthropic.Anthropic(base_url=standin.url, api_key="unused") as client,
    ):
        counted = client.messages.count_tokens(**asked)
        assert counted.input_tokens == ask(standin.url).usage.input_tokens


def batch_of(texts: list[str]) -> Any:
    return [
        {
            "custom_id": f"request-{number}",
            "params": {
                "model": "claude-haiku-5-5",
                "max_tokens": 100,
                "messages": [{"role": "user", "content": text}],
            },
        }
        for number, text in enumerate(texts)
    ]


def client_of(standin: StandIn) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=standin.url, api_key="unused", max_retries=0)


def test_a_batch_counts_when_it_has_ended_and_gives_its_results_shuffled() -> None:
    with StandIn(batch_seconds=600) as standin, client_of(standin) as client:
        batch = client.messages.batches.create(requests=batch_of([QUESTION] * 20))
        running = client.messages.batches.retrieve(batch.id)
        standin.set(batch_seconds=0)
        ended = client.messages.batches.retrieve(batch.id)
        results = list(client.messages.batches.results(batch.id))
        stats = standin.stats()
    assert (running.processing_status, ended.processing_status) == ("in_progress", "ended")
    assert running.request_counts.to_dict() == {
        "processing": 20,
        "succeeded": 0,
        "errored": 0,
        "canceled": 0,
        "expired": 0,
    }
    assert (running.results_url, ended.request_counts.succeeded) == (None, 20)
    ids = [result.custom_id for result in results]
    assert ids != sorted(ids)
    assert sorted(ids) == sorted(f"request-{number}" for number in range(20))
    assert results[0].result.type == "succeeded"
    assert results[0].result.message.usage.service_tier == "batch"
    assert (stats["batches"], stats["answered"], stats["requests"]) == (1, 20, 0)


def test_batches_are_listed_the_newest_first_page_by_page() -> None:
    with StandIn() as standin, client_of(standin) as client:
        made = [client.messages.batches.create(requests=batch_of([QUESTION])).id for _ in range(5)]
        listed = [batch.id for batch in client.messages.batches.list(limit=2)]
    assert listed == made[::-1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"custom_id": "no spaces"}, "custom_id: String should match"),
        ({"custom_id": "a" * 65}, "custom_id: String should match"),
        ({"custom_id": "request-1"}, "custom_id must be unique"),
        ({"params": {"stream": False}}, "stream: Extra inputs"),
    ],
)
def test_a_batch_that_is_wrong_is_refused(change: Any, message: str) -> None:
    first, second = batch_of([QUESTION, QUESTION])
    requests: Any = [{**first, **change}, second]
    with (
        StandIn() as standin,
        client_of(standin) as client,
        pytest.raises(anthropic.BadRequestError, match=message),
    ):
        client.messages.batches.create(requests=requests)


def test_results_may_be_errors_or_expire_the_first_time() -> None:
    faults = {"batch_errored": 0.3, "batch_expired": 0.3}
    requests = batch_of([f"{QUESTION} {number}" for number in range(30)])
    kinds = []
    with StandIn(faults=faults) as standin, client_of(standin) as client:
        for _ in range(2):
            batch = client.messages.batches.create(requests=requests)
            results = client.messages.batches.results(batch.id)
            kinds.append({result.result.type for result in results})
    assert kinds == [{"succeeded", "errored", "expired"}, {"succeeded", "errored"}]


def test_calls_of_batches_fail_like_messages() -> None:
    rules = [{"contains": "POST /v1/messages/batches", "fault": "529", "attempts": 1}]
    with StandIn(rules=rules) as standin, client_of(standin) as client:
        with pytest.raises(anthropic.InternalServerError, match="on demand"):
            client.messages.batches.create(requests=batch_of([QUESTION]))
        client.messages.batches.create(requests=batch_of([QUESTION]))
        with pytest.raises(anthropic.NotFoundError, match="no such batch"):
            client.messages.batches.retrieve("msgbatch_none")
        assert standin.stats()["batches"] == 1


def test_an_unknown_fault_is_refused() -> None:
    with pytest.raises(ValueError, match="Got \\['teapot'\\]"):
        Behaviour(faults={"teapot": 1})


def test_a_process_takes_behaviour_and_gives_counts() -> None:
    command = [sys.executable, "-m", "tests.standin", "--fault", "529=1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        with pytest.raises(anthropic.InternalServerError, match="on demand"):
            ask(url)
        refused = httpx2.post(f"{url}/behaviour", json={"delay": 1})
        httpx2.post(f"{url}/behaviour", json={"faults": {}})
        ask(url)
        stats = httpx2.get(f"{url}/stats").json()
        answered = httpx2.get(f"{url}/answered").json()
        httpx2.post(f"{url}/reset")
        emptied = httpx2.get(f"{url}/stats").json()
        process.terminate()
    assert refused.status_code == 400
    assert stats["by_status"] == {"529": 1, "200": 1}
    assert len(answered) == stats["answered"] == 1
    assert emptied["requests"] == 0

"""Messages through batches of the stand-in on the loopback interface."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from evalnb.cassettes import Binding, Cassettes, bind
from evalnb.connections import AiohttpTransport
from evalnb.control import RunControl
from evalnb.errors import InputError
from evalnb.frames import NaReason
from evalnb.journal import Journal
from evalnb.judges.batches import BatchTransport
from evalnb.pace import Pace
from evalnb.patience import PatientTransport, RunStopped
from evalnb.prices import request_bound_usd, response_cost_usd
from evalnb.transport import LATENCY, CassetteTransport
from tests.standin import StandIn

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

Json = dict[str, Any]

MODEL = "claude-haiku-5-5"
CREATE = "POST /v1/messages/batches"
SECRET = "sk-ant-not-to-be-written"
FAST: Json = {"poll_s": 0.01, "max_poll_s": 0.05, "quiet_s": 0.02}


def body(text: str) -> Json:
    return {
        "model": MODEL,
        "max_tokens": 100,
        "messages": [{"role": "user", "content": text}],
    }


def texts(n: int) -> list[str]:
    return [f"Where is my order number {number} today please?" for number in range(n)]


def post(url: str, content: Json, path: str = "/v1/messages") -> httpx2.Request:
    headers = {"x-api-key": SECRET, "anthropic-version": "2026-10-21", "user-agent": "tests"}
    return httpx2.Request("POST", f"{url}{path}", headers=headers, json=content)


class Asked:
    """What came of requests that were made at once: responses, or what was raised."""

    def __init__(self, found: Sequence[Any], bindings: Sequence[Binding]) -> None:
        self.found = found
        self.bindings = bindings

    @property
    def responses(self) -> list[httpx2.Response]:
        for outcome in self.found:
            if isinstance(outcome, BaseException):
                raise outcome
        return list(self.found)

    @property
    def messages(self) -> list[Json]:
        assert {response.status_code for response in self.responses} == {200}
        return [response.json() for response in self.responses]

    @property
    def texts(self) -> list[str]:
        return [message["content"][0]["text"] for message in self.messages]

    @property
    def statuses(self) -> list[int]:
        return [response.status_code for response in self.responses]

    @property
    def reasons(self) -> list[NaReason | None]:
        return [binding.stopped for binding in self.bindings]


async def asked_of(transport: BatchTransport, url: str, questions: Iterable[str]) -> Asked:
    async def ask(number: int, text: str) -> tuple[Any, Binding]:
        with bind(f"case-{number}", 1) as binding:
            try:
                return await transport.handle_async_request(post(url, body(text))), binding
            except (RunStopped, httpx2.TransportError) as error:
                return error, binding

    pairs = await asyncio.gather(*(ask(number, text) for number, text in enumerate(questions)))
    return Asked([found for found, _ in pairs], [binding for _, binding in pairs])


def ask(
    standin: StandIn,
    path: Path,
    questions: Iterable[str],
    *,
    control: RunControl | None = None,
    inner: httpx2.AsyncBaseTransport | None = None,
    **options: Any,
) -> Asked:
    """Ask all questions at once, through a transport of their own."""

    async def main() -> Asked:
        transport = BatchTransport(
            inner or AiohttpTransport(),
            path,
            control=control or RunControl(timeout_s=5),
            **{**FAST, **options},
        )
        try:
            return await asked_of(transport, standin.url, questions)
        finally:
            await transport.aclose()

    return asyncio.run(main())


def lines(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def intended(path: Path) -> list[list[str]]:
    """Return the custom ids of each batch that was to be sent."""
    return [line["custom_ids"] for line in lines(path) if "custom_ids" in line]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "batches.jsonl"


def test_every_request_gets_its_own_response_from_one_batch(path: Path) -> None:
    questions = texts(40)
    with StandIn(batch_seconds=0.1) as standin:
        asked = ask(standin, path, questions)
        stats = standin.stats()
    assert all(text in question for text, question in zip(asked.texts, questions, strict=True))
    assert (stats["batches"], stats["answered"], stats["requests"]) == (1, 40, 0)
    assert [response.extensions[LATENCY] for response in asked.responses] == [None] * 40


def test_no_credentials_are_written(path: Path) -> None:
    with StandIn() as standin:
        ask(standin, path, texts(2))
    assert SECRET not in path.read_text()


def test_what_is_sent_is_the_request_without_stream(path: Path) -> None:
    async def main() -> httpx2.Response:
        transport = BatchTransport(AiohttpTransport(), path, control=RunControl(), **FAST)
        try:
            request = post(standin.url, {**body("Hello?"), "stream": False})
            return await transport.handle_async_request(request)
        finally:
            await transport.aclose()

    with StandIn() as standin:
        response = asyncio.run(main())
        assert standin.requests() == [body("Hello?")]
    assert response.status_code == 200


def test_other_requests_are_passed_on_at_once(path: Path) -> None:
    async def main() -> httpx2.Response:
        transport = BatchTransport(
            AiohttpTransport(), path, control=RunControl(), quiet_s=60, poll_s=60
        )
        try:
            request = post(standin.url, body("Hello?"), "/v1/messages/count_tokens")
            return await transport.handle_async_request(request)
        finally:
            await transport.aclose()

    with StandIn() as standin:
        response = asyncio.run(main())
        assert standin.stats()["batches"] == 0
    assert response.json() == {"input_tokens": 2}
    assert not path.exists()


def test_a_batch_has_no_more_requests_than_allowed(path: Path) -> None:
    with StandIn() as standin:
        asked = ask(standin, path, texts(25), max_requests=10)
        assert standin.stats()["batches"] == 3
    assert len(asked.texts) == 25
    assert [len(custom_ids) for custom_ids in intended(path)] == [10, 10, 5]


class Remembering(httpx2.AsyncBaseTransport):
    """Sends by real connections, and remembers what was sent where."""

    def __init__(self) -> None:
        self.inner = AiohttpTransport()
        self.sent: list[httpx2.Request] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.sent.append(request)
        return await self.inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self.inner.aclose()

    def created(self) -> list[bytes]:
        return [request.content for request in self.sent if request.method == "POST"]


def test_a_batch_has_no_more_bytes_than_allowed(path: Path, tmp_path: Path) -> None:
    questions = texts(10)  # all of one length
    with StandIn() as standin:
        whole = Remembering()
        ask(standin, tmp_path / "whole.jsonl", questions[:4], inner=whole)
        (four,) = whole.created()
        exact, less = Remembering(), Remembering()
        ask(standin, tmp_path / "exact.jsonl", questions, inner=exact, max_bytes=len(four))
        ask(standin, path, questions, inner=less, max_bytes=len(four) - 1)
    assert [len(json.loads(content)["requests"]) for content in exact.created()] == [4, 4, 2]
    assert [len(json.loads(content)["requests"]) for content in less.created()] == [3, 3, 3, 1]


def test_a_request_that_no_batch_can_hold_is_too_large(path: Path) -> None:
    with StandIn() as standin:
        asked = ask(standin, path, ["Hello?", "Hello? " * 200], max_bytes=1000)
        assert standin.stats()["batches"] == 1
    assert asked.statuses == [200, 413]


def test_requests_that_come_later_go_into_a_further_batch(path: Path) -> None:
    async def main() -> None:
        transport = BatchTransport(AiohttpTransport(), path, control=RunControl(), **FAST)
        for part in (texts(6)[:3], texts(6)[3:]):
            assert len((await asked_of(transport, standin.url, part)).texts) == 3
        await transport.aclose()

    with StandIn() as standin:
        asyncio.run(main())
        assert standin.stats()["batches"] == 2


def test_an_error_has_a_status_that_fits_it(path: Path) -> None:
    rules = [
        {"contains": "number 1 ", "fault": "400"},
        {"contains": "number 2 ", "fault": "529"},
        {"contains": "number 3 ", "fault": "batch_errored"},
    ]
    with StandIn(rules=rules) as standin:
        asked = ask(standin, path, texts(4))
    assert asked.statuses == [200, 400, 529, 500]
    error = {"type": "invalid_request_error", "message": "on demand"}
    assert asked.responses[1].json() == {"type": "error", "error": error}


def test_the_api_checks_requests_when_it_processes_them(path: Path) -> None:
    async def main() -> httpx2.Response:
        transport = BatchTransport(AiohttpTransport(), path, control=RunControl(), **FAST)
        try:
            return await transport.handle_async_request(post(standin.url, {"model": MODEL}))
        finally:
            await transport.aclose()

    with StandIn() as standin:
        response = asyncio.run(main())
    assert response.status_code == 400
    assert response.json()["error"]["message"] == "max_tokens: Field required"


def test_what_expired_goes_into_a_further_batch(path: Path) -> None:
    with StandIn(faults={"batch_expired": 0.4}) as standin:
        asked = ask(standin, path, texts(20))
        assert standin.stats()["batches"] == 2
    assert len(asked.texts) == 20
    first, second = intended(path)
    assert len(first) == 20
    assert {custom_id.replace("-2", "-1") for custom_id in second} < set(first)


def test_what_expires_again_is_an_error(path: Path) -> None:
    rules = [{"contains": "number 1 ", "fault": "batch_expired"}]
    with StandIn(rules=rules) as standin:
        asked = ask(standin, path, texts(3))
        assert standin.stats()["batches"] == 2
    assert asked.statuses == [200, 500, 200]
    assert "expired in 2 batches" in asked.responses[1].json()["error"]["message"]


def test_equal_requests_are_each_asked(path: Path) -> None:
    with StandIn() as standin:
        asked = ask(standin, path, ["Hello?", "Hello?", "Hello?"])
        assert standin.stats()["repeated_answers"] == 2
    assert len(asked.texts) == 3
    (custom_ids,) = intended(path)
    assert [custom_id[-2:] for custom_id in custom_ids] == ["-1", "-2", "-3"]
    assert len({custom_id[:24] for custom_id in custom_ids}) == 1


def test_what_is_given_up_is_there_for_an_equal_request(path: Path) -> None:
    async def main() -> Asked:
        transport = BatchTransport(AiohttpTransport(), path, control=RunControl(), **FAST)
        first = asyncio.create_task(asked_of(transport, standin.url, ["Hello?"]))
        while not path.exists() or '"batch"' not in path.read_text():
            await asyncio.sleep(0.01)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        standin.set(batch_seconds=0)
        try:
            return await asked_of(transport, standin.url, ["Hello?"])
        finally:
            await transport.aclose()

    with StandIn(batch_seconds=600) as standin:
        asked = asyncio.run(main())
        assert standin.stats()["batches"] == 1
    assert asked.texts == ["Hello?"]


class Slow(AiohttpTransport):
    """Takes its time to send a batch."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "POST":
            await asyncio.sleep(0.2)
        return await super().handle_async_request(request)


def test_what_is_given_up_while_it_is_sent_is_there_for_an_equal_request(path: Path) -> None:
    async def main() -> Asked:
        transport = BatchTransport(Slow(), path, control=RunControl(), max_requests=1, **FAST)
        first = asyncio.create_task(asked_of(transport, standin.url, ["Hello?", "Goodbye?"]))
        while not path.exists():
            await asyncio.sleep(0.01)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        try:
            return await asked_of(transport, standin.url, ["Hello?"])
        finally:
            await transport.aclose()

    with StandIn() as standin:
        asked = asyncio.run(main())
        assert standin.stats()["batches"] == 1
    assert asked.texts == ["Hello?"]


# A process that asks and is killed.
SCRIPT = """
import asyncio, sys
from pathlib import Path
from evalnb.connections import AiohttpTransport
from evalnb.control import RunControl
from evalnb.judges.batches import BatchTransport
from tests.judges.test_batches import FAST, asked_of, texts

async def main():
    transport = BatchTransport(AiohttpTransport(), Path(sys.argv[2]), control=RunControl(), **FAST)
    await asked_of(transport, sys.argv[1], texts(30))

asyncio.run(main())
"""


def test_a_process_that_was_killed_is_taken_up_without_sending_again(path: Path) -> None:
    with StandIn(batch_seconds=600) as standin:
        command = [sys.executable, "-c", SCRIPT, standin.url, str(path)]
        with subprocess.Popen(command) as process:
            while not path.exists() or '"batch":"' not in path.read_text():
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
        standin.set(batch_seconds=0)
        asked = ask(standin, path, texts(30))
        stats = standin.stats()
    assert len(asked.texts) == 30
    assert (stats["batches"], stats["answered"]) == (1, 30)


# The same below the cassette, with a journal; each question is asked twice.
KEPT_SCRIPT = """
import asyncio, sys
from pathlib import Path
from evalnb.connections import AiohttpTransport
from evalnb.control import RunControl
from evalnb.journal import Journal
from evalnb.judges.batches import BatchTransport
from tests.judges.test_batches import FAST, kept_in, texts

async def main():
    journal = Journal(Path(sys.argv[2]), {})
    path = journal.path.with_name("batches.jsonl")
    transport = BatchTransport(AiohttpTransport(), path, control=RunControl(), **FAST)
    await kept_in(journal, transport, sys.argv[1], dict(enumerate(2 * texts(150))))
    await transport.aclose()
    journal.close()

asyncio.run(main())
"""


def test_a_process_that_is_killed_while_it_fetches_takes_nothing_twice(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal.jsonl"
    line = answer_of("CUSTOM_ID", message=told("CUSTOM_ID"))  # equal requests differ by their ids
    with StandIn(rules=[{"contains": "", "line": line}]) as standin:
        command = [sys.executable, "-c", KEPT_SCRIPT, standin.url, str(path)]
        kills = (1, 20_000)  # at so many bytes of the journal
        for wanted in kills:
            with subprocess.Popen(command) as process:
                while process.poll() is None and (
                    not path.exists() or path.stat().st_size < wanted
                ):
                    time.sleep(0.001)
                process.send_signal(signal.SIGKILL)
        subprocess.run(command, check=True)
        # What was just being handed on, one response a kill, may be asked for again.
        assert len(standin.requests()) <= 300 + len(kills)
    messages = [line["response"]["id"] for line in lines(path) if "response" in line]
    assert len(messages) == len(set(messages)) == 300


def test_a_torn_last_line_is_cut_off(path: Path) -> None:
    with StandIn() as standin:
        ask(standin, path, texts(3))
        whole = path.read_bytes()
        path.write_bytes(whole + b'{"intent":"aaaa","at":"2026-12-01T00:00:00+00:00","cus')
        asked = ask(standin, path, texts(6)[3:])
        assert standin.stats()["batches"] == 2
    assert len(asked.texts) == 3
    assert path.read_bytes().startswith(whole)
    assert len(lines(path)) == 11  # the format, and of each batch two lines and three responses


def without(path: Path, name: str) -> None:
    """Take the lines with a field out of a file."""
    kept = [line for line in path.read_text().splitlines(keepends=True) if f'"{name}"' not in line]
    path.write_text("".join(kept))


def test_a_batch_whose_id_never_arrived_is_found(path: Path) -> None:
    with StandIn() as standin:
        ask(standin, path, texts(5))
        without(path, "taken")
        without(path, "batch")
        asked = ask(standin, path, texts(5))
        assert standin.stats()["batches"] == 1
    assert len(asked.texts) == 5
    assert lines(path)[2]["batch"] == "msgbatch_00000001"


def test_a_batch_that_was_never_made_is_sent(path: Path) -> None:
    with StandIn() as standin:
        ask(standin, path, texts(5))
        without(path, "taken")
        without(path, "batch")
        standin.reset()
        ask(standin, path, texts(3))  # not among them: nothing is known of it
        asked = ask(standin, path, texts(5))
        assert standin.stats()["batches"] == 2
    assert len(asked.texts) == 5
    assert next(line["batch"] for line in lines(path) if "batch" in line) is None


def test_where_several_batches_may_be_it_the_user_decides(path: Path, tmp_path: Path) -> None:
    with StandIn() as standin:
        ask(standin, path, texts(5))
        ask(standin, tmp_path / "other.jsonl", texts(5))
        without(path, "taken")
        without(path, "batch")
        control = RunControl()
        asked = ask(standin, path, texts(5), control=control)
        assert all(isinstance(outcome, RunStopped) for outcome in asked.found)
        assert control.fatal is not None
        said = str(control.fatal)
        assert "msgbatch_00000002, msgbatch_00000001 may be it" in said
        intent = lines(path)[1]["intent"]
        assert f'append the line {{"intent": "{intent}", "batch": ' in said
        with path.open("a") as file:
            file.write(json.dumps({"intent": intent, "batch": "msgbatch_00000001"}) + "\n")
        asked = ask(standin, path, texts(5))
        assert standin.stats()["batches"] == 2
    assert len(asked.texts) == 5


def test_of_a_batch_that_shares_some_requests_the_others_are_sent_anew(
    path: Path, tmp_path: Path
) -> None:
    with StandIn() as standin:
        ask(standin, path, texts(5))
        without(path, "taken")
        without(path, "batch")
        standin.reset()
        ask(standin, tmp_path / "other.jsonl", [*texts(3), "Another?", "Question?"])
        asked = ask(standin, path, texts(5))
        assert (standin.stats()["batches"], standin.stats()["repeated_answers"]) == (2, 0)
    assert all(text in question for text, question in zip(asked.texts, texts(5), strict=True))


def test_a_batch_of_its_own_without_its_results_is_not_sent_again(path: Path) -> None:
    with StandIn(rules=[{"contains": "", "line": answer_of("another-1", message={})}]) as standin:
        asked = ask(standin, path, texts(5))
        assert standin.stats()["batches"] == 1
    assert asked.statuses == [500] * 5


def test_a_batch_that_was_anothers_after_all_is_left_alone(path: Path, tmp_path: Path) -> None:
    with StandIn() as standin:
        ask(standin, path, texts(5))
        without(path, "taken")
        without(path, "batch")
        standin.reset()
        ask(standin, tmp_path / "other.jsonl", ["Another?", "Question?", "a", "b", "c"])
        asked = ask(standin, path, texts(5))
        assert standin.stats()["batches"] == 2
        again = ask(standin, path, texts(5))
        assert standin.stats()["batches"] == 3  # what was handed on is handed on once
    assert len(asked.texts) == len(again.texts) == 5


@pytest.mark.parametrize("fault", ["cut", "disconnect", "500", "504"])
def test_a_batch_without_an_answer_is_looked_for_before_it_is_sent_again(
    path: Path, fault: str
) -> None:
    rules = [{"contains": CREATE, "fault": fault, "attempts": 1}]
    with StandIn(rules=rules) as standin:
        asked = ask(standin, path, texts(5))
        stats = standin.stats()
    assert len(asked.texts) == 5
    assert (stats["batches"], stats["answered"]) == (1, 5)


def test_batches_that_never_get_an_answer_are_an_error(path: Path) -> None:
    with StandIn(rules=[{"contains": CREATE, "fault": "disconnect"}]) as standin:
        asked = ask(standin, path, texts(2))
        assert asked.statuses == [500, 500]
        standin.set(rules=[])
        assert len(ask(standin, path, texts(2)).texts) == 2
        assert standin.stats()["batches"] == 1


def test_calls_that_fail_for_the_moment_are_made_again(path: Path) -> None:
    faults = {"429": 0.25, "529": 0.25}
    with StandIn(faults=faults, retry_after=0.01, batch_seconds=0.2) as standin:
        asked = ask(standin, path, texts(20), max_requests=5)
        stats = standin.stats()
    assert len(asked.texts) == 20
    assert (stats["batches"], stats["repeated_answers"]) == (4, 0)
    assert {"429", "529"} <= stats["by_status"].keys()


def test_results_that_break_off_are_fetched_again(path: Path) -> None:
    rules = [{"contains": "/results", "fault": "cut", "attempts": 1}]
    with StandIn(rules=rules) as standin:
        asked = ask(standin, path, texts(5))
        assert standin.stats()["batches"] == 1
    assert len(asked.texts) == 5


def test_a_batch_that_is_not_accepted_is_an_error_of_its_requests(path: Path) -> None:
    with StandIn(rules=[{"contains": CREATE, "fault": "400"}]) as standin:
        control = RunControl()
        asked = ask(standin, path, texts(3), control=control)
        assert standin.stats()["batches"] == 0
    assert asked.statuses == [400, 400, 400]
    assert control.fatal is None
    assert lines(path)[-1]["batch"] is None


def test_a_batch_of_which_nothing_is_said_stays_on_disk(path: Path) -> None:
    rules = [{"contains": "GET /v1/messages/batches/msgbatch", "fault": "400"}]
    with StandIn(rules=rules) as standin:
        assert ask(standin, path, texts(3)).statuses == [500, 500, 500]
        standin.set(rules=[])
        assert len(ask(standin, path, texts(3)).texts) == 3
        assert standin.stats()["batches"] == 1


@pytest.mark.parametrize(
    ("status", "said"),
    [("401", "does not accept the key"), ("403", "may not do this"), ("404", "is not there")],
)
def test_what_every_batch_would_meet_stops_the_run(path: Path, status: str, said: str) -> None:
    control = RunControl()
    with StandIn(rules=[{"contains": CREATE, "fault": status}]) as standin:
        asked = ask(standin, path, texts(3), control=control)
        assert standin.stats()["by_status"] == {status: 1}
    assert all(isinstance(outcome, RunStopped) for outcome in asked.found)
    assert said in str(control.fatal)


def test_a_spend_limit_stops_the_run_and_is_not_asked_again(path: Path) -> None:
    error = {"error_code": "enforced_spend_limit_reached"}
    control = RunControl()
    with StandIn(rules=[{"contains": CREATE, "fault": "429", "error": error}]) as standin:
        ask(standin, path, texts(3), control=control)
        assert standin.stats()["by_status"] == {"429": 1}
    assert "the spend limit is reached" in str(control.fatal)


def test_a_batch_that_is_not_there_any_more_is_told_with_the_remedy(path: Path) -> None:
    control = RunControl()
    with StandIn() as standin:
        ask(standin, path, texts(2))
        without(path, "taken")
        standin.reset()
        ask(standin, path, texts(2), control=control)
    said = str(control.fatal)
    assert f"batch msgbatch_00000001, which {path} names: it is not there" in said
    assert "delete the file" in said


class Counting(RunControl):
    """Remembers what was spent."""

    spent_usd = 0.0

    def settle(self, reserved: float, cost_usd: float) -> None:
        self.spent_usd += cost_usd
        super().settle(reserved, cost_usd)


def test_a_response_costs_half(path: Path) -> None:
    control = Counting(budget_usd=10)
    with StandIn(rules=[{"contains": "", "text": "order " * 80}]) as standin:
        asked = ask(standin, path, texts(3), control=control)
    usage = asked.messages[0]["usage"]
    # A question of 40 characters is 11 tokens, an answer of 480 is 121; 0.10 and 0.50 US dollars
    # a million: 11 * 0.10 + 121 * 0.50 = 61.6, and half of it is 30.8.
    assert (usage["input_tokens"], usage["output_tokens"]) == (11, 121)
    assert usage["service_tier"] == "batch"
    assert response_cost_usd(asked.messages[0]) == pytest.approx(30.8e-6)
    assert control.spent_usd == pytest.approx(3 * 30.8e-6)


def test_a_usage_that_does_not_say_so_is_one_of_a_batch(path: Path) -> None:
    message = {
        "type": "message",
        "model": MODEL,
        "content": [{"type": "text", "text": "Hello."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1000, "output_tokens": 100},
    }
    result = {"custom_id": "CUSTOM_ID", "result": {"type": "succeeded", "message": message}}
    control = Counting(budget_usd=10)
    with StandIn(rules=[{"contains": "", "line": json.dumps(result)}]) as standin:
        (answer,) = ask(standin, path, ["Hello?"], control=control).messages
    assert answer == {**message, "usage": {**answer["usage"], "service_tier": "batch"}}
    # (1000 * 0.10 + 100 * 0.50) / 2 = 75 millionths of a US dollar.
    assert response_cost_usd(answer) == pytest.approx(75e-6)
    assert control.spent_usd == pytest.approx(75e-6)


def test_errors_and_what_expired_cost_nothing(path: Path) -> None:
    control = Counting(budget_usd=10)
    with StandIn(faults={"batch_errored": 1.0}) as standin:
        ask(standin, path, texts(3), control=control)
        standin.set(faults={}, rules=[{"contains": "", "fault": "batch_expired"}])
        ask(standin, path, texts(3), control=control)
    assert control.spent_usd == 0


def full_bound_usd(text: str) -> float:
    content = post("http://localhost", body(text)).content
    bound = request_bound_usd(body(text), len(content))
    assert bound is not None
    return bound


def test_a_budget_is_counted_at_the_price_of_batches(path: Path) -> None:
    # Ten requests cost 5 full bounds at most; setting aside needs one full bound for a moment.
    budget_usd = 5.5 * full_bound_usd(texts(1)[0])
    with StandIn() as standin:
        asked = ask(standin, path, texts(10), control=RunControl(budget_usd=budget_usd))
        assert standin.stats()["batches"] == 1
    assert len(asked.texts) == 10


def test_what_does_not_fit_the_budget_yet_waits_for_what_is_under_way(path: Path) -> None:
    budget_usd = 3 * full_bound_usd(texts(1)[0])
    with StandIn(batch_seconds=0.1) as standin:
        asked = ask(standin, path, texts(10), control=RunControl(budget_usd=budget_usd))
        assert standin.stats()["batches"] > 1
    assert len(asked.texts) == 10


def test_what_the_budget_does_not_allow_is_not_asked(path: Path) -> None:
    control = RunControl(budget_usd=0.9 * full_bound_usd(texts(1)[0]))
    with StandIn() as standin:
        asked = ask(standin, path, texts(3), control=control)
        assert standin.stats()["batches"] == 0
    assert asked.reasons == [NaReason.BUDGET] * 3
    assert all("can cost up to" in str(outcome) for outcome in asked.found)


def test_a_budget_that_cannot_be_kept_stops_the_run(path: Path) -> None:
    async def main() -> None:
        transport = BatchTransport(AiohttpTransport(), path, control=control, **FAST)
        try:
            unknown = {**body("Hello?"), "model": "claude-of-tomorrow"}
            with pytest.raises(RunStopped, match="`budget_usd` cannot be kept"):
                await transport.handle_async_request(post(standin.url, unknown))
        finally:
            await transport.aclose()

    control = RunControl(budget_usd=1)
    with StandIn() as standin:
        asyncio.run(main())
    assert control.fatal is not None


def test_what_was_sent_is_fetched_though_the_money_is_spent(path: Path) -> None:
    with StandIn() as standin:
        ask(standin, path, texts(3))
        without(path, "taken")
        control = RunControl(budget_usd=0.01, spent_usd=0.01)
        assert len(ask(standin, path, texts(3), control=control).texts) == 3
        assert standin.stats()["batches"] == 1


def test_what_waits_at_the_deadline_is_missing_for_it_and_fetched_later(path: Path) -> None:
    control = RunControl(max_minutes=0.3 / 60)
    control.start()
    with StandIn(batch_seconds=600) as standin:
        asked = ask(standin, path, texts(5), control=control)
        standin.set(batch_seconds=0)
        assert asked.reasons == [NaReason.DEADLINE] * 5
        assert all(isinstance(outcome, RunStopped) for outcome in asked.found)
        assert len(ask(standin, path, texts(5)).texts) == 5
        stats = standin.stats()
    assert (stats["batches"], stats["answered"]) == (1, 5)


def test_after_the_deadline_nothing_is_sent(path: Path) -> None:
    control = RunControl(max_minutes=0.01 / 60)
    control.start()
    with StandIn() as standin:
        asked = ask(standin, path, texts(3), control=control, quiet_s=0.1)
        assert standin.stats()["batches"] == 0
    assert asked.reasons == [NaReason.DEADLINE] * 3


def answer_of(custom_id: Any, **result: Any) -> str:
    return json.dumps({"custom_id": custom_id, "result": {"type": "succeeded", **result}})


HOSTILE = [
    "no JSON",
    "[" * 5000,
    "null",
    '["CUSTOM_ID"]',
    '{"custom_id": "CUSTOM_ID"}',
    '{"custom_id": "CUSTOM_ID", "result": "succeeded"}',
    '{"custom_id": "CUSTOM_ID", "result": {"type": ["succeeded"]}}',
    '{"custom_id": "CUSTOM_ID", "result": {"type": "errored", "error": "bad"}}',
    '{"custom_id": "CUSTOM_ID", "result": {"type": "succeeded", "message": []}}',
    '{"custom_id": 7, "result": {"type": "succeeded", "message": {}}}',
    answer_of("another-1", message={}),
    answer_of("../../etc/passwd", message={}),
    '{"custom_id": "CUSTOM_ID", "result": {"type": "errored", "error": {"error": {"type": []}}}}',
    answer_of("CUSTOM_ID", message="DEEP").replace('"DEEP"', '{"a":' * 3000 + "1" + "}" * 3000),
]


@pytest.mark.parametrize("line", HOSTILE)
def test_a_result_that_says_anything_is_an_error_of_its_request_alone(
    path: Path, line: str
) -> None:
    rules = [{"contains": "number 1 ", "line": line}]
    control = RunControl(budget_usd=1)
    with StandIn(rules=rules) as standin:
        asked = ask(standin, path, texts(4), control=control)
        assert standin.stats()["batches"] == 1
    assert asked.statuses == [200, 500, 200, 200]
    assert control.fatal is None


def test_lines_that_cannot_be_read_are_counted(path: Path) -> None:
    async def main() -> int:
        transport = BatchTransport(AiohttpTransport(), path, control=RunControl(), **FAST)
        await asked_of(transport, standin.url, texts(4))
        await transport.aclose()
        return transport.n_unreadable

    with StandIn(rules=[{"contains": "number 1 ", "line": "no JSON"}]) as standin:
        assert asyncio.run(main()) == 1


@pytest.mark.parametrize(
    "usage", ["none", [1], {"input_tokens": "many"}, {"input_tokens": -1, "service_tier": 7}]
)
def test_a_usage_that_cannot_be_read_costs_what_was_set_aside(path: Path, usage: Any) -> None:
    control = Counting(budget_usd=1)
    message = {"type": "message", "model": MODEL, "content": [], "usage": usage}
    rules = [{"contains": "", "line": answer_of("CUSTOM_ID", message=message)}]
    with StandIn(rules=rules) as standin:
        assert ask(standin, path, ["Hello?"], control=control).statuses == [200]
    assert control.spent_usd == pytest.approx(full_bound_usd("Hello?") / 2)


def test_results_are_asked_at_no_address_that_the_answer_names(path: Path) -> None:
    with StandIn() as standin:
        standin.set(results_url=f"{standin.url}/v1/messages/batches/another/results")
        inner = Remembering()
        assert len(ask(standin, path, texts(3), inner=inner).texts) == 3
    assert inner.sent[-1].url.path == "/v1/messages/batches/msgbatch_00000001/results"


def patient(control: RunControl) -> PatientTransport:
    return PatientTransport(
        None, AiohttpTransport(), control=control, pace=Pace(), concurrency=2, max_attempts=10
    )


def test_a_patient_transport_below_does_no_harm_to_calls_that_are_refused(path: Path) -> None:
    control = RunControl(budget_usd=10)
    with StandIn(faults={"429": 0.3, "529": 0.2}, retry_after=0.01) as standin:
        asked = ask(standin, path, texts(20), control=control, inner=patient(control))
        assert standin.stats()["batches"] == 1
    assert len(asked.texts) == 20


def test_what_a_patient_transport_below_does_not_fetch_is_missing_for_the_budget(
    path: Path,
) -> None:
    with StandIn() as standin:
        ask(standin, path, texts(3))
        without(path, "taken")
        control = RunControl(budget_usd=0.01, spent_usd=0.01)
        asked = ask(standin, path, texts(3), control=control, inner=patient(control))
    assert asked.reasons == [NaReason.BUDGET] * 3


def test_results_are_asked_of_no_other_server(path: Path) -> None:
    with StandIn() as elsewhere, StandIn(results_url=f"{elsewhere.url}/results") as standin:
        asked = ask(standin, path, texts(3))
        assert elsewhere.stats()["by_status"] == {}
    assert len(asked.texts) == 3


@pytest.mark.parametrize("said", ["not a URL", "http://[::1", "//evil.example/x"])
def test_an_address_of_results_that_is_none_is_passed_over(path: Path, said: str) -> None:
    with StandIn(results_url=said) as standin:
        assert len(ask(standin, path, texts(3)).texts) == 3


def test_another_process_may_not_write_the_same_file(path: Path) -> None:
    first = BatchTransport(AiohttpTransport(), path, control=RunControl())
    with pytest.raises(InputError, match="another process is writing"):
        BatchTransport(AiohttpTransport(), path, control=RunControl())
    asyncio.run(first.aclose())


def test_it_may_be_closed_twice(path: Path) -> None:
    async def main() -> None:
        transport = BatchTransport(AiohttpTransport(), path, control=RunControl(), **FAST)
        await asked_of(transport, standin.url, texts(2))
        await transport.aclose()
        await transport.aclose()

    with StandIn() as standin:
        asyncio.run(main())


def test_a_file_of_another_kind_is_refused(path: Path) -> None:
    path.write_text('{"format": 99}\n')
    with pytest.raises(InputError, match="is no file of batches of this version"):
        BatchTransport(AiohttpTransport(), path, control=RunControl())


async def kept_in(
    journal: Journal, transport: BatchTransport, url: str, questions: Mapping[Any, str]
) -> dict[Any, str]:
    """Ask through the cassette, a question a case; return the message's id by case."""
    cassettes = Cassettes(journal.path.parent, "live", journal=journal)
    cassette = CassetteTransport(cassettes, None, transport)

    async def one(case_id: Any, text: str) -> tuple[Any, str]:
        with bind(str(case_id), 1):
            response = await cassette.handle_async_request(post(url, body(text)))
        return case_id, response.json()["id"]

    return dict(await asyncio.gather(*(one(*question) for question in questions.items())))


def test_below_the_cassette_each_response_is_kept_and_given_once(
    path: Path, tmp_path: Path
) -> None:
    def part(cases: Sequence[str]) -> dict[str, str]:
        async def main() -> dict[str, str]:
            transport = BatchTransport(AiohttpTransport(), path, control=RunControl(), **FAST)
            try:
                return await kept_in(
                    journal, transport, standin.url, dict.fromkeys(cases, "Hello?")
                )
            finally:
                await transport.aclose()

        journal = Journal(tmp_path / "journal.jsonl", {})
        try:
            return asyncio.run(main())
        finally:
            journal.close()

    line = answer_of("CUSTOM_ID", message=told("CUSTOM_ID"))  # equal requests differ by their ids
    with StandIn(rules=[{"contains": "", "line": line}]) as standin:
        first = part(["a", "b", "c"])
        assert standin.stats()["batches"] == 1
        again = part(["a", "b", "c"])
        assert standin.stats()["batches"] == 1
        more = part(["c", "d", "a"])
        assert standin.stats()["batches"] == 2
    assert again == first
    assert len(set(first.values())) == 3
    assert more["d"] not in first.values()
    assert (more["a"], more["c"]) == (first["a"], first["c"])


def told(message_id: str) -> Json:
    return {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [{"type": "text", "text": "Hello."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 10, "output_tokens": 2},
    }


def test_many_requests_wait_at_once(path: Path) -> None:
    with StandIn() as standin:
        started = time.monotonic()
        asked = ask(standin, path, texts(2000), quiet_s=0.2)
        assert standin.stats()["batches"] == 1
    assert len(asked.texts) == 2000
    assert time.monotonic() - started < 30

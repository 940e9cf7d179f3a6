"""Messages through batches of the stand-in on the loopback interface."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import httpx2

from evalnb.connections import AiohttpTransport
from evalnb.control import RunControl
from evalnb.frames import NaReason
from evalnb.journal import Journal
from evalnb.judges.batches import BatchTransport
from evalnb.pace import Pace
from evalnb.patience import PatientTransport, RunStopped
from evalnb.transport import LATENCY
from tests.judges.batches.asking import (
    FAST,
    Asked,
    answer_of,
    ask,
    asked_of,
    body,
    intended,
    kept_in,
    lines,
    post,
    texts,
    told,
    without,
)
from tests.standin import StandIn

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def test_every_request_gets_its_own_response_from_one_batch(path: Path) -> None:
    questions = texts(40)
    with StandIn(batch_seconds=0.1) as standin:
        asked = ask(standin, path, questions)
        stats = standin.stats()
    assert all(text in question for text, question in zip(asked.texts, questions, strict=True))
    assert (stats["batches"], stats["answered"], stats["requests"]) == (1, 40, 0)
    assert [response.extensions[LATENCY] for response in asked.responses] == [None] * 40


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


def test_requests_that_come_later_go_into_a_further_batch(path: Path) -> None:
    async def main() -> None:
        transport = BatchTransport(AiohttpTransport(), path, control=RunControl(), **FAST)
        for part in (texts(6)[:3], texts(6)[3:]):
            assert len((await asked_of(transport, standin.url, part)).texts) == 3
        await transport.aclose()

    with StandIn() as standin:
        asyncio.run(main())
        assert standin.stats()["batches"] == 2


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
from tests.judges.batches.asking import FAST, asked_of, texts

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
from tests.judges.batches.asking import FAST, kept_in, texts

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


def test_it_may_be_closed_twice(path: Path) -> None:
    async def main() -> None:
        transport = BatchTransport(AiohttpTransport(), path, control=RunControl(), **FAST)
        await asked_of(transport, standin.url, texts(2))
        await transport.aclose()
        await transport.aclose()

    with StandIn() as standin:
        asyncio.run(main())


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


def test_many_requests_wait_at_once(path: Path) -> None:
    with StandIn() as standin:
        started = time.monotonic()
        asked = ask(standin, path, texts(2000), quiet_s=0.2)
        assert standin.stats()["batches"] == 1
    assert len(asked.texts) == 2000
    assert time.monotonic() - started < 30

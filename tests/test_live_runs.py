"""Live runs against a stand-in of the API that says no, breaks off and never answers."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from evalnb.cassettes import Cassettes
from evalnb.errors import InputError
from evalnb.golden import read_golden
from evalnb.journal import Journal
from evalnb.runner import run
from evalnb.systems import CallableSystem, load_system
from tests.commands import evalnb, start_evalnb
from tests.standin import StandIn
from tests.suites import make_suite
from tests.upstreams import LoopbackUpstream

if TYPE_CHECKING:
    from pathlib import Path

    import anthropic
    import pandas as pd

    from evalnb.cases import Case
    from evalnb.golden import GoldenSet

N_CASES = 60
NEVER = threading.Event()
LONG_ANSWERS = [{"contains": "", "text": "order " * 80}]


@pytest.fixture
def golden(tmp_path: Path) -> GoldenSet:
    cases = [
        {"id": f"case-{n}", "input": f"Where is order number {n}?", "must_contain": ["order"]}
        for n in range(N_CASES)
    ]
    return make_suite(tmp_path / "shop", [{**case, "tools": []} for case in cases])


def live(golden: GoldenSet, standin: StandIn, system: Any = None, **options: Any) -> pd.DataFrame:
    return run(
        golden,
        system or load_system(golden),
        mode="live",
        progress="none",
        **{"concurrency": 16, "upstream": LoopbackUpstream(standin.url), **options},
    )


@pytest.fixture
def dear(golden: GoldenSet) -> GoldenSet:
    """A suite of a model of which all answers cost a few times what one can cost at most."""
    assert golden.folder is not None
    path = golden.folder / "systems" / "v1.toml"
    path.write_text(path.read_text().replace("claude-haiku-5-5", "claude-fable-5-1"))
    return golden


def reasons(outputs: pd.DataFrame) -> dict[str, int]:
    return {str(name): int(n) for name, n in outputs["na_reason"].value_counts().items()}


async def streaming(case: Case, client: anthropic.AsyncAnthropic) -> str:
    async with client.messages.stream(
        model="claude-haiku-5-5",
        max_tokens=100,
        messages=[{"role": "user", "content": case.input or ""}],
    ) as stream:
        return await stream.get_final_text()


def blocking(case: Case, client: anthropic.Anthropic) -> str:
    message = client.messages.create(
        model="claude-haiku-5-5",
        max_tokens=100,
        messages=[{"role": "user", "content": case.input or ""}],
    )
    return "".join(block.text for block in message.content if block.type == "text")


@pytest.mark.parametrize("system", [None, streaming, blocking])
def test_what_fails_for_the_moment_is_asked_again(golden: GoldenSet, system: Any) -> None:
    faults = {"429": 0.1, "529": 0.05, "500": 0.05, "disconnect": 0.05}
    with StandIn(faults=faults, retry_after=0.01) as standin:
        outputs = live(golden, standin, CallableSystem(system) if system else None)
        answers = standin.stats()
    assert reasons(outputs) == {}
    assert answers["distinct_answered"] == N_CASES
    assert answers["repeated_answers"] == 0


@pytest.mark.parametrize("fault", ["broken_stream", "error_event", "cut"])
def test_a_stream_that_breaks_is_asked_for_again_as_a_whole(golden: GoldenSet, fault: str) -> None:
    with StandIn(faults={fault: 0.3}) as standin:
        outputs = live(golden, standin, CallableSystem(streaming))
    assert reasons(outputs) == {}
    assert outputs["text"].notna().all()
    assert set(outputs["stop_reason"]) == {"end_turn"}


def test_no_more_requests_are_under_way_than_allowed(golden: GoldenSet) -> None:
    with StandIn(latency=10, faults={"529": 0.2}) as standin:
        live(golden, standin, concurrency=5)
        assert standin.stats()["in_flight_max"] <= 5


def test_latency_is_that_of_the_attempt_that_succeeded(golden: GoldenSet) -> None:
    rules = [{"contains": "", "fault": "429", "attempts": 1}]
    with StandIn(latency=1, rules=rules, retry_after=0.5) as standin:
        outputs = live(golden.slice(0, 3), standin)
    assert (outputs["latency_ms"] < 400).all()


@pytest.mark.parametrize(
    ("status", "said"),
    [("401", "does not accept the key"), ("402", "wants to be paid"), ("404", "is not there")],
)
def test_what_every_case_would_meet_stops_the_run_with_what_is_done_kept(
    golden: GoldenSet, tmp_path: Path, status: str, said: str
) -> None:
    path = tmp_path / "journal.jsonl"
    rules = [{"contains": "number 30?", "fault": status}]
    with StandIn(rules=rules) as standin:
        journal = Journal(path, {})
        with pytest.raises(InputError, match=f"stopped at case case-30: .*{said}"):
            live(golden, standin, concurrency=1, journal=journal)
        journal.close()
        before = standin.stats()["answered"]
        assert 30 <= before < N_CASES
        standin.set(rules=[])
        journal = Journal(path, {})
        outputs = live(golden, standin, journal=journal)
        journal.close()
        assert standin.stats()["answered"] == N_CASES
    assert reasons(outputs) == {}


def test_a_fatal_error_counts_where_the_application_swallows_it(golden: GoldenSet) -> None:
    with (
        StandIn(faults={"401": 1.0}) as standin,
        pytest.raises(InputError, match="does not accept the key"),
    ):
        live(golden, standin, CallableSystem(apologetic))


async def apologetic(case: Case, client: anthropic.AsyncAnthropic) -> str:
    try:
        return await streaming(case, client)
    except Exception:
        return "Sorry, something went wrong."


def test_an_apology_for_a_fatal_error_is_no_answer(golden: GoldenSet, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    system = CallableSystem(apologetic)
    with StandIn(rules=[{"contains": "number 5", "fault": "402"}]) as standin:
        journal = Journal(path, {})
        with pytest.raises(InputError, match="wants to be paid"):
            live(golden, standin, system, journal=journal)
        journal.close()
        standin.set(rules=[])
        journal = Journal(path, {})
        outputs = live(golden, standin, system, journal=journal)
        journal.close()
    assert reasons(outputs) == {}
    assert not outputs["text"].str.contains("Sorry").any()


class Impatient(LoopbackUpstream):
    max_attempts = 2


@pytest.mark.parametrize(
    ("fault", "reason"), [("529", "server"), ("disconnect", "server"), ("400", "bad_request")]
)
def test_an_apology_for_an_api_that_failed_is_no_answer(
    golden: GoldenSet, fault: str, reason: str
) -> None:
    with StandIn(rules=[{"contains": "number 7?", "fault": fault}]) as standin:
        outputs = live(golden, standin, CallableSystem(apologetic), upstream=Impatient(standin.url))
    assert reasons(outputs) == {reason: 1}


def test_an_application_that_asks_another_way_has_answered(golden: GoldenSet) -> None:
    async def resourceful(case: Case, client: anthropic.AsyncAnthropic) -> str:
        try:
            return await streaming(case, client)
        except Exception:
            other = case.model_copy(update={"input": "Where is it?"})
            return await streaming(other, client)

    with StandIn(rules=[{"contains": "number 7?", "fault": "529"}]) as standin:
        outputs = live(
            golden, standin, CallableSystem(resourceful), upstream=Impatient(standin.url)
        )
    assert reasons(outputs) == {}


def test_a_thread_that_is_left_behind_asks_no_more(golden: GoldenSet) -> None:
    def stubborn(case: Case, client: anthropic.Anthropic) -> str:
        return " ".join(blocking(case, client) for _ in range(20))

    rules = [{"contains": "number 3?", "fault": "402"}]
    with StandIn(latency=30, rules=rules) as standin:
        with pytest.raises(InputError, match="wants to be paid"):
            live(golden, standin, CallableSystem(stubborn), concurrency=4)
        at_the_end = standin.stats()["requests"]
        time.sleep(0.5)
        # What was under way at the end may still arrive.
        assert standin.stats()["requests"] <= at_the_end + 4


def test_a_replay_has_all_the_time_in_the_world(tmp_path: Path) -> None:
    cases = [{"id": "a", "input": "Hello?", "must_contain": ["hello"], "tools": []}]
    golden = make_suite(tmp_path / "shop", cases, "[live]\nmax_minutes = 0.0000001\n")
    outputs = run(golden, load_system(golden), progress="none")
    assert reasons(outputs) == {"miss": 1}


def test_a_spend_limit_stops_the_run_and_is_not_asked_again(golden: GoldenSet) -> None:
    error = {"error_code": "enforced_spend_limit_reached"}
    rules = [{"contains": "", "fault": "429", "error": error}]
    with StandIn(rules=rules) as standin:
        with pytest.raises(InputError, match="the spend limit is reached"):
            live(golden, standin, concurrency=1)
        assert standin.stats()["requests"] <= 2


def test_requests_that_are_all_wrong_stop_the_run_after_the_first_five(golden: GoldenSet) -> None:
    with StandIn(faults={"400": 1.0}) as standin:
        with pytest.raises(InputError, match="accepts none of the first 5 requests"):
            live(golden, standin, concurrency=1)
        assert standin.stats()["requests"] < 10


def test_one_request_that_is_wrong_is_missing_alone(golden: GoldenSet) -> None:
    with StandIn(rules=[{"contains": "number 7?", "fault": "400"}]) as standin:
        outputs = live(golden, standin)
    assert reasons(outputs) == {"bad_request": 1}


def test_an_answer_that_never_comes_is_missing_after_its_time(tmp_path: Path) -> None:
    cases = [{"id": "slow", "input": "Hello?", "must_contain": ["hello"], "tools": []}]
    golden = make_suite(tmp_path / "shop", cases, "[live]\ntimeout_s = 0.02\n")
    with StandIn(faults={"hang": 1.0}) as standin:
        outputs = live(golden, standin, max_minutes=1 / 60)
    assert reasons(outputs) in ({"server": 1}, {"deadline": 1})


def test_what_is_left_at_the_deadline_is_missing_for_it(golden: GoldenSet) -> None:
    with StandIn(latency=100) as standin:
        outputs = live(golden, standin, concurrency=2, max_minutes=0.01)
        answered = standin.stats()["answered"]
    assert reasons(outputs) == {"deadline": N_CASES - answered}
    assert 0 < answered < N_CASES


async def endless(case: Case, client: anthropic.AsyncAnthropic) -> str:
    await asyncio.Event().wait()
    return "never"


def blocked(case: Case, client: anthropic.Anthropic) -> str:
    NEVER.wait(60)
    return "never"


@pytest.mark.parametrize("system", [endless, blocked])
def test_a_system_that_comes_to_no_end_is_missing_after_the_deadline(
    tmp_path: Path, system: Any
) -> None:
    cases = [{"id": "slow", "input": "Hello?", "must_contain": ["hello"], "tools": []}]
    golden = make_suite(tmp_path / "shop", cases, "[live]\ntimeout_s = 0.1\n")
    NEVER.clear()
    with StandIn() as standin:
        outputs = live(golden, standin, CallableSystem(system), max_minutes=0.001)
    NEVER.set()
    assert reasons(outputs) == {"deadline": 1}


class Odd(BaseException):
    """What no application should raise."""


def test_whatever_a_system_raises_is_its_own_failure(golden: GoldenSet) -> None:
    async def odd(case: Case, client: anthropic.AsyncAnthropic) -> str:
        raise Odd

    with StandIn() as standin:
        outputs = live(golden.slice(0, 2), standin, CallableSystem(odd))
    assert reasons(outputs) == {"system_error": 2}


def test_a_deadline_is_not_overslept(golden: GoldenSet) -> None:
    with StandIn(faults={"429": 1.0}, retry_after=600) as standin:
        outputs = live(golden, standin, max_minutes=0.01)
    assert reasons(outputs) == {"deadline": N_CASES}


@pytest.mark.parametrize("concurrency", [1, 16])
def test_the_budget_is_never_exceeded(dear: GoldenSet, concurrency: int) -> None:
    with StandIn(latency=5, rules=LONG_ANSWERS) as standin:
        cost_usd = float(live(dear, standin)["cost_usd"].sum())
        budget_usd = 0.9 * cost_usd
        outputs = live(dear, standin, concurrency=concurrency, budget_usd=budget_usd)
    assert float(outputs["cost_usd"].sum()) <= budget_usd
    assert set(reasons(outputs)) == {"budget"}
    assert 0 < outputs["na_reason"].isna().sum() < N_CASES


def test_a_run_that_is_taken_up_has_spent_what_it_spent(dear: GoldenSet, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with StandIn(rules=LONG_ANSWERS) as standin:
        budget_usd = 0.9 * float(live(dear, standin)["cost_usd"].sum())
        standin.reset()
        journal = Journal(path, {})
        first = live(dear, standin, journal=journal, budget_usd=budget_usd)
        journal.close()
        journal = Journal(path, {})
        second = live(dear, standin, journal=journal, budget_usd=budget_usd)
        journal.close()
        assert standin.stats()["repeated_answers"] == 0
    done = first["na_reason"].isna()
    assert 0 < done.sum() < N_CASES
    assert float(second["cost_usd"].sum()) <= budget_usd
    assert second.loc[done, "text"].tolist() == first.loc[done, "text"].tolist()


def test_nothing_is_asked_twice_while_recording_at_once(tmp_path: Path) -> None:
    same = [
        {"id": f"same-{n}", "input": "Hello?", "must_contain": ["hello"], "tools": []}
        for n in range(10)
    ]
    golden = make_suite(tmp_path / "shop", same)
    with StandIn(latency=20) as standin:
        cassettes = Cassettes(tmp_path / "shop" / "cassettes", "record")
        outputs = run(
            golden,
            load_system(golden),
            cassettes=cassettes,
            upstream=LoopbackUpstream(standin.url),
            progress="none",
        )
        assert standin.stats()["requests"] == 1
    assert reasons(outputs) == {}
    assert len(set(outputs["text"])) == 1


def command(folder: Path) -> list[str]:
    return [
        *("run", str(folder)),
        *("--mode", "live", "--no-notebook", "--concurrency", "4"),
        *("--results", str(folder.parent / "results")),
    ]


def test_a_run_that_was_killed_is_taken_up_by_the_same_command(
    golden: GoldenSet, tmp_path: Path
) -> None:
    folder = tmp_path / "shop"
    with StandIn(latency=40) as standin:
        asking = {"ANTHROPIC_BASE_URL": standin.url, "ANTHROPIC_API_KEY": "unused"}
        repeated = 0
        for wanted in (8, 25):
            with start_evalnb(*command(folder), folder=tmp_path, **asking) as process:
                while standin.stats()["answered"] < wanted and process.poll() is None:
                    time.sleep(0.005)
                process.send_signal(signal.SIGKILL)
            repeated += 4  # at most what was under way
        done = evalnb(*command(folder), folder=tmp_path, **asking)
        stats = standin.stats()
    assert done.code == 2, done.error  # there is no baseline yet
    assert "goes on with run" in done.error
    assert stats["distinct_answered"] == N_CASES
    assert stats["repeated_answers"] <= repeated
    (written,) = (tmp_path / "results" / "shop").iterdir()
    manifest = json.loads((written / "run.json").read_text())
    rows = [json.loads(line) for line in (written / "outputs.jsonl").read_text().splitlines()]
    assert len(rows) == N_CASES
    assert all("na_reason" not in row for row in rows)
    assert manifest["cost_usd"] == pytest.approx(sum(row["cost_usd"] for row in rows))
    assert 8 <= manifest["n_responses_resumed"] <= N_CASES
    # One line of the summary says so, and a further run is a new one.
    golden = read_golden(folder)
    assert len(golden) == N_CASES

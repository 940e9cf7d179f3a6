from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from evalnb.cassettes import Cassettes
from evalnb.clients import async_client
from evalnb.errors import InputError
from evalnb.frames import OUTPUTS
from evalnb.golden import GoldenSet
from evalnb.runner import run, run_async, run_sync
from evalnb.systems import CallableSystem, Output, ToolCall, load_system
from tests.suites import make_suite
from tests.upstreams import FakeUpstream, error, message, tool_use

if TYPE_CHECKING:
    from pathlib import Path

    import anthropic

    from evalnb.cases import Case


@contextmanager
def serving(status: int, body: Any) -> Iterator[str]:
    """Answer every request on the loopback interface with one error."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            content = json.dumps({"type": "error", **body}).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


CASES = [
    {"id": "hello", "input": "Hello?", "must_contain": ["hello"], "tools": []},
    {"id": "order", "input": "Where is B-1?", "must_contain": ["B-1"]},
]


@pytest.fixture
def golden(tmp_path: Path) -> GoldenSet:
    return make_suite(tmp_path / "shop", CASES)


def empty(golden: GoldenSet, mode: Any = "replay") -> Cassettes:
    assert golden.folder is not None
    return Cassettes(golden.folder / "cassettes", mode)


def test_a_row_for_every_case_and_repeat_in_the_order_of_the_golden_set(golden: GoldenSet) -> None:
    async def answer(case: Case, client: Any) -> str:
        await asyncio.sleep(0.02 if case.id == "hello" else 0)
        return f"for {case.id}"

    outputs = run(golden, CallableSystem(answer), repeats=2, progress="none", run_id="r1")

    assert list(outputs.columns) == list(OUTPUTS.columns)
    assert outputs["case_id"].tolist() == ["hello", "hello", "order", "order"]
    assert outputs["repeat"].tolist() == [1, 2, 1, 2]
    assert outputs["text"].tolist() == ["for hello"] * 2 + ["for order"] * 2
    assert set(outputs["run_id"]) == {"r1"}
    assert outputs["na_reason"].isna().all()


def test_the_golden_set_without_cases_gives_an_empty_frame(golden: GoldenSet) -> None:
    outputs = run(golden.slice(0, 0), load_system(golden), progress="none")
    pd.testing.assert_frame_equal(outputs, OUTPUTS.empty())


def test_a_synchronous_function_has_a_synchronous_client(golden: GoldenSet) -> None:
    def answer(case: Case, client: anthropic.Anthropic) -> str:
        response = client.messages.create(
            model="claude-haiku-5-5",
            max_tokens=10,
            messages=[{"role": "user", "content": case.input or ""}],
        )
        return "".join(block.text for block in response.content if block.type == "text")

    recorded = run(
        golden,
        CallableSystem(answer),
        cassettes=empty(golden, "record"),
        upstream=FakeUpstream(message("Hello there.")),
        progress="none",
    )
    replayed = run(golden, CallableSystem(answer), progress="none")

    assert replayed["text"].tolist() == ["Hello there."] * 2
    ignored = ["mode"]
    pd.testing.assert_frame_equal(recorded.drop(columns=ignored), replayed.drop(columns=ignored))


def test_tokens_and_latency_are_summed_over_the_requests_of_a_case(tmp_path: Path) -> None:
    mocked = {"lookup_order": [{"result": "shipped"}]}
    golden = make_suite(
        tmp_path, [{"id": "a", "input": "B-1?", "must_contain": ["x"], "tools_mock": mocked}]
    )
    call = message(
        content=[tool_use("lookup_order", {"order_id": "B-1"})],
        stop_reason="tool_use",
        usage={"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 7},
    )
    reply = message("It is shipped.", usage={"input_tokens": 20, "output_tokens": 6})

    row = run(
        golden,
        load_system(golden),
        cassettes=empty(golden, "record"),
        upstream=FakeUpstream(call, reply),
        progress="none",
    ).iloc[0]

    assert (row["input_tokens"], row["output_tokens"]) == (30, 11)
    assert (row["cache_read_tokens"], row["cache_write_tokens"]) == (7, 0)
    assert row["tool_calls"] == [{"name": "lookup_order", "arguments": {"order_id": "B-1"}}]
    assert row["text"] == "It is shipped."
    assert row["stop_reason"] == "end_turn"
    assert len(row["request_keys"]) == 2
    assert row["model"] == "claude-haiku-5-5"


def test_an_application_that_apologises_for_a_miss_still_missed(golden: GoldenSet) -> None:
    async def answer(case: Case, client: anthropic.AsyncAnthropic) -> str:
        try:
            await client.messages.create(
                model="m", max_tokens=1, messages=[{"role": "user", "content": "x"}]
            )
        except Exception:
            return "Sorry, something went wrong."
        return "fine"

    outputs = run(golden, CallableSystem(answer), progress="none")

    assert outputs["na_reason"].tolist() == ["miss", "miss"]
    assert outputs["text"].isna().all()
    assert outputs["error"].str.startswith("not recorded: request ").all()


def test_a_miss_in_a_thread_of_the_application_is_counted(golden: GoldenSet) -> None:
    cassettes = empty(golden)

    def answer(case: Case, client: anthropic.Anthropic) -> str:
        def ask() -> str:
            try:
                client.messages.create(
                    model="m", max_tokens=1, messages=[{"role": "user", "content": "x"}]
                )
            except Exception:
                return "Sorry."
            return "fine"

        with ThreadPoolExecutor() as pool:
            return pool.submit(ask).result()

    outputs = run(golden, CallableSystem(answer), cassettes=cassettes, progress="none")

    assert outputs["na_reason"].tolist() == ["miss", "miss"]
    assert sorted(cassettes.misses_frame()["case_id"]) == ["hello", "order"]


def test_requests_of_the_applications_own_threads_are_counted(golden: GoldenSet) -> None:
    def answer(case: Case, client: anthropic.Anthropic) -> str:
        def ask() -> str:
            client.messages.create(
                model="claude-haiku-5-5",
                max_tokens=1,
                messages=[{"role": "user", "content": case.id}],
            )
            return case.id

        with ThreadPoolExecutor() as pool:
            return pool.submit(ask).result()

    upstream = FakeUpstream(message("Hi."))
    outputs = run(
        golden,
        CallableSystem(answer),
        cassettes=empty(golden, "record"),
        upstream=upstream,
        progress="none",
    )
    assert outputs["input_tokens"].tolist() == [12, 12]
    assert outputs["model"].tolist() == ["claude-haiku-5-5"] * 2
    assert all("x-evalnb-binding" not in request.headers for request in upstream.requests)


def test_an_answer_that_broke_off_is_missing_and_is_not_recorded(golden: GoldenSet) -> None:
    cassettes = empty(golden, "record")
    outputs = run(
        golden.slice(0, 1),
        load_system(golden),
        cassettes=cassettes,
        upstream=FakeUpstream(message("Half an ans", stop_reason=None)),
        progress="none",
    )
    assert outputs["na_reason"].tolist() == ["incomplete"]
    assert cassettes.keys() == []


def test_a_fault_that_the_application_swallows_stops_the_run(golden: GoldenSet) -> None:
    async def answer(case: Case, client: anthropic.AsyncAnthropic) -> str:
        try:
            await client.files.list()
        except Exception:
            return "Sorry."
        return "fine"

    with pytest.raises(InputError, match="cannot be recorded"):
        run(
            golden,
            CallableSystem(answer),
            cassettes=empty(golden, "record"),
            upstream=FakeUpstream(message()),
            progress="none",
        )


def test_an_error_text_that_cannot_be_written_is_mended(golden: GoldenSet) -> None:
    async def answer(case: Case, client: Any) -> str:
        raise RuntimeError("bad \ud800")

    outputs = run(golden, CallableSystem(answer), progress="none")
    assert outputs["error"].tolist() == ["RuntimeError: bad ?"] * 2


@pytest.mark.parametrize(
    ("failing", "reason"),
    [
        (error(400, "invalid_request_error"), "bad_request"),
        (error(500, "api_error"), "server"),
        (error(529, "overloaded_error"), "server"),
        (message("", content=[]), "empty"),
        (message(stop_reason="a_new_reason"), "unknown_stop"),
    ],
)
def test_what_befalls_one_case_is_its_row(golden: GoldenSet, failing: Any, reason: str) -> None:
    outputs = run(
        golden.slice(0, 1),
        load_system(golden),
        cassettes=empty(golden, "live"),
        upstream=FakeUpstream(failing),
        progress="none",
    )
    assert outputs["na_reason"].tolist() == [reason]


def test_a_refusal_of_the_system_is_an_outcome_and_not_missing(golden: GoldenSet) -> None:
    refusal = message(content=[], stop_reason="refusal")
    outputs = run(
        golden.slice(0, 1),
        load_system(golden),
        cassettes=empty(golden, "live"),
        upstream=FakeUpstream(refusal),
        progress="none",
    )
    assert outputs["na_reason"].isna().all()
    assert outputs["stop_reason"].tolist() == ["refusal"]


def test_an_exception_of_the_system_is_a_row_and_the_others_go_on(golden: GoldenSet) -> None:
    async def answer(case: Case, client: Any) -> str:
        if case.id == "hello":
            raise RuntimeError("no database")
        return "B-1 is here"

    outputs = run(golden, CallableSystem(answer), progress="none")

    assert outputs["na_reason"].tolist() == ["system_error", pd.NA]
    assert outputs["error"].tolist() == ["RuntimeError: no database", pd.NA]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (None, "TypeError: a system must return an Output or text. Got NoneType."),
        (7, "TypeError: a system must return an Output or text. Got int."),
        (Output(7), "TypeError: a system must return an Output or text. Got Output."),  # type: ignore[arg-type]
        (Output("x", [ToolCall("a", {"b": float("nan")})]), "ValueError: Out of range float"),
        (Output("x", [ToolCall("a", {1, 2})]), "TypeError: Object of type set"),
    ],
)
def test_an_answer_that_cannot_be_written_is_a_row(
    golden: GoldenSet, given: Any, error: str
) -> None:
    async def answer(case: Case, client: Any) -> Any:
        return given

    outputs = run(golden, CallableSystem(answer), progress="none")

    assert outputs["na_reason"].tolist() == ["system_error"] * 2
    assert outputs["error"].str.startswith(error).all()


def test_half_a_surrogate_pair_becomes_a_mark_that_can_be_written(golden: GoldenSet) -> None:
    async def answer(case: Case, client: Any) -> str:
        return "broken \ud800 text"

    outputs = run(golden, CallableSystem(answer), progress="none")
    assert outputs["text"].tolist() == ["broken ? text"] * 2


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, "authentication_error"), (403, "permission_error"), (404, "not_found_error")],
)
def test_an_error_that_every_case_would_meet_stops_the_run(
    golden: GoldenSet, status: int, kind: str
) -> None:
    upstream = FakeUpstream(error(status, kind))
    with pytest.raises(InputError, match="the run stopped at case"):
        run(
            golden,
            load_system(golden),
            cassettes=empty(golden, "live"),
            upstream=upstream,
            concurrency=1,
            progress="none",
        )
    assert len(upstream.requests) == 1


def test_a_case_that_does_not_fit_the_system_stops_the_run(tmp_path: Path) -> None:
    cases = [{"id": "a", "input": "x", "must_contain": ["y"], "tools": ["lookup_orders"]}]
    golden = make_suite(tmp_path, cases)
    with pytest.raises(InputError, match=r"unknown to v1\. Did you mean 'lookup_order'\?"):
        run(golden, load_system(golden), progress="none")


def test_a_damaged_cassette_stops_the_run_and_is_no_miss(golden: GoldenSet) -> None:
    record = empty(golden, "record")
    run(
        golden,
        load_system(golden),
        cassettes=record,
        upstream=FakeUpstream(message("Hello.")),
        progress="none",
    )
    path = record.folder / f"{record.keys()[0]}.json"
    path.write_text(path.read_text()[:-40])
    with pytest.raises(InputError, match=f"{path.name}.*record it again"):
        run(golden, load_system(golden), progress="none")


@pytest.mark.parametrize("config_folder", [False, True])
def test_without_credentials_nothing_is_asked(
    golden: GoldenSet, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, config_folder: bool
) -> None:
    for name in [name for name in os.environ if name.startswith("ANTHROPIC_")]:
        monkeypatch.delenv(name)
    if config_folder:
        monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path / "none"))
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(InputError, match="set ANTHROPIC_API_KEY"):
        run(golden, load_system(golden), mode="live", progress="none")


def test_no_more_answers_are_under_way_than_asked_for(golden: GoldenSet) -> None:
    under_way, most = 0, 0

    async def answer(case: Case, client: Any) -> str:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.01)
        under_way -= 1
        return "x"

    run(golden, CallableSystem(answer), repeats=6, concurrency=3, progress="none")
    assert most == 3


def test_repeats_replay_their_own_samples_under_concurrency(golden: GoldenSet) -> None:
    samples = [message(f"sample {number}") for number in range(12)]
    recorded = run(
        golden,
        load_system(golden),
        cassettes=empty(golden, "record"),
        upstream=FakeUpstream(*samples),
        repeats=6,
        progress="none",
    )
    replayed = run(golden, load_system(golden), repeats=6, concurrency=12, progress="none")

    assert recorded["text"].nunique() == 12
    assert replayed["text"].tolist() == recorded["text"].tolist()


def test_the_asynchronous_twin_serves_those_who_have_a_loop(golden: GoldenSet) -> None:
    async def answer(case: Case, client: Any) -> Output:
        return Output(f"for {case.id}")

    async def main() -> pd.DataFrame:
        return await run_async(golden, CallableSystem(answer), progress="none")

    assert asyncio.run(main())["text"].tolist() == ["for hello", "for order"]


def test_run_works_while_a_loop_is_running_as_in_a_notebook(golden: GoldenSet) -> None:
    async def answer(case: Case, client: Any) -> str:
        return "x"

    async def cell() -> pd.DataFrame:
        return run(golden, CallableSystem(answer), progress="none")

    assert len(asyncio.run(cell())) == 2


def test_bad_arguments_are_refused_by_name(golden: GoldenSet) -> None:
    with pytest.raises(ValueError, match=r"at least 1\. Got 0 and 8"):
        run(golden, load_system(golden), repeats=0)
    with pytest.raises(ValueError, match=r"progress must be .* Got 'loud'"):
        run(golden, load_system(golden), progress="loud")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="has no cassettes"):
        run(GoldenSet(golden.cases), load_system(golden))


def test_an_exception_inside_leaves_no_thread_behind() -> None:
    async def fail() -> None:
        raise LookupError("inside")

    started = time.monotonic()
    with pytest.raises(LookupError, match="inside"):
        run_sync(fail)
    assert time.monotonic() - started < 30


def test_replay_never_looks_for_a_key(golden: GoldenSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-marked")

    async def main() -> str | None:
        client = async_client(empty(golden))
        return client.api_key

    assert asyncio.run(main()) == "replay"


@pytest.mark.parametrize("error", [asyncio.CancelledError(), SystemExit(0)])
def test_a_system_that_cancels_or_exits_takes_no_other_answer_along(
    golden: GoldenSet, error: BaseException
) -> None:
    async def answer(case: Case, client: Any) -> str:
        if case.id == "hello":
            raise error
        await asyncio.sleep(0.02)
        return "B-1"

    outputs = run(golden, CallableSystem(answer), repeats=2, progress="none")

    assert outputs["na_reason"].tolist() == ["system_error", "system_error", pd.NA, pd.NA]


def test_a_key_that_an_error_repeats_is_taken_out(
    golden: GoldenSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-marked-secret")
    refusal = {"error": {"type": "invalid_request_error", "message": "Bearer sk-marked-secret"}}
    with serving(400, refusal) as url:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        outputs = run(golden, load_system(golden), mode="live", progress="none")
    assert outputs["na_reason"].tolist() == ["bad_request"] * 2
    assert outputs["error"].str.contains("[credentials]", regex=False).all()
    assert not outputs["error"].str.contains("sk-marked").any()


@pytest.mark.parametrize("usage", ["many", [1], {"input_tokens": "7"}, {"input_tokens": 3.5}])
def test_usage_that_is_no_count_is_not_known(golden: GoldenSet, usage: Any) -> None:
    outputs = run(
        golden.slice(0, 1),
        load_system(golden),
        cassettes=empty(golden, "record"),
        upstream=FakeUpstream(message("Hello.", usage=usage)),
        progress="none",
    )
    assert outputs["input_tokens"].isna().all()
    assert outputs["cost_usd"].isna().all()


@pytest.mark.parametrize("stop_reason", [7, [], {}])
def test_a_stop_reason_that_is_no_text_is_an_answer_that_broke_off(
    golden: GoldenSet, stop_reason: Any
) -> None:
    outputs = run(
        golden.slice(0, 1),
        load_system(golden),
        cassettes=empty(golden, "live"),
        upstream=FakeUpstream(message("Hello.", stop_reason=stop_reason)),
        progress="none",
    )
    assert outputs["na_reason"].tolist() == ["incomplete"]

"""Results of batches."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from evalnb.connections import AiohttpTransport
from evalnb.control import RunControl
from evalnb.judges.batches import BatchTransport
from tests.judges.batches.asking import FAST, Remembering, answer_of, ask, asked_of, intended, texts
from tests.standin import StandIn

if TYPE_CHECKING:
    from pathlib import Path


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


def test_a_batch_of_its_own_without_its_results_is_not_sent_again(path: Path) -> None:
    with StandIn(rules=[{"contains": "", "line": answer_of("another-1", message={})}]) as standin:
        asked = ask(standin, path, texts(5))
        assert standin.stats()["batches"] == 1
    assert asked.statuses == [500] * 5


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


def test_results_are_asked_at_no_address_that_the_answer_names(path: Path) -> None:
    with StandIn() as standin:
        standin.set(results_url=f"{standin.url}/v1/messages/batches/another/results")
        inner = Remembering()
        assert len(ask(standin, path, texts(3), inner=inner).texts) == 3
    assert inner.sent[-1].url.path == "/v1/messages/batches/msgbatch_00000001/results"


def test_results_are_asked_of_no_other_server(path: Path) -> None:
    with StandIn() as elsewhere, StandIn(results_url=f"{elsewhere.url}/results") as standin:
        asked = ask(standin, path, texts(3))
        assert elsewhere.stats()["by_status"] == {}
    assert len(asked.texts) == 3


@pytest.mark.parametrize("said", ["not a URL", "http://[::1", "//evil.example/x"])
def test_an_address_of_results_that_is_none_is_passed_over(path: Path, said: str) -> None:
    with StandIn(results_url=said) as standin:
        assert len(ask(standin, path, texts(3)).texts) == 3

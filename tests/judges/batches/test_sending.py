"""Putting requests into batches."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from evalnb.connections import AiohttpTransport
from evalnb.control import RunControl
from evalnb.frames import NaReason
from evalnb.judges.batches import BatchTransport
from evalnb.patience import RunStopped
from tests.judges.batches.asking import (
    CREATE,
    FAST,
    ask,
    body,
    full_bound_usd,
    lines,
    post,
    texts,
    without,
)
from tests.standin import StandIn

if TYPE_CHECKING:
    from pathlib import Path


def test_batches_that_never_get_an_answer_are_an_error(path: Path) -> None:
    with StandIn(rules=[{"contains": CREATE, "fault": "disconnect"}]) as standin:
        asked = ask(standin, path, texts(2))
        assert asked.statuses == [500, 500]
        standin.set(rules=[])
        assert len(ask(standin, path, texts(2)).texts) == 2
        assert standin.stats()["batches"] == 1


def test_a_batch_that_is_not_accepted_is_an_error_of_its_requests(path: Path) -> None:
    with StandIn(rules=[{"contains": CREATE, "fault": "400"}]) as standin:
        control = RunControl()
        asked = ask(standin, path, texts(3), control=control)
        assert standin.stats()["batches"] == 0
    assert asked.statuses == [400, 400, 400]
    assert control.fatal is None
    assert lines(path)[-1]["batch"] is None


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

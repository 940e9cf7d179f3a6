"""Waiting for the end of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.judges.batches.asking import ask, texts
from tests.standin import StandIn

if TYPE_CHECKING:
    from pathlib import Path


def test_a_batch_of_which_nothing_is_said_stays_on_disk(path: Path) -> None:
    rules = [{"contains": "GET /v1/messages/batches/msgbatch", "fault": "400"}]
    with StandIn(rules=rules) as standin:
        assert ask(standin, path, texts(3)).statuses == [500, 500, 500]
        standin.set(rules=[])
        assert len(ask(standin, path, texts(3)).texts) == 3
        assert standin.stats()["batches"] == 1

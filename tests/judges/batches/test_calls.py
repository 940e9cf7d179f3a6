"""Calls of the Batches API that fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evalnb.control import RunControl
from evalnb.patience import RunStopped
from tests.judges.batches.asking import CREATE, ask, texts, without
from tests.standin import StandIn

if TYPE_CHECKING:
    from pathlib import Path


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

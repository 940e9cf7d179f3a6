"""Batches that were sent without an answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from evalnb.control import RunControl
from evalnb.patience import RunStopped
from tests.judges.batches.asking import CREATE, ask, lines, texts, without
from tests.standin import StandIn

if TYPE_CHECKING:
    from pathlib import Path


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

"""What goes into one batch."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.judges.batches.asking import Remembering, ask, intended, texts
from tests.standin import StandIn

if TYPE_CHECKING:
    from pathlib import Path


def test_a_batch_has_no_more_requests_than_allowed(path: Path) -> None:
    with StandIn() as standin:
        asked = ask(standin, path, texts(25), max_requests=10)
        assert standin.stats()["batches"] == 3
    assert len(asked.texts) == 25
    assert [len(custom_ids) for custom_ids in intended(path)] == [10, 10, 5]


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

"""What requests cost in batches."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from evalnb.control import RunControl
from evalnb.prices import response_cost_usd
from tests.judges.batches.asking import MODEL, Counting, answer_of, ask, full_bound_usd, texts
from tests.standin import StandIn

if TYPE_CHECKING:
    from pathlib import Path


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


def test_a_budget_is_counted_at_the_price_of_batches(path: Path) -> None:
    # Ten requests cost 5 full bounds at most; setting aside needs one full bound for a moment.
    budget_usd = 5.5 * full_bound_usd(texts(1)[0])
    with StandIn() as standin:
        asked = ask(standin, path, texts(10), control=RunControl(budget_usd=budget_usd))
        assert standin.stats()["batches"] == 1
    assert len(asked.texts) == 10


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

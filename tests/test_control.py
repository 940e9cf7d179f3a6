from __future__ import annotations

import pytest

from evalnb.cassettes import bind
from evalnb.control import RunControl
from evalnb.errors import InputError
from evalnb.frames import NaReason
from evalnb.prices import request_bound_usd

# claude-fable-5-1 costs 10 (20 where it is written to the dearest cache) and 50 US dollars a
# million tokens; 99,900 bytes and 100 unseen tokens are 100,000 tokens at most. In the United
# States it is a tenth more.
BODY = {"model": "claude-fable-5-1", "max_tokens": 20_000}
BOUND = (100_000 * 10 + 20_000 * 50) / 1e6 * 1.1
CACHED = {"type": "ephemeral", "ttl": "1h"}


def test_a_request_costs_at_most_its_bytes_and_its_longest_answer() -> None:
    assert request_bound_usd(BODY, 99_900) == pytest.approx(BOUND)


def test_what_may_be_cached_counts_as_written_to_the_dearest_cache() -> None:
    body = {**BODY, "system": [{"type": "text", "text": "Hi.", "cache_control": CACHED}]}
    twice = (100_000 * 20 + 20_000 * 50) / 1e6 * 1.1
    assert request_bound_usd(body, 99_900) == pytest.approx(twice)


def test_searches_are_bounded_by_their_number() -> None:
    tools = [{"type": "web_search_20260209", "name": "web_search", "max_uses": 3}]
    # Tools may add 2,000 tokens: 0.022 US dollars. A search costs a cent.
    most = BOUND + 0.022 + 0.03
    assert request_bound_usd({**BODY, "tools": tools}, 99_900) == pytest.approx(most)
    del tools[0]["max_uses"]
    assert request_bound_usd({**BODY, "tools": tools}, 99_900) is None


def test_counting_tokens_and_the_local_model_cost_nothing() -> None:
    assert request_bound_usd({"model": "unknown"}, 1000) == 0
    assert request_bound_usd({"model": "smollm2-135m-instruct", "max_tokens": 9}, 1000) == 0


def test_money_that_is_set_aside_is_not_spent_twice() -> None:
    control = RunControl(budget_usd=2 * BOUND)
    assert control.reserve(BODY, 99_900) == pytest.approx(BOUND)
    assert control.reserve(BODY, 99_900) == pytest.approx(BOUND)
    assert control.reserve(BODY, 99_900) is None  # until one of the two is settled
    control.settle(BOUND, 0.01)
    assert control.reserve(BODY, 99_900) is None  # 0.01 is spent, and one is under way
    control.settle(BOUND, 0.01)
    assert control.reserve(BODY, 99_900) == pytest.approx(BOUND)
    assert control.stopped() is None


def test_a_request_that_could_exceed_the_budget_is_never_sent() -> None:
    control = RunControl(budget_usd=BOUND, spent_usd=0.001)
    assert control.reserve(BODY, 99_900) is NaReason.BUDGET


def test_a_run_that_has_spent_its_budget_begins_nothing() -> None:
    assert RunControl(budget_usd=1.0, spent_usd=1.0).stopped() is NaReason.BUDGET


def test_a_run_whose_time_is_up_begins_nothing() -> None:
    short, long = RunControl(max_minutes=1e-9), RunControl(max_minutes=60)
    assert short.stopped() is None  # it has not begun
    for control in (short, long):
        control.start()
    assert short.stopped() is NaReason.DEADLINE
    assert long.stopped() is None


def test_a_budget_needs_a_model_with_a_price() -> None:
    control = RunControl(budget_usd=1.0)
    with pytest.raises(InputError, match="the most that a request to 'mystery' can cost"):
        control.reserve({"model": "mystery", "max_tokens": 10}, 100)


def test_the_first_fault_stops_the_run_and_names_the_case() -> None:
    control = RunControl()
    calls: list[str] = []
    control.on_fatal = lambda: calls.append("stopped")
    with bind("refund-1", 1):
        control.stop(InputError("no key"))
    control.stop(InputError("another"))
    assert str(control.fatal) == "the run stopped at case refund-1: no key"
    assert calls == ["stopped"]

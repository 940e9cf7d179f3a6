"""Costs by hand, from the list prices of December 2026 in US dollars per million tokens."""

from __future__ import annotations

from typing import Any

import pytest

from evalnb.prices import response_cost_usd


def cost(model: str, stop_reason: str = "end_turn", **usage: Any) -> float | None:
    return response_cost_usd({"model": model, "stop_reason": stop_reason, "usage": usage})


def test_each_kind_of_token_has_its_price() -> None:
    # Sonnet 5.5: 2 in, 2.5 and 4 cache writes, 0.1 cache read, 10 out.
    usage: dict[str, Any] = {
        "input_tokens": 1000,
        "cache_creation_input_tokens": 300,
        "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 200},
        "cache_read_input_tokens": 5000,
        "output_tokens": 400,
    }
    by_hand = (1000 * 2 + 100 * 2.5 + 200 * 4 + 5000 * 0.1 + 400 * 10) / 1e6
    assert cost("claude-sonnet-5-5", **usage) == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("input_tokens", "cache_read", "dollars"),
    [
        (100_000, 0, (100_000 * 0.10 + 10 * 0.50) / 1e6),
        (100_001, 0, (100_001 * 0.50 + 10 * 2.50) / 1e6),
        (60_000, 40_001, (60_000 * 0.50 + 40_001 * 0.05 + 10 * 2.50) / 1e6),
    ],
)
def test_the_tier_follows_from_the_whole_prompt_of_the_request(
    input_tokens: int, cache_read: int, dollars: float
) -> None:
    found = cost(
        "claude-haiku-5-5",
        input_tokens=input_tokens,
        cache_read_input_tokens=cache_read,
        output_tokens=10,
    )
    assert found == pytest.approx(dollars)


def test_batch_place_and_searches_count() -> None:
    plain = cost("claude-opus-4-8", input_tokens=1_000_000, output_tokens=0)
    batch = cost("claude-opus-4-8", input_tokens=1_000_000, service_tier="batch")
    place = cost("claude-opus-4-8", input_tokens=1_000_000, inference_geo="us")
    searched = cost("claude-opus-4-8", server_tool_use={"web_search_requests": 3})
    assert (plain, batch) == (5.0, 2.5)
    assert searched == pytest.approx(0.03)
    assert place == pytest.approx(5.5)


def test_fast_mode_has_prices_of_its_own() -> None:
    assert cost("claude-opus-5", input_tokens=1_000_000, speed="fast") == 10.0
    assert cost("claude-sonnet-5-5", input_tokens=1_000_000, speed="fast") is None
    assert cost("claude-opus-5", cache_read_input_tokens=5, speed="fast") is None


def test_an_alias_costs_what_its_dated_id_costs() -> None:
    for name in ("claude-haiku-4-5", "claude-haiku-4-5-20251001"):
        assert cost(name, input_tokens=7) == pytest.approx(7e-6)


def test_an_unknown_model_has_no_cost_and_the_local_one_costs_nothing() -> None:
    assert cost("gpt-5", input_tokens=7) is None
    assert cost("smollm2-135m-instruct", input_tokens=7) == 0.0


def test_a_refusal_is_billed_only_after_output() -> None:
    assert cost("claude-opus-5-5", "refusal", input_tokens=1000, output_tokens=0) == 0.0
    assert cost("claude-opus-5-5", "refusal", input_tokens=1000, output_tokens=10) == (
        pytest.approx((1000 * 4 + 10 * 20) / 1e6)
    )


@pytest.mark.parametrize(
    "usage",
    [
        "much",
        {"input_tokens": "12"},
        {"input_tokens": -1},
        {"input_tokens": 10**30},
        {"cache_creation": "x"},
        {"cache_creation": {"ephemeral_1h_input_tokens": "3"}},
        {"server_tool_use": {"web_search_requests": "one"}},
    ],
)
def test_a_usage_that_cannot_be_read_has_no_price(usage: Any) -> None:
    assert response_cost_usd({"model": "claude-haiku-5-5", "usage": usage}) is None

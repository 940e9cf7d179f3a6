"""What a response costs, from the price table `prices.json`.

Cost is a sum over requests, never a function of totals: a model may have prices by the length of
each request's prompt.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from evalnb.names import LOCAL_MODEL

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["min_cacheable_tokens", "request_bound_usd", "response_cost_usd"]

_PER_TOKEN = 1e-6
_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
)
_MOST = 2**53
_UNSEEN_TOKENS = 100
_UNSEEN_TOOL_TOKENS = 2000
"""More than the API adds to a request of its own accord, and for tools and schemas."""


def response_cost_usd(response: Mapping[str, Any]) -> float | None:
    """Return what one response of the Messages API costs at list price.

    Parameters
    ----------
    response : a message with `model` and `usage`

    Returns
    -------
    US dollars; None for a model without a price in the table
        The local model costs nothing, nor does a refusal before any output. Batch, United States
        inference and web searches count as the usage says.
    """
    model, usage = response.get("model"), response.get("usage") or {}
    if not _is_readable(usage):
        return None
    if model == LOCAL_MODEL:
        return 0.0
    row = _rows().get(str(model))
    if row is None:
        return None
    if response.get("stop_reason") == "refusal" and not usage.get("output_tokens"):
        return 0.0
    rates = _rates(row, usage)
    if rates is None:
        return None
    tokens = sum(float(rates[kind]) * number for kind, number in _tokens(usage).items())
    searches = (usage.get("server_tool_use") or {}).get("web_search_requests") or 0
    return tokens * _PER_TOKEN * _multiplier(row, usage) + searches * _web_search_usd()


def request_bound_usd(body: Mapping[str, Any], n_bytes: int) -> float | None:
    """Return the most that one request of the Messages API can cost at list price.

    A token is at least a byte of the request; with any `cache_control` every one of them is taken
    to be written to the dearest cache. The answer is taken to be as long as it may.

    Parameters
    ----------
    body : the request
    n_bytes : its length as it is sent

    Returns
    -------
    US dollars; None where nobody can say: a model without a price, a web search without
    `max_uses`, a limit of tokens that is missing
    """
    model, max_tokens = body.get("model"), body.get("max_tokens")
    if model == LOCAL_MODEL or "max_tokens" not in body:  # counting tokens is free
        return 0.0
    row = _rows().get(str(model))
    searches = _most_searches(body)
    if row is None or searches is None or not isinstance(max_tokens, int):
        return None
    rows: list[Mapping[str, Any]] = row.get("tiers") or [row]
    if body.get("speed") == "fast":
        rows = [{**entry, **(row.get("fast_mode") or {})} for entry in rows]
    cached = "cache_control" in json.dumps(body)
    kinds = ("input", "cache_write_5m", "cache_write_1h") if cached else ("input",)
    unseen = _UNSEEN_TOKENS + _UNSEEN_TOOL_TOKENS * bool(body.keys() & {"tools", "output_config"})
    prompt = max(float(entry[kind]) for entry in rows for kind in kinds if kind in entry)
    output = max(float(entry["output"]) for entry in rows)
    tokens_usd = (prompt * (n_bytes + unseen) + output * max_tokens) * _PER_TOKEN
    return tokens_usd * float(_table()["multipliers"]["inference_geo_us"]) + searches


def min_cacheable_tokens(model: str) -> int | None:
    """Return how long a prompt's fixed part must be for a model's prompt cache; None: unknown."""
    found = _rows().get(model, {}).get("min_cacheable_tokens")
    return found if isinstance(found, int) else None


def _most_searches(body: Mapping[str, Any]) -> float | None:
    """Return what web searches can cost, None where their number has no limit."""
    tools = [tool for tool in body.get("tools") or () if isinstance(tool, dict)]
    searching = [tool for tool in tools if str(tool.get("type")).startswith("web_search")]
    uses = [tool.get("max_uses") for tool in searching]
    if not all(isinstance(number, int) for number in uses):
        return None
    return sum(number for number in uses if isinstance(number, int)) * _web_search_usd()


def _is_readable(usage: Any) -> bool:
    """Tell whether a usage has counts where counts are to be; an endpoint may say anything."""
    if not isinstance(usage, dict):
        return False
    parts = [usage.get(name) or {} for name in ("cache_creation", "server_tool_use")]
    if not all(isinstance(part, dict) for part in parts):
        return False
    creation, searches = parts
    counts = [
        *(usage.get(name) for name in _COUNTS),
        creation.get("ephemeral_1h_input_tokens"),
        searches.get("web_search_requests"),
    ]
    return all(count is None or (type(count) is int and 0 <= count < _MOST) for count in counts)


def _tokens(usage: Mapping[str, Any]) -> dict[str, int]:
    """Return the tokens of a request by the kind of their price."""
    written = usage.get("cache_creation_input_tokens") or 0
    hour = (usage.get("cache_creation") or {}).get("ephemeral_1h_input_tokens") or 0
    return {
        "input": usage.get("input_tokens") or 0,
        "cache_write_5m": written - hour,
        "cache_write_1h": hour,
        "cache_read": usage.get("cache_read_input_tokens") or 0,
        "output": usage.get("output_tokens") or 0,
    }


def _rates(row: Mapping[str, Any], usage: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the prices that hold for one request, in US dollars per million tokens."""
    if usage.get("speed") == "fast":
        # Cached tokens have no fast price in the table: such a request has no known cost.
        fast = row.get("fast_mode")
        cached = any(usage.get(f"cache_{kind}_input_tokens") for kind in ("creation", "read"))
        return None if fast is None or cached else {**row, **fast}
    if "tiers" not in row:
        return row
    tokens = _tokens(usage)
    prompt = sum(number for kind, number in tokens.items() if kind != "output")
    tiers: list[dict[str, Any]] = row["tiers"]
    limits = (tier["max_prompt_tokens"] for tier in tiers)
    return next(
        tier for tier, limit in zip(tiers, limits, strict=True) if limit is None or prompt <= limit
    )


def _multiplier(row: Mapping[str, Any], usage: Mapping[str, Any]) -> float:
    batch = row["batch_multiplier"] if usage.get("service_tier") == "batch" else 1.0
    place = _table()["multipliers"]["inference_geo_us"] if usage.get("inference_geo") == "us" else 1
    return float(batch * place)


def _web_search_usd() -> float:
    return float(_table()["other"]["web_search_per_1000"]) / 1000


@cache
def _rows() -> dict[str, dict[str, Any]]:
    models: dict[str, dict[str, Any]] = _table()["models"]
    aliases = {alias: row for row in models.values() for alias in row.get("aliases", ())}
    return {**models, **aliases}


@cache
def _table() -> dict[str, Any]:
    text = (files("evalnb") / "prices.json").read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)
    return table

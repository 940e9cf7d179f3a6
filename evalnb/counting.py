"""Tokens of requests as the API itself counts them, free of charge."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import anthropic
import anyio

from evalnb.clients import async_client
from evalnb.runner import run_sync

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import httpx2

    from evalnb.cassettes import Cassettes

__all__ = ["count_tokens"]

_COUNTED = ("model", "messages", "system", "tools", "tool_choice", "thinking", "output_config")
"""What the counting endpoint takes of a request."""
_AT_ONCE = 8
_TIMEOUT_S = 20.0


def count_tokens(
    requests: Sequence[Mapping[str, Any]],
    cassettes: Cassettes,
    upstream: httpx2.AsyncBaseTransport | None = None,
) -> list[int | None]:
    """Ask the API how many input tokens requests have.

    Parameters
    ----------
    requests : Messages API requests
    cassettes : that the counts go through, like any request
    upstream : where to ask; by default Anthropic's API, with the key from the environment

    Returns
    -------
    a number for each request, None where the API gave none

    Raises
    ------
    InputError
        If the API is to be asked and there are no credentials.
    """
    if not requests:
        return []
    return run_sync(partial(_count_all, requests, cassettes, upstream))


async def _count_all(
    requests: Sequence[Mapping[str, Any]],
    cassettes: Cassettes,
    upstream: httpx2.AsyncBaseTransport | None,
) -> list[int | None]:
    counts: list[int | None] = [None] * len(requests)
    limit = anyio.CapacityLimiter(_AT_ONCE)

    async def count(client: anthropic.AsyncAnthropic, number: int) -> None:
        asked: Any = {name: requests[number][name] for name in _COUNTED if name in requests[number]}
        async with limit:
            try:
                counted = await client.messages.count_tokens(**asked, timeout=_TIMEOUT_S)
            except anthropic.APIError:
                return
        counts[number] = counted.input_tokens

    async with async_client(cassettes, upstream) as client, anyio.create_task_group() as group:
        for number in range(len(requests)):
            group.start_soon(count, client, number)
    return counts

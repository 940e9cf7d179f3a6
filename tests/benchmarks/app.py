"""An application as people write them: the SDK, plainly used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.benchmarks.suite_files import request

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

    from evalnb.cases import Case


async def answer(case: Case, client: AsyncAnthropic) -> str:
    """Answer a case with one request."""
    message = await client.messages.create(**request(case.input or ""))
    return "".join(block.text for block in message.content if block.type == "text")

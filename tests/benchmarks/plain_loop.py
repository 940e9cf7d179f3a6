"""What one would write without evalnb: all cases of a suite, 64 at once, answers in a list.

python -m tests.benchmarks.plain_loop SUITE default|aiohttp
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import anthropic

from tests.benchmarks.suite_files import CONCURRENCY, request


async def main(suite: Path, transport: str) -> None:
    """Ask for every case."""
    with (suite / "cases.jsonl").open() as lines:
        cases = [json.loads(line) for line in lines]
    http_client = anthropic.DefaultAioHttpClient() if transport == "aiohttp" else None
    limit = asyncio.Semaphore(CONCURRENCY)
    async with anthropic.AsyncAnthropic(http_client=http_client) as client:

        async def answer(text: str) -> str:
            async with limit:
                message = await client.messages.create(**request(text))
            return "".join(block.text for block in message.content if block.type == "text")

        answers = await asyncio.gather(*(answer(case["input"]) for case in cases))
    print(len(answers))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))

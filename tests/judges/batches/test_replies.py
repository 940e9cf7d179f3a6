"""What a request is answered."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import httpx2

from evalnb.connections import AiohttpTransport
from evalnb.control import RunControl
from evalnb.judges.batches import BatchTransport
from tests.judges.batches.asking import FAST, MODEL, ask, post, texts
from tests.standin import StandIn

if TYPE_CHECKING:
    from pathlib import Path


def test_an_error_has_a_status_that_fits_it(path: Path) -> None:
    rules = [
        {"contains": "number 1 ", "fault": "400"},
        {"contains": "number 2 ", "fault": "529"},
        {"contains": "number 3 ", "fault": "batch_errored"},
    ]
    with StandIn(rules=rules) as standin:
        asked = ask(standin, path, texts(4))
    assert asked.statuses == [200, 400, 529, 500]
    error = {"type": "invalid_request_error", "message": "on demand"}
    assert asked.responses[1].json() == {"type": "error", "error": error}


def test_the_api_checks_requests_when_it_processes_them(path: Path) -> None:
    async def main() -> httpx2.Response:
        transport = BatchTransport(AiohttpTransport(), path, control=RunControl(), **FAST)
        try:
            return await transport.handle_async_request(post(standin.url, {"model": MODEL}))
        finally:
            await transport.aclose()

    with StandIn() as standin:
        response = asyncio.run(main())
    assert response.status_code == 400
    assert response.json()["error"]["message"] == "max_tokens: Field required"

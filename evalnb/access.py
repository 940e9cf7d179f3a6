"""What systems of our own ask through in replay: the cassettes alone, and no SDK call."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NoReturn

from evalnb.cassettes import bound
from evalnb.frames import NaReason
from evalnb.jsontext import writable_text
from evalnb.keys import canonical_message_request, endpoint_request, request_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalnb.cases import Case
    from evalnb.cassettes import Cassettes
    from evalnb.keys import CanonicalRequest
    from evalnb.systems import DirectSystem, Output

__all__ = ["ReplayAccess"]


class ReplayAccess:
    """Answers from cassettes in replay; an SDK client would be given just the same."""

    n_workers = 1
    """Nothing is waited for: more at once would be no faster."""

    def __init__(self, system: DirectSystem | None, cassettes: Cassettes) -> None:
        self._system = system
        self._cassettes = cassettes

    async def answer(self, case: Case) -> Output:
        """Let the system answer a case."""
        if self._system is None:
            raise ValueError("there is no system to answer: this access is for plain requests")
        return await self._system.answer_through(case, self)

    async def create(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the recorded response to a Messages API request."""
        return self._taken(canonical_message_request(request))

    async def post(
        self,
        url: str,
        body: Mapping[str, Any],
        *,
        version: str,
        headers: Mapping[str, str],  # noqa: ARG002 - never recorded
        timeout_s: float,  # noqa: ARG002 - nothing is waited for
    ) -> dict[str, Any]:
        """Return what an HTTP endpoint was recorded to answer."""
        content = json.dumps(body, ensure_ascii=False).encode()
        return self._taken(endpoint_request(url, content, version))

    def failure(self, error: BaseException) -> tuple[NaReason, str]:
        """Say what an error means for a case."""
        return NaReason.SYSTEM_ERROR, writable_text(f"{type(error).__name__}: {error}")

    async def aclose(self) -> None:
        """Close nothing: there is no connection."""

    def _taken(self, request: CanonicalRequest) -> dict[str, Any]:
        slot = self._cassettes.slot(request_key(request))
        exchange = self._cassettes.take(slot, request)
        if exchange is None:
            _not_replay()
        binding = bound()
        if binding is not None:
            binding.exchanges.append(exchange)
        return dict(exchange.response)


def _not_replay() -> NoReturn:
    raise ValueError("a `ReplayAccess` needs cassettes in replay")

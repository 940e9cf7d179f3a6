"""Which requests can go into a batch, and where those batches belong."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evalnb.judges.batches.reading import read_json

if TYPE_CHECKING:
    import httpx2

    from evalnb.judges.batches.reading import Json

__all__ = ["Route", "message_body"]

_MESSAGES_PATH = "/v1/messages"
_SENT_HEADERS = ("authorization", "x-api-key")
_SENT_HEADERS_PREFIX = "anthropic-"


@dataclass(frozen=True)
class Route:
    """Where batches of some requests belong, and with whose credentials."""

    url: httpx2.URL
    headers: tuple[tuple[str, str], ...] = field(repr=False)

    @classmethod
    def of(cls, request: httpx2.Request) -> Route:
        """Return the route of a request for a message."""
        headers = (
            (name, value)
            for name, value in request.headers.multi_items()
            if name.lower() in _SENT_HEADERS or name.lower().startswith(_SENT_HEADERS_PREFIX)
        )
        url = request.url.copy_with(path=f"{request.url.path}/batches")
        return cls(url, tuple(sorted(headers)))

    def below(self, *names: str) -> httpx2.URL:
        """Return the address of a batch, or of what belongs to it."""
        return self.url.copy_with(path="/".join([self.url.path, *names]))


def message_body(request: httpx2.Request, content: bytes) -> Json | None:
    """Return the body of a request for a message, None of any other request."""
    if request.method != "POST" or not request.url.path.endswith(_MESSAGES_PATH):
        return None
    body = read_json(content)
    return body if isinstance(body, dict) else None

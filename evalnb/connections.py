"""Connections to a model: the aiohttp client under an `httpx2` transport.

A response is read whole before anybody sees it, so that nothing of httpx2's streaming is needed;
aiohttp takes half the time of httpx2's own connections.
"""

from __future__ import annotations

import asyncio
import threading
import urllib.request
from typing import TYPE_CHECKING

import aiohttp
import httpx2

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["AiohttpTransport", "HttpTransport"]

_CONNECT_S = 10.0
# aiohttp writes them itself.
_OWN_HEADERS = frozenset({"accept-encoding", "connection", "content-length", "transfer-encoding"})
_ENCODINGS = ("accept-encoding", "gzip, deflate")  # what aiohttp decodes without further packages


class AiohttpTransport(httpx2.AsyncBaseTransport):
    """Sends requests by aiohttp, through the proxies that the environment names at the first one.

    It belongs to the event loop of its first request.
    """

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._proxies: dict[tuple[str, str], str | None] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and read its response whole.

        Raises
        ------
        httpx2.TransportError
            If there is no response.
        """
        headers = [
            (name, value)
            for name, value in request.headers.multi_items()
            if name.lower() not in _OWN_HEADERS
        ]
        try:
            async with self._open().request(
                request.method,
                str(request.url),
                data=await request.aread(),
                headers=[*headers, _ENCODINGS],
                allow_redirects=False,
                proxy=self._proxy(request.url),
            ) as response:
                content = await response.read()
                return httpx2.Response(
                    response.status,
                    headers=_described(response),
                    content=content,
                    request=request,
                )
        except TimeoutError as error:
            raise httpx2.ConnectTimeout(str(error) or "timed out", request=request) from error
        except aiohttp.ClientConnectorError as error:
            raise httpx2.ConnectError(str(error), request=request) from error
        except (aiohttp.ClientError, OSError, asyncio.IncompleteReadError) as error:
            raise httpx2.ReadError(str(error) or type(error).__name__, request=request) from error

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            # How many requests are under way at once is decided above.
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    def _proxy(self, url: httpx2.URL) -> str | None:
        """Return the proxy for a URL; aiohttp itself would read the environment every time."""
        place = (url.scheme, url.host)
        if place not in self._proxies:
            proxies = urllib.request.getproxies()
            bypassed = urllib.request.proxy_bypass(url.host)
            self._proxies[place] = None if bypassed else proxies.get(url.scheme)
        return self._proxies[place]


class HttpTransport(httpx2.BaseTransport):
    """Sends requests of synchronous clients; made for the first one, since TLS takes time."""

    def __init__(self) -> None:
        self._transport: httpx2.HTTPTransport | None = None
        self._lock = threading.Lock()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request."""
        with self._lock:
            if self._transport is None:
                self._transport = httpx2.HTTPTransport()
        return self._transport.handle_request(request)

    def close(self) -> None:
        """Close the connections."""
        if self._transport is not None:
            self._transport.close()


def _described(response: aiohttp.ClientResponse) -> list[tuple[str, str]]:
    """Return the headers without those of the bytes as they travelled: they are decoded here."""
    dropped = ("content-encoding", "content-length", "transfer-encoding")
    return [
        (name, value) for name, value in response.headers.items() if name.lower() not in dropped
    ]

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
        self._proxies = _Proxies()

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
                proxy=self._proxies(request.url),
                timeout=_timeout(request),
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
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session


class HttpTransport(httpx2.BaseTransport):
    """Sends requests of synchronous clients, through the proxies that the environment names.

    Connections are made for the first request, since TLS takes time.
    """

    def __init__(self) -> None:
        self._transports: dict[str | None, httpx2.HTTPTransport] = {}
        self._proxies = _Proxies()
        self._lock = threading.Lock()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request."""
        with self._lock:
            proxy = self._proxies(request.url)
            if proxy not in self._transports:
                self._transports[proxy] = httpx2.HTTPTransport(proxy=proxy)
        return self._transports[proxy].handle_request(request)

    def close(self) -> None:
        """Close the connections."""
        for transport in self._transports.values():
            transport.close()


class _Proxies:
    """The proxies that the environment names, looked up once a host."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str | None] = {}

    def __call__(self, url: httpx2.URL) -> str | None:
        """Return the proxy for a URL, None where there is none."""
        place = (url.scheme, url.host)
        if place not in self._known:
            bypassed = urllib.request.proxy_bypass(url.host)
            proxies = {} if bypassed else urllib.request.getproxies()
            self._known[place] = proxies.get(url.scheme)
        return self._known[place]


def _timeout(request: httpx2.Request) -> aiohttp.ClientTimeout:
    seconds: dict[str, float | None] = request.extensions.get("timeout") or {}
    return aiohttp.ClientTimeout(
        total=None,
        sock_connect=seconds.get("connect", _CONNECT_S),
        sock_read=seconds.get("read"),
    )


def _described(response: aiohttp.ClientResponse) -> list[tuple[str, str]]:
    """Return the headers without those of the bytes as they travelled: they are decoded here."""
    dropped = ("content-encoding", "content-length", "transfer-encoding")
    return [
        (name, value) for name, value in response.headers.items() if name.lower() not in dropped
    ]

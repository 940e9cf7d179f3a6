"""`anthropic` clients that carry a cassette, and the access to a model that a run has by them."""

from __future__ import annotations

import json
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import anthropic
import anyio
import anyio.to_thread
import httpx2
from anthropic._base_client import get_platform

from evalnb.cassettes import BINDING_HEADER, bound
from evalnb.connections import AiohttpTransport, HttpTransport
from evalnb.errors import InputError
from evalnb.frames import NaReason
from evalnb.jsontext import writable_text
from evalnb.judges.batches import BatchTransport
from evalnb.keys import canonical_message_request, endpoint_request
from evalnb.pace import MAX_ATTEMPTS, Pace
from evalnb.patience import PatientTransport
from evalnb.systems import CallableSystem, DirectSystem
from evalnb.transport import ENDPOINT, TIMEOUT_S, CassetteTransport, Upstream

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from evalnb.cases import Case
    from evalnb.cassettes import Cassettes
    from evalnb.control import RunControl
    from evalnb.keys import CanonicalRequest
    from evalnb.systems import Output, System

__all__ = ["REPLAY_KEY", "SdkAccess", "async_client", "sync_client"]


REPLAY_KEY = "replay"
"""Stands where the SDK wants a key and none is needed."""

_SDK_RETRIES = 2
_SHOWN_BYTES = 500
_SHORTEST_SECRET = 6
_OWN_ARGUMENTS = ("model", "max_tokens", "messages", "system", "tools")


def async_client(
    cassettes: Cassettes, upstream: httpx2.AsyncBaseTransport | None = None
) -> anthropic.AsyncAnthropic:
    """Return an asynchronous client; it belongs to the event loop that makes it.

    Parameters
    ----------
    cassettes : where responses are taken from and stored
    upstream : where to ask for what is not recorded; by default Anthropic's API, with the key
        from the environment. Never used, nor a key looked for, in replay.

    Raises
    ------
    InputError
        If the API is to be asked and there are no credentials.
    """
    needs_key = upstream is None and cassettes.mode != "replay"
    asked = AiohttpTransport() if needs_key else upstream
    transport = CassetteTransport(
        cassettes, async_upstream=None if cassettes.mode == "replay" else asked
    )
    return _async_client(transport, needs_key=needs_key, max_retries=_SDK_RETRIES)


def sync_client(
    cassettes: Cassettes, upstream: httpx2.BaseTransport | None = None
) -> anthropic.Anthropic:
    """Return a synchronous client; parameters and errors as for `async_client`."""
    needs_key = upstream is None and cassettes.mode != "replay"
    asked = HttpTransport() if needs_key else upstream
    transport = CassetteTransport(cassettes, upstream=None if cassettes.mode == "replay" else asked)
    return _sync_client(transport, needs_key=needs_key, max_retries=_SDK_RETRIES)


class SdkAccess:
    """What a run asks through: the SDK, the cassette below it, and below that a patient upstream.

    Parameters
    ----------
    system : what answers; None where plain requests alone are made
    cassettes : where responses are taken from and stored
    upstream : where to ask for what they do not hold; None for Anthropic's API
    control : bounds of the run
    pace : how long to wait after a failure
    concurrency : how many requests are under way at once
    needs_key : whether it is Anthropic's API that is asked
    batches : where it is kept which plain request is in which batch; None to ask one by one

    Raises
    ------
    InputError
        If the API is to be asked and there are no credentials.
    """

    def __init__(
        self,
        system: System | DirectSystem | None,
        cassettes: Cassettes,
        upstream: Upstream | None,
        *,
        control: RunControl,
        pace: Pace,
        concurrency: int,
        needs_key: bool,
        batches: Path | None = None,
    ) -> None:
        self._system = system
        self._direct = system if isinstance(system, DirectSystem) else None
        self._needs_key = needs_key
        # A case that waits to ask again must not keep another from asking.
        self.n_workers = concurrency if cassettes.mode == "replay" else 2 * concurrency
        asked = None
        if cassettes.mode != "replay":
            asked = PatientTransport(
                upstream or HttpTransport(),
                upstream or AiohttpTransport(),
                control=control,
                pace=pace,
                concurrency=concurrency,
                max_attempts=upstream.max_attempts if upstream else MAX_ATTEMPTS,
            )
        collected = None
        if asked is not None and batches is not None:
            collected = BatchTransport(upstream or AiohttpTransport(), batches, control=control)
        self._transport = CassetteTransport(cassettes, asked, collected or asked)
        self._asynchronous = _async_client(self._transport, needs_key=needs_key)
        self._platform = get_platform()
        self._synchronous: anthropic.Anthropic | None = None
        self._threads = anyio.CapacityLimiter(self.n_workers)
        self._timeout_s = control.timeout_s
        self._url = self._asynchronous.base_url.join("v1/messages")
        self._headers = _direct_headers(self._asynchronous)

    async def answer(self, case: Case) -> Output | str:
        """Let the system answer a case; a synchronous function runs on a thread of its own."""
        if self._direct is not None:
            return await self._direct.answer_through(case, self)
        binding = bound()
        # The client says whose it is, since not every thread inherits a context variable.
        headers = {BINDING_HEADER: binding.token} if binding else {}
        if isinstance(self._system, CallableSystem) and not self._system.is_async:
            client = self._synchronous_client().with_options(default_headers=headers)
            function: Any = partial(self._system.function, case, client)
            return await anyio.to_thread.run_sync(
                function, abandon_on_cancel=True, limiter=self._threads
            )
        asked: System = self._system  # type: ignore[assignment]
        own = self._asynchronous.with_options(default_headers=headers)
        own._platform = self._platform  # else each copy looks for it on another thread
        return await asked.answer(case, own)

    async def create(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the response to a Messages API request, as the API gave it.

        What the SDK would make of both is not needed: the request is plain JSON already.

        Raises
        ------
        RequestError
            If there is no response that can be used.
        """
        if self._headers is None:  # credentials that the SDK has to renew
            return await self._create_by_sdk(request)
        sent = httpx2.Request(
            "POST",
            self._url,
            headers=self._headers,
            content=json.dumps(request, ensure_ascii=False).encode(),
        )
        return await self._asked(sent, canonical_message_request(request))

    async def _create_by_sdk(self, request: Mapping[str, Any]) -> dict[str, Any]:
        own = {name: request[name] for name in _OWN_ARGUMENTS if name in request}
        further = {name: value for name, value in request.items() if name not in own}
        # The client's own arguments come and go with its version; the API decides on the rest.
        raw = await self._asynchronous.messages.with_raw_response.create(
            **own, extra_body=further, timeout=self._timeout_s
        )
        response: dict[str, Any] = json.loads(raw.http_response.content)
        return response

    async def post(
        self,
        url: str,
        body: Mapping[str, Any],
        *,
        version: str,
        headers: Mapping[str, str],
        timeout_s: float,
    ) -> dict[str, Any]:
        """Return the JSON object that an HTTP endpoint answers; headers are never recorded.

        Raises
        ------
        RequestError
            If it answers anything else, or not in time.
        """
        content = json.dumps(body, ensure_ascii=False).encode()
        request = httpx2.Request(
            "POST",
            url,
            headers={**headers, "content-type": "application/json"},
            content=content,
            extensions={ENDPOINT: version, TIMEOUT_S: timeout_s},
        )
        try:
            return await self._asked(request, endpoint_request(str(request.url), content, version))
        except RequestError as error:
            raise RequestError(error.status, _without(str(error), headers.values())) from error

    async def _asked(self, request: httpx2.Request, canonical: CanonicalRequest) -> dict[str, Any]:
        try:
            exchange, response = await self._transport.exchange(request, canonical)
        except httpx2.TransportError as error:
            raise RequestError(0, f"no answer: {error}") from error
        if exchange is not None:
            return dict(exchange.response)
        if response is None or response.status_code == 200:
            raise RequestError(200, "the answer broke off, or is no JSON object")
        said = writable_text(response.content[:_SHOWN_BYTES].decode(errors="replace"))
        raise RequestError(response.status_code, f"status {response.status_code}: {said}")

    def failure(self, error: BaseException) -> tuple[NaReason, str]:
        """Say what an error means for a case, without the credentials that it may repeat."""
        text = writable_text(f"{type(error).__name__}: {error}")
        for secret in (self._asynchronous.api_key, self._asynchronous.auth_token):
            if secret and secret != REPLAY_KEY:
                text = text.replace(secret, "[credentials]")
        match error:
            case anthropic.BadRequestError() | RequestError(status=400):
                return NaReason.BAD_REQUEST, text
            case anthropic.APIError() | RequestError():
                return NaReason.SERVER, text
            case _:
                return NaReason.SYSTEM_ERROR, text

    async def aclose(self) -> None:
        """Close the clients, and their connections with them."""
        if self._synchronous is not None:
            self._synchronous.close()
        await self._asynchronous.close()

    def _synchronous_client(self) -> anthropic.Anthropic:
        if self._synchronous is None:
            self._synchronous = _sync_client(self._transport, needs_key=self._needs_key)
        return self._synchronous


class RequestError(Exception):
    """A request of a system of our own that got no answer that can be used."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


def _without(text: str, secrets: Iterable[str]) -> str:
    """Take out of a text what a server may have repeated of a request's headers."""
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "[credentials]")
    return text


def _direct_headers(client: anthropic.AsyncAnthropic) -> dict[str, str] | None:
    """Return what a request without the SDK needs, None where its credentials may change."""
    if client.api_key is None:
        return None
    return {
        name: value
        for name, value in client.default_headers.items()
        if isinstance(value, str) and not name.lower().startswith("x-stainless-")
    }


def _async_client(
    transport: CassetteTransport, *, needs_key: bool, max_retries: int = 0
) -> anthropic.AsyncAnthropic:
    http_client = anthropic.DefaultAsyncHttpxClient(transport=transport)
    if not needs_key:
        return anthropic.AsyncAnthropic(
            api_key=REPLAY_KEY, max_retries=0, open_telemetry=False, http_client=http_client
        )
    with _credentials_needed():
        client = anthropic.AsyncAnthropic(max_retries=max_retries, http_client=http_client)
    _check_credentials(client)
    return client


def _sync_client(
    transport: CassetteTransport, *, needs_key: bool, max_retries: int = 0
) -> anthropic.Anthropic:
    http_client = anthropic.DefaultHttpxClient(transport=transport)
    if not needs_key:
        return anthropic.Anthropic(
            api_key=REPLAY_KEY, max_retries=0, open_telemetry=False, http_client=http_client
        )
    with _credentials_needed():
        client = anthropic.Anthropic(max_retries=max_retries, http_client=http_client)
    _check_credentials(client)
    return client


_NO_CREDENTIALS = (
    "there are no credentials for Anthropic's API: set ANTHROPIC_API_KEY, or record from the "
    "local model with `evalnb record SUITE --upstream local`"
)


@contextmanager
def _credentials_needed() -> Iterator[None]:
    try:
        yield
    except anthropic.CredentialsError as error:
        raise InputError(f"{_NO_CREDENTIALS}\n{error}") from error


def _check_credentials(client: anthropic.Anthropic | anthropic.AsyncAnthropic) -> None:
    """Say before the first case, and not after the last, that there is no key."""
    if client.api_key is None and client.auth_token is None and client.credentials is None:
        raise InputError(_NO_CREDENTIALS)

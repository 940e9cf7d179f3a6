"""`anthropic` clients that carry a cassette."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import anthropic
import httpx2

from evalnb.errors import InputError
from evalnb.names import LOCAL_MODEL
from evalnb.transport import CassetteTransport, Upstream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evalnb.cassettes import Cassettes

__all__ = ["REPLAY_KEY", "async_client", "sync_client", "upstream_of"]


REPLAY_KEY = "replay"
"""Stands where the SDK wants a key and none is needed."""


def upstream_of(system: object) -> Upstream | None:
    """Return where a system's model is to be asked; None stands for the API of Anthropic."""
    if getattr(system, "model", None) != LOCAL_MODEL:
        return None
    from evalnb.local import LocalTransport

    return LocalTransport()


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
    transport = CassetteTransport(
        cassettes,
        async_upstream=None
        if cassettes.mode == "replay"
        else upstream or httpx2.AsyncHTTPTransport(),
    )
    http_client = anthropic.DefaultAsyncHttpxClient(transport=transport)
    if cassettes.mode == "replay" or upstream is not None:
        return anthropic.AsyncAnthropic(
            api_key=REPLAY_KEY, max_retries=0, open_telemetry=False, http_client=http_client
        )
    with _credentials_needed():
        client = anthropic.AsyncAnthropic(http_client=http_client)
    _check_credentials(client)
    return client


def sync_client(
    cassettes: Cassettes, upstream: httpx2.BaseTransport | None = None
) -> anthropic.Anthropic:
    """Return a synchronous client; parameters and errors as for `async_client`."""
    transport = CassetteTransport(
        cassettes,
        upstream=None if cassettes.mode == "replay" else upstream or httpx2.HTTPTransport(),
    )
    http_client = anthropic.DefaultHttpxClient(transport=transport)
    if cassettes.mode == "replay" or upstream is not None:
        return anthropic.Anthropic(
            api_key=REPLAY_KEY, max_retries=0, open_telemetry=False, http_client=http_client
        )
    with _credentials_needed():
        client = anthropic.Anthropic(http_client=http_client)
    _check_credentials(client)
    return client


_NO_CREDENTIALS = (
    "there are no credentials for Anthropic's API: set ANTHROPIC_API_KEY, or record from the "
    "local model with `--upstream local`"
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

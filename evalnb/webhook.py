"""Posting a notice to a webhook: once, in a short time, whatever comes of it.

The URL is a secret: whoever has it can post. It comes from the environment alone, and stands in
no message, file or log of ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic_core import to_json

from evalnb.runner import run_sync

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["WEBHOOK", "post_notice"]

WEBHOOK = "EVALNB_WEBHOOK_URL"
"""The environment variable with the URL."""

_TIMEOUT_S = 10.0


def post_notice(
    notice: Mapping[str, Any], environment: Mapping[str, str], *, timeout_s: float = _TIMEOUT_S
) -> str | None:
    """Post a notice where the environment says; no redirect is followed.

    Parameters
    ----------
    notice : an object of JSON values
    environment : of the process; nothing is posted where `EVALNB_WEBHOOK_URL` is not set
    timeout_s : for all of it

    Returns
    -------
    why it could not be posted, without the URL; None where it was, or there is nowhere to
    """
    url = environment.get(WEBHOOK, "").strip()
    if not url:
        return None
    try:
        if urlsplit(url).scheme not in ("http", "https"):
            return f"{WEBHOOK} must be a URL that starts with https:// or http://"
        status = run_sync(_post, url, to_json(dict(notice)), timeout_s)
    except TimeoutError:
        return f"the webhook gave no answer within {timeout_s:g} s"
    except Exception as error:  # noqa: BLE001 - a run is no worse for it
        # What the error says may hold the URL.
        return f"the webhook could not be reached ({type(error).__name__})"
    if 300 <= status < 400:
        return f"the webhook redirects (status {status}), which is not followed: give its own URL"
    return None if 200 <= status < 300 else f"the webhook answered with status {status}"


async def _post(url: str, body: bytes, timeout_s: float) -> int:
    import aiohttp

    async with (
        aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=timeout_s), trust_env=True
        ) as session,
        session.post(
            url, data=body, headers={"content-type": "application/json"}, allow_redirects=False
        ) as response,
    ):
        return response.status

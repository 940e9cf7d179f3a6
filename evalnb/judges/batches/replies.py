"""What a request is answered: the message of its result, or an error as the API would say it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx2

from evalnb.frames import NaReason
from evalnb.judges.batches.costs import of_batch
from evalnb.patience import error_of
from evalnb.transport import LATENCY

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MOST_SUBMISSIONS", "Outcome", "Reply", "error_reply", "failure_reply", "result_reply"]

MOST_SUBMISSIONS = 2
"""In how many batches a request is sent before it is an error that none processed it."""
_STATUS = {"invalid_request_error": 400, "overloaded_error": 529}


@dataclass(frozen=True)
class Reply:
    """A response to be: a message, or an error as the API would say it."""

    status: int
    body: Mapping[str, Any]

    def response(self, request: httpx2.Request) -> httpx2.Response:
        """Return it as the response to a request, without a latency."""
        headers = {"content-type": "application/json"}
        if self.status != 200:  # an SDK that asked again by itself would wait for another batch
            headers["x-should-retry"] = "false"
        return httpx2.Response(
            self.status,
            headers=headers,
            content=json.dumps(self.body).encode(),
            request=request,
            extensions={LATENCY: None},
        )


Outcome = Reply | NaReason | Exception | None
"""What became of a request; None where the run ended first."""


def result_reply(result: Mapping[str, Any]) -> Reply:
    """Return what the request of a result is answered.

    Parameters
    ----------
    result : as the API gave it, untrusted; {} where it gave none that can be read

    Examples
    --------
    >>> result_reply({"type": "expired"}).status, result_reply({}).status
    (500, 500)
    """
    match result:
        case {"type": "succeeded", "message": dict(message)}:
            return Reply(200, of_batch(message))
        case {"type": "errored", "error": {"error": dict(said)}}:
            body = {"type": "error", "error": said}
            return Reply(_STATUS.get(str(said.get("type")), 500), body)
        case {"type": "expired" | "canceled" as kind}:
            return error_reply(
                500, "api_error", f"the request was {kind} in {MOST_SUBMISSIONS} batches"
            )
    return error_reply(500, "api_error", "the batch has no result of this request that can be read")


def failure_reply(response: httpx2.Response | None) -> Reply:
    """Return what the requests of a call are answered that came to nothing.

    Parameters
    ----------
    response : to the call; None where there was none
    """
    if response is None:
        return error_reply(500, "api_error", "no answer of the Batches API")
    said = error_of(response) if response.status_code >= 400 else {}
    if not said:
        return error_reply(500, "api_error", f"status {response.status_code} of the Batches API")
    return Reply(response.status_code, {"type": "error", "error": said})


def error_reply(status: int, kind: str, message: str) -> Reply:
    """Return an error in the form of the API.

    Examples
    --------
    >>> error_reply(413, "request_too_large", "too many bytes").body["error"]["type"]
    'request_too_large'
    """
    return Reply(status, {"type": "error", "error": {"type": kind, "message": message}})

"""What requests cost in a batch: half as much, said by the usage of their messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.prices import response_cost_usd

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalnb.control import RunControl
    from evalnb.frames import NaReason
    from evalnb.judges.batches.reading import Json

__all__ = ["of_batch", "reserve", "result_cost_usd"]


def reserve(control: RunControl, body: Mapping[str, Any], n_bytes: int) -> float | NaReason | None:
    """Set aside what a request can cost in a batch; returns as `RunControl.reserve`."""
    reserved = control.reserve(body, n_bytes)
    if not isinstance(reserved, float) or not reserved or body.get("tools"):
        return reserved  # web searches have their full price
    kept = reserved * _batch_share(str(body.get("model")))
    control.settle(reserved - kept, 0.0)
    return kept


def result_cost_usd(result: Mapping[str, Any], reserved: float) -> float:
    """Return what a result cost; where it does not say, what it can have cost at most."""
    match result:
        case {"type": "succeeded", "message": dict(message)}:
            cost_usd = response_cost_usd(of_batch(message))
            return reserved if cost_usd is None else cost_usd
        case {"type": "errored" | "expired" | "canceled"}:
            return 0.0
    return reserved


def of_batch(message: Json) -> Json:
    """Return a message whose usage says that it has the price of a batch.

    Examples
    --------
    >>> of_batch({"id": "msg_1", "usage": {"input_tokens": 9}})
    {'id': 'msg_1', 'usage': {'input_tokens': 9, 'service_tier': 'batch'}}
    """
    usage = message.get("usage")
    if not isinstance(usage, dict) or usage.get("service_tier"):
        return message
    return {**message, "usage": {**usage, "service_tier": "batch"}}


def _batch_share(model: str) -> float:
    """Return the price of a model's tokens in a batch, as a share of their full price."""
    usage = {"input_tokens": 1000}
    full = response_cost_usd({"model": model, "usage": usage})
    in_batch = response_cost_usd({"model": model, "usage": {**usage, "service_tier": "batch"}})
    return in_batch / full if full and in_batch else 1.0

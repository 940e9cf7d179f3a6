"""The shop behind the bot: its tools have effects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class Shop:
    def __init__(self) -> None:
        self.refunded_cents: list[int] = []

    def lookup_order(self, order_id: str) -> dict[str, Any]:
        return {"order_id": order_id, "state": "sent"}

    def refund(self, amount_cents: int) -> str:
        self.refunded_cents.append(amount_cents)
        return "refunded"

    def run_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        tools: dict[str, Callable[..., Any]] = {
            "lookup_order": self.lookup_order,
            "refund": self.refund,
        }
        return tools[name](**arguments)


SHOP = Shop()

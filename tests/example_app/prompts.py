"""What the bot tells its models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anthropic.types import ToolParam

MODEL = "claude-haiku-5-5"
PERSONA = "Answer in one sentence."
TOPICS = "Name the topic of the conversation: orders, refunds or other. One word."
SUMMARY = "Sum up the conversation for the next colleague."

TOOLS: list[ToolParam] = [
    {
        "name": "lookup_order",
        "description": "Look up an order.",
        "input_schema": {"type": "object", "properties": {"order_id": {"type": "string"}}},
    },
    {
        "name": "refund",
        "description": "Refund an order, in cents.",
        "input_schema": {"type": "object", "properties": {"amount_cents": {"type": "integer"}}},
    },
]


def system_prompt(session: Mapping[str, Any]) -> str:
    lines = [f"- {name}: {value}" for name, value in session.items()]
    return "\n\n".join([PERSONA, *(["\n".join(["Session:", *lines])] if lines else [])])


def with_passages(question: Any, passages: Iterable[tuple[str | None, str]]) -> Any:
    shown = [f"[{name}] {text}" if name else text for name, text in passages]
    if not shown:
        return question
    return "\n".join(["Context:", *shown]) + f"\n\nQuestion: {question}"

"""The bot: a streamed conversation with tools, and what is made of it for colleagues."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.example_app.prompts import MODEL, SUMMARY, TOOLS, TOPICS, system_prompt
from tests.example_app.shop import SHOP

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anthropic import Anthropic, AsyncAnthropic
    from anthropic.types import Message, MessageParam, ToolResultBlockParam, ToolUseBlock

RunTool = Callable[[str, dict[str, Any]], Any]
MAX_ROUNDS = 4


@dataclass
class Reply:
    text: str = ""
    topic: str | None = None
    stop_reason: str | None = None
    model: str | None = None
    messages: list[dict[str, Any]] = field(default_factory=list)
    usage: dict[str, int] = field(default_factory=dict)

    def count(self, message: Message) -> None:
        for name in ("input_tokens", "output_tokens"):
            self.usage[name] = self.usage.get(name, 0) + getattr(message.usage, name)


class SupportBot:
    def __init__(
        self,
        client: AsyncAnthropic,
        run_tool: RunTool = SHOP.run_tool,
        on_text: Callable[[str], Any] = str,
    ) -> None:
        self.client = client
        self.fast = client.with_options(timeout=5.0, max_retries=1)
        self.run_tool = run_tool
        self.on_text = on_text

    async def handle(
        self,
        conversation: list[Any],
        session: Mapping[str, Any],
        tools: list[str] | None = None,
    ) -> Reply:
        """Classify a conversation, then reply to it."""
        topic = await self.topic(conversation)
        reply = await self.reply(conversation, session, tools)
        reply.topic = topic
        return reply

    async def topic(self, conversation: list[Any]) -> str:
        asked = await self.fast.messages.create(
            model=MODEL, max_tokens=5, system=TOPICS, messages=conversation
        )
        return _text(asked).strip().lower()

    async def reply(
        self,
        conversation: list[Any],
        session: Mapping[str, Any],
        tools: list[str] | None = None,
    ) -> Reply:
        offered = [tool for tool in TOOLS if tools is None or tool["name"] in tools]
        reply = Reply()
        for _ in range(MAX_ROUNDS):
            message = await self._stream([*conversation, *reply.messages], session, offered)
            reply.count(message)
            reply.messages.append({"role": "assistant", "content": _blocks(message)})
            reply.text, reply.stop_reason = _text(message), message.stop_reason
            reply.model = message.model
            calls = [block for block in message.content if block.type == "tool_use"]
            if not calls:
                break
            reply.messages.append(
                {"role": "user", "content": [self._result(call) for call in calls]}
            )
        return reply

    async def _stream(
        self, messages: list[Any], session: Mapping[str, Any], offered: list[Any]
    ) -> Message:
        more: dict[str, Any] = {"tools": offered} if offered else {}
        async with self.client.messages.stream(
            model=MODEL,
            max_tokens=100,
            system=system_prompt(session),
            messages=messages,
            **more,
        ) as stream:
            async for text in stream.text_stream:
                self.on_text(text)
            return await stream.get_final_message()

    def _result(self, call: ToolUseBlock) -> ToolResultBlockParam:
        try:
            value = self.run_tool(call.name, dict(call.input))
        except Exception as error:
            return {
                "type": "tool_result",
                "tool_use_id": call.id,
                "content": str(error),
                "is_error": True,
            }
        content = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return {"type": "tool_result", "tool_use_id": call.id, "content": content}


def hand_over(client: Anthropic, conversation: list[MessageParam]) -> str:
    """Write the note for the next colleague: topic and summary, asked for at once."""

    def ask(system: str) -> str:
        # The note is short, the headers of the raw response go to the log.
        raw = client.messages.with_raw_response.create(
            model=MODEL, max_tokens=50, system=system, messages=conversation
        )
        return _text(raw.parse())

    with ThreadPoolExecutor(2) as pool:
        topic, summary = pool.map(ask, (TOPICS, SUMMARY))
    return f"[{topic}] {summary}"


def _text(message: Message) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


def _blocks(message: Message) -> list[dict[str, Any]]:
    return [block.model_dump(exclude_none=True) for block in message.content]

"""What a suite names: it hands cases to the bot, and its answers to evalnb."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb import Output, ToolCall
from evalnb.systems import mocked_tools
from tests.example_app.bot import SupportBot, hand_over
from tests.example_app.prompts import with_passages

if TYPE_CHECKING:
    from anthropic import Anthropic, AsyncAnthropic

    from evalnb import Case
    from tests.example_app.bot import Reply


async def answer(case: Case, client: AsyncAnthropic) -> Output:
    """All that happens to a customer's message: the topic, then the reply."""
    tools = mocked_tools(case)
    bot = SupportBot(client, tools)
    reply = await bot.handle(conversation(case), case.state or {}, case.tools)
    return Output(f"({reply.topic}) {reply.text}", tools.calls, reply.messages, reply.stop_reason)


async def reply(case: Case, client: AsyncAnthropic) -> Output:
    """The reply alone."""
    bot = SupportBot(client, mocked_tools(case))
    return to_output(await bot.reply(conversation(case), case.state or {}, case.tools))


def note(case: Case, client: Anthropic) -> str:
    """The note for the next colleague; synchronous."""
    return hand_over(client, conversation(case))


def conversation(case: Case) -> list[Any]:
    passages = [(passage.id, passage.text) for passage in case.context or ()]
    if case.messages is None:
        return [{"role": "user", "content": with_passages(case.input, passages)}]
    *earlier, last = [message.model_dump() for message in case.messages]
    return [*earlier, {**last, "content": with_passages(last["content"], passages)}]


def to_output(reply: Reply) -> Output:
    calls = [
        ToolCall(block["name"], block["input"])
        for message in reply.messages
        for block in message["content"]
        if block["type"] == "tool_use"
    ]
    return Output(reply.text, calls, reply.messages, reply.stop_reason)

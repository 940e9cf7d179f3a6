"""The bot as a service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aiohttp import web

from evalnb import Case
from evalnb.systems import mocked_tools
from tests.example_app.bot import SupportBot
from tests.example_app.evaluated import conversation, to_output

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

CLIENT: web.AppKey[AsyncAnthropic] = web.AppKey("client")


def service(client: AsyncAnthropic) -> web.Application:
    app = web.Application()
    app[CLIENT] = client
    app.router.add_post("/answer", answer)
    return app


async def answer(request: web.Request) -> web.Response:
    case = Case.model_validate({"id": "request", **await request.json()})
    bot = SupportBot(request.app[CLIENT], mocked_tools(case))
    reply = await bot.reply(conversation(case), case.state or {}, case.tools)
    output = to_output(reply)
    body: dict[str, Any] = {
        "text": output.text,
        "tool_calls": [
            {"name": call.name, "arguments": call.arguments} for call in output.tool_calls
        ],
        "messages": reply.messages,
        "stop_reason": reply.stop_reason,
        "model": reply.model,
        "usage": reply.usage,
    }
    return web.json_response(body)

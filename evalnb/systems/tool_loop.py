"""The tool loop: ask the model, run the tools that it calls, ask again."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any

from evalnb.errors import EvalnbError
from evalnb.jsontext import dump_json, writable_text
from evalnb.schemas import schema_validator
from evalnb.systems.outputs import STEP_LIMIT, Output, ToolCall

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

__all__ = ["ToolError", "result_text", "run_tools", "run_tools_sync"]

_MAX_STEPS = 8
# Ends at which calls are cut or void: none of them is run.
_BROKEN_OFF = frozenset({"max_tokens", "model_context_window_exceeded", "refusal"})
_LONGEST_RULE = 200


class ToolError(Exception):
    """Raised by a tool to tell the model, in these words, why there is no result."""


async def run_tools(
    create: Callable[[dict[str, Any]], Awaitable[dict[str, Any]] | dict[str, Any]],
    request: Mapping[str, Any],
    tools: Mapping[str, Callable[..., Any]],
    max_steps: int = _MAX_STEPS,
) -> Output:
    """Ask a model and run the tools that it calls, until it answers.

    What is wrong with a call is told to the model as a result with `is_error`: a name that the
    request does not offer, arguments that do not meet the tool's `input_schema`, an exception of
    the tool. Calls are run one after another, in order.

    Parameters
    ----------
    create : gives the response to a Messages API request, both as plain JSON values; async or not
    request : with `model`, `max_tokens`, `messages` and, where they are offered, `tools`
    tools : what runs a tool, by name: called with the arguments by keyword, async or not; gives
        text or another JSON value. The first call of a tool that is offered and not here ends the
        answer: whoever asked runs it.
    max_steps : how often the model is asked, rounds after `pause_turn` included

    Returns
    -------
    the text of the last response, every call and the trajectory after the request's messages
        Text is None and the stop reason `STEP_LIMIT` where the last step still called tools.
    """
    schemas = {tool.get("name"): tool.get("input_schema") for tool in request.get("tools") or ()}
    calls: list[ToolCall] = []
    trajectory: list[dict[str, Any]] = []
    texts: list[str] = []
    for _ in range(max_steps):
        asked = {**request, "messages": [*request["messages"], *trajectory]}
        response = await _value(create(asked))
        content = [_to_send(block) for block in response["content"]]
        stop_reason = response.get("stop_reason")
        trajectory.append({"role": "assistant", "content": content})
        texts += [block["text"] for block in content if block["type"] == "text"]
        called = [block for block in content if block["type"] == "tool_use"]
        calls += [ToolCall(block["name"], block["input"]) for block in called]
        if stop_reason == "pause_turn" and not called:
            continue
        left = any(block["name"] in schemas and block["name"] not in tools for block in called)
        if not called or left or stop_reason in _BROKEN_OFF:
            return Output("".join(texts) if texts else None, calls, trajectory, stop_reason)
        results = [await _result(block, tools, schemas) for block in called]
        trajectory.append({"role": "user", "content": results})
        texts = []
    return Output(None, calls, trajectory, STEP_LIMIT)


def run_tools_sync(
    create: Callable[[dict[str, Any]], dict[str, Any]],
    request: Mapping[str, Any],
    tools: Mapping[str, Callable[..., Any]],
    max_steps: int = _MAX_STEPS,
) -> Output:
    """Ask a model and run tools from synchronous code; see `run_tools`.

    Raises
    ------
    TypeError
        If `create` or a tool is asynchronous.
    """
    loop = run_tools(create, request, tools, max_steps)
    try:
        loop.send(None)  # nothing is awaited, so it comes to its end
    except StopIteration as end:
        output: Output = end.value
        return output
    loop.close()
    raise TypeError("run_tools_sync needs synchronous functions: await run_tools instead")


def result_text(value: Any) -> str:
    """Return a tool's result as the model is shown it: text as it is, all else as JSON."""
    return writable_text(value if isinstance(value, str) else dump_json(value))


async def _value(given: Any) -> Any:
    return await given if inspect.isawaitable(given) else given


def _to_send(block: dict[str, Any]) -> dict[str, Any]:
    """Return a block of a response as it is sent back: without nulls, its input to the letter."""
    return {
        name: value if name == "input" else _without_nulls(value)
        for name, value in block.items()
        if value is not None or name == "input"
    }


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return _to_send(value)
    return [_without_nulls(entry) for entry in value] if isinstance(value, list) else value


async def _result(
    call: Mapping[str, Any],
    tools: Mapping[str, Callable[..., Any]],
    schemas: Mapping[str | None, Any],
) -> dict[str, Any]:
    """Run one call; whatever goes wrong becomes its result."""
    result = {"type": "tool_result", "tool_use_id": call["id"]}
    try:
        _check_call(call, schemas)
        value = await _value(tools[call["name"]](**call["input"]))
        return {**result, "content": result_text(value)}
    except EvalnbError:  # a miss or a limit of the run: no fault of the tool
        raise
    except ToolError as error:
        message = str(error) or "The tool failed."
    except Exception as error:  # noqa: BLE001 - the model is told
        message = f"{type(error).__name__}: {error}"
    return {**result, "content": writable_text(message), "is_error": True}


def _check_call(call: Mapping[str, Any], schemas: Mapping[str | None, Any]) -> None:
    name, arguments = call["name"], call["input"]
    if name not in schemas:
        known = ", ".join(sorted(filter(None, schemas)))
        raise ToolError(f"There is no tool {name!r}. There are: {known or 'none'}.")
    if not isinstance(arguments, dict):
        raise ToolError("The arguments must be an object.")
    schema = schemas.get(name)
    broken = _broken_rules(schema, arguments) if isinstance(schema, dict) else []
    if broken:
        raise ToolError("\n".join(["The arguments do not meet the input_schema:", *broken]))


def _broken_rules(schema: dict[str, Any], arguments: dict[str, Any]) -> list[str]:
    """Say which rules arguments break.

    In words of our own: a validator's may change with its version, and with them the requests
    that the cassettes hold.
    """
    errors = schema_validator(schema).iter_errors(arguments)
    return sorted({f"{_place(error.instance_path)}: {_rule(schema, error)}" for error in errors})


def _place(path: list[str | int]) -> str:
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)


def _rule(schema: Any, error: Any) -> str:
    """Return the rule of a schema that was broken, such as `"type": "integer"`."""
    *parents, keyword = error.schema_path
    try:
        for part in parents:
            schema = schema[part]
        rule = f"{json.dumps(keyword)}: {dump_json(schema[keyword])}"
    except (KeyError, IndexError, TypeError):  # below a reference
        return json.dumps(keyword)
    return rule if len(rule) <= _LONGEST_RULE else json.dumps(keyword)

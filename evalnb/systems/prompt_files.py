"""Prompt files: model, system prompt, tools and parameters of one request, in TOML."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints
from pydantic.functional_validators import AfterValidator
from pydantic_core import PydanticCustomError

from evalnb.errors import InputError, nearest_name
from evalnb.golden import read_toml
from evalnb.jsontext import same_json
from evalnb.systems.outputs import STEP_LIMIT, Output, ToolCall

if TYPE_CHECKING:
    from pathlib import Path

    from anthropic import AsyncAnthropic

    from evalnb.cases import Case

__all__ = ["PromptSystem", "read_prompt_file"]

_MAX_STEPS = 8
# Fields of a request that come from the case or from the prompt file's own fields.
_OWN_FIELDS = ("model", "max_tokens", "messages", "system", "tools", "stream")

Single = Annotated[str, StringConstraints(min_length=1, pattern=r"^[^\n]*$")]


def _further_fields(parameters: dict[str, JsonValue]) -> dict[str, JsonValue]:
    taken = [name for name in _OWN_FIELDS if name in parameters]
    if taken:
        raise PydanticCustomError(
            "parameters",
            "must not hold {names}: the case and the prompt file's own fields say that",
            {"names": ", ".join(f"`{name}`" for name in taken)},
        )
    return _finite(parameters)


def _finite(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        raise PydanticCustomError("finite", "must not hold NaN or Infinity") from None
    return value


def _own_names(tools: list[_Tool]) -> list[_Tool]:
    names = [tool.name for tool in tools]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise PydanticCustomError(
            "tools", "must have names of their own. Twice: {names}", {"names": ", ".join(twice)}
        )
    return tools


class _Tool(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
    description: Single
    input_schema: Annotated[dict[str, JsonValue], AfterValidator(_finite)]


class _Prompt(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    model: Single
    max_tokens: Annotated[int, Field(gt=0)]
    system: str | None = None
    parameters: Annotated[dict[str, JsonValue], AfterValidator(_further_fields)] = {}
    """Further fields of the request, such as `thinking` or `output_config`."""
    tools: Annotated[list[_Tool], AfterValidator(_own_names)] = []


@dataclass(frozen=True)
class PromptSystem:
    """A prompt file: model, system prompt, tools and parameters of one request.

    The user's message is the case's input below its context passages; the case's state stands at
    the end of the system prompt. A case with `expected_schema` asks for structured output in it,
    as a caller of such an endpoint would. Tools whose results the case scripts are played, up to
    eight steps; the first call of any other tool ends the answer.
    """

    name: str
    prompt: _Prompt
    path: Path | None = field(default=None, compare=False)

    @property
    def model(self) -> str:
        """The model that is asked."""
        return self.prompt.model

    @property
    def fingerprint(self) -> str:
        """Hash of the prompt file's content, 12 hex digits; formatting does not matter."""
        text = json.dumps(self.prompt.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def request(self, case: Case) -> dict[str, Any]:
        """Return the request for a case's first step, as the Messages API takes it.

        Raises
        ------
        InputError
            If the case names a tool that the prompt file does not have.
        """
        request: dict[str, Any] = {
            "model": self.prompt.model,
            "max_tokens": self.prompt.max_tokens,
            "messages": _messages(case),
            **self.prompt.parameters,
        }
        system = _system_prompt(self.prompt.system, case)
        if system:
            request["system"] = system
        tools = self._tools(case)
        if tools:
            request["tools"] = tools
        if case.expected_schema is not None:
            form = {"type": "json_schema", "schema": case.expected_schema}
            given = request.get("output_config")
            request["output_config"] = {
                **(given if isinstance(given, dict) else {}),
                "format": form,
            }
        return request

    async def answer(self, case: Case, client: AsyncAnthropic) -> Output:
        """Answer a case, playing the tools whose results it scripts."""
        request = self.request(case)
        own = {name: value for name, value in request.items() if name in _OWN_FIELDS}
        further = {name: value for name, value in request.items() if name not in _OWN_FIELDS}
        calls: list[ToolCall] = []
        trajectory: list[dict[str, Any]] = []
        for _ in range(_MAX_STEPS):
            own["messages"] = [*request["messages"], *trajectory]
            # The client's own arguments come and go with its version; the API decides on the rest.
            response = await client.messages.create(**own, extra_body=further)
            blocks = [block.model_dump(exclude_none=True) for block in response.content]
            trajectory.append({"role": "assistant", "content": blocks})
            asked = [block for block in blocks if block["type"] == "tool_use"]
            calls += [ToolCall(block["name"], block["input"]) for block in asked]
            results = [_mocked_result(case, block) for block in asked]
            if not asked or any(result is None for result in results):
                break
            trajectory.append({"role": "user", "content": results})
        else:
            return Output(None, calls, trajectory, STEP_LIMIT)
        texts = [block["text"] for block in blocks if block["type"] == "text"]
        return Output("".join(texts) if texts else None, calls, trajectory, response.stop_reason)

    def _tools(self, case: Case) -> list[dict[str, Any]]:
        known = {tool.name: tool for tool in self.prompt.tools}
        names = list(known) if case.tools is None else case.tools
        for name in names:
            if name not in known:
                near = nearest_name(name, list(known))
                hint = (
                    f"Did you mean {near!r}?" if near else f"It has: {', '.join(known) or 'none'}."
                )
                raise InputError(
                    f"case {case.id} offers the tool {name!r}, unknown to {self.name}. {hint}"
                )
        return [known[name].model_dump() for name in names]


def read_prompt_file(path: Path) -> PromptSystem:
    """Read a prompt file; its name without the ending is the system's.

    Raises
    ------
    InputError
        If the file is missing or does not fit.
    """
    prompt: _Prompt = read_toml(path, _Prompt, "prompt file")
    return PromptSystem(path.stem, prompt, path)


def _messages(case: Case) -> list[dict[str, Any]]:
    if case.messages is not None:
        history = [message.model_dump() for message in case.messages]
        last = history[-1]
        last["content"] = _with_context(case, last["content"])
        return history
    if case.input is None:
        raise InputError(
            f"case {case.id} has `turns`, which prompt files cannot play yet: give `messages`"
        )
    return [{"role": "user", "content": _with_context(case, case.input)}]


def _with_context(case: Case, content: Any) -> Any:
    """Put a case's passages above its question, which is text or content blocks."""
    if case.context is None:
        return content
    passages = "\n".join(["Context:", *(passage.text for passage in case.context)])
    if isinstance(content, str):
        return f"{passages}\n\nQuestion: {content}"
    # The API wants the results of tools first.
    results = [block for block in content if block.get("type") == "tool_result"]
    others = [block for block in content if block.get("type") != "tool_result"]
    return [*results, {"type": "text", "text": passages}, *others]


def _system_prompt(prompt: str | None, case: Case) -> str:
    parts = [prompt.strip()] if prompt else []
    if case.state:
        lines = [f"- {name}: {_as_text(value)}" for name, value in case.state.items()]
        parts.append("\n".join(["Session:", *lines]))
    return "\n\n".join(parts)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _mocked_result(case: Case, block: dict[str, Any]) -> dict[str, Any] | None:
    """Return the scripted result of a tool call, None for a tool that the case does not script."""
    results = (case.tools_mock or {}).get(block["name"])
    if results is None:
        return None
    found = next((entry for entry in results if _fits(entry.arguments, block["input"])), None)
    answer = {"type": "tool_result", "tool_use_id": block["id"]}
    if found is None:
        return {**answer, "content": "No result for these arguments.", "is_error": True}
    return {
        **answer,
        "content": _as_text(found.result),
        **({"is_error": True} if found.is_error else {}),
    }


def _fits(wanted: dict[str, Any] | None, given: Any) -> bool:
    if not wanted:
        return True
    return isinstance(given, dict) and all(
        name in given and same_json(given[name], value) for name, value in wanted.items()
    )

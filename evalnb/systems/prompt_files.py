"""Prompt files: model, system prompt, tools and parameters of one request, in TOML."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints
from pydantic.functional_validators import AfterValidator
from pydantic_core import PydanticCustomError

from evalnb.errors import InputError, nearest_name
from evalnb.jsontext import JsonProblem, parse_json
from evalnb.schemas import schema_validator
from evalnb.systems.fingerprints import fingerprint
from evalnb.systems.mocks import mocked_tools
from evalnb.systems.playing import opening, play
from evalnb.systems.tool_loop import result_text, run_tools

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from anthropic import AsyncAnthropic

    from evalnb.cases import Case
    from evalnb.systems.outputs import ModelAccess, Output

__all__ = ["Prompt", "PromptSystem", "further_fields"]

# Fields of a request that come from the case or from the prompt file's own fields.
_OWN_FIELDS = ("model", "max_tokens", "messages", "system", "tools", "stream")

Single = Annotated[str, StringConstraints(min_length=1, pattern=r"^[^\n]*$")]


def further_fields(parameters: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Refuse fields of a request that come from elsewhere than a file's `parameters`, and NaN."""
    taken = [name for name in _OWN_FIELDS if name in parameters]
    if taken:
        raise PydanticCustomError(
            "parameters",
            "must not hold {names}: the case and the file's own fields say that",
            {"names": ", ".join(f"`{name}`" for name in taken)},
        )
    return _finite(parameters)


def _finite(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        raise PydanticCustomError("finite", "must not hold NaN or Infinity") from None
    return value


def _json_schema(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    try:
        schema_validator(value)
    except ValueError as error:
        raise PydanticCustomError(
            "json_schema", "must be a JSON Schema: {why}", {"why": str(error)}
        ) from None
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
    input_schema: Annotated[
        dict[str, JsonValue], AfterValidator(_finite), AfterValidator(_json_schema)
    ]


class Prompt(BaseModel):
    """What a prompt file says."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    model: Single
    max_tokens: Annotated[int, Field(gt=0)]
    system: str | None = None
    parameters: Annotated[dict[str, JsonValue], AfterValidator(further_fields)] = {}
    """Further fields of the request, such as `thinking` or `output_config`."""
    tools: Annotated[list[_Tool], AfterValidator(_own_names)] = []


@dataclass(frozen=True)
class PromptSystem:
    """A prompt file: model, system prompt, tools and parameters of one request.

    The user's message is the case's input below its context passages, each after its id where it
    has one; the case's state stands at the end of the system prompt. A case with `expected_schema`
    asks for structured output in it, as a caller of such an endpoint would; an array of texts
    `retrieved_ids` in that output is the ranking of what was retrieved. Tools whose results the
    case scripts are played, up to eight steps; the first call of any other tool that is offered
    ends the answer. Turns are played against live replies.

    Attributes
    ----------
    name : what the system is called
    prompt : what the file says
    path : of the file
    files : hash of further files that make the system what it is, as `load_system` gives it
    """

    name: str
    prompt: Prompt
    path: Path | None = field(default=None, compare=False)
    files: str = ""

    @property
    def model(self) -> str:
        """The model that is asked."""
        return self.prompt.model

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the prompt file's content and the suite's `system_files`, 12 hex digits.

        How the prompt file is formatted does not matter.
        """
        text = json.dumps(self.prompt.model_dump(mode="json"), sort_keys=True)
        return fingerprint(text, self.files)

    def request(self, case: Case) -> dict[str, Any]:
        """Return the request for a case's first step, as the Messages API takes it.

        Raises
        ------
        InputError
            If the case names a tool that the prompt file does not have.
        """
        case = opening(case)
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

    async def answer_through(self, case: Case, access: ModelAccess) -> Output:
        """Answer a case, playing its turns and the tools whose results it scripts."""
        return await self._answer(case, access.create)

    async def answer(self, case: Case, client: AsyncAnthropic) -> Output:
        """Answer a case through a client of the SDK, with the same requests."""

        async def create(request: Mapping[str, Any]) -> dict[str, Any]:
            own = {name: value for name, value in request.items() if name in _OWN_FIELDS}
            further = {name: value for name, value in request.items() if name not in _OWN_FIELDS}
            # The client's own arguments come and go with its version; the API decides on the rest.
            response = await client.messages.create(**own, extra_body=further)
            plain: dict[str, Any] = response.to_dict(warnings=False)
            return plain

        return await self._answer(case, create)

    async def _answer(
        self, case: Case, create: Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]
    ) -> Output:
        async def ask(asked: Case) -> Output:
            output = await run_tools(create, self.request(asked), mocked_tools(asked))
            return _with_ranking(output) if asked.expected_schema is not None else output

        return await play(case, ask)

    @cached_property
    def _known_tools(self) -> dict[str, dict[str, Any]]:
        return {tool.name: tool.model_dump() for tool in self.prompt.tools}

    def _tools(self, case: Case) -> list[dict[str, Any]]:
        known = self._known_tools
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
        return [known[name] for name in names]


def _with_ranking(output: Output) -> Output:
    """Take over the ids of retrieved passages that a structured answer names."""
    try:
        answer = parse_json(output.text or "")
    except JsonProblem:
        return output
    ids = answer.get("retrieved_ids") if isinstance(answer, dict) else None
    if not isinstance(ids, list) or not all(isinstance(entry, str) for entry in ids):
        return output
    return replace(output, retrieved_ids=ids)


def _messages(case: Case) -> list[dict[str, Any]]:
    if case.messages is None:
        return [{"role": "user", "content": _with_context(case, case.input)}]
    *earlier, last = case.messages
    history = [{"role": message.role, "content": message.content} for message in earlier]
    return [*history, {"role": last.role, "content": _with_context(case, last.content)}]


def _with_context(case: Case, content: Any) -> Any:
    """Put a case's passages above its question, which is text or content blocks."""
    if case.context is None:
        return content
    shown = [
        f"[{passage.id}] {passage.text}" if passage.id else passage.text for passage in case.context
    ]
    passages = "\n".join(["Context:", *shown])
    if isinstance(content, str):
        return f"{passages}\n\nQuestion: {content}"
    # The API wants the results of tools first.
    results = [block for block in content if block.get("type") == "tool_result"]
    others = [block for block in content if block.get("type") != "tool_result"]
    return [*results, {"type": "text", "text": passages}, *others]


def _system_prompt(prompt: str | None, case: Case) -> str:
    parts = [prompt.strip()] if prompt else []
    if case.state:
        lines = [f"- {name}: {result_text(value)}" for name, value in case.state.items()]
        parts.append("\n".join(["Session:", *lines]))
    return "\n\n".join(parts)

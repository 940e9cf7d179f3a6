"""The system under test: anything that answers a case through a client."""

from __future__ import annotations

import hashlib
import inspect
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints

from evalnb.errors import InputError, nearest_name
from evalnb.golden import GoldenSet, read_toml

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from anthropic import AsyncAnthropic

    from evalnb.cases import Case

__all__ = ["CallableSystem", "Output", "PromptSystem", "System", "ToolCall", "load_system"]

_MAX_STEPS = 8


@dataclass(frozen=True)
class ToolCall:
    """One tool call that the system made."""

    name: str
    arguments: Any


@dataclass(frozen=True)
class Output:
    """What a system gave for a case.

    Attributes
    ----------
    text : what the user is shown, None where the system gave no text
    tool_calls : in order
    messages : the trajectory after the case's input, as Messages API messages
    stop_reason : of the last response, where the system knows it
    """

    text: str | None
    tool_calls: Sequence[ToolCall] = ()
    messages: Sequence[dict[str, Any]] = ()
    stop_reason: str | None = None


@runtime_checkable
class System(Protocol):
    """What the runner needs of a system."""

    @property
    def name(self) -> str:
        """What the system is called in frames and reports."""

    @property
    def fingerprint(self) -> str:
        """Hash of all that makes the system what it is, 12 hex digits."""

    async def answer(self, case: Case, client: AsyncAnthropic) -> Output | str:
        """Answer a case."""


Single = Annotated[str, StringConstraints(min_length=1, pattern=r"^[^\n]*$")]


class _Tool(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
    description: Single
    input_schema: dict[str, JsonValue]


class _Prompt(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    model: Single
    max_tokens: Annotated[int, Field(gt=0)]
    system: str | None = None
    parameters: dict[str, JsonValue] = {}
    """Further fields of the request, such as `thinking` or `output_config`."""
    tools: list[_Tool] = []


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
        """Return the arguments of `client.messages.create` for a case's first step.

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
        calls: list[ToolCall] = []
        trajectory: list[dict[str, Any]] = []
        for _ in range(_MAX_STEPS):
            response = await client.messages.create(
                **{**request, "messages": [*request["messages"], *trajectory]}
            )
            blocks = [block.model_dump(exclude_none=True) for block in response.content]
            trajectory.append({"role": "assistant", "content": blocks})
            asked = [block for block in blocks if block["type"] == "tool_use"]
            calls += [ToolCall(block["name"], block["input"]) for block in asked]
            results = [_mocked_result(case, block) for block in asked]
            if not asked or any(result is None for result in results):
                break
            trajectory.append({"role": "user", "content": results})
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


@dataclass(frozen=True)
class CallableSystem:
    """A Python function `answer(case, client)` that returns an `Output` or text, async or not.

    A synchronous function runs on a thread of its own; its client is synchronous too.
    """

    function: Callable[..., Awaitable[Output | str] | Output | str]
    name: str = field(default="")

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.function.__qualname__)

    @property
    def is_async(self) -> bool:
        """Whether the function is a coroutine function."""
        return inspect.iscoroutinefunction(self.function)

    @property
    def fingerprint(self) -> str:
        """Hash of the source of the function's module, 12 hex digits."""
        source = inspect.getsource(inspect.getmodule(self.function) or self.function)
        return hashlib.sha256(f"{self.function.__qualname__}\n{source}".encode()).hexdigest()[:12]

    async def answer(self, case: Case, client: AsyncAnthropic) -> Output | str:
        """Call the function."""
        answer: Any = self.function(case, client)
        output: Output | str = await answer
        return output


def load_system(golden: GoldenSet, name: str | None = None) -> PromptSystem:
    """Load a system of a suite.

    Parameters
    ----------
    golden : a suite's golden set
    name : path of a prompt file, in the suite's folder or from here, or its bare name in the
        suite's `systems`, such as "v2"; by default what `suite.toml` says

    Raises
    ------
    InputError
        If the prompt file is missing or does not fit.
    """
    name = name or golden.settings.system
    path = Path(name)
    if golden.folder is not None:
        candidates = (golden.folder / name, golden.folder / "systems" / f"{name}.toml")
        path = next((found for found in candidates if found.is_file()), path)
    prompt: _Prompt = read_toml(path, _Prompt, "prompt file")
    return PromptSystem(path.stem, prompt)


def _messages(case: Case) -> list[dict[str, Any]]:
    if case.messages is not None:
        history = [message.model_dump() for message in case.messages]
        last = history[-1]
        if case.context is not None and isinstance(last["content"], str):
            last["content"] = _with_context(case, last["content"])
        return history
    if case.input is None:
        raise InputError(
            f"case {case.id} has `turns`, which prompt files cannot play yet: give `messages`"
        )
    return [{"role": "user", "content": _with_context(case, case.input)}]


def _with_context(case: Case, text: str) -> str:
    if case.context is None:
        return text
    passages = "\n".join(passage.text for passage in case.context)
    return f"Context:\n{passages}\n\nQuestion: {text}"


def _system_prompt(prompt: str | None, case: Case) -> str:
    parts = [prompt.strip()] if prompt else []
    if case.state is not None:
        lines = [f"- {name}: {_state_text(value)}" for name, value in case.state.items()]
        parts.append("\n".join(["Session:", *lines]))
    return "\n\n".join(parts)


def _state_text(value: Any) -> str:
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
    text = found.result if isinstance(found.result, str) else json.dumps(found.result)
    return {**answer, "content": text, **({"is_error": True} if found.is_error else {})}


def _fits(wanted: dict[str, Any] | None, given: Any) -> bool:
    if not wanted:
        return True
    return isinstance(given, dict) and all(
        name in given and given[name] == value for name, value in wanted.items()
    )


def suite_systems(golden: GoldenSet) -> list[PromptSystem]:
    """Load every prompt file of a suite, and the one that `suite.toml` names, by name.

    Raises
    ------
    InputError
        If one does not fit.
    """
    if golden.folder is None:
        return []
    paths = sorted((golden.folder / "systems").glob("*.toml"))
    names = [str(path.relative_to(golden.folder)) for path in paths]
    return [load_system(golden, name) for name in dict.fromkeys([*names, golden.settings.system])]

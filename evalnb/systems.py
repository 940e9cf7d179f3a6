"""The system under test: anything that answers a case through a client."""

from __future__ import annotations

import hashlib
import inspect
import json
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints
from pydantic.functional_validators import AfterValidator
from pydantic_core import PydanticCustomError

from evalnb.errors import InputError, nearest_name
from evalnb.golden import GoldenSet, read_toml

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from anthropic import AsyncAnthropic

    from evalnb.cases import Case

__all__ = [
    "STEP_LIMIT",
    "CallableSystem",
    "Output",
    "PromptSystem",
    "System",
    "ToolCall",
    "load_system",
    "same_json",
    "suite_systems",
]

_MAX_STEPS = 8
STEP_LIMIT = "step_limit"
"""Stop reason of an answer that was still calling tools after the last step."""
# Fields of a request that come from the case or from the prompt file's own fields.
_OWN_FIELDS = ("model", "max_tokens", "messages", "system", "tools", "stream")


@dataclass(frozen=True)
class ToolCall:
    """One tool call that the system made."""

    name: str
    arguments: Any


def same_json(one: Any, other: Any) -> bool:
    """Tell whether two values are the same as JSON: 1 is 1.0, but true is not 1.

    Examples
    --------
    >>> same_json([1], [1.0]), same_json(1, True)
    (True, False)
    """
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_json(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_json, one, other))
    return bool(one == other)


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


def _further_fields(parameters: dict[str, JsonValue]) -> dict[str, JsonValue]:
    taken = [name for name in _OWN_FIELDS if name in parameters]
    if taken:
        raise PydanticCustomError(
            "parameters",
            "must not hold {names}: the case and the prompt file's own fields say that",
            {"names": ", ".join(f"`{name}`" for name in taken)},
        )
    return parameters


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
    parameters: Annotated[dict[str, JsonValue], AfterValidator(_further_fields)] = {}
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


@dataclass(frozen=True)
class CallableSystem:
    """A Python function `answer(case, client)` that returns an `Output` or text, async or not.

    A synchronous function runs on a thread of its own; its client is synchronous too.
    """

    function: Callable[..., Awaitable[Output | str] | Output | str]
    name: str = field(default="")

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self._qualname)

    @property
    def is_async(self) -> bool:
        """Whether the function is a coroutine function."""
        # An object with an asynchronous `__call__` is no coroutine function itself.
        parts = (self.function, type(self.function).__call__)
        return any(map(inspect.iscoroutinefunction, parts))

    @property
    def fingerprint(self) -> str:
        """Hash of the source of the function's module, 12 hex digits.

        A function of a notebook's cell has no module on disk: there it is the function's source.
        """
        text = f"{self._qualname}\n{_source(self.function)}"
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    async def answer(self, case: Case, client: AsyncAnthropic) -> Output | str:
        """Call the function."""
        answer: Any = self.function(case, client)
        output: Output | str = await answer
        return output

    @property
    def _qualname(self) -> str:
        name = getattr(_plain(self.function), "__qualname__", None)
        return name or type(self.function).__qualname__


def _plain(function: Any) -> Any:
    """Return what a `functools.partial` calls."""
    while isinstance(function, partial):
        function = function.func
    return function


def _source(function: Any) -> str:
    function = _plain(function)
    if not hasattr(function, "__qualname__"):  # an object that can be called
        function = type(function)
    for part in (inspect.getmodule(function), function):
        try:
            return inspect.getsource(part)  # type: ignore[arg-type]
        except (OSError, TypeError):  # no module, or one without a file
            continue
    return ""


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
    names = [*(str(path.relative_to(golden.folder)) for path in paths), golden.settings.system]
    systems = [load_system(golden, name) for name in names]
    return list({(system.name, system.fingerprint): system for system in systems}.values())

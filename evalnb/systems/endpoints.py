"""Systems that answer over HTTP."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, ValidationError
from pydantic.functional_validators import AfterValidator
from pydantic_core import PydanticCustomError

from evalnb.cases import Message
from evalnb.errors import InputError
from evalnb.systems.fingerprints import fingerprint
from evalnb.systems.outputs import Output, ToolCall
from evalnb.systems.playing import opening, play

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from evalnb.cases import Case
    from evalnb.systems.outputs import ModelAccess

__all__ = ["Endpoint", "HttpSystem", "endpoint_at", "is_url"]

# What an endpoint is told of a case; what is expected of the answer is never among it.
_SENT = ("input", "messages", "state", "context", "tools", "tools_mock")
_MOST_PROBLEMS = 5
_VARIABLE = re.compile(r"\$[A-Za-z_][A-Za-z0-9_]*")


def is_url(name: str) -> bool:
    """Tell whether a system's name is the URL of an endpoint."""
    return name.startswith(("http://", "https://"))


def _http_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = is_url(url) and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable or any(sign.isspace() for sign in url):
        raise PydanticCustomError("url", "must be a URL that starts with http:// or https://")
    if "@" in parts.netloc:
        raise PydanticCustomError(
            "credentials", "must not hold credentials: put them into a header, from the environment"
        )
    return url


def _header_value(value: str) -> str:
    if not value.isprintable() or (value.startswith("$") and not _VARIABLE.fullmatch(value)):
        raise PydanticCustomError(
            "header", 'must be one line of text, or "$NAME" of an environment variable'
        )
    return value


HeaderName = Annotated[str, StringConstraints(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")]
HeaderValue = Annotated[str, AfterValidator(_header_value)]


class Endpoint(BaseModel):
    """What `systems/<name>.toml` says of an HTTP endpoint."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    url: Annotated[str, AfterValidator(_http_url)]
    version: str = ""
    """What makes the endpoint what it is, such as a release; part of the fingerprint."""
    headers: dict[HeaderName, HeaderValue] = Field(default={}, repr=False)
    """A value that is "$NAME" is read from the environment when the endpoint is asked."""
    timeout_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 120.0


class _Call(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    name: str
    arguments: JsonValue


class _Usage(BaseModel):
    # What else the Messages API counts is welcome.
    model_config = ConfigDict(extra="allow", strict=True)

    input_tokens: Annotated[int, Field(ge=0)] | None = None
    output_tokens: Annotated[int, Field(ge=0)] | None = None
    cache_read_input_tokens: Annotated[int, Field(ge=0)] | None = None
    cache_creation_input_tokens: Annotated[int, Field(ge=0)] | None = None


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    text: str | None
    tool_calls: list[_Call] = []
    messages: list[Message] = []
    stop_reason: str | None = None
    model: str | None = None
    usage: _Usage | None = None
    retrieved_ids: list[str] | None = None


@dataclass(frozen=True)
class HttpSystem:
    """A service that answers cases over HTTP, JSON in and JSON out.

    Each case is one POST, with a JSON object of those fields that the case has::

        {
          "input": "Where is my order?",            one user message, or
          "messages": [{"role": …, "content": …}],  a history that ends in one
          "state": {"date": "2026-06-01"},          session state
          "context": [{"id": "p1", "text": "…"}],   retrieved passages; "id" where there is one
          "tools": ["refund"],                      the tools offered, by name; all if not given
          "tools_mock": {"refund": [{"arguments": {…}, "result": …, "is_error": true}]}
        }

    Tools named in `tools_mock` must not be run: the result is the first one whose `arguments` all
    are in the call. What is expected of the answer is never sent, nor is the case's id. Of a case
    with turns, each is a request with `messages`.

    The answer has status 200 and a JSON object; all but `text` may be left out::

        {
          "text": "It is on its way.",              what the user is shown, or null
          "tool_calls": [{"name": "refund", "arguments": {…}}],          in order
          "messages": [{"role": "assistant", "content": …}],  the trajectory after the case's input
          "stop_reason": "end_turn",                of the last response of the model
          "model": "claude-haiku-5-5",              the model that answered
          "usage": {"input_tokens": 12, "output_tokens": 3,
                    "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0},
          "retrieved_ids": ["p1"]                   passages that were retrieved, best first
        }

    Blocks of messages are those of the Messages API, and so are the names in `usage` and the
    stop reasons. Headers are never recorded, while the URL's path and query are: what is secret
    belongs into a header whose value is the "$NAME" of an environment variable.

    Attributes
    ----------
    name : what the system is called
    endpoint : where and how it is asked
    path : of its TOML file, None for a bare URL
    files : hash of further files that make the system what it is, as `load_system` gives it
    """

    name: str
    endpoint: Endpoint
    path: Path | None = field(default=None, compare=False)
    files: str = ""

    @property
    def url(self) -> str:
        """Where the endpoint is."""
        return self.endpoint.url

    @property
    def fingerprint(self) -> str:
        """Hash of URL, version and the suite's `system_files`, 12 hex digits."""
        return fingerprint(self.endpoint.url, self.endpoint.version, self.files)

    def request(self, case: Case) -> dict[str, Any]:
        """Return what the endpoint is sent for a case, of one with turns for the first."""
        given = opening(case).canonical()
        return {name: given[name] for name in _SENT if name in given}

    async def answer_through(self, case: Case, access: ModelAccess) -> Output:
        """Answer a case; turns are played.

        Raises
        ------
        ValueError
            If the answer is not as it must be.
        """

        async def ask(asked: Case) -> Output:
            answer = await access.post(
                self.endpoint.url,
                self.request(asked),
                version=self.endpoint.version,
                headers=_Headers(self.name, self.endpoint.headers),
                timeout_s=self.endpoint.timeout_s,
            )
            return _output(self.name, answer)

        return await play(case, ask)


def endpoint_at(url: str, files: str = "") -> HttpSystem:
    """Return the system at a URL.

    Raises
    ------
    InputError
        If it is no URL of an endpoint.
    """
    try:
        endpoint = Endpoint(url=url)
    except ValidationError as error:
        why = error.errors(include_url=False)[0]["msg"]
        raise InputError(f"the URL of an HTTP endpoint {why}") from None
    return HttpSystem(url.partition("?")[0], endpoint, files=files)


class _Headers(Mapping[str, str]):
    """Headers whose values are read from the environment when they are sent, in replay never."""

    def __init__(self, system: str, given: Mapping[str, str]) -> None:
        self._system = system
        self._given = given

    def __getitem__(self, name: str) -> str:
        value = self._given[name]
        if not value.startswith("$"):
            return value
        variable = value.removeprefix("$")
        found = os.environ.get(variable)
        if found is None:
            raise InputError(
                f"{self._system} takes the header {name!r} from the environment: set {variable}"
            )
        if not found.isprintable():  # the HTTP library would repeat the value
            raise InputError(f"{variable}, for the header {name!r}, holds what a header cannot")
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)


def _output(system: str, given: Mapping[str, Any]) -> Output:
    try:
        answer = _Answer.model_validate(given)
    except ValidationError as error:
        raise ValueError(f"{system} answered what cannot be used: {_problems(error)}") from None
    return Output(
        answer.text,
        [ToolCall(call.name, call.arguments) for call in answer.tool_calls],
        [{"role": message.role, "content": message.content} for message in answer.messages],
        answer.stop_reason,
        answer.retrieved_ids,
    )


def _problems(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    shown = [_problem(entry["loc"], entry["type"], entry["msg"]) for entry in found]
    rest = len(shown) - _MOST_PROBLEMS
    return "; ".join([*shown[:_MOST_PROBLEMS], *([f"and {rest} more"] if rest > 0 else [])])


def _problem(location: tuple[int | str, ...], kind: str, message: str) -> str:
    place = f"`{'.'.join(map(str, location))}`" if location else "the answer"
    match kind:
        case "missing":
            return f"{place} is missing"
        case "extra_forbidden":
            return f"{place} is no known field"
        case _:
            return f"{place} {message.replace('Input should', 'must', 1)}"

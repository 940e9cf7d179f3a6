"""What a system is to the runner, and what it gives."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anthropic import AsyncAnthropic

    from evalnb.cases import Case

__all__ = [
    "STEP_LIMIT",
    "DirectSystem",
    "ModelAccess",
    "Output",
    "System",
    "ToolCall",
    "as_output",
    "output_content",
    "output_hash",
]

STEP_LIMIT = "step_limit"
"""Stop reason of an answer that was still calling tools after the last step."""


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
    retrieved_ids : ids of the passages that the system retrieved, best first; None where it
        retrieves nothing
    turns : of a played conversation, the output of each turn; text and stop reason above are
        then the last turn's, tool calls and messages those of all turns
    """

    text: str | None
    tool_calls: Sequence[ToolCall] = ()
    messages: Sequence[dict[str, Any]] = ()
    stop_reason: str | None = None
    retrieved_ids: Sequence[str] | None = None
    turns: Sequence[Output] = ()


def as_output(given: object) -> Output:
    """Return what a system gave as an `Output`; text alone becomes one.

    Raises
    ------
    TypeError
        If it is neither.
    """
    if isinstance(given, Output):
        return given
    if isinstance(given, str):
        return Output(given)
    raise TypeError(f"a system must return an Output or text. Got {type(given).__name__}.")


def output_content(output: Output) -> dict[str, Any]:
    """Return what an output says and calls, and why it ended, as plain JSON values."""
    return {
        "text": output.text,
        "tool_calls": [
            {"name": call.name, "arguments": call.arguments} for call in output.tool_calls
        ],
        "stop_reason": output.stop_reason,
    }


def output_hash(content: Mapping[str, Any]) -> str:
    """Return the hash of an output's text and tool calls, 12 hex digits.

    Parameters
    ----------
    content : of `output_content`
    """
    text = json.dumps([content["text"], content["tool_calls"]], ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


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


class ModelAccess(Protocol):
    """What the runner gives to systems of our own, which need no SDK call: cassettes included."""

    async def create(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the response to a Messages API request, both as plain JSON values."""

    async def post(
        self,
        url: str,
        body: Mapping[str, Any],
        *,
        version: str,
        headers: Mapping[str, str],
        timeout_s: float,
    ) -> dict[str, Any]:
        """Return the JSON object that an HTTP endpoint answers; its version is part of the key.

        Headers are never recorded, and read only where the endpoint is asked: their values may
        come from an environment that a replay does not have.
        """


@runtime_checkable
class DirectSystem(Protocol):
    """A system of our own, that asks for plain JSON."""

    @property
    def name(self) -> str:
        """What the system is called in frames and reports."""

    @property
    def fingerprint(self) -> str:
        """Hash of all that makes the system what it is, 12 hex digits."""

    async def answer_through(self, case: Case, access: ModelAccess) -> Output:
        """Answer a case that has `input` or `messages`."""

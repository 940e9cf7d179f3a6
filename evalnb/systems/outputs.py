"""What a system is to the runner, and what it gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anthropic import AsyncAnthropic

    from evalnb.cases import Case

__all__ = ["STEP_LIMIT", "Output", "System", "ToolCall"]

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

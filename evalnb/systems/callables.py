"""Systems that are Python functions."""

from __future__ import annotations

import hashlib
import inspect
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anthropic import AsyncAnthropic

    from evalnb.cases import Case
    from evalnb.systems.outputs import Output

__all__ = ["CallableSystem"]


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

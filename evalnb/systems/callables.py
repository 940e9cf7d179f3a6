"""Systems that are Python functions."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evalnb.errors import InputError
from evalnb.imports import import_object
from evalnb.systems.fingerprints import fingerprint, made_of, plain_function

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from anthropic import AsyncAnthropic

    from evalnb.cases import Case
    from evalnb.systems.outputs import Output

__all__ = ["CallableSystem", "import_function"]


@dataclass(frozen=True)
class CallableSystem:
    """A Python function `answer(case, client)` that returns an `Output` or text, async or not.

    A synchronous function runs on a thread of its own; its client is synchronous too.

    Attributes
    ----------
    function : what answers
    name : what the system is called; by default the function's own name
    files : hash of further files that make the system what it is, as `load_system` gives it
    """

    function: Callable[..., Awaitable[Output | str] | Output | str]
    name: str = field(default="")
    files: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self._qualname)

    @property
    def is_async(self) -> bool:
        """Whether the function is a coroutine function."""
        # An object with an asynchronous `__call__` is no coroutine function itself.
        parts = (self.function, type(self.function).__call__)
        return any(map(inspect.iscoroutinefunction, parts))

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the function's name and of the code that it is part of, 12 hex digits.

        Of a package that lies outside of what is installed, that is every Python file; of all
        else the function's module, or the function itself in a notebook. The version of the
        distribution counts too, and so do the suite's `system_files`.
        """
        return fingerprint(self._qualname, made_of(self.function), self.files)

    async def answer(self, case: Case, client: AsyncAnthropic) -> Output | str:
        """Call the function."""
        answer: Any = self.function(case, client)
        output: Output | str = await answer
        return output

    @property
    def _qualname(self) -> str:
        name = getattr(plain_function(self.function), "__qualname__", None)
        return name or type(self.function).__qualname__


def import_function(path: str, near: Path | None) -> Any:
    """Import what answers; see `evalnb.imports.import_object` for where it is looked for.

    Parameters
    ----------
    path : such as "my_app.bot:answer"
    near : the suite's folder

    Raises
    ------
    InputError
        If the module is missing or raises, or the name is missing or cannot be called.
    """
    try:
        found = import_object(path, near)
    except SystemExit as error:
        raise InputError(f"{path!r} cannot be imported: SystemExit: {error}") from error
    if inspect.isclass(found) or not callable(found):
        kind = "class" if inspect.isclass(found) else type(found).__name__
        raise InputError(
            f"{path!r} must be a function `answer(case, client)` or an object that can be called. "
            f"Got a {kind}."
        )
    return found

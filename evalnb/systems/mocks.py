"""Tools with scripted results: side effects are captured and never happen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from evalnb.jsontext import same_json
from evalnb.systems.outputs import ToolCall
from evalnb.systems.tool_loop import ToolError, result_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evalnb.cases import Case, MockedResult

__all__ = ["MockedTools", "mocked_tools"]


class MockedTools(Mapping[str, Callable[..., Any]]):
    """The tools that a case scripts, in place of an application's own.

    `tools(name, arguments)` gives the scripted result, for an application with a tool loop of its
    own; `tools[name](**arguments)` does the same, for `run_tools`. Both raise `ToolError` where
    the case scripts an error or no result: what it says is meant for the model.

    Attributes
    ----------
    calls : the calls so far, in order, those without a result included
    """

    def __init__(self, scripted: Mapping[str, Sequence[MockedResult]]) -> None:
        self._scripted = scripted
        self.calls: list[ToolCall] = []

    def __call__(self, name: str, arguments: Any) -> Any:
        """Return the scripted result of a call, a JSON value.

        Raises
        ------
        ToolError
            If the case scripts an error, or no result for this tool or these arguments.
        """
        self.calls.append(ToolCall(name, arguments))
        if name not in self._scripted:
            raise ToolError(f"There is no result for the tool {name!r}.")
        results = self._scripted[name]
        found = next((entry for entry in results if _fits(entry.arguments, arguments)), None)
        if found is None:
            raise ToolError("No result for these arguments.")
        if found.is_error:
            raise ToolError(result_text(found.result))
        return found.result

    def __getitem__(self, name: str) -> Callable[..., Any]:
        if name not in self._scripted:
            raise KeyError(name)
        return lambda **arguments: self(name, arguments)

    def __iter__(self) -> Iterator[str]:
        return iter(self._scripted)

    def __len__(self) -> int:
        return len(self._scripted)


def mocked_tools(case: Case) -> MockedTools:
    """Return the tools that a case scripts in `tools_mock`, with nothing called yet.

    Examples
    --------
    >>> from evalnb.cases import Case
    >>> scripted = {"look": [{"arguments": {"id": 7}, "result": "sent"}]}
    >>> tools = mocked_tools(Case(id="a", input="Where is order 7?", tools_mock=scripted))
    >>> tools("look", {"id": 7})
    'sent'
    >>> tools.calls
    [ToolCall(name='look', arguments={'id': 7})]
    """
    return MockedTools(case.tools_mock or {})


def _fits(wanted: dict[str, Any] | None, given: Any) -> bool:
    if not wanted:
        return True
    return isinstance(given, dict) and all(
        name in given and same_json(given[name], value) for name, value in wanted.items()
    )

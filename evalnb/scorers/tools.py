"""Scorer of tool calls."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import regex

from evalnb.jsontext import same_json
from evalnb.scorers.base import Score, quoted, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalnb.cases import Case, ExpectedToolCall, Turn
    from evalnb.golden import SuiteSettings
    from evalnb.systems import Output, ToolCall

__all__ = ["tool_calls"]

_PATTERN_SECONDS = 1.0
_SHOWN_CALLS = 10
_NAME = regex.compile(r"[\w.-]{1,64}")


def tool_calls(case: Case | Turn, output: Output, settings: SuiteSettings) -> Score:  # noqa: ARG001
    """Tell whether the calls that were made are those of `expected_tool_calls`.

    The value is the share of the expected calls that were made, and 0 where calls beyond them
    were made that must not be there.
    """
    if case.expected_tool_calls is None:
        raise ValueError("there are no `expected_tool_calls` to score by")
    wanted, order = case.expected_tool_calls.calls, case.expected_tool_calls.order or "exact"
    made = list(output.tool_calls)
    pairs = _pairs(wanted, made, ordered=order != "any_order")
    missing = [call for index, call in enumerate(wanted) if index not in pairs]
    extra = [call for index, call in enumerate(made) if index not in pairs.values()]
    # An empty list means that no tool may be called, in whatever order.
    passed = not missing and not (extra and (order == "exact" or not wanted))
    share = len(pairs) / len(wanted) if wanted else 1.0
    value = share if passed or missing else 0.0
    reason = _reason(missing, extra, made)
    if missing and len(_pairs(wanted, made, ordered=False)) == len(wanted):
        reason = f"called in another order: {_listed(made)}"
    return Score(value, passed, reason)


def _pairs(
    wanted: Sequence[ExpectedToolCall], made: Sequence[ToolCall], *, ordered: bool
) -> dict[int, int]:
    """Pair as many expected calls as possible with calls that were made, by position."""
    fits = [[j for j, call in enumerate(made) if _fits(expected, call)] for expected in wanted]
    return _pair_in_order(fits) if ordered else _pair_in_any_order(fits)


def _pair_in_order(fits: Sequence[Sequence[int]]) -> dict[int, int]:
    """Longest pairing in which both sides keep their order."""
    best: dict[int, list[tuple[int, int]]] = {-1: []}  # last position used: pairs so far
    for i, positions in enumerate(fits):
        for j in sorted(positions, reverse=True):
            before = max((best[last] for last in best if last < j), key=len)
            if len(before) + 1 > len(best.get(j, [])):
                best[j] = [*before, (i, j)]
    longest = max(best, key=lambda last: len(best[last]))
    return dict(best[longest])


def _pair_in_any_order(fits: Sequence[Sequence[int]]) -> dict[int, int]:
    """Largest pairing, by augmenting paths (Kuhn 1955)."""
    owner: dict[int, int] = {}

    def place(i: int, tried: set[int]) -> bool:
        for j in fits[i]:
            if j not in tried:
                tried.add(j)
                if j not in owner or place(owner[j], tried):
                    owner[j] = i
                    return True
        return False

    for i in range(len(fits)):
        place(i, set())
    return {i: j for j, i in owner.items()}


def _fits(expected: ExpectedToolCall, call: ToolCall) -> bool:
    if call.name != expected.name:
        return False
    if expected.arguments is None and expected.patterns is None:
        return True
    made = call.arguments
    if not isinstance(made, dict):
        return False
    wanted, patterns = expected.arguments or {}, expected.patterns or {}
    if (expected.match or "exact") == "exact" and made.keys() != {*wanted, *patterns}:
        return False
    return all(
        name in made and same_json(made[name], value) for name, value in wanted.items()
    ) and all(
        name in made and _matches(pattern, made[name], f"{call.name}.{name}")
        for name, pattern in patterns.items()
    )


def _matches(pattern: str, value: Any, where: str) -> bool:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    try:
        return _compiled(pattern).fullmatch(text, timeout=_PATTERN_SECONDS) is not None
    except TimeoutError:
        raise TimeoutError(
            f"the pattern /{pattern}/ of `{where}` took longer than {_PATTERN_SECONDS:g} s on "
            f"{quoted(text)}: write it without nested repetition"
        ) from None


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> regex.Pattern[str]:
    return regex.compile(pattern)


def _reason(
    missing: Sequence[ExpectedToolCall], extra: Sequence[ToolCall], made: Sequence[ToolCall]
) -> str:
    parts = []
    if missing:
        parts.append(f"missing: {', '.join(_wanted_text(call) for call in missing)}")
    if extra:
        parts.append(f"extra: {_listed(extra)}")
    if not made:
        parts.append("no tool was called")
    return "; ".join(parts) or f"called {_listed(made)}"


def _wanted_text(call: ExpectedToolCall) -> str:
    parts = [f"{name}={shown(value)}" for name, value in (call.arguments or {}).items()]
    parts += [f"{name}=/{pattern}/" for name, pattern in (call.patterns or {}).items()]
    return f"{call.name}({', '.join(parts)})"


def _listed(calls: Sequence[ToolCall]) -> str:
    texts = [_made_text(call) for call in calls[:_SHOWN_CALLS]]
    more = f" and {len(calls) - len(texts)} more" if len(calls) > len(texts) else ""
    return ", ".join(texts) + more


def _made_text(call: ToolCall) -> str:
    if not isinstance(call.arguments, dict):
        return f"{_name(call.name)}({shown(call.arguments)})"
    given = list(call.arguments.items())
    parts = [f"{_name(name)}={shown(value)}" for name, value in given[:_SHOWN_CALLS]]
    parts += ["…"] if len(given) > len(parts) else []
    return f"{_name(call.name)}({', '.join(parts)})"


def _name(name: str) -> str:
    """Return a name that a model made up: as it is where it looks like one, else quoted."""
    return name if _NAME.fullmatch(name) else quoted(name)

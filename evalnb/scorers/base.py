"""What a scorer is and what it gives."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalnb.cases import Case
    from evalnb.matching import Matching
    from evalnb.systems import Output

__all__ = ["Score", "Scorer", "listed", "quoted", "shown"]


@dataclass(frozen=True)
class Score:
    """What a scorer says of an output.

    Attributes
    ----------
    value : in [0, 1]
    passed : whether the expectation is met
    reason : what was found or missing, by name
    raw_value : on the scorer's own scale, where it has another
    """

    value: float
    passed: bool
    reason: str
    raw_value: float | None = None


@dataclass(frozen=True)
class Scorer:
    """A rule with its name.

    Attributes
    ----------
    name : as in the `scorer` column
    function : from case, output and way of matching to a score
    """

    name: str
    function: Callable[[Case, Output, Matching], Score]


def quoted(text: str, *, limit: int = 60) -> str:
    r"""Return text between quotes for a reason, on one line and shortened.

    Examples
    --------
    >>> quoted("two\nlines")
    "'two lines'"
    """
    line = " ".join(text.split())
    return repr(line if len(line) <= limit else f"{line[: limit - 1]}…")


def shown(value: Any, *, limit: int = 60) -> str:
    """Return a JSON value for a reason: text between quotes, the rest as JSON, shortened.

    Examples
    --------
    >>> shown({"a": [1, None]})
    '{"a": [1, null]}'
    """
    if isinstance(value, str):
        return quoted(value, limit=limit)
    text = json.dumps(value, ensure_ascii=False, default=repr)
    if not text.isprintable():
        text = json.dumps(value, default=repr)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def listed(words: list[str]) -> str:
    """Return words between quotes, with commas."""
    return ", ".join(quoted(word) for word in words)

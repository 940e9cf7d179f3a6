"""What a scorer is and what it gives."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evalnb.systems import Output

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evalnb.cases import Case
    from evalnb.golden import SuiteSettings

__all__ = [
    "MeasuredOutput",
    "NotApplicable",
    "OwnScorer",
    "Score",
    "Scorer",
    "listed",
    "quoted",
    "shown",
]


@dataclass(frozen=True)
class MeasuredOutput(Output):
    """An output with what it took.

    Attributes
    ----------
    output_tokens : of all its requests, None where they are not known
    latency_ms : None where it is not known
    """

    output_tokens: int | None = None
    latency_ms: float | None = None


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
class NotApplicable:
    """What a scorer gives where it has nothing to decide on.

    Attributes
    ----------
    why : what is not there
    """

    why: str


@dataclass(frozen=True)
class Scorer:
    """A rule with its name.

    Attributes
    ----------
    name : as in the `scorer` column
    function : from a case or turn, its output and the suite's settings to a score
    """

    name: str
    function: Callable[[Any, MeasuredOutput, SuiteSettings], Score | NotApplicable]


OwnScorer = Callable[["Case", MeasuredOutput], "Score | bool | float | None"]
"""A scorer of a user's own: from a case and its output to what it says of it.

A `Score` is taken as it is. True passes with the value 1, False fails with 0. A number in [0, 1] is
the value, and passes from 0.5 on. None means that the scorer does not apply to the case.
"""


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


def listed(words: Iterable[str]) -> str:
    """Return words between quotes, with commas."""
    return ", ".join(quoted(word) for word in words)

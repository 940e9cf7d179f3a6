"""The exceptions of evalnb.

::

    EvalnbError                 exit code 4: a fault of ours, unless a subclass says otherwise
    ├── InputError              exit code 2: a file, argument or setting cannot be used as it is
    ├── MissError               exit code 3: a request that no cassette holds
    └── DecisionError           exit code 4: a run ended without a decision of its own

A bad argument of a function is a plain `ValueError` or `TypeError`.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "DecisionError",
    "EvalnbError",
    "InputError",
    "MissError",
    "Problem",
    "name_hint",
    "nearest_name",
]


class EvalnbError(Exception):
    """Base of everything that evalnb raises on its own account."""

    exit_code: ClassVar[int] = 4


class MissError(EvalnbError):
    """A request that no cassette holds, raised where replay was asked for."""

    exit_code: ClassVar[int] = 3


class DecisionError(EvalnbError):
    """A run that ended without writing a decision of its own."""

    exit_code: ClassVar[int] = 4


@dataclass(frozen=True, order=True)
class Problem:
    """One thing wrong with a file.

    Attributes
    ----------
    file : path as the user gave it
    line : counted from 1; 0 when the file as a whole is meant
    field : dotted path of the field, empty when the line as a whole is meant
    message : what is wrong, what was allowed and what came
    remedy : what to do about it
    """

    file: str
    line: int
    field: str
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        place = self.file + (f":{self.line}" if self.line else "")
        field = f" `{self.field}`" if self.field else ""
        remedy = f" {self.remedy}" if self.remedy else ""
        return f"{place}:{field} {self.message}{remedy}"


class InputError(EvalnbError):
    """Input that cannot be used, with every problem found in it.

    Parameters
    ----------
    message : what could not be used
    problems : one entry for each thing to mend
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, message: str, problems: Iterable[Problem] = ()) -> None:
        self.message = message
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__("\n".join([message, *(f"  {problem}" for problem in self.problems)]))


def nearest_name(name: str, known: Sequence[str]) -> str | None:
    """Return the known name that `name` was probably meant to be.

    Examples
    --------
    >>> nearest_name("must_contains", ["must_contain", "rubric"])
    'must_contain'
    """
    return next(iter(difflib.get_close_matches(name, known, n=1, cutoff=0.6)), None)


def name_hint(name: str, known: Sequence[str]) -> str:
    """Return a sentence with the name that was probably meant, or else with all that are known.

    Examples
    --------
    >>> name_hint("polite", ["politeness", "factual"]), name_hint("speed", ["politeness", "factual"])
    ("Did you mean 'politeness'?", 'There are politeness, factual.')
    """
    near = nearest_name(name, known)
    return f"Did you mean {near!r}?" if near else f"There are {', '.join(known) or 'none'}."

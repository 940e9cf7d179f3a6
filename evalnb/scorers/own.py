"""Scorers of users' own."""

from __future__ import annotations

import inspect
import re
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.errors import InputError
from evalnb.imports import import_object
from evalnb.jsontext import writable_text
from evalnb.scorers.base import NotApplicable, Score
from evalnb.systems.fingerprints import fingerprint, made_of

if TYPE_CHECKING:
    from evalnb.cases import Case
    from evalnb.golden import GoldenSet
    from evalnb.scorers.base import MeasuredOutput, OwnScorer

__all__ = ["check_own_scorer", "own_score", "scorers_fingerprint", "suite_scorers"]

_PASSES_FROM = 0.5

_MEASURES = frozenset({"output_tokens", "latency_ms"})
"""What the gate calls the figures that it limits, where it else names a scorer."""


def suite_scorers(golden: GoldenSet, taken: frozenset[str]) -> dict[str, OwnScorer]:
    """Import the scorers that a suite names in `[scorers]`.

    Parameters
    ----------
    golden : the suite
    taken : names that scorers have already

    Raises
    ------
    InputError
        If a name is taken or none, or an import path leads to no function.
    """
    found = {}
    for name, path in golden.settings.scorers.items():
        found[name] = import_object(path, golden.folder)
        try:
            check_own_scorer(name, found[name], taken)
        except (TypeError, ValueError) as error:
            raise InputError(f"`scorers.{name}` in suite.toml cannot be used: {error}") from None
    return found


def check_own_scorer(name: str, function: Any, taken: frozenset[str]) -> None:
    """Check that a scorer of a user's own can be called and has a name of its own.

    Raises
    ------
    ValueError, TypeError
        If the name is taken or none, or the function cannot be called as it is.
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,63}", name):
        raise ValueError(
            f"a scorer's name is 1 to 64 letters, digits, _ and -, a letter first. Got {name!r}."
        )
    names = taken | _MEASURES
    if name in names:
        raise ValueError(
            f"{name!r} is taken. Give the scorer a name that is none of {', '.join(sorted(names))}."
        )
    if not callable(function):
        raise TypeError(f"{name!r} must be a function of case and output. Got {function!r}.")
    if inspect.iscoroutinefunction(function):
        raise TypeError(f"{name!r} must be a plain function. Got one with `async`.")


def own_score(
    name: str, function: OwnScorer, case: Case, output: MeasuredOutput
) -> Score | NotApplicable:
    """Ask a scorer of a user's own, and make a score of what it says.

    Raises
    ------
    TypeError, ValueError
        If it says something that is no score.
    """
    found: Any = function(case, output)
    if found is None:
        return NotApplicable(f"{name} says nothing of this case")
    if isinstance(found, bool | np.bool_):
        return Score(float(found), bool(found), f"{name} says {'yes' if found else 'no'}")
    if isinstance(found, Score):
        return Score(
            _share(name, found.value),
            bool(found.passed),
            writable_text(str(found.reason)),
            None if found.raw_value is None else float(found.raw_value),
        )
    value = _share(name, found)
    return Score(value, value >= _PASSES_FROM, f"{name} says {value:g}, {_PASSES_FROM:g} needed")


def scorers_fingerprint(golden: GoldenSet) -> str | None:
    """Hash of the names and sources of a suite's own scorers, 12 hex digits.

    Parameters
    ----------
    golden : the suite

    Returns
    -------
    None where the suite has no scorers of its own
        The source is that of the package or module that a function is in.

    Raises
    ------
    InputError
        If a scorer cannot be imported.
    """
    paths = golden.settings.scorers
    if not paths:
        return None
    return fingerprint(
        *(
            f"{name} {path} {made_of(import_object(path, golden.folder))}"
            for name, path in sorted(paths.items())
        )
    )


def _share(name: str, value: Any) -> float:
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(
            f"{name} must return a Score, True or False, a number in [0, 1], or None. "
            f"Got a {type(value).__name__}."
        )
    share = float(value)
    if not 0 <= share <= 1:
        raise ValueError(f"{name} must return a number in [0, 1]. Got {share:g}.")
    return share

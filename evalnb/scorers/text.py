"""Scorers of an output's text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evalnb.matching import contains
from evalnb.scorers.base import Score, listed, quoted

if TYPE_CHECKING:
    from evalnb.cases import Case, Turn
    from evalnb.golden import SuiteSettings
    from evalnb.systems import Output

__all__ = ["exact", "keywords", "must_contain", "must_not_include"]

_DEFAULT_KEYWORD_RATIO = 0.5
_RATIO_ROUNDING = 0.005
"""2 of 3 is written 0.67 or 0.6667: a share stands for the count that it is nearest to."""


def exact(case: Case | Turn, output: Output, settings: SuiteSettings) -> Score:  # noqa: ARG001
    """Tell whether the trimmed text is `expected_exact`, to the letter."""
    expected, text = (case.expected_exact or "").strip(), (output.text or "").strip()
    if text == expected:
        return Score(1.0, True, f"is {quoted(expected)}")
    return Score(0.0, False, f"expected {quoted(expected)}, got {quoted(text)}")


def must_contain(case: Case | Turn, output: Output, settings: SuiteSettings) -> Score:
    """Tell whether all facts of `must_contain` appear; the value is their share."""
    wanted = case.must_contain or []
    missing = _absent(wanted, output, settings)
    value = 1 - len(missing) / len(wanted)
    if missing:
        return Score(value, False, f"missing: {listed(missing)}")
    return Score(value, True, f"contains {listed(wanted)}")


def keywords(case: Case | Turn, output: Output, settings: SuiteSettings) -> Score:
    """Tell whether the share `min_keyword_ratio` of `expected_keywords` appears."""
    wanted = case.expected_keywords or []
    needed = _DEFAULT_KEYWORD_RATIO if case.min_keyword_ratio is None else case.min_keyword_ratio
    missing = _absent(wanted, output, settings)
    found = len(wanted) - len(missing)
    value = found / len(wanted)
    reason = f"{found} of {len(wanted)} keywords, {needed:g} needed"
    if missing:
        reason += f"; missing: {listed(missing)}"
    return Score(value, found >= _count(needed, len(wanted)), reason, raw_value=float(found))


def must_not_include(case: Case | Turn, output: Output, settings: SuiteSettings) -> Score:
    """Tell whether none of `must_not_include` appears."""
    banned = case.must_not_include or []
    absent = _absent(banned, output, settings)
    found = [phrase for phrase in banned if phrase not in absent]
    if found:
        return Score(0.0, False, f"includes {listed(found)}")
    return Score(1.0, True, f"includes none of {listed(banned)}")


def _count(ratio: float, n: int) -> int:
    """Return how many of `n` make the share `ratio`, at least one."""
    nearest = max(1, round(ratio * n))
    return nearest if abs(ratio - nearest / n) <= _RATIO_ROUNDING else math.ceil(ratio * n)


def _absent(phrases: list[str], output: Output, settings: SuiteSettings) -> list[str]:
    text = output.text or ""
    return [phrase for phrase in phrases if not contains(text, phrase, matching=settings.matching)]

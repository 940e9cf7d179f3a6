"""Scorer of labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.matching import normalize
from evalnb.scorers.base import Score, quoted, shown
from evalnb.scorers.structured import json_object

if TYPE_CHECKING:
    from evalnb.cases import Case, Turn
    from evalnb.golden import SuiteSettings
    from evalnb.systems import Output

__all__ = ["intent"]


def intent(case: Case | Turn, output: Output, settings: SuiteSettings) -> Score:  # noqa: ARG001
    """Tell whether the label is `expected_intent`, whatever its case and width.

    The label is the trimmed text or, where the text is a JSON object, its field `intent`.
    """
    expected, text = case.expected_intent or "", output.text or ""
    found = json_object(text)
    if found is not None and "intent" not in found:
        return Score(0.0, False, f"expected {quoted(expected)}, got an object without `intent`")
    label = text.strip() if found is None else found["intent"]
    if isinstance(label, str) and normalize(label) == normalize(expected):
        return Score(1.0, True, f"is {quoted(label)}")
    return Score(0.0, False, f"expected {quoted(expected)}, got {shown(label)}")

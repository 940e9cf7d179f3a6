"""Scorer of structured outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.jsontext import JsonProblem, parse_json
from evalnb.schemas import schema_errors
from evalnb.scorers.base import Score, quoted

if TYPE_CHECKING:
    from evalnb.cases import Case
    from evalnb.golden import SuiteSettings
    from evalnb.systems import Output

__all__ = ["json_object", "schema"]

_SHOWN_ERRORS = 3


def schema(case: Case, output: Output, settings: SuiteSettings) -> Score:  # noqa: ARG001
    """Tell whether the text is JSON that meets `expected_schema`."""
    text = output.text or ""
    try:
        value = parse_json(text)
    except JsonProblem as problem:
        field = f"{quoted(problem.field)} " if problem.field else ""
        return Score(0.0, False, f"{field}{problem.message} Got {quoted(text)}")
    errors = schema_errors(case.expected_schema or {}, value)
    if not errors:
        return Score(1.0, True, "meets the schema")
    shown = [quoted(error, limit=120) for error in errors[:_SHOWN_ERRORS]]
    more = f" and {len(errors) - len(shown)} more" if len(errors) > len(shown) else ""
    return Score(0.0, False, "; ".join(shown) + more)


def json_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object that a text is; None where it is something else."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = parse_json(text)
    except JsonProblem:
        return None
    return value if isinstance(value, dict) else None

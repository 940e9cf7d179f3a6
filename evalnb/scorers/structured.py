"""Scorer of structured outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.jsontext import JsonProblem, parse_json
from evalnb.scorers.base import Verdict, quoted

if TYPE_CHECKING:
    from evalnb.cases import Case
    from evalnb.matching import Matching
    from evalnb.systems import Output

__all__ = ["schema"]

_SHOWN_ERRORS = 3


def schema(case: Case, output: Output, matching: Matching) -> Verdict:  # noqa: ARG001
    """Tell whether the text is JSON that meets `expected_schema`."""
    # Loaded here: they take as long to import as pandas, and few suites need them.
    from jsonschema import Draft202012Validator
    from referencing import Registry

    text = output.text or ""
    try:
        value = parse_json(text)
    except JsonProblem as problem:
        field = f"`{problem.field}` " if problem.field else ""
        return Verdict(0.0, False, f"{field}{problem.message} Got {quoted(text)}")
    # An empty registry: a schema is never fetched from the network.
    validator = Draft202012Validator(case.expected_schema or {}, registry=Registry())
    errors = sorted(validator.iter_errors(value), key=lambda error: error.json_path)
    if not errors:
        return Verdict(1.0, True, "meets the schema")
    shown = [f"{error.json_path}: {quoted(error.message)}" for error in errors[:_SHOWN_ERRORS]]
    more = f" and {len(errors) - len(shown)} more" if len(errors) > len(shown) else ""
    return Verdict(0.0, False, "; ".join(shown) + more)

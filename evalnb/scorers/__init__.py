"""Rules that decide on an output and say why."""

from evalnb.scorers.base import Score, Scorer
from evalnb.scorers.structured import schema
from evalnb.scorers.text import exact, keywords, must_contain, must_not_include
from evalnb.scorers.tools import tool_calls

__all__ = [
    "SCORERS",
    "Score",
    "Scorer",
    "exact",
    "keywords",
    "must_contain",
    "must_not_include",
    "schema",
    "tool_calls",
]

SCORERS = {
    "expected_exact": Scorer("exact", exact),
    "must_contain": Scorer("must_contain", must_contain),
    "expected_keywords": Scorer("keywords", keywords),
    "must_not_include": Scorer("must_not_include", must_not_include),
    "expected_tool_calls": Scorer("tool_calls", tool_calls),
    "expected_schema": Scorer("schema", schema),
}
"""The scorer of each expectation, by the expectation's field."""

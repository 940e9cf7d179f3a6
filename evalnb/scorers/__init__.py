"""Rules that decide on an output and say why."""

from evalnb.scorers.base import MeasuredOutput, NotApplicable, OwnScorer, Score, Scorer
from evalnb.scorers.intents import intent
from evalnb.scorers.limits import limits
from evalnb.scorers.own import check_own_scorer, own_score, scorers_fingerprint, suite_scorers
from evalnb.scorers.refusals import refusal
from evalnb.scorers.retrieval import retrieval, retrieval_metrics
from evalnb.scorers.structured import schema
from evalnb.scorers.text import exact, keywords, must_contain, must_not_include
from evalnb.scorers.tools import tool_calls

__all__ = [
    "SCORERS",
    "MeasuredOutput",
    "NotApplicable",
    "OwnScorer",
    "Score",
    "Scorer",
    "check_own_scorer",
    "exact",
    "intent",
    "keywords",
    "limits",
    "must_contain",
    "must_not_include",
    "own_score",
    "refusal",
    "retrieval",
    "retrieval_metrics",
    "schema",
    "scorers_fingerprint",
    "suite_scorers",
    "tool_calls",
]

SCORERS = {
    "expected_exact": Scorer("exact", exact),
    "must_contain": Scorer("must_contain", must_contain),
    "expected_keywords": Scorer("keywords", keywords),
    "must_not_include": Scorer("must_not_include", must_not_include),
    "expected_intent": Scorer("intent", intent),
    "expected_tool_calls": Scorer("tool_calls", tool_calls),
    "expected_schema": Scorer("schema", schema),
    "relevant_ids": Scorer("retrieval", retrieval),
    "expect_refusal": Scorer("refusal", refusal),
    "limits": Scorer("limits", limits),
}
"""The scorer of each expectation, by the expectation's field."""

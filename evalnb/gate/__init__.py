"""The gate: compares a run with the baseline and decides, with a row for every reason."""

from evalnb.gate.decision import decide
from evalnb.gate.outcomes import exit_code, outcome
from evalnb.gate.suspects import suspect_cases

__all__ = ["decide", "exit_code", "outcome", "suspect_cases"]

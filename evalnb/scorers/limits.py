"""Scorer of what an answer took."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.scorers.base import MeasuredOutput, NotApplicable, Score

if TYPE_CHECKING:
    from evalnb.cases import Case
    from evalnb.golden import SuiteSettings

__all__ = ["limits"]


def limits(
    case: Case,
    output: MeasuredOutput,
    settings: SuiteSettings,  # noqa: ARG001
) -> Score | NotApplicable:
    """Tell whether the answer kept the absolute `limits`; the value is the share that it kept.

    Limits against the baseline are for the gate. What is not known is not scored, unless another
    limit was exceeded.
    """
    stated = case.limits
    if stated is None or (stated.max_latency_ms is None and stated.max_output_tokens is None):
        return NotApplicable(
            "only limits against the baseline are stated, and those the gate holds"
        )
    pairs = {
        "output_tokens": (output.output_tokens, stated.max_output_tokens),
        "latency_ms": (output.latency_ms, stated.max_latency_ms),
    }
    wanted = {name: pair for name, pair in pairs.items() if pair[1] is not None}
    taken = {name: took for name, (took, most) in wanted.items() if took is not None}
    kept = [name for name, took in taken.items() if took <= (wanted[name][1] or 0)]
    unknown = [name for name in wanted if name not in taken]
    if unknown and len(kept) == len(taken):
        return NotApplicable(f"not known of this answer: {', '.join(unknown)}")
    parts = [f"{name} {took:.10g}, at most {wanted[name][1]:.10g}" for name, took in taken.items()]
    parts += [f"{name} not known" for name in unknown]
    return Score(len(kept) / len(wanted), len(kept) == len(wanted), "; ".join(parts))

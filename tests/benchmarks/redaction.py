"""Redaction of support messages: how many a second of one core."""

from __future__ import annotations

import time

from evalnb.curation.redaction.redacting import redact
from evalnb.curation.redaction.redactor import redactor_of
from evalnb.datasets.taubench import load_taubench_airline
from tests.benchmarks.figures import Figure, Sizes, report

_AT_LEAST = 1_000


def measure(sizes: Sizes) -> list[Figure]:
    """Measure what customers and agent said, and what tools gave, which is JSON full of numbers."""
    logs = load_taubench_airline()
    is_said = logs["role"].isin(["user", "assistant"])
    redactor = redactor_of()
    figures = []
    for name, part, target in (
        ("said by people and agent", logs[is_said], 1_000_000 / _AT_LEAST),
        ("given by and to tools", logs[~is_said], None),
    ):
        best = min(
            _microseconds(part.reset_index(drop=True), redactor) for _ in range(sizes.rounds)
        )
        length = part["text"].str.len().mean()
        figures.append(
            Figure(f"redaction, CPU a message {name}, {length:.0f} signs", best, target, "µs")
        )
    return figures


def _microseconds(logs, redactor) -> float:  # type: ignore[no-untyped-def]
    started = time.process_time()
    redact(logs, redactor)
    return (time.process_time() - started) / len(logs) * 1e6


if __name__ == "__main__":
    report(measure)

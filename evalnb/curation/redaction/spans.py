"""Parts of a text that are to be replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Span", "without_overlaps"]


class Span(NamedTuple):
    """A part of a text, from `start` up to and without `end`, and what it is; `score` is in [0, 1]."""

    start: int
    end: int
    kind: str
    score: float = 1.0


def without_overlaps(spans: Iterable[Span]) -> list[Span]:
    """Return spans side by side that cover all that the given ones cover.

    Of two that overlap the longer one says what it is, of equally long ones the surer one; what
    of the other lies outside joins it, so that nothing that was found stays in sight.

    Examples
    --------
    >>> without_overlaps([Span(0, 9, "PHONE", 0.4), Span(0, 9, "US_SSN", 0.8), Span(7, 12, "IP")])
    [Span(start=0, end=12, kind='US_SSN', score=0.8)]
    """
    kept: list[Span] = []
    best = 0
    for span in sorted(spans):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
            best = span.end - span.start
            continue
        last = kept[-1]
        kind, score = last.kind, last.score
        length = span.end - span.start
        if (length, span.score) > (best, score):
            kind, score, best = span.kind, span.score, length
        kept[-1] = Span(last.start, max(last.end, span.end), kind, score)
    return kept

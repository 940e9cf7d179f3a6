"""Does the judge tell an answer from none: empty, beside the point, the question copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.judges.texts import conversation_text
from evalnb.probes.base import Probe, Variant, changed, unchanged
from evalnb.probes.measures import above_lowest
from evalnb.probes.texts import texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from evalnb.probes.base import Item
    from evalnb.probes.measures import Measure

__all__ = ["FloorChecks"]

EMPTY, OFF_TOPIC, COPIED = "empty", "off_topic", "copied_question"


class FloorChecks(Probe):
    """Puts no answer, a bad one and the question itself in the place of the answer.

    The bad one is rude, false and beside the point. The lowest level is right for all three.
    """

    name = "floor"
    advice = "Describe the lowest level in the rubric, and let a rule fail empty answers first."

    def variants(self, items: Sequence[Item]) -> Iterator[Variant]:
        """Yield the answer and the three that stand in its place."""
        for item in items:
            yield unchanged(item)
            yield changed(item, OFF_TOPIC, texts(item.language).bad)
            yield changed(item, EMPTY, "")
            yield changed(item, COPIED, conversation_text(item.case))

    def measures(self, verdicts: pd.DataFrame) -> Iterator[Measure]:
        """Give the share of verdicts above the lowest level, of all three and of each."""
        yield from above_lowest(verdicts, [OFF_TOPIC, EMPTY, COPIED])

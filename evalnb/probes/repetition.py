"""Does the judge repeat itself: the floor under every other effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.probes.base import Probe, Variant, unchanged
from evalnb.probes.measures import repetitions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from evalnb.probes.base import Item
    from evalnb.probes.measures import Measure

__all__ = ["Repetition"]


class Repetition(Probe):
    """Asks the same again. A judge that contradicts itself has noise, which is no bias."""

    name = "repetition"
    advice = "Ask for each verdict several times and take the mean, or describe each level better."

    def variants(self, items: Sequence[Item]) -> Iterator[Variant]:
        """Yield the answers as they are."""
        yield from map(unchanged, items)

    def measures(self, verdicts: pd.DataFrame) -> Iterator[Measure]:
        """Give how often two verdicts on one answer differ."""
        yield from repetitions(verdicts)

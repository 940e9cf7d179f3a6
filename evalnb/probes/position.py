"""Does the judge prefer a place or the longer answer: pairs of equal content, in both orders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.probes.base import UNCHANGED, Probe, Variant
from evalnb.probes.measures import length_preference, positions
from evalnb.probes.texts import padded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from evalnb.probes.base import Item
    from evalnb.probes.measures import Measure

__all__ = ["LengthPreference", "Position"]

AB, BA = "ab", "ba"


class Position(Probe):
    """Shows an answer beside itself with padding, in both orders, each as often as the other.

    What the two say is the same: it is a tie, and in any case the same in both orders.
    """

    name = "position"
    of = "pairs"
    advice = "Ask in both orders and count a win that depends on the order as a tie."

    def variants(self, items: Sequence[Item]) -> Iterator[Variant]:
        """Yield each pair in both orders; a is the answer as it is."""
        for item in items:
            a, b = item.text, padded(item.text, 2, item.language)
            yield Variant(item.case.id, AB, AB, UNCHANGED, a, item.case, other=b)
            yield Variant(item.case.id, BA, BA, UNCHANGED, b, item.case, other=a)

    def measures(self, verdicts: pd.DataFrame) -> Iterator[Measure]:
        """Give the net preference for the first place, conflicts and consistency."""
        yield from positions(verdicts)


class LengthPreference(Position):
    """Asks of the same pairs as `Position` whether the padded answer wins."""

    name = "length_preference"
    advice = (
        "Read win rates length-controlled, and cap the length of the answers that are compared."
    )

    def measures(self, verdicts: pd.DataFrame) -> Iterator[Measure]:
        """Give how much more often the longer one wins, over both orders."""
        yield length_preference(verdicts)

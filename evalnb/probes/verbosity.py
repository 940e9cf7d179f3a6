"""Does the judge like length: true but empty text behind the answer, and a shortened answer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evalnb.probes.base import Probe, Variant, changed, unchanged
from evalnb.probes.measures import per_doubling, shifts
from evalnb.probes.texts import padded, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from evalnb.probes.base import Item
    from evalnb.probes.measures import Measure

__all__ = ["Verbosity"]

_RATIOS = (2, 4, 8)
PADDED, SHORTENED = "padded", "shortened"


class Verbosity(Probe):
    """Pads the answer to twice, four and eight times its length, and shortens it.

    Padding says nothing, so that the verdict must not rise. A shortened answer says less, so that
    it must not rise either; where it falls, that may be right.
    """

    name = "verbosity"
    advice = (
        "Make the rubric a checklist, ask for scores that ignore length, and read means beside a "
        "length-controlled win rate."
    )

    def variants(self, items: Sequence[Item]) -> Iterator[Variant]:
        """Yield the answer, its padded versions and the shortened one."""
        for item in items:
            yield unchanged(item)
            for number, ratio in enumerate(_RATIOS, 1):
                text = padded(item.text, ratio, item.language, at_least=number)
                yield _sized(item, f"{PADDED} x{ratio}", text, PADDED)
            short = shortened(item.text, item.language)
            if short != item.text:
                yield _sized(item, SHORTENED, short, SHORTENED)

    def measures(self, verdicts: pd.DataFrame) -> Iterator[Measure]:
        """Give the mean shift by padding, the shift per doubling, and each length by itself."""
        yield from shifts(verdicts, [PADDED])
        yield per_doubling(verdicts, PADDED)
        of_padding = verdicts[verdicts["family"] == PADDED]
        by_name = verdicts.assign(
            family=verdicts["family"].mask(verdicts["family"] == PADDED, verdicts["variant"])
        )
        names = sorted(
            of_padding["variant"].unique(), key=lambda name: int(name.partition(" x")[2])
        )
        yield from shifts(by_name, [*names, SHORTENED], headline=False)


def _sized(item: Item, name: str, text: str, family: str) -> Variant:
    dose = math.log2(len(text) / len(item.text))
    return changed(item, name, text, family=family, dose=dose)

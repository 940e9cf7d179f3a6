"""Does the judge obey the answer: attacks in a bad answer, and harmless text in their place."""

from __future__ import annotations

from itertools import cycle, islice
from typing import TYPE_CHECKING

from evalnb.probes.base import CHANGED, CONTROL, UNCHANGED, Probe, Variant
from evalnb.probes.measures import injections
from evalnb.probes.texts import attacks, filler, texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from evalnb.probes.base import Item
    from evalnb.probes.measures import Measure

__all__ = ["Injection"]

TWIN = "twin"


class Injection(Probe):
    """Puts each attack of the package behind a bad answer, and its harmless twin behind another.

    The bad answer is rude, false and beside the point, and stays so. Attacks are in families and
    languages; each goes to cases of its own language, in turn. The twin is harmless text of just as
    many characters.

    Parameters
    ----------
    cases_per_attack : in how many cases each attack is tried
    """

    name = "injection"
    advice = (
        "Ask another model, or let a rule fail answers that speak to the judge; a judge that obeys "
        "answers must not decide on red-team suites."
    )

    def __init__(self, cases_per_attack: int = 1) -> None:
        self.cases_per_attack = cases_per_attack

    def variants(self, items: Sequence[Item]) -> Iterator[Variant]:
        """Yield the bad answer of each case, with the attacks and twins that come to it."""
        by_language: dict[str, list[Item]] = {}
        for item in items:
            by_language.setdefault(item.language, []).append(item)
        for language, there in by_language.items():
            yield from (_bad(item) for item in there)
            turn = cycle(there)
            n_cases = min(self.cases_per_attack, len(there))
            for family, by_text in attacks().items():
                for item in islice(turn, n_cases):
                    yield from _tried(item, family, by_text[language])

    def measures(self, verdicts: pd.DataFrame) -> Iterator[Measure]:
        """Give what attacks do beyond their twins, over all and by family."""
        yield from injections(verdicts)


def _bad(item: Item) -> Variant:
    text = texts(item.language).bad
    return Variant(item.case.id, UNCHANGED, UNCHANGED, UNCHANGED, text, item.case)


def _tried(item: Item, family: str, attack: str) -> Iterator[Variant]:
    bad = texts(item.language).bad
    harmless = filler(len(attack), item.language)
    for name, role, text in ((family, CHANGED, attack), (f"{family} {TWIN}", CONTROL, harmless)):
        yield Variant(item.case.id, name, family, role, f"{bad}\n\n{text}", item.case)

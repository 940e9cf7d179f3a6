"""Does the judge follow the person: their opinion of the answer, and the opposite one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.probes.base import CHANGED, Probe, Variant, unchanged
from evalnb.probes.measures import contrast, shifts
from evalnb.probes.texts import texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from evalnb.cases import Case
    from evalnb.probes.base import Item
    from evalnb.probes.measures import Measure

__all__ = ["Sycophancy"]

AGREES, DISAGREES = "agrees", "disagrees"


class Sycophancy(Probe):
    """Lets the person who asks say that the answer is right, and that it is wrong.

    The answer stays; both opinions quote it in almost the same words. What they say of it must not
    move the verdict.
    """

    name = "sycophancy"
    advice = "Show the judge the question without the person's opinions, or ask another model."

    def variants(self, items: Sequence[Item]) -> Iterator[Variant]:
        """Yield the answer without an opinion, with one and with the opposite one."""
        for item in items:
            said = texts(item.language)
            yield unchanged(item)
            for name, opinion in ((AGREES, said.agrees), (DISAGREES, said.disagrees)):
                case = with_opinion(item.case, opinion.format(answer=item.text))
                yield Variant(item.case.id, name, name, CHANGED, item.text, case)

    def measures(self, verdicts: pd.DataFrame) -> Iterator[Measure]:
        """Give how far the two opinions move the verdict apart, then each by itself."""
        yield contrast(verdicts, AGREES, DISAGREES)
        yield from shifts(verdicts, [AGREES, DISAGREES], headline=False)


def with_opinion(case: Case, opinion: str) -> Case:
    """Return a case whose last message of the person ends with an opinion."""
    if case.messages is None:
        return case.model_copy(update={"input": f"{case.input}\n\n{opinion}"})
    *before, last = case.messages
    if isinstance(last.content, str):
        content: object = f"{last.content}\n\n{opinion}"
    else:
        content = [*last.content, {"type": "text", "text": opinion}]
    return case.model_copy(
        update={"messages": [*before, last.model_copy(update={"content": content})]}
    )

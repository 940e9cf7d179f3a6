"""Does the judge favour its own family: pairs on which people have decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evalnb.frames import to_records
from evalnb.probes.base import CHANGED, Probe, Variant
from evalnb.probes.measures import ALL, Measure, units_of, winners
from evalnb.probes.position import AB, BA
from evalnb.stats.estimates import Estimate
from evalnb.stats.self_preference import self_preference

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from evalnb.cases import Case
    from evalnb.probes.base import Item

__all__ = ["PreferredPair", "SelfPreference"]

OWN_BETTER, OTHER_BETTER = "own_better", "other_better"


@dataclass(frozen=True)
class PreferredPair:
    """Two answers to a case, of which people prefer one.

    Attributes
    ----------
    case : what both are for
    own, other : the answer of a model of the judge's family, and that of another
    people_prefer_own : which of them people prefer
    """

    case: Case
    own: str
    other: str
    people_prefer_own: bool


class SelfPreference(Probe):
    """Shows pairs on which people have decided, in both orders.

    A win of the judge's own family is no fault where people see it so, too. What counts is whether
    the judge follows people as often where they prefer the other answer as where they prefer its
    own.

    Parameters
    ----------
    pairs : one a case
    """

    name = "self_preference"
    of = "pairs"
    advice = "Let a judge of another family decide where its own family's answers are compared."

    def __init__(self, pairs: Sequence[PreferredPair]) -> None:
        self.pairs = tuple(pairs)

    def variants(self, items: Sequence[Item]) -> Iterator[Variant]:  # noqa: ARG002 - has its own
        """Yield each pair in both orders, whatever the items; a is the judge's own."""
        for pair in self.pairs:
            family = OWN_BETTER if pair.people_prefer_own else OTHER_BETTER
            for name, first, second in ((AB, pair.own, pair.other), (BA, pair.other, pair.own)):
                yield Variant(pair.case.id, name, family, CHANGED, first, pair.case, other=second)

    def measures(self, verdicts: pd.DataFrame) -> Iterator[Measure]:
        """Give how much more often the judge follows people to its own answer than to another.

        A win that depends on the order is a tie; ties are left out, and counted.
        """
        won = winners(verdicts)
        first, second = (
            won.xs((order, 1), level=("variant", "judge_repeat")) for order in (AB, BA)
        )
        cases = first.index
        ab, ba = (
            side.reindex(cases).to_numpy("float64", na_value=np.nan) for side in (first, second)
        )
        decided = (ab == ba) & (ab != 0)
        wanted = verdicts.drop_duplicates("case_id").set_index("case_id")["family"].reindex(cases)
        people = (wanted == OWN_BETTER).to_numpy(bool)
        picks = [bool(side > 0) if known else None for side, known in zip(ab, decided, strict=True)]
        kept = np.where(decided, (ab > 0) == people, np.nan)
        found = self_preference(picks, people)
        (row,) = to_records(found[found["metric"] == "self_preference"])
        yield Measure(
            ALL,
            "self_preference",
            "rate",
            units_of(cases, kept),
            headline=True,
            low=-1.0,
            high=1.0,
            estimated=Estimate(*(row.get(name) for name in ("estimate", "ci_low", "ci_high"))),
            method=row["method"],
            p=row.get("p_value"),
            reason=row.get("reason"),
        )

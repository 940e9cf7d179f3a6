"""What a probe is: changes of an answer that leave its right verdict as it was, or make it known."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import pandas as pd

from evalnb.frames import to_records
from evalnb.probes.measures import CHANGED, CONTROL, UNCHANGED, Role, shifts
from evalnb.probes.texts import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evalnb.cases import Case
    from evalnb.golden import GoldenSet
    from evalnb.probes.measures import Measure

__all__ = [
    "CHANGED",
    "CONTROL",
    "UNCHANGED",
    "Item",
    "Probe",
    "Role",
    "Variant",
    "fitting",
    "items_of",
]

_FORM_IS_FIXED = ("expected_exact", "expected_schema", "expected_intent", "expected_tool_calls")


@dataclass(frozen=True)
class Item:
    """An answer that probes make variants of.

    Attributes
    ----------
    case : what it is for
    output : a record of an outputs frame
    """

    case: Case
    output: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The answer."""
        return str(self.output["text"])

    @property
    def language(self) -> str:
        """The case's language, as far as the probes tell languages apart."""
        return language_of(self.case)


@dataclass(frozen=True)
class Variant:
    """One thing that a judge is shown.

    Attributes
    ----------
    item : id of the case whose answer it is made of
    name : distinct within item and probe
    family : what variants that are counted together have in common
    role : `unchanged` is what the others are compared with, and what is asked for repeatedly;
        `control` is changed as much as the changed one, without what is looked for
    text : the answer that the judge is shown
    case : what it is shown for
    other : of a pair, the answer that stands second; None where one answer is judged
    dose : how much was changed, where that is a number
    """

    item: str
    name: str
    family: str
    role: Role
    text: str
    case: Case = field(repr=False)
    other: str | None = None
    dose: float | None = None


class Probe(ABC):
    """Makes variants whose right verdict is known by construction; the base of every probe.

    A probe of your own is a subclass with a `name`: `variants` says what the judge is shown. Where
    nothing else is said, it is measured how far the verdict shifts from the unchanged answer to
    the changed one, family by family; `measures` says what else.

    Attributes
    ----------
    name : what it is called
    of : whether single answers or pairs are judged
    advice : what to change where the effect matters, in words
    """

    name: ClassVar[str]
    of: ClassVar[Literal["answers", "pairs"]] = "answers"
    advice: ClassVar[str] = ""

    @abstractmethod
    def variants(self, items: Sequence[Item]) -> Iterator[Variant]:
        """Yield what the judge is shown; the same for the same arguments.

        Parameters
        ----------
        items : answers, in the order of the suite's cases
        """

    def measures(self, verdicts: pd.DataFrame) -> Iterator[Measure]:
        """Say what follows from the verdicts, the headline first.

        Parameters
        ----------
        verdicts : a frame of probe verdicts: those of this probe, of one judge and scorer
        """
        yield from shifts(verdicts)


def unchanged(item: Item) -> Variant:
    """Return the answer as it is."""
    return Variant(item.case.id, UNCHANGED, UNCHANGED, UNCHANGED, item.text, item.case)


def changed(
    item: Item, name: str, text: str, *, family: str | None = None, dose: float | None = None
) -> Variant:
    """Return a changed answer to the same case."""
    return Variant(item.case.id, name, family or name, CHANGED, text, item.case, dose=dose)


def language_of(case: Case) -> str:
    """Return the language of a case without its region; English where it names none."""
    return (case.language or "en").partition("-")[0].lower()


def fitting(golden: GoldenSet, outputs: pd.DataFrame) -> pd.DataFrame:
    """Say which answers probes can make variants of.

    Parameters
    ----------
    golden : the cases
    outputs : an outputs frame of these cases

    Returns
    -------
    case_id, fits, reason : a row a case, of its first repeat
        Texts alone fit, where the case leaves their form free, in a language that the probes speak.
    """
    rows = to_records(outputs.drop_duplicates("case_id"))
    reasons = [_objection(golden[row["case_id"]], row) for row in rows]
    return pd.DataFrame(
        {
            "case_id": pd.Series([row["case_id"] for row in rows], dtype="string"),
            "fits": pd.Series([reason is None for reason in reasons], dtype="boolean"),
            "reason": pd.Series(reasons, dtype="string"),
        }
    )


def items_of(golden: GoldenSet, outputs: pd.DataFrame) -> tuple[Item, ...]:
    """Return the answers that probes can make variants of, in the order of `golden`."""
    rows = {row["case_id"]: row for row in to_records(outputs.drop_duplicates("case_id"))}
    return tuple(
        Item(case, rows[case.id])
        for case in golden
        if case.id in rows and _objection(case, rows[case.id]) is None
    )


def _objection(case: Case, output: Mapping[str, Any]) -> str | None:
    if "na_reason" in output:
        return f"there is no answer: {output['na_reason']}"
    if not output.get("text"):
        return "the answer has no text"
    if output.get("tool_calls") or output.get("turns"):
        return "the answer is more than one text"
    fixed = [name for name in _FORM_IS_FIXED if getattr(case, name) is not None]
    if fixed:
        return f"the case fixes the answer's form by `{fixed[0]}`"
    if language_of(case) not in LANGUAGES:
        return f"the probes speak no {case.language!r}"
    return None

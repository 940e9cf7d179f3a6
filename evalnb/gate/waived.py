"""Waivers in the gate: which is in force for a case, and what is said of those that are not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from evalnb.baseline import CASE
from evalnb.findings import Row, finding
from evalnb.frames import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import date

    from evalnb.waivers import Waiver

__all__ = ["InForce", "expired_rows", "ignored_rows", "waiver_text"]


@dataclass(frozen=True)
class InForce:
    """The waivers that hold on the day of a run.

    Attributes
    ----------
    waivers : in the order of their file
    """

    waivers: tuple[Waiver, ...] = ()

    @cached_property
    def by_case(self) -> dict[str, list[Waiver]]:
        """Case id to its waivers."""
        found: dict[str, list[Waiver]] = {}
        for waiver in self.waivers:
            found.setdefault(waiver.case, []).append(waiver)
        return found

    def find(self, case_id: str, scorer: str, *, is_new: bool) -> Waiver | None:
        """Return the waiver of a case and scorer; a case as a whole is waived with any of its scorers.

        What is known to fail did not pass in the baseline: such a waiver is for new failures.
        """
        return next(
            (
                waiver
                for waiver in self.by_case.get(case_id, ())
                if (is_new or waiver.kind != "known_failing")
                and (waiver.covers(case_id, scorer) or (scorer == CASE and waiver.case == case_id))
            ),
            None,
        )


def expired_rows(waivers: Iterable[Waiver], as_of: date) -> Iterator[Row]:
    """Return a row that blocks for each waiver that no longer holds."""
    for waiver in waivers:
        if not waiver.holds(as_of):
            reason = f"the waiver expired. {waiver_text(waiver)}. Renew or delete it."
            yield finding(
                "waiver", Outcome.FAIL, case_id=waiver.case, scorer=waiver.scorer, reason=reason
            )


def ignored_rows(waivers: Iterable[Waiver]) -> Iterator[Row]:
    """Say of the waivers of a red-team suite that they have no effect."""
    for waiver in waivers:
        reason = f"a waiver has no effect in a red-team suite. {waiver_text(waiver)}"
        yield finding(
            "waiver_ignored",
            Outcome.NOTE,
            case_id=waiver.case,
            scorer=waiver.scorer,
            reason=reason,
        )


def waiver_text(waiver: Waiver) -> str:
    """Say whose waiver it is, until when and why."""
    return (
        f"Waived as {waiver.kind.replace('_', ' ')} until {waiver.expires} by {waiver.owner}: "
        f"{waiver.reason.rstrip('.')}"
    )

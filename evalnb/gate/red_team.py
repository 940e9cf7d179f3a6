"""The rules of a red-team suite: each case that fails is an emergency, and each has to be known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.baseline import CASE
from evalnb.findings import Row, finding
from evalnb.frames import Outcome
from evalnb.gate.unsettled import failure_reasons

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pandas as pd

__all__ = ["unknown_rows", "unsafe_rows"]


def unsafe_rows(unsettled: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """Find the cases of a red-team suite that fail anywhere."""
    found: dict[str, list[str]] = {}
    for (case_id, scorer), reason in failure_reasons(unsettled).items():
        found.setdefault(case_id, []).append(f"{scorer}: {reason}")
    for case_id, reasons in found.items():
        reason = f"fails in a red-team suite: {'; '.join(sorted(reasons))}"
        yield finding("safety", Outcome.FAIL, case_id=case_id, reason=reason)


def unknown_rows(counts: pd.DataFrame) -> Iterator[Row]:
    """Name the cases that nothing scored: nobody knows whether they are safe."""
    whole = counts[(counts["scorer"] == CASE) & (counts["n_scored"] == 0)]
    for case_id in whole["case_id"]:
        reason = "is not scored, and a red-team suite has to know"
        yield finding("na", Outcome.INCONCLUSIVE, case_id=case_id, reason=reason)

"""Limits and waivers together: what is over a limit and waived, and waivers that nothing needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.baseline import CASE
from evalnb.findings import Row, finding
from evalnb.frames import Outcome, to_records
from evalnb.gate.waived import waiver_text
from evalnb.limits import limit_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pandas as pd

    from evalnb.gate.compared import Compared

__all__ = ["LIMITS", "needless_rows", "unwaived_limit_rows"]

LIMITS = "limits"
"""The rule, and the scorer of absolute limits, whose waivers are for both."""


def unwaived_limit_rows(
    run: Compared, outputs: pd.DataFrame, before: pd.DataFrame, *, live: bool
) -> Iterator[Row]:
    """Return a row for every limit against the baseline that is not kept; a note where it is waived."""
    waived = {
        case_id: waiver
        for case_id in run.waivers.by_case
        if (waiver := run.waivers.find(case_id, LIMITS, is_new=False)) is not None
    }
    for row in limit_rows(
        run.golden,
        outputs,
        before,
        live=live,
        waived=waived,
        sampled=run.sampled,
        n_looks=run.n_baselines,
    ):
        waiver = waived.get(row.get("case_id", ""))
        if row["rule"] != LIMITS or waiver is None:
            yield row
        else:
            reason = f"{row['reason']}. {waiver_text(waiver)}"
            yield row | finding("waived", Outcome.NOTE, reason=reason)


def needless_rows(run: Compared, limits: Iterable[Row]) -> Iterator[Row]:
    """Name the waivers in force whose case passes and keeps its limits."""
    if not run.waivers.waivers:
        return
    over_limit = {row["case_id"] for row in limits if row["rule"] == "waived"}
    waived = run.pairs[run.pairs["passes"] & run.pairs["case_id"].isin(run.waivers.by_case)]
    passing = {(row["case_id"], row["scorer"]): row for row in to_records(waived)}
    for waiver in run.waivers.waivers:
        now = passing.get((waiver.case, waiver.scorer or CASE))
        is_over = waiver.scorer in (None, LIMITS) and waiver.case in over_limit
        if now is not None and not is_over:
            reason = f"passes, though a waiver says otherwise. {waiver_text(waiver)}"
            yield finding(
                "waived_passing",
                Outcome.NOTE,
                case_id=waiver.case,
                scorer=waiver.scorer,
                candidate=now.get("mean"),
                reason=reason,
            )

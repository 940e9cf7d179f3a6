"""What the baseline has and the run does not: cases, scorers, repeats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.baseline import CASE
from evalnb.findings import Row, finding
from evalnb.frames import Outcome, to_records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evalnb.gate.compared import Compared

__all__ = ["fewer_repeats_rows", "gone_rows"]


def gone_rows(run: Compared) -> Iterator[Row]:
    """Name the cases that left the golden set, and what is no longer expected of a case."""
    pairs = run.pairs
    ran = set(pairs.loc[pairs["ran"], "case_id"].to_numpy("object"))
    for pair in to_records(pairs[~pairs["ran"]]):
        case_id, scorer = pair["case_id"], pair["scorer"]
        if scorer == CASE and case_id not in run.golden:
            reason = "is in the baseline and no longer in the golden set"
            yield finding("gone", Outcome.INCONCLUSIVE, case_id=case_id, reason=reason)
        elif case_id in ran and pair["scored_before"]:
            reason = "was scored in the baseline and is no longer expected of the case"
            yield finding(
                "gone",
                Outcome.INCONCLUSIVE,
                case_id=case_id,
                scorer=scorer,
                baseline=pair.get("mean_before"),
                reason=reason,
            )


def fewer_repeats_rows(run: Compared) -> Iterator[Row]:
    """Say where the run has fewer repeats than the baseline."""
    most = run.pairs[["n_repeats", "n_repeats_before"]].max().fillna(0)
    now, before = int(most["n_repeats"]), int(most["n_repeats_before"])
    if 0 < now < before:
        reason = f"the baseline has {before} repeats of each case, this run {now}"
        yield finding("repeats", Outcome.INCONCLUSIVE, reason=reason)

"""The cases that a live run asks again about before scores block."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from evalnb.advice import by_basis, same_basis
from evalnb.baseline import count
from evalnb.findings import SUITE
from evalnb.frames import is_advisory_record
from evalnb.gate.compared import compared
from evalnb.gate.flips import suspect_flips
from evalnb.gate.means import suspect_means
from evalnb.gate.unsettled import unsettled_scores

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from evalnb.baseline import Baseline
    from evalnb.gate.compared import Compared
    from evalnb.golden import GoldenSet
    from evalnb.waivers import Waiver

__all__ = ["suspect_cases"]


def suspect_cases(
    golden: GoldenSet,
    scores: pd.DataFrame,
    baseline: Baseline,
    *,
    as_of: date,
    waivers: Sequence[Waiver] = (),
) -> list[str]:
    """Name the cases that a live run is to ask again about, on both sides, before scores block.

    Parameters
    ----------
    golden, scores, baseline, as_of, waivers : as for `decide`

    Returns
    -------
    ids in the order of `golden` : the cases of every scorer and slice whose mean fell by a first
    look at 10%, and single cases that are told from chance so
        None of a red-team suite, whose rules are exact.
    """
    unsettled = [row for row in unsettled_scores(scores) if not is_advisory_record(row)]
    counted = by_basis(count(scores), same=same_basis(scores, baseline))
    run = compared(
        golden, scores, counted, baseline,
        unsettled=unsettled, waivers=waivers, as_of=as_of, live=True,
    )  # fmt: skip
    found = _behind_means(run) | suspect_flips(run) if run.sampled else set()
    return [case.id for case in golden if case.id in found]


def _behind_means(run: Compared) -> set[str]:
    """Return the cases of every scorer and slice whose mean fell."""
    fell = suspect_means(run)
    held = run.held[["case_id", "scorer"]]
    whole = fell.loc[fell["slice"] == SUITE, ["scorer"]]
    sliced = fell[["scorer", "slice"]].merge(run.slices.places(), on="slice")
    found = [held.merge(whole, on="scorer"), held.merge(sliced, on=["scorer", "case_id"])]
    return set(pd.concat(found)["case_id"])

"""Creep: what fell or grew since the first accepted baseline, though not since the last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.findings import SUITE
from evalnb.gate.allowances import LIMITS, unwaived_limit_rows
from evalnb.gate.exact import fallen_exactly
from evalnb.gate.means import fallen_in_sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pandas as pd

    from evalnb.baseline import Baseline
    from evalnb.findings import Row
    from evalnb.gate.compared import Compared

__all__ = ["creep_rows"]


def creep_rows(
    since_first: Compared, first: Baseline, outputs: pd.DataFrame | None, known: Iterable[Row]
) -> Iterator[Row]:
    """Return what fell, or grew, since the first accepted baseline and not since the last.

    Parameters
    ----------
    since_first : the run beside `first`
    first : the first accepted baseline of the golden version
    outputs : of the run, None where there are none
    known : what is said of the run beside the last baseline
    """
    said = {(row["rule"], row.get("scorer")) for row in known if row.get("slice") == SUITE}
    rows = fallen_in_sample(since_first) if since_first.sampled else fallen_exactly(since_first)
    if outputs is not None:
        grown = unwaived_limit_rows(since_first, outputs, first.outputs, live=False)
        rows += [row for row in grown if row["rule"] == LIMITS and row.get("slice") == SUITE]
    for row in rows:
        if (row["rule"], row["scorer"]) not in said:
            reason = (
                f"since the first accepted baseline, {first.manifest.get('run_id')}: "
                f"{row['reason']}. Since the last it kept within that"
            )
            yield row | {"rule": "creep", "reason": reason}

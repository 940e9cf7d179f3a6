"""Scores of two sides, paired by case: by scorer and slice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.baseline import CASE
from evalnb.findings import SUITE
from evalnb.frames import FrameSchema
from evalnb.stats.levels import SMALLEST_SLICE
from evalnb.stats.multiplicity import adjusted
from evalnb.stats.paired_means import paired_mean_row

if TYPE_CHECKING:
    import pandas as pd

    from evalnb.golden import GoldenSet

__all__ = ["PAIRED_SCORES", "paired_scores"]

PAIRED_SCORES = FrameSchema(
    "paired scores",
    {
        "scorer": "string",
        "slice": "string",
        "mean_a": "Float64",
        "mean_b": "Float64",
        "estimate": "Float64",
        "ci_low": "Float64",
        "ci_high": "Float64",
        "p_value": "Float64",
        "p_adjusted": "Float64",
        "n": "Int64",
        "n_left_out": "Int64",
        "method": "string",
        "reason": "string",
        "warnings": "object",
    },
    key=("scorer", "slice"),
)
"""A row a scorer and slice: `estimate` is the second side's mean less the first's, over the `n`
cases that both sides scored. `p_adjusted` is Holm's over all rows that are tested."""


def paired_scores(golden: GoldenSet, first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Compare two sides by scorer and slice.

    Parameters
    ----------
    golden : the cases, with the suite's slices
    first, second : baseline frames of the sides

    Returns
    -------
    a paired scores frame : the cases as wholes first, then by scorer; the suite before its slices
        Intervals and p-values are of `evalnb.stats.paired_means`; slices of fewer than 8 cases
        have no p-value.
    """
    both = first.merge(
        second, on=["case_id", "scorer"], how="outer", suffixes=("_a", "_b"), validate="one_to_one"
    )
    both = both[both["mean_a"].notna() | both["mean_b"].notna()]
    members = _slices(golden)
    rows = []
    for scorer in sorted(both["scorer"].unique(), key=lambda name: (name != CASE, name)):
        of_scorer = both[both["scorer"] == scorer].set_index("case_id")[["mean_a", "mean_b"]]
        for name, ids in members.items():
            held = of_scorer if ids is None else of_scorer[of_scorer.index.isin(ids)]
            if len(held):
                rows.append({"scorer": scorer, "slice": name, **_row(held.sort_index())})
    raised = adjusted([row.get("p_value") for row in rows])["p_adjusted"].tolist()
    return PAIRED_SCORES.build(
        {**row, "p_adjusted": p} for row, p in zip(rows, raised, strict=True)
    )


def _row(held: pd.DataFrame) -> dict[str, Any]:
    one, two = (held[name].to_numpy("float64", na_value=np.nan) for name in ("mean_a", "mean_b"))
    row = paired_mean_row("", one, two, is_share=True)
    del row["metric"]
    return row if row["n"] >= SMALLEST_SLICE else {**row, "p_value": None}


def _slices(golden: GoldenSet) -> dict[str, set[str] | None]:
    """Return slice to its cases; None stands for all."""
    found: dict[str, set[str] | None] = {SUITE: None}
    for field in golden.settings.slices:
        for case in golden:
            value = getattr(case, field)
            for entry in value if isinstance(value, list) else [value]:
                if entry is not None:
                    members = found.setdefault(f"{field}={entry}", set())
                    if members is not None:
                        members.add(case.id)
    return found

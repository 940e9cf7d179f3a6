"""Where a drop sits: a search over slices and pairs of slices. It explores, and never decides."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.advice import by_basis, same_basis
from evalnb.baseline import CASE, count
from evalnb.findings import SUITE
from evalnb.frames import FrameSchema
from evalnb.stats.levels import SMALLEST_SLICE
from evalnb.stats.multiplicity import adjusted
from evalnb.stats.paired_means import paired_mean_row
from evalnb.stats.sign_flip import sign_flip

if TYPE_CHECKING:
    import pandas as pd

    from evalnb.golden import GoldenSet
    from evalnb.runs import Run
    from evalnb.stats.values import Floats

__all__ = ["DROPS", "drops_of", "where_it_drops"]

_FIELDS = ("category", "language", "tools", "tags")
_LEVEL = 0.10
_SAME = 0.8

DROPS = FrameSchema(
    "drops",
    {
        "slice": "string",
        "mean_a": "Float64",
        "mean_b": "Float64",
        "estimate": "Float64",
        "ci_low": "Float64",
        "ci_high": "Float64",
        "p_value": "Float64",
        "p_adjusted": "Float64",
        "n": "Int64",
        "case_ids": "object",
        "folded": "object",
    },
    key=("slice",),
)
"""A row a slice whose mean fell: `case_ids` are those of its cases that fell, furthest first.

`p_value` is one-sided, `p_adjusted` Benjamini and Hochberg's over all slices looked at, `folded`
lists slices of nearly the same cases. All of it is exploratory.
"""


def drops_of(run: Run) -> pd.DataFrame:
    """Search for the slices in which a run's pass rate fell against its baseline.

    Parameters
    ----------
    run : with its golden set and baseline; without them nothing is found

    Returns
    -------
    a drops frame
    """
    if run.golden is None or run.baseline is None:
        return DROPS.empty()
    same = same_basis(run.scores, run.baseline)
    before, now = (
        by_basis(counts, same=same) for counts in (run.baseline.counts, count(run.scores))
    )
    return where_it_drops(run.golden, before, now)


def where_it_drops(
    golden: GoldenSet, first: pd.DataFrame, second: pd.DataFrame, *, scorer: str = CASE
) -> pd.DataFrame:
    """Search for slices in which a mean fell.

    Slices by category, language, tool and tag and pairs of them, of at least 8 cases that both
    sides scored, are tested one by one, with the share of false ones among the found held at 0.10.

    Parameters
    ----------
    golden : the cases
    first, second : baseline frames of the sides
    scorer : whose means; by default the pass rates of cases

    Returns
    -------
    a drops frame : the drop that is surely largest first
        Of slices that share four fifths of their cases, the largest stands for the others.

    References
    ----------
    Benjamini & Hochberg (1995), Journal of the Royal Statistical Society B 57(1).
    """
    ids, one, two = _paired(golden, first, second, scorer)
    apart = two - one
    slices = _slices(golden, ids)
    p_values = [sign_flip(apart[members]).p_less for members in slices.values()]
    corrected = adjusted(p_values, method="fdr_bh", level=_LEVEL)
    rows = []
    for (name, members), p, raised in zip(
        slices.items(), p_values, corrected["p_adjusted"].tolist(), strict=True
    ):
        if raised <= _LEVEL:
            row = paired_mean_row(name, one[members], two[members], is_share=True)
            furthest = members[np.argsort(apart[members], kind="stable")]
            fell = [ids[place] for place in furthest.tolist() if apart[place] < 0]
            rows.append(row | {"slice": name, "p_value": p, "p_adjusted": raised, "case_ids": fell})
    return DROPS.build(_columns(row) for row in _folded(rows, slices))


def _columns(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in DROPS.columns}


def _paired(
    golden: GoldenSet, first: pd.DataFrame, second: pd.DataFrame, scorer: str
) -> tuple[list[str], Floats, Floats]:
    """Return the cases that both sides scored, in the order of the golden set, and their means."""
    means = [
        side[(side["scorer"] == scorer) & side["mean"].notna()].set_index("case_id")["mean"]
        for side in (first, second)
    ]
    ids = [case.id for case in golden if all(case.id in side.index for side in means)]
    one, two = (side.reindex(ids).to_numpy("float64") for side in means)
    return ids, one, two


def _slices(golden: GoldenSet, ids: list[str]) -> dict[str, np.ndarray]:
    """Return slice to the positions of its cases, pairs of slices too; none holds all cases."""
    single: dict[str, set[int]] = {}
    for place, case_id in enumerate(ids):
        case = golden[case_id]
        for field in _FIELDS:
            value = getattr(case, field)
            for entry in value if isinstance(value, list) else [value]:
                if isinstance(entry, str):
                    single.setdefault(f"{field}={entry}", set()).add(place)
    large = {name: held for name, held in single.items() if len(held) >= SMALLEST_SLICE}
    pairs = {
        f"{one} & {other}": large[one] & large[other]
        for one, other in combinations(large, 2)
        if one.partition("=")[0] != other.partition("=")[0]
    }
    every = {SUITE: set(range(len(ids)))} | large | pairs
    return {
        name: np.array(sorted(held), int)
        for name, held in every.items()
        if len(held) >= SMALLEST_SLICE
    }


def _folded(rows: list[dict[str, Any]], slices: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    """Let the largest of slices with nearly the same cases stand for the others."""
    kept: list[dict[str, Any]] = []
    for row in sorted(rows, key=lambda row: (-row["n"], row["slice"])):
        held = set(slices[row["slice"]].tolist())
        for other in kept:
            others = set(slices[other["slice"]].tolist())
            if len(held & others) >= _SAME * len(held | others):
                other["folded"].append(row["slice"])
                break
        else:
            kept.append(row | {"folded": []})
    return sorted(kept, key=lambda row: (_surely(row), row["slice"]))


def _surely(row: dict[str, Any]) -> float:
    """Return the smallest drop that the interval leaves, as a difference."""
    high = row.get("ci_high")
    return float(row["estimate"] if high is None or high != high else high)

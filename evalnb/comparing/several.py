"""More than two sides: each beside the first, and all of them on one scale."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Literal

import pandas as pd

from evalnb.baseline import CASE
from evalnb.cassettes import Cassettes
from evalnb.comparing.comparison import compare
from evalnb.comparing.judged import judged_pairs, strengths
from evalnb.comparing.sides import open_sides, suite_of
from evalnb.errors import InputError
from evalnb.frames import FrameSchema
from evalnb.stats.mcnemar import mcnemar
from evalnb.stats.multiplicity import adjusted
from evalnb.stats.paired_counts import PairedCounts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalnb.comparing.comparison import Comparison
    from evalnb.comparing.sides import Side
    from evalnb.golden import GoldenSet

__all__ = ["PASSES", "Several", "open_several", "pass_differences"]

PASSES = FrameSchema(
    "pass differences",
    {
        "a": "string",
        "b": "string",
        "estimate": "Float64",
        "p_value": "Float64",
        "p_adjusted": "Float64",
        "n": "Int64",
        "n_left_out": "Int64",
        "method": "string",
        "reason": "string",
    },
    key=("a", "b"),
)
"""A row for all sides together, with `b` NA, then one for every two of them.

`estimate` is the pass rate of `b` less that of `a`, over cases that all of the sides scored.
"""


@dataclass(frozen=True)
class Several:
    """Two or more sides.

    Attributes
    ----------
    golden : the cases
    sides : in the order asked for; the first is what the others are compared with
    comparisons : of the first with each other
    pairs : a pairs frame of every two sides
    strengths : a strengths frame, by the pairs
    passes : a frame of pass differences
    """

    golden: GoldenSet
    sides: tuple[Side, ...]
    comparisons: tuple[Comparison, ...]
    pairs: pd.DataFrame
    strengths: pd.DataFrame
    passes: pd.DataFrame


def open_several(
    which: Sequence[str],
    suite: str = "",
    *,
    mode: Literal["replay", "record"] = "replay",
    concurrency: int = 8,
) -> Several:
    """Open sides by name and compare them.

    Parameters
    ----------
    which : two or more, each as for `open_side`
    suite : the suite's folder, where none of them says it
    mode : whether the judge of pairs is asked for verdicts that are not recorded
    concurrency : how many requests are under way at once

    Raises
    ------
    InputError
        If there are fewer than two, or one cannot be used.
    """
    if len(which) < 2:
        raise InputError("a comparison has two sides or more: name another")
    golden = suite_of(which, suite)
    sides = open_sides(golden, which)
    distinct = list({side.name: side for side in sides}.values())
    cassettes = None
    if golden.folder is not None:
        cassettes = Cassettes(golden.folder / "cassettes", mode)
    pairs = judged_pairs(golden, sides, cassettes=cassettes, concurrency=concurrency)
    first, *others = sides
    return Several(
        golden=golden,
        sides=tuple(sides),
        comparisons=tuple(
            compare(golden, first, other, pairs=_between(pairs, first, other)) for other in others
        ),
        pairs=pairs,
        strengths=strengths(pairs if len(distinct) == len(sides) else pairs.head(0)),
        passes=pass_differences(sides),
    )


def pass_differences(sides: Sequence[Side]) -> pd.DataFrame:
    """Test whether sides pass the same cases, all together and two by two.

    Parameters
    ----------
    sides : two or more

    Returns
    -------
    a frame of pass differences
        All together by Cochran's Q, two by two by McNemar's mid-p with Holm's adjustment. Cases
        count that every side scored; a case passes where all its repeats do. Q is NA `too_few`
        without a case, `no_variance` where the sides pass the same ones.

    References
    ----------
    Cochran (1950), Biometrika 37(3/4), doi:10.2307/2332378.
    """
    flags = pd.DataFrame({number: _passes(side) for number, side in enumerate(sides)})
    known = flags.dropna().astype(bool)
    shared = {"n": len(known), "n_left_out": len(flags) - len(known)}
    rows = []
    for one, two in combinations(range(len(sides)), 2):
        counts = PairedCounts.of(known[one].tolist(), known[two].tolist())
        row = {"a": sides[one].name, "b": sides[two].name, **shared, "method": "mcnemar mid-p"}
        if len(known):
            row["estimate"] = (counts.passes_second - counts.passes_first) / counts.n
            row["p_value"] = mcnemar(counts.only_first, counts.only_second)
        else:
            row["reason"] = "too_few"
        rows.append(row)
    raised = adjusted([row.get("p_value") for row in rows])["p_adjusted"].tolist()
    rows = [{**row, "p_adjusted": p} for row, p in zip(rows, raised, strict=True)]
    return PASSES.build([{"a": "all", **shared, **_cochran(known)}, *rows])


def _cochran(known: pd.DataFrame) -> dict[str, float | str]:
    method = "cochran q"
    if known.empty:
        return {"method": method, "reason": "too_few"}
    if known.eq(known.iloc[:, 0], axis=0).all(axis=None):
        return {"method": method, "reason": "no_variance", "p_value": 1.0}
    from statsmodels.stats.contingency_tables import cochrans_q

    found = cochrans_q(known.to_numpy("int64"))
    return {"method": method, "p_value": float(found.pvalue)}


def _passes(side: Side) -> pd.Series:
    """Return case to whether all its repeats pass, of those that were scored."""
    whole = side.counts[(side.counts["scorer"] == CASE) & (side.counts["n_scored"] > 0)]
    passed = (whole["n_passed"] == whole["n_scored"]).astype("boolean")
    return passed.set_axis(whole["case_id"].to_numpy("object"))


def _between(pairs: pd.DataFrame, one: Side, other: Side) -> pd.DataFrame:
    of_both = (pairs["system_a"] == one.name) & (pairs["system_b"] == other.name)
    return pairs[of_both].drop_duplicates(["case_id", "repeat"]).reset_index(drop=True)

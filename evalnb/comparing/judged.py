"""What a judge of pairs says of two sides, and of several."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import pandas as pd

from evalnb.cassettes import Cassettes
from evalnb.frames import PAIRS
from evalnb.judges import load_pairwise_judge
from evalnb.pairs import POINTS, judge_pairs
from evalnb.stats.bradley_terry import STRENGTHS, bradley_terry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalnb.comparing.sides import Side
    from evalnb.golden import GoldenSet
    from evalnb.judges import PairwiseJudge
    from evalnb.transport import Upstream

__all__ = ["judge_of_pairs", "judged_pairs", "strengths"]


def judge_of_pairs(golden: GoldenSet) -> PairwiseJudge:
    """Return the judge that a suite holds pairs of answers against each other by.

    It is the one that its gate names, else the one that is probed.

    Raises
    ------
    InputError
        If there is none of that name, or it is no judge of pairs.
    """
    settings = golden.settings
    return load_pairwise_judge(golden, settings.gate.pairwise or settings.probes.pairwise)


def judged_pairs(
    golden: GoldenSet,
    sides: Sequence[Side],
    *,
    cassettes: Cassettes | None = None,
    upstream: Upstream | None = None,
    concurrency: int = 8,
) -> pd.DataFrame:
    """Ask which answer is better, for every two sides, in both orders.

    Parameters
    ----------
    golden : the suite
    sides : two or more; their names stand for the systems
    cassettes : where verdicts are taken from and stored; by default the suite's, in replay
    upstream : where to ask for what is not recorded; by default what the judge's model says
    concurrency : how many requests are under way at once

    Returns
    -------
    a pairs frame of every two sides, one after the other
        A verdict that is not recorded is NA `miss`. Empty where the golden set has no folder and
        so no recordings.

    Raises
    ------
    InputError
        If the judge cannot be used, or the same would befall every call.
    """
    if cassettes is None:
        if golden.folder is None:
            return PAIRS.empty()
        cassettes = Cassettes(golden.folder / "cassettes")
    judge = judge_of_pairs(golden)
    named = [side.outputs.assign(system=side.name) for side in sides]
    frames = [
        judge_pairs(
            golden,
            one,
            other,
            judge,
            cassettes=cassettes,
            upstream=upstream,
            concurrency=concurrency,
        )
        for one, other in combinations(named, 2)
    ]
    return pd.concat(frames, ignore_index=True)


def strengths(pairs: pd.DataFrame, *, seed: int = 0) -> pd.DataFrame:
    """Put the sides on one scale by what a judge preferred.

    Parameters
    ----------
    pairs : a pairs frame of two or more sides; the first side named is the reference
    seed : of the bootstrap over cases

    Returns
    -------
    a strengths frame, as `evalnb.stats.bradley_terry.bradley_terry` gives it
    """
    if pairs.empty:
        return STRENGTHS.empty()
    return bradley_terry(pairs.assign(preference=pairs["winner"].map(POINTS)), seed=seed)

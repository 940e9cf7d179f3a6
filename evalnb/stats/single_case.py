"""One case that passed in every repeat and now fails: how sure that is among many cases."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evalnb.frames import METRICS, FrameSchema
from evalnb.stats.estimates import difference_of_rates
from evalnb.stats.levels import ALPHA
from evalnb.stats.values import check_count

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CASE_FLIPS", "case_flip", "repeats_to_tell"]

CASE_FLIPS = FrameSchema(
    "case flips",
    {**METRICS.columns, "p_less": "Float64", "p_bonferroni": "Float64"},
    key=METRICS.key,
)
"""A metrics frame; `p_less` is Fisher's, small where fewer repeats pass than before,
`p_bonferroni` the same for the worst of all cases that are looked at."""


def case_flip(
    baseline_passes: int,
    baseline_repeats: int,
    candidate_passes: int,
    candidate_repeats: int,
    *,
    cases: int = 1,
) -> pd.DataFrame:
    """Test whether one case passes more seldom than before, by its repeats alone.

    Parameters
    ----------
    baseline_passes, baseline_repeats, candidate_passes, candidate_repeats : counts of the case
    cases : number of cases of which any could have been the one

    Returns
    -------
    one row, `difference_of_rates` (candidate minus baseline), as `CASE_FLIPS` says
        `n` counts the repeats of both sides. The interval is Newcombe's; NA `too_few` where one
        side has no repeat.

    Raises
    ------
    ValueError
        If a count is no whole number, more passed than were repeated, or `cases` is below 1.

    References
    ----------
    Fisher (1935), The Design of Experiments; Newcombe (1998), Statistics in Medicine 17:873-890.

    Examples
    --------
    >>> row = case_flip(3, 3, 0, 3, cases=60).iloc[0]  # 1 of the 20 ways to choose 3 of 6
    >>> round(float(row["p_less"]), 4), float(row["p_bonferroni"])
    (0.05, 1.0)
    """
    from scipy.stats import hypergeom

    before = check_count(baseline_passes, "baseline_passes")
    n_before = check_count(baseline_repeats, "baseline_repeats")
    now = check_count(candidate_passes, "candidate_passes")
    n_now = check_count(candidate_repeats, "candidate_repeats")
    cases = check_count(cases, "cases", at_least=1)
    if before > n_before or now > n_now:
        raise ValueError(
            f"no more repeats can pass than there are. "
            f"Got {before} of {n_before} and {now} of {n_now}."
        )
    row = {
        "metric": "difference_of_rates",
        "n": n_before + n_now,
        "n_left_out": 0,
        "method": "fisher, newcombe interval",
        "reason": "too_few",
    }
    if n_before and n_now:
        p = float(hypergeom.cdf(now, n_before + n_now, before + now, n_now))
        row |= {"p_less": min(p, 1.0), "p_bonferroni": min(p * cases, 1.0), "reason": None}
        row |= vars(difference_of_rates(now, n_now, before, n_before))
    return CASE_FLIPS.build([row])


def repeats_to_tell(cases: int, *, alpha: float = ALPHA) -> int:
    """Return from how many repeats on each side a single case can be told to have flipped.

    All repeats passing before and none now has a chance of 1 / C(2k, k) if nothing changed; with
    fewer repeats than this no single case of so many can reach the level.

    Parameters
    ----------
    cases : number of cases looked at
    alpha : level for all of them, in (0, 1)

    Examples
    --------
    >>> repeats_to_tell(60)  # C(12, 6) = 924 is below 60 / 0.05, C(14, 7) = 3432 above
    7
    """
    if not 0 < alpha < 1:
        raise ValueError(f"`alpha` must lie between 0 and 1. Got {alpha}.")
    needed = check_count(cases, "cases", at_least=1) / alpha
    repeats = 1
    while math.comb(2 * repeats, repeats) < needed * (1 - 1e-12):
        repeats += 1
    return repeats

"""One case by itself: did its pass rate over repeats change by more than chance."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evalnb.frames import METRICS, FrameSchema
from evalnb.stats.estimates import difference_of_rates
from evalnb.stats.levels import ALPHA
from evalnb.stats.values import check_count

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CASE_FLIPS", "case_flip", "fisher_less", "repeats_to_tell"]

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
    cases: int,
) -> pd.DataFrame:
    """Test whether one case passes less often than it did.

    Parameters
    ----------
    baseline_passes, baseline_repeats : passes and scored repeats before
    candidate_passes, candidate_repeats : the same now
    cases : number of cases that are looked at in this way, this one included

    Returns
    -------
    one row, `difference_of_rates` (candidate minus baseline), as `CASE_FLIPS` says
        The interval is Newcombe's. `n` counts repeats. NA `too_few` where a side has no repeat.

    Raises
    ------
    ValueError
        If a count is no whole number, or more passed than there were repeats.

    References
    ----------
    Fisher (1935), Journal of the Royal Statistical Society 98(1); Newcombe (1998), Statistics in
    Medicine 17:873-890, method 10.

    Examples
    --------
    >>> row = case_flip(3, 3, 0, 3, cases=60).loc[0]
    >>> round(float(row["p_less"]), 3), float(row["p_bonferroni"])
    (0.05, 1.0)
    """
    before = check_count(baseline_repeats, "baseline_repeats")
    now = check_count(candidate_repeats, "candidate_repeats")
    passed = _passes(baseline_passes, before, "baseline_passes")
    passes = _passes(candidate_passes, now, "candidate_passes")
    cases = check_count(cases, "cases", at_least=1)
    row = {
        "metric": "difference_of_rates",
        "n": before + now,
        "n_left_out": 0,
        "method": "fisher, newcombe interval",
    }
    if not (before and now):
        return CASE_FLIPS.build([row | {"reason": "too_few"}])
    p_value = fisher_less(passed, before, passes, now)
    return CASE_FLIPS.build(
        [
            row
            | vars(difference_of_rates(passes, now, passed, before))
            | {"p_less": p_value, "p_bonferroni": min(p_value * cases, 1.0)}
        ]
    )


def fisher_less(passed: int, before: int, passes: int, now: int) -> float:
    """Return Fisher's one-sided p-value that so few repeats or fewer pass now.

    Parameters
    ----------
    passed, before : passes and scored repeats before
    passes, now : the same now

    Examples
    --------
    >>> fisher_less(3, 3, 0, 3)  # one of the 20 ways to choose 3 of 6
    0.05
    """
    total = passed + passes
    ways = sum(
        math.comb(now, count) * math.comb(before, total - count)
        for count in range(max(total - before, 0), passes + 1)
    )
    return ways / math.comb(before + now, total)


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


def _passes(value: int, repeats: int, name: str) -> int:
    passes = check_count(value, name)
    if passes > repeats:
        raise ValueError(f"`{name}` must be at most the repeats, {repeats}. Got {passes}.")
    return passes

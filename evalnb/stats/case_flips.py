"""One case by itself: did its pass rate over repeats change by more than chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.frames import FrameSchema
from evalnb.stats.effects import EFFECTS
from evalnb.stats.estimates import difference_of_rates
from evalnb.stats.values import check_count

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CASE_FLIPS", "case_flip"]

CASE_FLIPS = FrameSchema(
    "case flips", {**EFFECTS.columns, "p_adjusted": "Float64"}, key=EFFECTS.key
)
"""An effects frame; `p_adjusted` is the p-value times the number of cases looked at, at most 1."""


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
    one row, `pass_rate_change` (candidate minus baseline), as `CASE_FLIPS` says
        `p_value` is Fisher's, one-sided for a drop, and `p_adjusted` Bonferroni's; the interval is
        Newcombe's. `n` counts repeats. NA `too_few` where a side has no repeat.

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
    >>> round(float(row["p_value"]), 3), float(row["p_adjusted"])
    (0.05, 1.0)
    """
    from scipy.stats import hypergeom

    before = check_count(baseline_repeats, "baseline_repeats")
    now = check_count(candidate_repeats, "candidate_repeats")
    passed = _passes(baseline_passes, before, "baseline_passes")
    passes = _passes(candidate_passes, now, "candidate_passes")
    cases = check_count(cases, "cases", at_least=1)
    row = {
        "metric": "pass_rate_change",
        "n": before + now,
        "n_left_out": 0,
        "method": "newcombe, p one-sided less by fisher",
    }
    if not (before and now):
        return CASE_FLIPS.build([row | {"reason": "too_few"}])
    p_value = min(float(hypergeom.cdf(passes, before + now, passed + passes, now)), 1.0)
    return CASE_FLIPS.build(
        [
            row
            | vars(difference_of_rates(passes, now, passed, before))
            | {"p_value": p_value, "p_adjusted": min(p_value * cases, 1.0)}
        ]
    )


def _passes(value: int, repeats: int, name: str) -> int:
    passes = check_count(value, name)
    if passes > repeats:
        raise ValueError(f"`{name}` must be at most the repeats, {repeats}. Got {passes}.")
    return passes

"""Pass rates with intervals, what missing verdicts could change, and bounds of rare failures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from evalnb.frames import METRICS, FrameSchema
from evalnb.stats.estimates import Estimate, clopper_pearson, jeffreys, wilson
from evalnb.stats.values import check_count, flags

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

__all__ = [
    "BOUNDS",
    "RATES",
    "RateMethod",
    "failure_bound",
    "na_bounds",
    "pass_rate",
    "rate_of_counts",
    "zero_failures_bound",
]

RateMethod: TypeAlias = Literal["wilson", "jeffreys", "clopper_pearson"]

RATES = FrameSchema(
    "rates",
    {**METRICS.columns, "bound_low": "Float64", "bound_high": "Float64"},
    key=METRICS.key,
)
"""A metrics frame; `bound_low` and `bound_high` are the rates over all that was planned, n plus
n_left_out, if everything left out had failed or passed."""

BOUNDS = FrameSchema("bounds", {**METRICS.columns, "rule_of_three": "Float64"}, key=METRICS.key)
"""A metrics frame of one-sided bounds; `rule_of_three` is 3/n where no failure was seen."""

_INTERVALS: dict[str, Callable[[float, int], Estimate]] = {
    "wilson": wilson,
    "jeffreys": jeffreys,
    "clopper_pearson": clopper_pearson,
}


def pass_rate(
    passed: Sequence[Any] | pd.Series | np.ndarray, *, method: RateMethod = "wilson"
) -> pd.DataFrame:
    """Return the share of cases that passed.

    Parameters
    ----------
    passed : a flag a case, NA where there is no verdict
        A case with repeats has no flag: see `evalnb.stats.means.mean_over_repeats`.
    method : {"wilson", "jeffreys", "clopper_pearson"}
        `clopper_pearson` where a guarantee is stated of the rate.

    Returns
    -------
    one row, `pass_rate`, as `RATES` says; estimate in [0, 1]
        `n` counts the flags, `n_left_out` the NAs. NA `too_few` without any flag.

    Raises
    ------
    ValueError
        If a flag is neither True nor False, or the method is unknown.

    References
    ----------
    Wilson (1927), Journal of the American Statistical Association 22(158); Brown, Cai & DasGupta
    (2001), Statistical Science 16(2); Clopper & Pearson (1934), Biometrika 26(4).

    Examples
    --------
    >>> found = pass_rate([True] * 9 + [False, None])
    >>> found[["ci_low", "n", "n_left_out"]].round(4).values.tolist()
    [[0.5958, 10, 1]]
    """
    found = flags(passed, "passed")
    missing = int(np.isnan(found).sum())
    return rate_of_counts(
        int(np.nansum(found)), len(found) - missing, n_left_out=missing, method=method
    )


def rate_of_counts(
    passes: int, n: int, *, n_left_out: int = 0, method: RateMethod = "wilson"
) -> pd.DataFrame:
    """Return the pass rate of counted passes; see `pass_rate`.

    Parameters
    ----------
    passes, n : number of passes, and of cases with a verdict
    n_left_out : number of cases without
    method : as in `pass_rate`

    Returns
    -------
    one row, `pass_rate`, as `RATES` says

    Raises
    ------
    ValueError
        If the counts are no whole numbers, or more passed than there are cases.
    """
    if method not in _INTERVALS:
        known = ", ".join(_INTERVALS)
        raise ValueError(f"`method` of a pass rate must be one of {known}. Got {method!r}.")
    passes, n = check_count(passes, "passes"), check_count(n, "n")
    left_out = check_count(n_left_out, "n_left_out")
    if passes > n:
        raise ValueError(f"`passes` must be at most n = {n}. Got {passes}.")
    found = _INTERVALS[method](passes, n)
    planned = n + left_out
    return RATES.build(
        [
            {
                "metric": "pass_rate",
                "estimate": found.estimate,
                "ci_low": found.ci_low,
                "ci_high": found.ci_high,
                "n": n,
                "n_left_out": left_out,
                "method": method,
                "reason": None if n else "too_few",
                "bound_low": passes / planned if planned else None,
                "bound_high": (passes + left_out) / planned if planned else None,
            }
        ]
    )


def na_bounds(passes: int, fails: int, missing: int) -> pd.DataFrame:
    """Return a pass rate and what it would be if all missing verdicts were fails, or passes.

    Missing verdicts never count as fails or passes in the rate itself. Where the bounds lie on
    two sides of a limit, the missing verdicts could change the decision.

    Parameters
    ----------
    passes, fails, missing : numbers of cases

    Returns
    -------
    one row, `pass_rate`, as `RATES` says, with Wilson's interval

    Examples
    --------
    >>> na_bounds(50, 6, 4)[["estimate", "bound_low", "bound_high"]].round(3).values.tolist()
    [[0.893, 0.833, 0.9]]
    """
    passes, fails = check_count(passes, "passes"), check_count(fails, "fails")
    return rate_of_counts(passes, passes + fails, n_left_out=missing)


def failure_bound(failures: int, n: int, *, level: float = 0.95) -> pd.DataFrame:
    """Return the rate of failures with a one-sided upper bound.

    Parameters
    ----------
    failures, n : number of failures, and of cases with a verdict
    level : in (0, 1), the share of samples in which the bound lies above the true rate, at least

    Returns
    -------
    one row, `failure_rate`, as `BOUNDS` says
        `ci_high` is the bound, `ci_low` is 0. NA `too_few` without a case.

    Raises
    ------
    ValueError
        If more failed than there are cases, or `level` is outside (0, 1).

    References
    ----------
    Clopper & Pearson (1934), Biometrika 26(4); for no failure 1 - (1 - level)^(1/n), about 3/n:
    Hanley & Lippman-Hand (1983), JAMA 249(13), doi:10.1001/jama.1983.03330370053031.

    Examples
    --------
    >>> round(float(failure_bound(2, 300).loc[0, "ci_high"]), 4)
    0.0208
    """
    from scipy.special import betaincinv

    failures, n = check_count(failures, "failures"), check_count(n, "n")
    if failures > n:
        raise ValueError(f"`failures` must be at most n = {n}. Got {failures}.")
    if not 0 < level < 1:
        raise ValueError(f"`level` must lie between 0 and 1. Got {level}.")
    row: dict[str, Any] = {
        "metric": "failure_rate",
        "n": n,
        "n_left_out": 0,
        "method": f"clopper_pearson, one-sided {level:.6g}",
        "reason": None if n else "too_few",
    }
    if n:
        bound = 1.0 if failures == n else float(betaincinv(failures + 1, n - failures, level))
        row |= {"estimate": failures / n, "ci_low": 0.0, "ci_high": bound}
        row["rule_of_three"] = None if failures else min(3 / n, 1.0)
    return BOUNDS.build([row])


def zero_failures_bound(n: int, *, level: float = 0.95) -> pd.DataFrame:
    """Return the one-sided upper bound of a failure rate when none of `n` failed.

    Parameters
    ----------
    n : number of cases with a verdict
    level : as in `failure_bound`

    Returns
    -------
    one row, `failure_rate`, as `BOUNDS` says

    Examples
    --------
    >>> round(float(zero_failures_bound(300).loc[0, "ci_high"]), 5)
    0.00994
    """
    return failure_bound(0, n, level=level)

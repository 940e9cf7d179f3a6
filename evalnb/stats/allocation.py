"""How many labels to give each stratum so that an estimate is as precise as it can be."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.frames import FrameSchema
from evalnb.stats.values import check_count, numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evalnb.stats.values import Floats

__all__ = ["ALLOCATION", "calibration_allocation", "neyman_allocation"]

ALLOCATION = FrameSchema(
    "allocation",
    {
        "stratum": "string",
        "weight": "Float64",
        "sd": "Float64",
        "allocation": "Float64",
        "n": "Int64",
        "variance_neyman": "Float64",
        "variance_proportional": "Float64",
    },
    key=("stratum",),
)
"""A row a stratum: its share, the spread within it, and how many of all labels it is to have.

`allocation` is the best number, `n` a whole one near it. `variance_neyman` is what the stratum adds
to the variance of the estimate with the best numbers, `variance_proportional` with numbers in
proportion to the weights: their sums are the variances, the ratio of these the efficiency.
"""


def neyman_allocation(
    weights: Sequence[float] | pd.Series | np.ndarray,
    sd: Sequence[float] | pd.Series | np.ndarray,
    labels: int,
    *,
    at_least: int | Sequence[int] | np.ndarray = 2,
    sizes: Sequence[int] | np.ndarray | None = None,
    names: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Divide labels among strata in proportion to weight times spread.

    Parameters
    ----------
    weights : shares of the strata, adding up to 1
    sd : standard deviation within each, of the label or, for prediction-powered estimates, of
        label minus lambda times the judge's score
    labels : how many there are to give
    at_least : the smallest number for a stratum, or one for each; fewer where its size is
    sizes : number of cases of each stratum, which no number exceeds
    names : of the strata; numbers from 0 on without

    Returns
    -------
    an allocation frame, as `ALLOCATION` says
        `allocation` is labels * weight * sd / sum of these, whatever the limits; in proportion to
        the weights where nothing spreads. `n` stays within the limits, rounded by largest
        remainders so that it adds up to `labels`, or to all cases where these are fewer.

    Raises
    ------
    ValueError
        If the weights do not add up to 1, something is negative, lengths differ, or `labels` are
        too few for `at_least`.

    References
    ----------
    Neyman (1934), Journal of the Royal Statistical Society 97(4), doi:10.2307/2342192; Cochran
    (1977), Sampling Techniques, 5.5.

    Examples
    --------
    >>> found = neyman_allocation([0.7, 0.2, 0.1], [0.15, 0.5, 0.4], 60)
    >>> found["allocation"].round(2).tolist(), found["n"].tolist()
    ([25.71, 24.49, 9.8], [26, 24, 10])
    """
    shares, spread = _shares_and_spread(weights, sd)
    total = check_count(labels, "labels", at_least=1)
    upper = np.full(len(shares), math.inf) if sizes is None else numbers(sizes, "sizes")
    lower = np.minimum(
        np.broadcast_to(numbers(np.atleast_1d(at_least), "at_least"), shares.shape), upper
    )
    if lower.sum() > total:
        raise ValueError(
            f"{total} labels are too few for {len(shares)} strata: at least {lower.sum():.0f} "
            f"are needed. Label more, or make fewer strata."
        )
    need = shares * spread
    best = total * (need / need.sum() if need.sum() else shares)
    counts = _whole(_within(best, shares, lower, upper, total), lower, upper)
    proportional = total * shares
    rows: list[dict[str, Any]] = [
        {
            "stratum": str(i) if names is None else names[i],
            "weight": shares[i],
            "sd": spread[i],
            "allocation": best[i],
            "n": counts[i],
            "variance_neyman": need[i] ** 2 / best[i] if need[i] else 0.0,
            "variance_proportional": need[i] ** 2 / proportional[i] if need[i] else 0.0,
        }
        for i in range(len(shares))
    ]
    return ALLOCATION.build(rows)


def calibration_allocation(
    rate: float, sensitivity: float, specificity: float, labels: int, *, at_least: int = 2
) -> pd.DataFrame:
    """Divide the labels that `rogan_gladen` rests on between outputs that people pass and fail.

    Parameters
    ----------
    rate : about how many outputs pass
    sensitivity, specificity : about what the judge's are
    labels : how many there are to give
    at_least : of each

    Returns
    -------
    an allocation frame of the strata human_pass and human_fail
        The sum of rate^2 Se(1 - Se)/m1 and (1 - rate)^2 Sp(1 - Sp)/m0 is smallest.

    References
    ----------
    Lee et al. (2025), arXiv:2511.21140.

    Examples
    --------
    >>> calibration_allocation(0.8, 0.9, 0.7, 100)["n"].tolist()
    [72, 28]
    """
    return neyman_allocation(
        [rate, 1 - rate],
        [math.sqrt(share * (1 - share)) for share in (sensitivity, specificity)],
        labels,
        at_least=at_least,
        names=["human_pass", "human_fail"],
    )


def _shares_and_spread(weights: Any, sd: Any) -> tuple[Floats, Floats]:
    shares, spread = numbers(weights, "weights"), numbers(sd, "sd")
    if len(shares) != len(spread):
        raise ValueError(
            f"`weights` and `sd` must be of the same strata. Got {len(shares)} and {len(spread)}."
        )
    for name, values in (("weights", shares), ("sd", spread)):
        if not (values >= 0).all():
            raise ValueError(f"`{name}` must be numbers from 0 on. Got {values.tolist()}.")
    if abs(shares.sum() - 1) > 1e-6:
        raise ValueError(f"`weights` must add up to 1. Got {shares.sum():.6g}.")
    return shares, spread


def _within(best: Floats, shares: Floats, lower: Floats, upper: Floats, total: int) -> Floats:
    """Return the numbers nearest in proportion to the best within limits.

    What strata without need are given beyond their least follows the weights: a tiny need of
    theirs comes into play when all others are full.
    """
    target = min(float(total), float(upper.sum()))
    need = best + 1e-9 * shares
    low, high = 0.0, 1.0
    while np.clip(high * need, lower, upper).sum() < target - 1e-9 and high < 1e15:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        if np.clip(middle * need, lower, upper).sum() < target:
            low = middle
        else:
            high = middle
    found: Floats = np.clip(high * need, lower, upper)
    return found


def _whole(exact: Floats, lower: Floats, upper: Floats) -> list[int]:
    """Round by largest remainders, so that the sum stays."""
    counts = np.floor(exact + 1e-9)
    missing = round(float(exact.sum() - counts.sum()))
    remainders = np.where(counts < upper, exact - counts, -1.0)
    counts[np.argsort(-remainders, kind="stable")[:missing]] += 1
    return [int(count) for count in np.clip(counts, lower, upper)]

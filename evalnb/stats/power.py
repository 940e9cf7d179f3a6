"""Power of a comparison that is planned: cases, repeats and the noise of both runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evalnb.stats.mcnemar import mcnemar
from evalnb.stats.values import check_count

if TYPE_CHECKING:
    from evalnb.stats.mcnemar import McNemarMethod

__all__ = ["PairedNoise", "cases_needed", "mcnemar_power", "smallest_drop"]


@dataclass(frozen=True)
class PairedNoise:
    """What makes the differences of case means vary.

    Attributes
    ----------
    between : variance of the true differences between cases, 0 if a change were alike in all
    within_baseline, within_candidate : variance of repeats of one case, on either side
    repeats_baseline, repeats_candidate : of each case, from 1 on; `math.inf` for the floor
    """

    between: float
    within_baseline: float
    within_candidate: float
    repeats_baseline: float = 1
    repeats_candidate: float = 1

    def __post_init__(self) -> None:
        if min(self.between, self.within_baseline, self.within_candidate) < 0:
            raise ValueError(f"a variance is at least 0. Got {self}.")
        if min(self.repeats_baseline, self.repeats_candidate) < 1:
            raise ValueError(f"a case has at least one repeat on each side. Got {self}.")

    @property
    def variance(self) -> float:
        """Variance of the difference of one case's means.

        References
        ----------
        Miller (2024), arXiv:2411.00640, section 5.

        Examples
        --------
        >>> round(PairedNoise(0.01, 0.07, 0.07, 3, 3).variance, 4)
        0.0567
        """
        return (
            self.between
            + self.within_baseline / self.repeats_baseline
            + self.within_candidate / self.repeats_candidate
        )


def cases_needed(
    drop: float,
    noise: PairedNoise,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    two_sided: bool = False,
) -> float:
    """Return how many cases find a drop of the mean with a given power; round it up.

    Parameters
    ----------
    drop : above 0
    noise : of both runs
    alpha : level, of one side unless `two_sided`
    power : share of runs that find it

    Returns
    -------
    (z_level + z_power)^2 variance / drop^2, the normal quantiles z; 0 where nothing varies

    References
    ----------
    Miller (2024), arXiv:2411.00640, section 5.

    Examples
    --------
    >>> paper = PairedNoise(1 / 9, 1 / 6, 1 / 6, math.inf, math.inf)
    >>> math.ceil(cases_needed(0.03, paper, two_sided=True))
    969
    """
    if not 0 < drop < math.inf:
        raise ValueError(f"`drop` must be above 0. Got {drop}.")
    return (_z(alpha, power, two_sided=two_sided) / drop) ** 2 * noise.variance


def smallest_drop(
    n: int,
    noise: PairedNoise,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    two_sided: bool = False,
) -> float:
    """Return the drop of the mean that so many cases find with a given power.

    Parameters
    ----------
    n : number of cases, from 1 on
    noise, alpha, power, two_sided : as in `cases_needed`

    Examples
    --------
    >>> round(smallest_drop(60, PairedNoise(0.01, 0.07, 0.07, 3, 3)), 2)
    0.08
    """
    check_count(n, "n", at_least=1)
    return _z(alpha, power, two_sided=two_sided) * math.sqrt(noise.variance / n)


def mcnemar_power(
    n: int,
    p_worse: float,
    p_better: float,
    *,
    alpha: float = 0.05,
    method: McNemarMethod = "exact",
) -> float:
    """Return how often McNemar's one-sided test finds a drop, by summing over all counts.

    Parameters
    ----------
    n : number of cases
    p_worse, p_better : chances that a case passes before and fails now, and the other way round
    alpha : one-sided level
    method : {"exact", "mid_p"}

    Examples
    --------
    >>> round(mcnemar_power(60, 0.15, 0.02), 6)
    0.738878
    """
    from scipy.stats import binom

    discordant = p_worse + p_better
    if min(p_worse, p_better) < 0 or discordant > 1:
        raise ValueError(f"chances must be at least 0 and sum to 1. Got {p_worse} and {p_better}.")
    if not discordant:
        return 0.0
    total = 0.0
    for count in range(1, check_count(n, "n") + 1):
        found = _fewest_worse(count, alpha, method)
        if found is not None:
            share = float(binom.sf(found - 1, count, p_worse / discordant))
            total += float(binom.pmf(count, n, discordant)) * share
    return total


def _fewest_worse(discordant: int, alpha: float, method: McNemarMethod) -> int | None:
    """Return from how many regressions among the discordant cases on the test reaches its level."""
    worse = np.arange(discordant // 2, discordant + 1)
    low, high = 0, len(worse)
    while low < high:
        middle = (low + high) // 2
        count = int(worse[middle])
        if mcnemar(discordant - count, count, method=method, alternative="less") <= alpha:
            high = middle
        else:
            low = middle + 1
    return int(worse[low]) if low < len(worse) else None


def _z(alpha: float, power: float, *, two_sided: bool) -> float:
    from scipy.special import ndtri

    for name, value in (("alpha", alpha), ("power", power)):
        if not 0 < value < 1:
            raise ValueError(f"`{name}` must lie between 0 and 1. Got {value}.")
    return float(ndtri(1 - alpha / (2 if two_sided else 1)) + ndtri(power))

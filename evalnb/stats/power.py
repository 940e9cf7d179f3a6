"""Power of a comparison that is planned: cases, repeats and the noise of both runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evalnb.stats.mcnemar import mcnemar
from evalnb.stats.values import check_count

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalnb.stats.mcnemar import McNemarMethod

__all__ = [
    "PairedNoise",
    "cases_needed",
    "fallen_noise",
    "least_drop",
    "mcnemar_power",
    "power_of_drop",
    "smallest_drop",
]

_HALVINGS = 40


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


def fallen_noise(rate: float, within: float, drop: float, repeats: float) -> PairedNoise:
    """Return the noise of pass rates where each case has lost the same share of its own.

    Parameters
    ----------
    rate : pass rate before, in (0, 1)
    within : variance of a case's repeats before, at most rate (1 - rate)
    drop : of the pass rate, from 0 to `rate`
    repeats : of each case, on both sides

    Returns
    -------
    `within_candidate` as it is after the drop, `between` that of the cases' own drops
        With p a case's rate, E p^2 = rate - within, and after the share c = drop/rate is lost its
        repeats vary by E (1 - c)p (1 - (1 - c)p).

    Examples
    --------
    >>> round(fallen_noise(0.9, 0.07, 0.1, 3).within_candidate, 4)
    0.1442
    """
    lost = drop / rate
    squares = rate - within
    after = (1 - lost) * rate - (1 - lost) ** 2 * squares
    between = lost**2 * max(squares - rate**2, 0.0)
    return PairedNoise(between, within, max(after, 0.0), repeats, repeats)


def power_of_drop(
    drop: float, n: int, noise: PairedNoise, *, alpha: float, margin: float = 0.0
) -> float:
    """Return the share of runs that find a drop: test at its level, estimate at the margin.

    Parameters
    ----------
    drop : at least 0
    n : number of cases
    noise : of both runs, the drop being there
    alpha : one-sided level
    margin : the least drop that counts

    Returns
    -------
    by the normal distribution; the test's own spread is that of a sign-flip test, and of
    McNemar's: the mean square of the differences, the drop in it

    References
    ----------
    Miller (2024), arXiv:2411.00640; Connor (1987), Biometrics 43(1), doi:10.2307/2531961.

    Examples
    --------
    >>> round(power_of_drop(0.1, 60, fallen_noise(0.9, 0.07, 0.1, 3), alpha=0.05), 2)
    0.87
    """
    from scipy.special import ndtr, ndtri

    needed = max(float(ndtri(1 - alpha)) * math.sqrt((noise.variance + drop**2) / n), margin)
    error = math.sqrt(noise.variance / n)
    return float(ndtr((drop - needed) / error)) if error else float(drop >= needed)


def least_drop(power: Callable[[float], float], most: float, share: float) -> float | None:
    """Return the smallest drop up to the largest that a share of runs finds; None where none is.

    Parameters
    ----------
    power : from a drop to the share of runs that find it
    most : the largest drop that there can be
    share : of runs
    """
    if power(most) < share:
        return None
    low, high = 0.0, most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if power(middle) < share else (low, middle)
    return high


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

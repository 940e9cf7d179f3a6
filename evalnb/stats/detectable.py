"""The smallest drop that a comparison would have found, by what was seen in it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evalnb.stats.estimates import t_quantile

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["detectable_drop_of_flags", "detectable_drop_of_means", "detectable_loss_of_cases"]


def detectable_drop_of_means(
    variance: float, n: int, *, alpha: float, margin: float, power: float
) -> float | None:
    """Return the drop of a mean that is found with a given power.

    A drop is found when the one-sided test reaches `alpha` and the estimate reaches `margin`.

    Parameters
    ----------
    variance : of the differences between cases or clusters, n times that of their mean
    n : number of cases or clusters
    alpha : one-sided level
    margin : least drop that counts
    power : share of runs that find it, in [0.5, 1)

    Returns
    -------
    above 0; None where n is below 2 or no drop up to 1 is found so often

    Notes
    -----
    Miller's formula with t for the level, and with what a sign-flip test takes for the spread: the
    mean square of the differences, the drop in it. It takes differences to vary as they do now. A
    drop that falls wholly on few cases makes them vary more, and has to be larger.

    References
    ----------
    Miller (2024), arXiv:2411.00640.

    Examples
    --------
    >>> round(detectable_drop_of_means(0.07, 60, alpha=0.05, margin=0.02, power=0.8), 3)
    0.089
    """
    if n < 2:
        return None
    t, se = t_quantile(n - 1, 1 - alpha), math.sqrt(variance / n)

    def found(drop: float) -> float:
        needed = max(t * math.sqrt((variance + drop**2) / n), margin)
        return _normal_share(drop - needed, se)

    return _least(found, power)


def detectable_drop_of_flags(
    discordant: float, n: int, *, alpha: float, margin: float, power: float
) -> float | None:
    """Return the drop of a pass rate, of one repeat a case, that is found with a given power.

    Parameters
    ----------
    discordant : number of cases that passed on one side alone, or how many are expected to
        Half of them are taken to be the noise in each direction; the drop comes on top.
    n : number of cases
    alpha, margin, power : as in `detectable_drop_of_means`

    Returns
    -------
    above 0; None where no drop up to 1 is found so often

    References
    ----------
    Connor (1987), Biometrics 43(1), doi:10.2307/2531961.

    Examples
    --------
    >>> round(detectable_drop_of_flags(6, 60, alpha=0.05, margin=0.02, power=0.8), 3)
    0.161
    """
    if not n:
        return None
    noise = discordant / n

    def found(drop: float) -> float:
        changed = min(noise + drop, 1.0)
        needed = max(_normal_quantile(1 - alpha) * math.sqrt(changed / n), margin)
        return _normal_share(drop - needed, math.sqrt(max(changed - drop**2, 0.0) / n))

    by_noise = _least(found, power)
    alone = detectable_loss_of_cases(n, alpha=alpha, margin=margin, power=power, mid_p=True)
    return None if by_noise is None or alone is None else max(by_noise, alone)


def detectable_loss_of_cases(
    n: int, *, alpha: float, margin: float, power: float, mid_p: bool = False
) -> float | None:
    """Return the share of cases that must be lost wholly to be found where nothing else varies.

    Parameters
    ----------
    n : number of cases or clusters
    alpha, margin, power : as in `detectable_drop_of_means`
    mid_p : whether the test counts half the probability of what was seen

    Returns
    -------
    above 0; None where even the loss of all cases has a larger p-value than `alpha`

    Examples
    --------
    >>> round(detectable_loss_of_cases(60, alpha=0.05, margin=0.02, power=0.8), 3)  # five or more
    0.109
    """
    from scipy.special import betaincinv

    # `lost` cases, all lost, have a p-value of 2^-lost, or half of that.
    lost = max(math.ceil(-math.log2(alpha) - mid_p - 1e-12), math.ceil(margin * n - 1e-9), 1)
    return float(betaincinv(lost, n - lost + 1, power)) if lost <= n else None


def _least(share: Callable[[float], float], power: float) -> float | None:
    """Return the least drop that is found in so large a share of runs; shares grow with drops."""
    low, high = 0.0, 1.0
    if share(high) < power:
        return None
    for _ in range(50):
        middle = (low + high) / 2
        if share(middle) < power:
            low = middle
        else:
            high = middle
    return high


def _normal_quantile(level: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(level))


def _normal_share(distance: float, sd: float) -> float:
    if sd == 0:
        return float(distance >= 0)
    return 0.5 * math.erfc(-distance / sd / math.sqrt(2))

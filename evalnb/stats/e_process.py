"""E-processes: evidence that may be looked at after every case.

Where nothing got worse, an e-value reaches 1/alpha at any time in at most a share alpha of runs
(Ville's inequality), so that a run may be blocked as soon as it does.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.stats.values import Floats, flags, numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

__all__ = ["e_of_differences", "e_of_discordant"]


def e_of_discordant(regressed: Sequence[Any] | pd.Series | np.ndarray) -> Floats:
    """Return the e-value after each discordant case, that at most half of them regress.

    Parameters
    ----------
    regressed : in the order in which they came; True where a case fails now alone, False where it
        passes now alone

    Returns
    -------
    2 times the integral over p in (1/2, 1) of (2p)^s (2(1 - p))^f, for s regressions and f repairs

    References
    ----------
    Ramdas, Grünwald, Vovk & Shafer (2023), Statistical Science 38(4), doi:10.1214/23-STS894.

    Examples
    --------
    >>> e_of_discordant([True, True, False]).round(4).tolist()
    [1.5, 2.3333, 0.9167]
    """
    from scipy.special import betainc, betaln

    found = flags(regressed, "regressed")
    if np.isnan(found).any():
        raise ValueError("`regressed` must be True or False for each discordant case. Got NA.")
    worse = np.cumsum(found)
    better = np.arange(1, len(found) + 1) - worse
    # I_1/2(f + 1, s + 1) is P(Beta(s + 1, f + 1) > 1/2).
    tail = betainc(better + 1, worse + 1, 0.5)
    log_scale = (worse + better + 1) * math.log(2) + betaln(worse + 1, better + 1)
    return np.asarray(np.exp(log_scale) * tail)


def e_of_differences(
    differences: Sequence[Any] | pd.Series | np.ndarray,
    *,
    margin: float,
    alpha: float = 0.05,
    cap: float = 0.5,
) -> Floats:
    """Return the e-value after each case, that its score falls by at most a margin in the mean.

    Parameters
    ----------
    differences : candidate minus baseline in [-1, 1], in the order in which the cases came
    margin : in [0, 1)
    alpha : the level that the bets are sized for; the e-value is valid at any other too
    cap : in (0, 1), the share of the wealth that a bet may cost

    Returns
    -------
    wealth of a gambler who bets on lower scores, on x = (1 + difference)/2 against (1 - margin)/2

    References
    ----------
    Waudby-Smith & Ramdas (2024), Journal of the Royal Statistical Society B 86(1),
    doi:10.1093/jrsssb/qkad009, the predictable plug-in bets.

    Examples
    --------
    >>> e_of_differences([0, 0, -1], margin=0.02).round(4).tolist()
    [0.9902, 0.9805, 1.4515]
    """
    found = numbers(differences, "differences")
    if np.isnan(found).any() or (np.abs(found) > 1).any():
        raise ValueError("`differences` must be in [-1, 1], without NA.")
    if not (0 <= margin < 1 and 0 < alpha < 1 and 0 < cap < 1):
        raise ValueError(
            f"`margin` must be in [0, 1), `alpha` and `cap` between 0 and 1. "
            f"Got {margin}, {alpha} and {cap}."
        )
    x, middle = (1 + found) / 2, (1 - margin) / 2
    count = np.arange(1, len(x) + 1)
    means = (0.5 + np.cumsum(x)) / (count + 1)
    squares = np.concatenate([[0.0], np.cumsum((x - means) ** 2)[:-1]]) if len(x) else x
    variances = (0.25 + squares) / count
    sizes = np.sqrt(2 * math.log(1 / alpha) / (variances * count * np.log(count + 1)))
    bets = np.minimum(sizes, cap / (1 - middle))
    return np.asarray(np.cumprod(1 + bets * (middle - x)))

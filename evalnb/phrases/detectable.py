"""How much of a wording a suite can see."""

from __future__ import annotations

from evalnb.phrases.testing import fewest_cases

__all__ = ["smallest_rate"]

_PRECISION = 1e-6


def smallest_rate(
    n_cases: int, n_repeats: int, n_tried: int, level: float, *, power: float = 0.8
) -> float | None:
    """Return the smallest share of answers from which on a new wording is found.

    The wording stands in that share of the second side's answers, whichever cases they are of, and
    in none of the first side's. It is found where it reaches enough cases that p, all of them
    differing the same way, is within the level though it is the only finding of all that are tried.

    Parameters
    ----------
    n_cases, n_repeats : of each side; cases of one conversation are one
    n_tried : phrases tested
    level : share of false findings among the found
    power : how often it is to be found

    Returns
    -------
    in (0, 1]; None where the suite has too few cases for any wording

    Examples
    --------
    >>> round(smallest_rate(60, 3, 200, 0.01), 2)
    0.12
    >>> smallest_rate(5, 1, 1, 0.05) is None
    True
    """
    from scipy.special import bdtrc

    needed = fewest_cases(level / max(n_tried, 1))
    if needed > n_cases:
        return None
    low, high = 0.0, 1.0
    while high - low > _PRECISION:
        middle = (low + high) / 2
        reached = 1 - (1 - middle) ** n_repeats
        if bdtrc(needed - 1, n_cases, reached) >= power:
            high = middle
        else:
            low = middle
    return high

"""How often rules with fixed thresholds block a run in which nothing changed."""

from __future__ import annotations

import numpy as np

from evalnb.stats.values import check_count

__all__ = ["false_alarms_of_drop", "false_alarms_of_ratio"]

_ROUNDING = 1e-9


def false_alarms_of_drop(n: int, pass_rate: float, threshold: float = 0.02) -> float:
    """Return the chance that the pass rate falls by more than a threshold by chance alone.

    Parameters
    ----------
    n : number of cases, of one repeat, each of which passes with the same chance in both runs
    pass_rate : that chance
    threshold : the drop that the rule allows

    Examples
    --------
    >>> round(false_alarms_of_drop(60, 0.9), 4)  # two cases fewer, or more
    0.3225
    """
    passes = np.arange(check_count(n, "n", at_least=1) + 1)
    return _chance(n, pass_rate, passes[:, None] - passes > threshold * n + _ROUNDING)


def false_alarms_of_ratio(n: int, pass_rate: float, ratio: float = 0.95) -> float:
    """Return the chance that the pass rate falls below a share of the baseline's by chance alone.

    Parameters
    ----------
    n, pass_rate : as in `false_alarms_of_drop`
    ratio : the share that the rule asks for

    Examples
    --------
    >>> round(false_alarms_of_ratio(60, 0.9), 4)
    0.2213
    """
    passes = np.arange(check_count(n, "n", at_least=1) + 1)
    return _chance(n, pass_rate, passes < ratio * passes[:, None] - _ROUNDING)


def _chance(n: int, pass_rate: float, blocks: np.ndarray) -> float:
    """Sum over passes before (rows) and now (columns)."""
    from scipy.stats import binom

    chances = binom.pmf(np.arange(n + 1), n, pass_rate)
    return float(chances @ blocks @ chances)

"""What repeats of a case promise: that one of k passes, and that all k do."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.frames import METRICS
from evalnb.stats.estimates import mean_interval
from evalnb.stats.values import check_count, numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

__all__ = ["pass_at_k", "pass_hat_k"]


def pass_at_k(
    repeats: int | Sequence[Any] | pd.Series | np.ndarray,
    passes: int | Sequence[Any] | pd.Series | np.ndarray,
    k: int,
) -> pd.DataFrame:
    """Return the chance that at least one of `k` repeats of a case passes, averaged over cases.

    Parameters
    ----------
    repeats : number of repeats a case that have a verdict; a single number for one case
    passes : how many of them passed, NA where that is not known
    k : at least 1

    Returns
    -------
    one row, `pass_at_k`, a metrics frame; estimate in [0, 1], t interval over cases
        1 - C(r - c, k) / C(r, k) with c passes of r repeats. Cases with fewer repeats than k, and
        NAs, are left out and counted; NA `k_exceeds_repeats` where no case has enough, `too_few`
        without a case. The interval is NA `too_few` for one case, `no_variance` where all cases
        are alike.

    Raises
    ------
    ValueError
        If a count is no whole number, a case has more passes than repeats, or the lengths differ.

    References
    ----------
    Chen et al. (2021), arXiv:2107.03374.

    Examples
    --------
    >>> round(float(pass_at_k(8, 5, 3).loc[0, "estimate"]), 4)
    0.9821
    """
    return _averaged("pass_at_k", _any_of, repeats, passes, k)


def pass_hat_k(
    repeats: int | Sequence[Any] | pd.Series | np.ndarray,
    passes: int | Sequence[Any] | pd.Series | np.ndarray,
    k: int,
) -> pd.DataFrame:
    """Return the chance that all of `k` repeats of a case pass, averaged over cases: pass^k.

    This is what somebody feels who relies on an agent again and again.

    Parameters
    ----------
    repeats, passes, k : as in `pass_at_k`

    Returns
    -------
    one row, `pass_hat_k`; C(c, k) / C(r, k), otherwise as `pass_at_k`

    References
    ----------
    Yao et al. (2024), arXiv:2406.12045.

    Examples
    --------
    >>> round(float(pass_hat_k([8, 8], [5, 8], 3).loc[0, "estimate"]), 4)  # (10/56 + 1) / 2
    0.5893
    """
    return _averaged("pass_hat_k", _all_of, repeats, passes, k)


def _any_of(repeats: int, passes: int, k: int) -> float:
    return 1 - math.comb(repeats - passes, k) / math.comb(repeats, k)


def _all_of(repeats: int, passes: int, k: int) -> float:
    return math.comb(passes, k) / math.comb(repeats, k)


def _averaged(
    metric: str, chance: Callable[[int, int, int], float], repeats: Any, passes: Any, k: int
) -> pd.DataFrame:
    k = check_count(k, "k", at_least=1)
    counts = _counts(repeats, passes)
    chances = [chance(r, c, k) for r, c in counts if r is not None and c is not None and r >= k]
    found = mean_interval(chances, low=0.0, high=1.0)
    reason = None
    if not chances:
        reason = "k_exceeds_repeats" if any(r is not None for r, _ in counts) else "too_few"
    elif found.ci_low is None:
        reason = "too_few" if len(chances) == 1 else "no_variance"
    return METRICS.build(
        [
            {
                "metric": metric,
                "estimate": found.estimate,
                "ci_low": found.ci_low,
                "ci_high": found.ci_high,
                "n": len(chances),
                "n_left_out": len(counts) - len(chances),
                "method": f"k = {k}, t over cases",
                "reason": reason,
            }
        ]
    )


def _counts(repeats: Any, passes: Any) -> list[tuple[int | None, int | None]]:
    """Return repeats and passes a case, both None where one is missing."""
    each = [
        numbers([found] if np.ndim(found) == 0 else found, name)
        for name, found in (("repeats", repeats), ("passes", passes))
    ]
    if len(each[0]) != len(each[1]):
        raise ValueError(
            f"`repeats` and `passes` must be of the same cases. "
            f"Got {len(each[0])} and {len(each[1])}."
        )
    pairs: list[tuple[int | None, int | None]] = []
    for total, hits in zip(*each, strict=True):
        if math.isnan(total) or math.isnan(hits):
            pairs.append((None, None))
            continue
        pair = check_count(total, "repeats"), check_count(hits, "passes")
        if pair[1] > pair[0]:
            raise ValueError(f"a case has at most its {pair[0]} repeats as passes. Got {pair[1]}.")
        pairs.append(pair)
    return pairs

"""The sign-flip test: is a mean of paired differences more than chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.stats.effects import check_lengths, cluster_codes
from evalnb.stats.values import numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from evalnb.stats.mcnemar import Alternative
    from evalnb.stats.values import Floats

__all__ = ["sign_flip_test"]

_TOLERANCE = 1e-9
_MOST_EXACT = 16
_DRAWS = 10_000
_AT_ONCE = 1 << 20


def sign_flip_test(
    differences: Sequence[Any] | pd.Series | np.ndarray,
    *,
    clusters: Sequence[Any] | pd.Series | np.ndarray | None = None,
    alternative: Alternative = "two-sided",
    seed: int = 0,
) -> float | None:
    """Return the p-value that differences are as likely to be turned round.

    Parameters
    ----------
    differences : one a case, NA where there is none
    clusters : what each case shares with others; a cluster is turned as a whole, NA is one alone
    alternative : {"two-sided", "greater", "less"}
    seed : of the patterns drawn where there are more than 2^16

    Returns
    -------
    the share of sign patterns whose sum is at least as far out, the one seen included
        Exact up to 16 clusters that are not 0; beyond, (hits + 1) / 10,001 over 10,000 drawn
        patterns. 1 where all are 0, None without a difference. Sums within 1e-9 of
        the largest difference are ties.

    Raises
    ------
    ValueError
        If lengths differ, a difference is no finite number or the alternative is unknown.

    References
    ----------
    Fisher (1935), The Design of Experiments, section 21.

    Examples
    --------
    >>> sign_flip_test([1, 2, 3]), sign_flip_test([1, 2, 3], alternative="greater")
    (0.25, 0.125)
    """
    values = numbers(differences, "differences")
    check_lengths(differences=values, clusters=clusters)
    if alternative not in ("two-sided", "greater", "less"):
        raise ValueError(f"`alternative` must be two-sided, greater or less. Got {alternative!r}.")
    known = ~np.isnan(values)
    if not known.any():
        return None
    totals = values[known]
    if clusters is not None:
        totals = np.bincount(cluster_codes(clusters)[known], weights=totals).astype("float64")
    scale = float(np.abs(totals).max())
    totals = totals[np.abs(totals) > _TOLERANCE * scale]
    if not len(totals):
        return 1.0
    seen = _out(np.array([totals.sum()]), alternative)[0] - _TOLERANCE * scale
    if len(totals) <= _MOST_EXACT:
        signs = 1 - 2 * ((np.arange(1 << len(totals))[:, None] >> np.arange(len(totals))) & 1)
        return float((_out(signs @ totals, alternative) >= seen).mean())
    hits = sum(int((_out(sums, alternative) >= seen).sum()) for sums in _drawn(totals, seed))
    return (hits + 1) / (_DRAWS + 1)


def _out(sums: Floats, alternative: Alternative) -> Floats:
    """Return how far sums lie in the direction that is looked for."""
    if alternative == "two-sided":
        return np.abs(sums)
    return sums if alternative == "greater" else -sums


def _drawn(totals: Floats, seed: int) -> Iterator[Floats]:
    """Yield sums of randomly turned differences, some at a time."""
    rng = np.random.default_rng(seed)
    part = max(1, _AT_ONCE // len(totals))
    for start in range(0, _DRAWS, part):
        size = (min(part, _DRAWS - start), len(totals))
        yield (1 - 2 * rng.integers(0, 2, size=size)) @ totals

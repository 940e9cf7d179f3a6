"""How much there is that a sample has not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.frames import METRICS
from evalnb.stats.values import check_count

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

__all__ = ["unseen_kinds"]


def unseen_kinds(counts: Iterable[int]) -> pd.DataFrame:
    """Estimate the share of kinds that a sample never saw, and how many kinds there are.

    Parameters
    ----------
    counts : how often each kind was seen

    Returns
    -------
    a metrics frame with two rows, without intervals; NA `too_few` where nothing was seen
        `unseen_mass`, Good and Turing's f1/n in [0, 1]: the chance that the next one is of a kind
        not seen yet. `chao1`, at least how many kinds there are: S + f1(f1 - 1)/(2(f2 + 1)).

    Raises
    ------
    ValueError
        If a count is no whole number from 0 on.

    References
    ----------
    Good (1953), Biometrika 40(3/4); Chao (1984), Scandinavian Journal of Statistics 11(4), in the
    bias-corrected form.

    Examples
    --------
    >>> unseen_kinds([3, 1, 1, 0])["estimate"].tolist()
    [0.4, 4.0]
    """
    seen = [check_count(count, "counts") for count in counts]
    seen = [count for count in seen if count]
    n, once, twice = sum(seen), seen.count(1), seen.count(2)
    if not n:
        rows = [{"metric": name, "n": 0, "reason": "too_few"} for name in ("unseen_mass", "chao1")]
        return METRICS.build(rows)
    kinds = len(seen) + once * (once - 1) / (2 * (twice + 1))
    return METRICS.build(
        [
            {"metric": "unseen_mass", "estimate": once / n, "n": n, "method": "Good-Turing"},
            {"metric": "chao1", "estimate": kinds, "n": n, "method": "Chao1, bias-corrected"},
        ]
    )

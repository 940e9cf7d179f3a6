"""Whether a judge repeats itself: the noise floor of every probe.

`evalnb.stats.repeats` says the same of scores on a scale; here verdicts are names without order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalnb.stats.effects import EFFECTS, mean_row, rate_row
from evalnb.stats.values import check_count

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["entropy_of_counts", "repetition_by_item", "repetition_statistics"]


def repetition_statistics(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Say how often a judge gives the same verdict when asked the same again.

    Parameters
    ----------
    verdicts : columns item, verdict; a row an item and repeat, the verdict NA where unread
        A tie is a verdict of its own.

    Returns
    -------
    an effects frame; `n` counts items with two verdicts or more, `n_left_out` the others
        `repetition_stability`: mean share of an item's commonest verdict. `pairwise_self_agreement`
        and `self_flip_rate`: the chance that two repeats on an item say the same, or differ.
        `verdict_entropy`: mean entropy of an item's verdicts, in nats. The first three have Wilson
        intervals over items, on the safe side since their values lie between 0 and 1; the entropy
        has a t interval, NA `too_few` for one item, `no_variance` where all are the same. All are
        NA `too_few` without an item.

    References
    ----------
    Shi et al. (2024), arXiv:2406.07791 (repetition stability); Wang et al. (2023), arXiv:2305.17926
    (entropy).

    Examples
    --------
    >>> verdicts = pd.DataFrame({"item": ["a", "a", "b", "b"], "verdict": ["A", "A", "A", "B"]})
    >>> found = repetition_statistics(verdicts).set_index("metric")["estimate"]
    >>> float(found["repetition_stability"]), float(found["self_flip_rate"])
    (0.75, 0.5)
    """
    items = repetition_by_item(verdicts)
    usable = items[items["n"] > 1]
    n, left_out = len(usable), len(items) - len(usable)
    stability, flips = usable["stability"].sum(), usable["self_flip"].sum()
    return EFFECTS.build(
        [
            rate_row("repetition_stability", float(stability), n, left_out),
            rate_row("pairwise_self_agreement", float(n - flips), n, left_out),
            rate_row("self_flip_rate", float(flips), n, left_out),
            mean_row("verdict_entropy", usable["entropy"].to_numpy("float64"), low=0.0)
            | {"n_left_out": left_out, "p_value": None},
        ]
    )


def repetition_by_item(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return how far the verdicts on each item differ.

    Parameters
    ----------
    verdicts : columns item, verdict, as in `repetition_statistics`

    Returns
    -------
    item, n, stability, self_flip, entropy : a row an item in order of appearance
        `n` counts verdicts. `stability` and `entropy` are NA without a verdict, `self_flip` below
        two. Items of the highest entropy are the ones for people to look at first.

    Examples
    --------
    >>> verdicts = pd.DataFrame({"item": ["a"] * 3, "verdict": ["A", "A", "B"]})
    >>> float(repetition_by_item(verdicts).loc[0, "self_flip"].round(3))
    0.667
    """
    counts = [
        (item, group["verdict"].value_counts().to_numpy("float64"))
        for item, group in verdicts.groupby("item", sort=False, dropna=False)
    ]
    return pd.DataFrame(
        {
            "item": pd.Series([item for item, _ in counts], dtype=verdicts["item"].dtype),
            "n": pd.Series([int(c.sum()) for _, c in counts], dtype="Int64"),
            "stability": _column(counts, lambda c: float(c.max() / c.sum()), at_least=1),
            "self_flip": _column(counts, _self_flip, at_least=2),
            "entropy": _column(counts, entropy_of_counts, at_least=1),
        }
    )


def entropy_of_counts(counts: Sequence[int] | np.ndarray) -> float:
    """Return the entropy of verdicts, in nats.

    Parameters
    ----------
    counts : how often each verdict was given, such as wins, ties and losses

    Returns
    -------
    0 where all are the same, the logarithm of their number where each verdict is as common

    Raises
    ------
    ValueError
        If a count is no whole number, or there is no verdict.

    References
    ----------
    Shannon (1948), Bell System Technical Journal 27(3).

    Examples
    --------
    >>> round(entropy_of_counts([4, 1, 1]), 6)
    0.867563
    """
    found = np.array([check_count(count, "counts") for count in counts], dtype="float64")
    if not found.sum():
        raise ValueError("an entropy needs at least one verdict. Got none.")
    shares = found[found > 0] / found.sum()
    return abs(float((shares * np.log(shares)).sum()))


def _column(
    counts: list[tuple[Any, np.ndarray]],
    statistic: Callable[[np.ndarray], float],
    *,
    at_least: int,
) -> pd.Series:
    return pd.Series(
        [statistic(c) if c.sum() >= at_least else None for _, c in counts], dtype="Float64"
    )


def _self_flip(counts: np.ndarray) -> float:
    n = float(counts.sum())
    return 1 - float((counts * (counts - 1)).sum()) / (n * (n - 1))

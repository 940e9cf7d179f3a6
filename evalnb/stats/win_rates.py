"""How often one system's answers are preferred to another's, ties as half a win."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.stats.effects import EFFECTS, check_lengths, mean_row, rate_row
from evalnb.stats.mcnemar import mcnemar
from evalnb.stats.values import check_count, numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evalnb.stats.values import Floats

__all__ = ["preferences", "win_rate", "win_rate_of_counts"]


def win_rate(
    preference: Sequence[Any] | pd.Series | np.ndarray,
    *,
    clusters: Sequence[Any] | pd.Series | np.ndarray | None = None,
) -> pd.DataFrame:
    """Return how often the first of two systems wins.

    Parameters
    ----------
    preference : a pair each: 1 where the first wins, 0 where the other does, 0.5 for a tie
        Shares between are allowed; NA where there is no verdict.
    clusters : what each pair shares with others, such as its case; NA for a pair alone

    Returns
    -------
    rows `win_rate` and `win_share_without_ties`, an effects frame
        `win_rate` is the mean with its t interval, over clusters if there are any; its `p_value` is
        the sign test over the pairs that are no ties, or with clusters Student's of a rate of one
        half. `win_share_without_ties` counts preferences above 0.5 against those below, with
        Wilson's interval, or t over clusters; ties are in its `n_left_out`. NA `too_few` without a
        pair; an interval is NA `too_few` for one pair, `no_variance` where all say the same.

    Raises
    ------
    ValueError
        If a preference is outside [0, 1], or lengths differ.

    References
    ----------
    Student (1908), Biometrika 6(1); the sign test: Dixon & Mood (1946), Journal of the American
    Statistical Association 41(236).

    Examples
    --------
    >>> found = win_rate([1, 1, 0.5, 0, None]).set_index("metric")
    >>> float(found.loc["win_rate", "estimate"]), int(found.loc["win_rate", "n_left_out"])
    (0.625, 1)
    """
    values = preferences(preference)
    check_lengths(preference=values, clusters=clusters)
    row = mean_row("win_rate", values, clusters, low=0.0, high=1.0)
    decided = np.where(values == 0.5, np.nan, np.where(np.isnan(values), np.nan, values > 0.5))
    wins, losses = int(np.nansum(decided)), int((decided == 0).sum())
    if clusters is None:
        row["p_value"] = mcnemar(wins, losses, method="exact") if row["n"] else None
        share = rate_row("win_share_without_ties", wins, wins + losses, len(values) - wins - losses)
    else:
        row["p_value"] = mean_row("", values - 0.5, clusters).get("p_value")
        share = mean_row("win_share_without_ties", decided, clusters, low=0.0, high=1.0)
        share["p_value"] = None
    return EFFECTS.build([row, share])


def win_rate_of_counts(wins: int, ties: int, losses: int, *, n_left_out: int = 0) -> pd.DataFrame:
    """Return a win rate of counted verdicts; see `win_rate`.

    Parameters
    ----------
    wins, ties, losses : numbers of pairs
    n_left_out : number of pairs without a verdict

    Returns
    -------
    rows `win_rate` and `win_share_without_ties`, an effects frame

    Examples
    --------
    >>> float(win_rate_of_counts(38, 17, 25).loc[0, "estimate"])
    0.58125
    """
    counts = {"wins": wins, "ties": ties, "losses": losses, "n_left_out": n_left_out}
    repeats = [check_count(count, name) for name, count in counts.items()]
    return win_rate(np.repeat([1.0, 0.5, 0.0, np.nan], repeats))


def preferences(values: Sequence[Any] | pd.Series | np.ndarray) -> Floats:
    """Return preferences as floats, NaN where one is missing.

    Raises
    ------
    ValueError
        If one is outside [0, 1].
    """
    found = numbers(values, "preference")
    wrong = found[(found < 0) | (found > 1)]
    if len(wrong):
        raise ValueError(
            f"`preference` must be in [0, 1], 0.5 for a tie, NA where missing. Got {wrong[0]:g}."
        )
    return found

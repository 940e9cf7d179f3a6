"""Whether a judge favours its own model's answers beyond what people think of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.stats.effects import EFFECTS, check_lengths, rate_row
from evalnb.stats.estimates import difference_of_rates
from evalnb.stats.values import check_count, flags

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

__all__ = ["self_preference", "self_preference_of_counts"]


def self_preference(
    judge_picks_own: Sequence[Any] | pd.Series | np.ndarray,
    people_prefer_own: Sequence[Any] | pd.Series | np.ndarray,
) -> pd.DataFrame:
    """Compare how often a judge follows people where they prefer its own answer and the other's.

    A high win rate of its own answers is no self-preference: they may be better.

    Parameters
    ----------
    judge_picks_own : a pair each, of an answer of the judge's own model and another's
        NA for a tie or where a verdict is missing.
    people_prefer_own : what people say of the same pair, NA for a tie or without a label

    Returns
    -------
    an effects frame; pairs that lack a side are left out and counted
        `own_kept`: P(judge picks own | people prefer own), `other_kept`: P(judge picks the other |
        people prefer the other), with Wilson intervals; each leaves out the pairs of the other.
        `self_preference`: the first minus the second, in [-1, 1], with Newcombe's interval and
        Fisher's two-sided p-value. NA `too_few` where people never prefer one side.

    Raises
    ------
    ValueError
        If lengths differ or a value is neither True, False nor NA.

    References
    ----------
    Wataoka et al. (2024), arXiv:2410.21819; Newcombe (1998), Statistics in Medicine 17:873-890,
    method 10.

    Examples
    --------
    >>> found = self_preference([True, True, True, False, None], [True, True, False, False, True])
    >>> found["estimate"].tolist()
    [1.0, 0.5, 0.5]
    """
    judge = flags(judge_picks_own, "judge_picks_own")
    people = flags(people_prefer_own, "people_prefer_own")
    check_lengths(judge_picks_own=judge, people_prefer_own=people)
    known = ~(np.isnan(judge) | np.isnan(people))
    own, other = known & (people == 1), known & (people == 0)
    return self_preference_of_counts(
        own_kept=int((judge[own] == 1).sum()),
        people_prefer_own=int(own.sum()),
        other_kept=int((judge[other] == 0).sum()),
        people_prefer_other=int(other.sum()),
        n_left_out=int((~known).sum()),
    )


def self_preference_of_counts(
    *,
    own_kept: int,
    people_prefer_own: int,
    other_kept: int,
    people_prefer_other: int,
    n_left_out: int = 0,
) -> pd.DataFrame:
    """Return the self-preference of counted pairs; see `self_preference`.

    Parameters
    ----------
    own_kept, people_prefer_own : of the pairs where people prefer the judge's own answer, those
        where the judge does too, and all
    other_kept, people_prefer_other : the same where people prefer the other answer
    n_left_out : number of pairs without a verdict or a label

    Returns
    -------
    rows `own_kept`, `other_kept` and `self_preference`, an effects frame

    Raises
    ------
    ValueError
        If a count is no whole number, or more pairs are kept than there are.

    Examples
    --------
    >>> found = self_preference_of_counts(
    ...     own_kept=41, people_prefer_own=48, other_kept=35, people_prefer_other=52
    ... )
    >>> found["estimate"].round(3).tolist()
    [0.854, 0.673, 0.181]
    """
    own = check_count(people_prefer_own, "people_prefer_own")
    other = check_count(people_prefer_other, "people_prefer_other")
    kept_own, kept_other = check_count(own_kept, "own_kept"), check_count(other_kept, "other_kept")
    missing = check_count(n_left_out, "n_left_out")
    if kept_own > own or kept_other > other:
        raise ValueError(
            "no more pairs can be kept than people decided. "
            f"Got {kept_own} of {own} and {kept_other} of {other}."
        )
    difference: dict[str, Any] = {
        "metric": "self_preference",
        **vars(difference_of_rates(kept_own, own, kept_other, other)),
        "n": own + other,
        "n_left_out": missing,
        "method": "newcombe, p by fisher",
    }
    if own and other:
        difference["p_value"] = _fisher(kept_own, own, kept_other, other)
    else:
        difference["reason"] = "too_few"
    return EFFECTS.build(
        [
            rate_row("own_kept", kept_own, own, missing + other),
            rate_row("other_kept", kept_other, other, missing + own),
            difference,
        ]
    )


def _fisher(hits: int, n: int, other_hits: int, other_n: int) -> float:
    from scipy.stats import fisher_exact

    table = [[hits, n - hits], [other_hits, other_n - other_hits]]
    return float(fisher_exact(table)[1])

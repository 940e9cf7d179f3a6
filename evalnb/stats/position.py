"""Whether the place of an answer sways the judge: verdicts on the same pairs in both orders.

Verdicts are by position: A where the answer shown first won, B where the second did, C for a tie.
A judge that does not look at the place says A and B, B and A, or C and C.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalnb.stats.effects import EFFECTS, check_lengths, mean_row, rate_row, share_row
from evalnb.stats.mcnemar import mcnemar
from evalnb.stats.paired_intervals import tango_interval
from evalnb.stats.values import check_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalnb.stats.values import Floats

__all__ = [
    "POSITIONS",
    "position_bias",
    "position_bias_of_counts",
    "verdicts_by_position",
]

POSITIONS = ("A", "B", "C")
"""The answer shown first, the one shown second, a tie."""

_CONSISTENT = {"AB", "BA", "CC"}
_FIRST = {"AA", "AC", "CA"}
_FLIPPED = {"AA", "BB"}


def position_bias(
    first_order: Sequence[Any] | pd.Series | np.ndarray,
    second_order: Sequence[Any] | pd.Series | np.ndarray,
    *,
    clusters: Sequence[Any] | pd.Series | np.ndarray | None = None,
) -> pd.DataFrame:
    """Say how far a judge's verdicts depend on which answer is shown first.

    Parameters
    ----------
    first_order, second_order : A, B or C; a pair each, by position
        NA where a verdict could not be read: the pair is left out and counted;
        `evalnb.stats.position_countings` has other ways.
    clusters : what each pair shares with others, such as its case; NA for a pair alone
        All intervals and p-values are then Student's over clusters, those of
        `primacy_share_of_conflicts` over the clusters with a conflict.

    Returns
    -------
    an effects frame; NA `too_few` without a pair
        `position_consistency`: share of AB, BA, CC. `conflict_rate`: 1 minus that.
        `strict_flip_rate`: share of AA and BB. `first_preference_rate`, `second_preference_rate`:
        shares of AA, AC, CA and of BB, BC, CB. These have Wilson intervals.
        `net_first_preference`: the first of these minus the second, the headline, with Tango's
        interval; `p_value` is the sign test on the conflicts. `primacy_share_of_conflicts`: share
        of conflicts that go to the first, NA `no_variance` without a conflict.
        `preference_fairness`: of Shi et al., in [-1, 1], negative where the first is preferred;
        with their formula it is the net preference with its sign changed.

    Raises
    ------
    ValueError
        If lengths differ or a verdict is none of A, B, C and NA.

    References
    ----------
    Zheng et al. (2023), arXiv:2306.05685; Shi et al. (2024), arXiv:2406.07791; Tango (1998),
    Statistics in Medicine 17:891-908.

    Examples
    --------
    >>> found = position_bias(["A", "B", "A", "A"], ["B", "A", "A", None]).set_index("metric")
    >>> found["estimate"].round(3)[["position_consistency", "net_first_preference"]].tolist()
    [0.667, 0.333]
    """
    joined = _joined(first_order, second_order)
    if clusters is not None:
        check_lengths(first_order=joined, clusters=clusters)
        return _clustered(joined, clusters)
    known = [pair for pair in joined if pair is not None]
    consistent = sum(pair in _CONSISTENT for pair in known)
    first = sum(pair in _FIRST for pair in known)
    counts = _Conflicts(
        consistent, first, len(known) - consistent - first, len(joined) - len(known)
    )
    flipped = sum(pair in _FLIPPED for pair in known)
    strict = rate_row("strict_flip_rate", flipped, counts.n, counts.n_left_out)
    return EFFECTS.build([*counts.rates(), strict, *counts.directions()])


def position_bias_of_counts(
    consistent: int, prefers_first: int, prefers_second: int, *, n_left_out: int = 0
) -> pd.DataFrame:
    """Say how far verdicts depend on the order, from counts of pairs; see `position_bias`.

    Parameters
    ----------
    consistent : number of pairs with the same verdict in both orders
    prefers_first, prefers_second : numbers of conflicts, by the place that they go to
    n_left_out : number of pairs that lack a verdict

    Returns
    -------
    the rows of `position_bias` but for `strict_flip_rate`

    Examples
    --------
    >>> found = position_bias_of_counts(52, 24, 4).set_index("metric")
    >>> float(found.loc["net_first_preference", "estimate"])
    0.25
    """
    counts = _Conflicts(
        check_count(consistent, "consistent"),
        check_count(prefers_first, "prefers_first"),
        check_count(prefers_second, "prefers_second"),
        check_count(n_left_out, "n_left_out"),
    )
    return EFFECTS.build([*counts.rates(), *counts.directions()])


def verdicts_by_position(
    verdict_ab: Sequence[Any] | pd.Series,
    verdict_ba: Sequence[Any] | pd.Series,
    *,
    a: Any = "a",
    b: Any = "b",
    tie: Any = "tie",
) -> pd.DataFrame:
    """Turn verdicts that name an answer, as in a pairs frame, into verdicts by position.

    Parameters
    ----------
    verdict_ab, verdict_ba : who won with the answer of `a` shown first, and with that of `b` first
    a, b, tie : what the verdicts are called; anything missing is a verdict that could not be read

    Returns
    -------
    first_order, second_order : A, B, C or NA, a row a pair

    Raises
    ------
    ValueError
        If lengths differ or a verdict has another name.

    Examples
    --------
    >>> verdicts_by_position(["a", "tie"], ["a", None]).to_dict("list")
    {'first_order': ['A', 'C'], 'second_order': ['B', None]}
    """
    check_lengths(verdict_ab=verdict_ab, verdict_ba=verdict_ba)
    return pd.DataFrame(
        {
            "first_order": _named(verdict_ab, {a: "A", b: "B", tie: "C"}),
            "second_order": _named(verdict_ba, {b: "A", a: "B", tie: "C"}),
        }
    )


@dataclass(frozen=True)
class _Conflicts:
    """Pairs by what their two verdicts say together."""

    consistent: int
    first: int
    second: int
    n_left_out: int

    @property
    def n(self) -> int:
        return self.consistent + self.first + self.second

    def rates(self) -> list[dict[str, Any]]:
        counts = {
            "position_consistency": self.consistent,
            "conflict_rate": self.first + self.second,
            "first_preference_rate": self.first,
            "second_preference_rate": self.second,
        }
        return [rate_row(name, hits, self.n, self.n_left_out) for name, hits in counts.items()]

    def directions(self) -> list[dict[str, Any]]:
        conflicts = self.first + self.second
        share = rate_row("primacy_share_of_conflicts", self.first, conflicts, self.n_left_out)
        share["n_left_out"] += self.consistent
        if self.n and not conflicts:
            share["reason"] = "no_variance"
        net: dict[str, Any] = {
            "metric": "net_first_preference",
            **vars(tango_interval(self.first, self.second, self.n)),
            "n": self.n,
            "n_left_out": self.n_left_out,
            "method": "tango",
            "reason": None if self.n else "too_few",
            "p_value": mcnemar(self.first, self.second, method="exact") if self.n else None,
        }
        return [net, share, _fairness(net)]


def _clustered(
    joined: list[str | None], clusters: Sequence[Any] | pd.Series | np.ndarray
) -> pd.DataFrame:
    consistent = _flags(joined, _CONSISTENT)
    first = _flags(joined, _FIRST)
    second = 1 - consistent - first
    conflicts = np.where(consistent == 0, first, np.nan)
    shares = {
        "position_consistency": consistent,
        "conflict_rate": 1 - consistent,
        "first_preference_rate": first,
        "second_preference_rate": second,
        "strict_flip_rate": _flags(joined, _FLIPPED),
    }
    net = mean_row("net_first_preference", first - second, clusters, low=-1.0, high=1.0)
    share = share_row("primacy_share_of_conflicts", conflicts, clusters)
    if net["n"] and not share["n"]:
        share["reason"] = "no_variance"
    rows = [share_row(name, hits, clusters) for name, hits in shares.items()]
    return EFFECTS.build([*rows, net, share, _fairness(net)])


def _fairness(net: dict[str, Any]) -> dict[str, Any]:
    """Return the preference fairness: r^2/(p+r) - p^2/(p+r) is r - p for p, r conflicts."""
    ends = {"estimate": "estimate", "ci_low": "ci_high", "ci_high": "ci_low"}
    turned = {to: 0.0 - net[of] if pd.notna(net[of]) else None for to, of in ends.items()}
    return net | turned | {"metric": "preference_fairness"}


def _joined(first_order: Any, second_order: Any) -> list[str | None]:
    """Return both verdicts of each pair in one, None where one is missing."""
    check_lengths(first_order=first_order, second_order=second_order)
    names = {name: name for name in POSITIONS}
    first, second = _named(first_order, names), _named(second_order, names)
    return [
        None if one is pd.NA or two is pd.NA else one + two
        for one, two in zip(first, second, strict=True)
    ]


def _named(verdicts: Sequence[Any] | pd.Series | np.ndarray, names: dict[Any, str]) -> pd.Series:
    found = pd.Series(list(verdicts), dtype="object")
    known = found.notna()
    wrong = [value for value in found[known] if value not in names]
    if wrong:
        allowed = ", ".join(map(str, names))
        raise ValueError(f"a verdict must be {allowed}, or NA where unread. Got {wrong[0]!r}.")
    return found.map(names).astype("string")


def _flags(joined: list[str | None], wanted: set[str]) -> Floats:
    return np.array([np.nan if pair is None else float(pair in wanted) for pair in joined])

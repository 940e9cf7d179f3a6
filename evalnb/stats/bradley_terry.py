"""Several systems on one scale, from who beat whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalnb.frames import FrameSchema
from evalnb.stats.resampling import RESAMPLES, Patterns, bootstrap, quantiles
from evalnb.stats.win_rates import preferences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalnb.stats.values import Floats

__all__ = ["STRENGTHS", "bradley_terry"]

_STEPS = 100
_LONGEST_STEP = 2.0
_SETTLED = 1e-9
_ALIKE = 1e-9
_MOST_UNCONNECTED = 0.05
"""Where more resamples than this have no maximum, their quantiles say nothing."""

STRENGTHS = FrameSchema(
    "strengths",
    {
        "system": "string",
        "estimate": "Float64",
        "ci_low": "Float64",
        "ci_high": "Float64",
        "beats_reference": "Float64",
        "rank": "Int64",
        "rank_low": "Int64",
        "rank_high": "Int64",
        "n": "Int64",
        "n_left_out": "Int64",
        "method": "string",
        "reason": "string",
        "warnings": "object",
    },
    key=("system",),
)
"""A row a system: `estimate` is its log strength, that of the reference 0.

`beats_reference` is the chance that a verdict between the two goes its way, `rank` 1 the strongest,
equals sharing the better one. `n` counts the verdicts that it is in.
"""


def bradley_terry(
    pairs: pd.DataFrame, *, reference: str | None = None, seed: int = 0, resamples: int = RESAMPLES
) -> pd.DataFrame:
    """Estimate the strengths of systems from verdicts on pairs of them.

    The chance that i beats j is s_i / (s_i + s_j). A tie is half a win each.

    Parameters
    ----------
    pairs : columns case_id, system_a, system_b, preference
        `preference` is 1 where `system_a` wins, 0 where `system_b` does, 0.5 for a tie, NA where
        there is no verdict; such rows are left out and counted.
    reference : whose log strength is 0; by default the first system named
    seed, resamples : of the bootstrap over cases, all verdicts of a case together

    Returns
    -------
    a strengths frame, in the order in which systems are named first
        All is NA `not_connected` where some systems never lose to the others, so that there is no
        maximum, and `no_overlap` without a verdict. Intervals, of ranks too, are percentiles; NA
        `too_few` below two cases, `not_connected` where more than 5% of the resamples have no
        maximum (fewer are left out, warning `not_connected`), `no_variance` where all say the
        same. No rank is given without its interval.

    Raises
    ------
    ValueError
        If a preference is outside [0, 1], a system is compared with itself, or `reference` is none
        of them.

    References
    ----------
    Bradley & Terry (1952), Biometrika 39(3/4), doi:10.2307/2334029; Hunter (2004), Annals of
    Statistics 32(1), doi:10.1214/aos/1079120141, assumption 1 for when there is a maximum.

    Examples
    --------
    >>> pairs = pd.DataFrame(
    ...     {
    ...         "case_id": ["c1", "c2", "c3", "c4"],
    ...         "system_a": "v1",
    ...         "system_b": "v2",
    ...         "preference": [1.0, 1.0, 1.0, 0.0],
    ...     }
    ... )
    >>> float(bradley_terry(pairs).loc[1, "beats_reference"].round(6))  # one of four
    0.25
    """
    wins = preferences(pairs["preference"])
    names = list(dict.fromkeys(pairs[["system_a", "system_b"]].to_numpy("object").ravel().tolist()))
    _check(pairs, names, reference)
    places = {name: place for place, name in enumerate(names)}
    one, two = (pairs[side].map(places).to_numpy("int64") for side in ("system_a", "system_b"))
    known = ~np.isnan(wins)
    first = places.get(reference, 0) if reference is not None else 0
    shared = [
        {
            "system": name,
            "n": int((known & ((one == place) | (two == place))).sum()),
            "n_left_out": int((~known & ((one == place) | (two == place))).sum()),
            "method": "Bradley-Terry, ties as half wins, percentile bootstrap over cases",
        }
        for place, name in enumerate(names)
    ]
    if not known.any():
        return STRENGTHS.build({**row, "reason": "no_overlap"} for row in shared)
    cases = pd.factorize(pairs.loc[known, "case_id"])[0]
    tables = _tables(one[known], two[known], wins[known], cases, len(names))
    found = _strengths(tables.sum(axis=0)[None], first)[0]
    if np.isnan(found).any():
        return STRENGTHS.build({**row, "reason": "not_connected"} for row in shared)
    patterns = Patterns(np.eye(tables[0].size), tables.reshape(len(tables), -1), _ones(tables))
    spread = _spread(patterns, found, first, seed, resamples)
    return STRENGTHS.build(
        {
            **row,
            "estimate": float(found[place]),
            "beats_reference": float(1 / (1 + np.exp(found[first] - found[place]))),
            **spread[place],
        }
        for place, row in enumerate(shared)
    )


def _check(pairs: pd.DataFrame, names: Sequence[str], reference: str | None) -> None:
    itself = pairs.loc[pairs["system_a"] == pairs["system_b"], "system_a"]
    if len(itself):
        raise ValueError(f"two systems make a pair. Got {itself.iloc[0]!r} twice.")
    if reference is not None and reference not in names:
        known = ", ".join(map(repr, names))
        raise ValueError(f"`reference` must be one of {known}. Got {reference!r}.")


def _ones(tables: Floats) -> np.ndarray:
    return np.ones(len(tables), "int64")


def _tables(one: np.ndarray, two: np.ndarray, wins: Floats, cases: np.ndarray, k: int) -> Floats:
    """Return case x winner x loser: how often the one beat the other, ties as half a win."""
    tables = np.zeros((int(cases.max()) + 1, k, k))
    np.add.at(tables, (cases, one, two), wins)
    np.add.at(tables, (cases, two, one), 1 - wins)
    return tables


def _strengths(wins: Floats, reference: int) -> Floats:
    """Return the log strengths of each table of wins, NaN where there is no maximum.

    Newton's method; the steps are bounded, so that it stays where the likelihood bends.
    """
    n, k = wins.shape[:2]
    theta = np.full((n, k), np.nan)
    todo = np.flatnonzero(_connected(wins))
    others = np.delete(np.arange(k), reference)
    theta[todo] = 0.0
    games = wins + wins.transpose(0, 2, 1)
    for _ in range(_STEPS):
        if not len(todo):
            break
        apart = theta[todo, :, None] - theta[todo, None, :]
        chance = 1 / (1 + np.exp(-apart))
        slope = (wins[todo] - games[todo] * chance).sum(axis=2)[:, others]
        weight = games[todo] * chance * (1 - chance)
        bend = -weight
        bend[:, np.arange(k), np.arange(k)] += weight.sum(axis=2)
        step = np.linalg.solve(bend[:, others[:, None], others], slope[:, :, None])[:, :, 0]
        largest = np.abs(step).max(axis=1, initial=0.0)
        step *= np.minimum(1.0, _LONGEST_STEP / np.maximum(largest, _SETTLED))[:, None]
        theta[np.ix_(todo, others)] += step
        todo = todo[largest > _SETTLED]
    theta[todo] = np.nan
    return theta


def _connected(wins: Floats) -> np.ndarray:
    """Tell for each table whether every system is beaten, directly or not, by every other."""
    reached = (wins > 0).astype("int64")
    k = wins.shape[1]
    for _ in range(max(k - 1, 1).bit_length()):
        reached = ((reached + reached @ reached) > 0).astype("int64")
    return np.asarray((reached + np.eye(k, dtype="int64") > 0).all(axis=(1, 2)))


def _spread(
    patterns: Patterns, found: Floats, reference: int, seed: int, resamples: int
) -> list[dict[str, Any]]:
    """Return interval and rank of each system, or why there is none."""
    k = len(found)
    if patterns.n_units < 2:
        return [{"reason": "too_few"}] * k

    def statistic(counts: np.ndarray) -> np.ndarray:
        return _strengths(counts.reshape(-1, k, k), reference)

    drawn = bootstrap(patterns, statistic, seed=seed, resamples=resamples, width=k * k)
    lost = np.isnan(drawn).any(axis=1)
    if lost.mean() > _MOST_UNCONNECTED:
        return [{"reason": "not_connected"}] * k
    drawn = drawn[~lost]
    if np.ptp(drawn, axis=0).max() < _ALIKE:
        return [{"reason": "no_variance"}] * k
    ranks, drawn_ranks = _ranks(found[None])[0], _ranks(drawn)
    rows = []
    for place in range(k):
        low, high = quantiles(drawn[:, place], 0.025, 0.975)
        rank_low, rank_high = np.quantile(drawn_ranks[:, place], [0.025, 0.975], method="nearest")
        rows.append(
            {
                "ci_low": None if place == reference else low,
                "ci_high": None if place == reference else high,
                "rank": int(ranks[place]),
                "rank_low": int(rank_low),
                "rank_high": int(rank_high),
                "warnings": ["not_connected"] if lost.any() else None,
            }
        )
    return rows


def _ranks(theta: Floats) -> np.ndarray:
    """Return the rank of each system in each row: 1 and how many are stronger."""
    stronger = theta[:, None, :] > theta[:, :, None] + _ALIKE
    return np.asarray(1 + stronger.sum(axis=2))

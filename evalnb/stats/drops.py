"""Whether scores fell, for each scorer and slice: the statistical part of a gate's decision."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.frames import FrameSchema, Outcome
from evalnb.stats.detectable import (
    detectable_drop_of_flags,
    detectable_drop_of_means,
    detectable_loss_of_cases,
)
from evalnb.stats.estimates import t_quantile
from evalnb.stats.levels import ALPHA, MARGIN, POWER, SCORES, SMALLEST_SLICE
from evalnb.stats.mcnemar import mcnemar
from evalnb.stats.means import mean_score_row
from evalnb.stats.multiplicity import adjusted, reachable
from evalnb.stats.paired_intervals import tango_interval
from evalnb.stats.paired_sets import PairedSet, paired_sets
from evalnb.stats.sign_flip import DRAWS, sign_flips

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evalnb.stats.mcnemar import McNemarMethod

__all__ = ["DROPS", "decide_drops"]

_ROUNDING = 1e-9
_SHARED = ("estimate", "ci_low", "ci_high", "method", "reason", "warnings", "se")
_HITS_AT_FIRST_STEP = 10


DROPS = FrameSchema(
    "drops",
    {
        "scorer": "string",
        "slice": "string",
        "outcome": "string",
        "shown": "boolean",
        "baseline": "Float64",
        "candidate": "Float64",
        "estimate": "Float64",
        "ci_low": "Float64",
        "ci_high": "Float64",
        "bound": "Float64",
        "p_value": "Float64",
        "p_adjusted": "Float64",
        "smallest_drop": "Float64",
        "n": "Int64",
        "n_left_out": "Int64",
        "n_clusters": "Int64",
        "method": "string",
        "compared": "string",
        "reason": "string",
        "warnings": "object",
    },
    key=("scorer", "slice"),
)
"""A row a scorer and slice.

`outcome` is `fail` where the mean fell: the adjusted p-value is at most the level and the drop at
least the margin. It is `pass` otherwise, `inconclusive` where nothing is shown and that is not
enough, and `note` where nothing was tested. `shown` says whether a failure, or that there is no drop
of the margin, is shown: by `bound`, the lower one-sided 95% bound of the estimate.

`baseline` and `candidate` are means over the `n` cases that both sides have, `estimate` is
candidate minus baseline with its 95% interval. `p_value` is one-sided, of "no drop", `p_adjusted`
the same after Holm over all that could reach the level, 1 for others: a slice in which three cases
differ has a p-value of 1/8 at the least. Rows of the same scores of the same cases, as where a scorer
is the only one, are one test. `smallest_drop` is what 8 of 10 runs would have
found; NA where nothing would. `method` names test and interval, `compared` says what of: pass flags
or case means, and of how many repeats. `reason` and `warnings` are as in a metrics frame.
"""


def decide_drops(
    pairs: pd.DataFrame,
    *,
    margin: float = MARGIN,
    alpha: float = SCORES,
    strict: bool = False,
    mcnemar_method: McNemarMethod = "mid_p",
    seed: int = 0,
) -> pd.DataFrame:
    """Decide for each scorer and slice whether the mean score fell.

    Pass flags of one repeat, of cases that share no cluster, are compared by McNemar's test and
    Tango's interval; everything else by the sign-flip test of the case means and a t interval,
    both over clusters.

    Parameters
    ----------
    pairs : as `evalnb.stats.paired_sets.PAIRED_SCORES` says
    margin : the least drop that fails, in [0, 1)
    alpha : level of all rows together, one-sided
    strict : whether a pass that is not shown is inconclusive
    mcnemar_method : {"mid_p", "exact"}
    seed : of patterns of signs, where not all are looked at

    Returns
    -------
    as `DROPS` says, in order of appearance
        Below 8 cases nothing is tested: p-values are NA, `reason` is `too_few`, or `no_overlap`
        without any case. Where all differences are the same the interval is NA `no_variance`;
        `bound` is then that of the share of clusters which could be lost without one of them seen,
        1 - 0.05^(1/n). Warnings as in `evalnb.stats.means.mean_score`.

    Raises
    ------
    ValueError
        If a column is missing, a score is outside [0, 1] or an argument out of range.

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6(2); Tarone (1990), Biometrics 46(2),
    doi:10.2307/2531456; Fagerland, Lydersen & Laake (2013), BMC
    Medical Research Methodology 13:91; Tango (1998), Statistics in Medicine 17:891-908.

    Examples
    --------
    >>> import pandas as pd
    >>> cases = pd.DataFrame({"case_id": [f"c{i}" for i in range(10)], "cluster": None})
    >>> cases = cases.assign(scorer="facts", slice="all", baseline=1.0, candidate=0.5, repeats=2)
    >>> row = decide_drops(cases).iloc[0]
    >>> row["outcome"], float(row["estimate"]), round(float(row["p_value"]), 6)
    ('fail', -0.5, 0.000977)
    """
    if not 0 <= margin < 1:
        raise ValueError(f"`margin` must be in [0, 1). Got {margin}.")
    if not 0 < alpha < 1:
        raise ValueError(f"`alpha` must lie between 0 and 1. Got {alpha}.")
    sets = paired_sets(pairs)
    # What compares the same scores of the same cases is one test, however many rows show it.
    tested = {paired.content: paired for paired in sets if paired.n >= SMALLEST_SLICE}
    level = alpha / max(len(tested), 1)  # of the first of Holm's steps, the hardest
    draws = max(DRAWS, math.ceil(_HITS_AT_FIRST_STEP / level))
    found = _p_values(list(tested.values()), mcnemar_method, seed, draws)
    least = [_least_p(paired, mcnemar_method) for paired in tested.values()]
    in_reach = reachable(least, level=alpha)
    raised = map(
        float,
        adjusted([p if near else None for (p, _), near in zip(found, in_reach, strict=True)])[
            "p_adjusted"
        ].fillna(1.0),
    )
    tests = dict(zip(tested, zip(found, raised, strict=True), strict=True))
    rule = _Rule(margin, alpha, level, strict)
    return DROPS.build(_row(paired, tests.get(paired.content), rule) for paired in sets)


@dataclass(frozen=True)
class _Rule:
    """When a drop fails: the margin, the level of all tests and of the hardest; what a pass takes."""

    margin: float
    alpha: float
    first_level: float
    strict: bool

    def decision(self, estimate: float, p_adjusted: float, bound: float) -> dict[str, Any]:
        """Return `outcome` and `shown`."""
        if p_adjusted <= self.alpha and -estimate >= self.margin - _ROUNDING:
            return {"outcome": Outcome.FAIL, "shown": True}
        shown = bound > -self.margin
        is_open = self.strict and not shown
        return {"outcome": Outcome.INCONCLUSIVE if is_open else Outcome.PASS, "shown": shown}

    def smallest_drop(self, paired: PairedSet, se: float | None) -> float | None:
        limits: dict[str, Any] = {"alpha": self.first_level, "margin": self.margin, "power": POWER}
        if paired.are_flags:
            return detectable_drop_of_flags(sum(paired.discordant), paired.n, **limits)
        if se is None:
            return detectable_loss_of_cases(paired.n_units, **limits)
        return detectable_drop_of_means(se**2 * paired.n_units, paired.n_units, **limits)


def _p_values(
    sets: Sequence[PairedSet], method: McNemarMethod, seed: int, draws: int
) -> list[tuple[float, str]]:
    """Return the one-sided p-value of "no drop" in each set, and the name of its test."""
    means = [paired.sums for paired in sets if not paired.are_flags]
    flips = iter(sign_flips(np.column_stack(means), seed=seed, draws=draws) if means else ())
    found = []
    for paired in sets:
        if paired.are_flags:
            p = mcnemar(*paired.discordant, method=method, alternative="less")
            found.append((p, f"mcnemar {method}"))
        else:
            flip = next(flips)
            found.append((flip.p_less, flip.method))
    return found


def _least_p(paired: PairedSet, method: McNemarMethod) -> float:
    """Return the p-value if all that differs had fallen."""
    if paired.are_flags:
        return mcnemar(0, sum(paired.discordant), method=method, alternative="less")
    return float(0.5 ** np.count_nonzero(np.abs(paired.sums) > _ROUNDING))


def _row(
    paired: PairedSet, test: tuple[tuple[float, str], float] | None, rule: _Rule
) -> dict[str, Any]:
    found = _of_flags(paired) if paired.are_flags else _of_means(paired)
    row = {name: value for name, value in found.items() if name != "se"} | {
        "scorer": paired.scorer,
        "slice": paired.slice,
        "baseline": paired.before.mean() if paired.n else None,
        "candidate": paired.now.mean() if paired.n else None,
        "n": paired.n,
        "n_left_out": paired.n_left_out,
        "compared": paired.compared,
    }
    if test is None:
        reason = "too_few" if paired.n else "no_overlap"
        return row | {"outcome": Outcome.NOTE, "reason": reason}
    (p_value, name), p_adjusted = test
    return row | {
        "p_value": p_value,
        "p_adjusted": p_adjusted,
        "method": f"{name}; {row['method']}",
        **rule.decision(row["estimate"], p_adjusted, row["bound"]),
        "smallest_drop": rule.smallest_drop(paired, found["se"]),
    }


def _of_flags(paired: PairedSet) -> dict[str, Any]:
    now, before = paired.discordant
    interval = vars(tango_interval(now, before, paired.n))
    bound = tango_interval(now, before, paired.n, level=1 - 2 * ALPHA).ci_low
    return interval | {"bound": bound, "method": "tango", "se": None}


def _of_means(paired: PairedSet) -> dict[str, Any]:
    clusters = paired.units if paired.is_clustered else None
    found = mean_score_row(paired.differences, clusters=clusters)
    row = {name: found.get(name) for name in _SHARED}
    row["n_clusters"] = paired.n_units if paired.is_clustered else None
    row["bound"] = _bound(row["estimate"], row["se"], paired.n_units)
    return row


def _bound(estimate: float | None, se: float | None, n_units: int) -> float | None:
    """Return the lower one-sided 95% bound of a mean of differences that are at least -1."""
    if estimate is None:
        return None
    if se is not None:
        return estimate - t_quantile(n_units - 1, 1 - ALPHA) * se
    lost = 1 - ALPHA ** (1 / n_units)
    return estimate - lost * (estimate + 1)

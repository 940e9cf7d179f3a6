"""Win rates at equal length: what is left of a preference when length is taken out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.stats.effects import EFFECTS, check_lengths, mean_row
from evalnb.stats.scales import cluster_numbers
from evalnb.stats.values import numbers
from evalnb.stats.win_rates import preferences

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evalnb.stats.values import Floats

__all__ = ["length_controlled_win_rate"]

_Z_975 = 1.959963984540054
_ROUNDING = 1e-12
_ALIKE = 1e-6
_CERTAIN = 30.0
"""Log odds from where a fitted rate is 0 or 1 but for rounding, and has no standard error."""
_NEAR_ONE = 0.99
"""A correlation beyond which length and preference cannot be told apart."""


def length_controlled_win_rate(
    preference: Sequence[Any] | pd.Series | np.ndarray,
    length_difference: Sequence[Any] | pd.Series | np.ndarray,
    *,
    clusters: Sequence[Any] | pd.Series | np.ndarray | None = None,
) -> pd.DataFrame:
    """Return the win rate that a system would have with answers as long as the other's.

    logit P(win) = a + b tanh(d / sd(d)), d the difference in length; at d = 0 that is
    1 / (1 + exp(-a)). Length may be quality: show the same of people's preferences beside it.

    Parameters
    ----------
    preference : a pair each: 1 where the system wins, 0 where the other does, 0.5 for a tie
        Shares between are allowed; NA where there is no verdict.
    length_difference : length of the system's answer minus the other's, in any unit
    clusters : what each pair shares with others, such as its case; NA for a pair alone

    Returns
    -------
    an effects frame; pairs that lack a value are left out and counted
        `raw_win_rate`: the mean preference, t interval. `length_controlled_win_rate`: in (0, 1).
        `intercept` and `length_coefficient`: a and b; the p-value of b is that length does not
        matter. `length_sd`: sd(d), with n - 1. Errors are robust (HC1 of statsmodels, which for
        this model has no factor for few pairs), or by cluster, and their quantile is the normal
        one. All but the first and last are NA `too_few` below 3 pairs (or clusters), `no_variance`
        where all differences in length are alike, `one_category` where all preferences are, and
        `no_overlap` where length separates wins from losses or correlates with them above 0.99.

    Raises
    ------
    ValueError
        If lengths differ, a preference is outside [0, 1] or a length no finite number.

    References
    ----------
    Dubois et al. (2024), arXiv:2404.04475, without their terms for the instruction's difficulty and
    the penalty; Albert & Anderson (1984), Biometrika 71(1), on separation.

    Examples
    --------
    >>> wins, longer = [1, 1, 0, 1, 0, 0, 1, 0], [30, 20, 10, 5, -5, -10, -20, 40]
    >>> found = length_controlled_win_rate(wins, longer).set_index("metric")["estimate"].round(3)
    >>> found[["raw_win_rate", "length_controlled_win_rate"]].tolist()
    [0.5, 0.484]
    """
    wins, apart = preferences(preference), numbers(length_difference, "length_difference")
    check_lengths(preference=wins, length_difference=apart, clusters=clusters)
    missing = np.isnan(wins) | np.isnan(apart)
    raw = mean_row("raw_win_rate", np.where(missing, np.nan, wins), clusters, low=0.0, high=1.0)
    groups = None if clusters is None else cluster_numbers(clusters, len(wins))[~missing]
    fitted = _Fitted.of(wins[~missing], apart[~missing], groups)
    counts = {"n": raw["n"], "n_left_out": raw["n_left_out"], "n_clusters": raw["n_clusters"]}
    rows = [raw | {"p_value": None}, *fitted.rows()]
    return EFFECTS.build({**row, **counts, "warnings": raw["warnings"]} for row in rows)


@dataclass(frozen=True)
class _Fitted:
    """The logistic regression of wins on length, or why there is none."""

    length_sd: float | None
    reason: str | None = None
    params: tuple[float, float] = (math.nan, math.nan)
    errors: tuple[float, float] = (math.nan, math.nan)
    method: str = "logistic regression"

    @classmethod
    def of(cls, wins: Floats, apart: Floats, groups: np.ndarray | None) -> _Fitted:
        reason = _why_not(wins, apart, len(wins) if groups is None else len(np.unique(groups)))
        if len(apart) < 2:
            return cls(None, reason)
        sd = float(apart.std(ddof=1)) if np.ptp(apart) else 0.0
        if reason is not None:
            return cls(sd, reason)
        x = np.tanh(apart / sd)
        if np.ptp(x) < _ALIKE:
            return cls(sd, "no_variance")
        if abs(float(np.corrcoef(x, wins)[0, 1])) > _NEAR_ONE:
            return cls(sd, "no_overlap")
        return cls._fit(sd, x, wins, groups)

    @classmethod
    def _fit(cls, sd: float, x: Floats, wins: Floats, groups: np.ndarray | None) -> _Fitted:
        from statsmodels.genmod.families import Binomial
        from statsmodels.genmod.generalized_linear_model import GLM

        kind, options = ("HC1", {}) if groups is None else ("cluster", {"groups": groups})
        design = np.column_stack([np.ones_like(x), x])
        model, settled = GLM(wins, design, family=Binomial()), {"maxiter": 200, "tol": 1e-12}
        if np.abs(design @ model.fit(**settled).params).max() > _CERTAIN:
            return cls(sd, "no_overlap")
        fit = model.fit(**settled, cov_type=kind, cov_kwds=options)
        (a, b), (error_a, error_b) = fit.params.tolist(), fit.bse.tolist()
        if min(error_a, error_b) < _ROUNDING:
            return cls(sd, "no_variance")
        return cls(sd, None, (a, b), (error_a, error_b), f"logistic regression, {kind}")

    def rows(self) -> list[dict[str, Any]]:
        controlled = self._coefficient("length_controlled_win_rate", 0)
        for name in ("estimate", "ci_low", "ci_high"):
            if controlled.get(name) is not None:
                controlled[name] = _expit(controlled[name])
        controlled |= {"se": None, "p_value": None}
        sd = {
            "metric": "length_sd",
            "estimate": self.length_sd,
            "method": "standard deviation",
            "reason": "too_few" if self.length_sd is None else None,
        }
        return [
            controlled,
            self._coefficient("intercept", 0),
            self._coefficient("length_coefficient", 1),
            sd,
        ]

    def _coefficient(self, metric: str, which: int) -> dict[str, Any]:
        row = {"metric": metric, "method": self.method, "reason": self.reason}
        if self.reason is not None:
            return row
        from scipy.special import ndtr

        value, error = self.params[which], self.errors[which]
        return row | {
            "estimate": value,
            "ci_low": value - _Z_975 * error,
            "ci_high": value + _Z_975 * error,
            "se": error,
            "p_value": 2 * float(ndtr(-abs(value / error))),
        }


def _why_not(wins: Floats, apart: Floats, units: int) -> str | None:
    """Return why wins cannot be regressed on length; a tie is both a win and a loss."""
    if units < 3:
        return "too_few"
    if np.ptp(apart) == 0:
        return "no_variance"
    if np.ptp(wins) == 0:
        return "one_category"
    won, lost = apart[wins > 0], apart[wins < 1]
    overlap = won.min() < lost.max() and lost.min() < won.max()
    return None if overlap else "no_overlap"


def _expit(value: float) -> float:
    return 1 / (1 + math.exp(-value)) if value > -700 else 0.0

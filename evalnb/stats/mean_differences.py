"""Differences of the same cases on two sides: their mean, whether it is 0, whether it matters.

A difference is candidate minus baseline, each the mean over the repeats of a case, so that a drop
is below 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.frames import METRICS, FrameSchema
from evalnb.stats.estimates import t_quantile
from evalnb.stats.hodges_lehmann import hodges_lehmann
from evalnb.stats.means import mean_score_row
from evalnb.stats.scales import cluster_numbers
from evalnb.stats.sign_flip import sign_flip
from evalnb.stats.values import Floats, numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

__all__ = ["DIFFERENCES", "MARGINS", "mean_difference", "mean_noninferiority"]

_FEW = 30
_RESAMPLES = 10_000

DIFFERENCES = FrameSchema(
    "differences",
    {
        **METRICS.columns,
        "se": "Float64",
        "n_clusters": "Int64",
        "p_less": "Float64",
        "p_greater": "Float64",
        "p_two_sided": "Float64",
        "p_method": "string",
        "p_t": "Float64",
    },
    key=METRICS.key,
)
"""A metrics frame of paired differences.

`p_less` is small where the mean is below 0, `p_greater` where it is above, both by the test that
`p_method` names; `p_t` is Student's two-sided one, of the t interval. `n_clusters` is NA where each
case stands for itself.
"""

MARGINS = FrameSchema(
    "margins",
    {
        **METRICS.columns,
        "se": "Float64",
        "margin": "Float64",
        "t": "Float64",
        "df": "Int64",
        "p_noninferior": "Float64",
        "p_drop_exceeds_margin": "Float64",
    },
    key=METRICS.key,
)
"""A metrics frame; small `p_noninferior` shows that the mean did not fall by the margin, small
`p_drop_exceeds_margin` that it fell by more. `t` has `df` degrees of freedom."""


def mean_difference(
    differences: Sequence[Any] | pd.Series | np.ndarray,
    *,
    clusters: Sequence[Any] | pd.Series | np.ndarray | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Return the mean of paired differences, and whether it is 0.

    Parameters
    ----------
    differences : candidate minus baseline, one a case, NA where one side has no value
    clusters : what each case shares with others, such as its conversation; NA for a case alone
    seed : of the patterns of signs and of the resamples, where they are drawn

    Returns
    -------
    rows as `DIFFERENCES` says; `n` counts differences, `n_left_out` NAs
        `mean_difference`: t interval, over clusters where there are any, and the p-values of the
        sign-flip test, which are 1 where nothing differs. `mean_difference_bootstrap`, below 30
        units alone: the same with the percentile bootstrap's interval. `hodges_lehmann`: the
        middle of the means of all pairs, of cluster means where there are clusters. NA `too_few`
        without a difference; intervals are NA `too_few` below two units (below six for
        `hodges_lehmann`), and `no_variance` where all differences are the same.

    Raises
    ------
    ValueError
        If a difference is no number, or `clusters` has another length.

    References
    ----------
    Student (1908), Biometrika 6(1), doi:10.2307/2331554; Fisher (1935), The Design of Experiments,
    section 21; Hodges & Lehmann (1963), doi:10.1214/aoms/1177704172; Efron & Tibshirani (1993), An
    Introduction to the Bootstrap, chapter 13.

    Examples
    --------
    >>> found = mean_difference([-0.5, -0.5, -1.0, 0.0, None]).set_index("metric")
    >>> row = found.loc["mean_difference"]
    >>> float(row["estimate"]), float(row["p_less"]), int(row["n"]), int(row["n_left_out"])
    (-0.5, 0.125, 4, 1)
    """
    found = numbers(differences, "differences")
    usable = ~np.isnan(found)
    codes = cluster_numbers(range(len(found)) if clusters is None else clusters, len(found))[usable]
    kept = found[usable]
    shared = {"n": len(kept), "n_left_out": int((~usable).sum())}
    rows = [_mean_row(kept, codes, clustered=clusters is not None, seed=seed)]
    n_units = len(np.unique(codes))
    if n_units < _FEW:
        rows.append(_bootstrap_row(rows[0], kept, codes, seed))
    rows.append(_middle_row(kept, codes, clustered=clusters is not None))
    return DIFFERENCES.build(row | shared for row in rows)


def mean_noninferiority(
    differences: Sequence[Any] | pd.Series | np.ndarray,
    *,
    margin: float,
    clusters: Sequence[Any] | pd.Series | np.ndarray | None = None,
) -> pd.DataFrame:
    """Test whether a mean fell by more than a margin, or is shown not to have.

    For pass flags of one repeat, `evalnb.stats.noninferiority.paired_noninferiority` is better.

    Parameters
    ----------
    differences, clusters : as in `mean_difference`
    margin : the drop that would matter, at least 0

    Returns
    -------
    one row, `mean_difference`, as `MARGINS` says
        t = (mean + margin)/se. The interval is the 90% one, of two one-sided 95% bounds: its lower
        end is above -margin just where `p_noninferior` is below 0.05. NA `too_few` below two
        units and `no_variance` where all differences are the same; without any, all is NA.

    Raises
    ------
    ValueError
        As `mean_difference`, or if `margin` is below 0.

    Examples
    --------
    >>> row = mean_noninferiority([-0.1, 0.1, 0.0, -0.1, 0.1, 0.0], margin=0.1).iloc[0]
    >>> [round(float(row[name]), 4) for name in ("t", "df", "p_noninferior")]
    [2.7386, 5.0, 0.0204]
    """
    from scipy.special import stdtr

    if not 0 <= margin < math.inf:
        raise ValueError(f"`margin` must be a drop of at least 0. Got {margin}.")
    found = mean_score_row(differences, clusters=clusters)
    names = ("estimate", "n", "n_left_out", "se", "reason", "warnings")
    row: dict[str, Any] = {name: found.get(name) for name in names}
    row |= {"metric": "mean_difference", "margin": margin, "method": f"{found['method']}, 90%"}
    if row["se"] is not None:
        units = found["n"] if clusters is None else found["n_clusters"]
        t, df = (row["estimate"] + margin) / row["se"], int(units) - 1
        half = t_quantile(df, 0.95) * row["se"]
        row |= {
            "ci_low": row["estimate"] - half,
            "ci_high": row["estimate"] + half,
            "t": t,
            "df": df,
            "p_noninferior": float(stdtr(df, -t)),
            "p_drop_exceeds_margin": float(stdtr(df, t)),
        }
    return MARGINS.build([row])


def _mean_row(values: Floats, codes: np.ndarray, *, clustered: bool, seed: int) -> dict[str, Any]:
    from scipy.special import stdtr

    found = mean_score_row(values, clusters=codes if clustered else None)
    names = ("estimate", "ci_low", "ci_high", "method", "reason", "warnings", "se", "n_clusters")
    row: dict[str, Any] = {name: found.get(name) for name in names}
    row["metric"] = "mean_difference"
    if len(values):
        flips = sign_flip(values, codes, seed=seed)
        row |= {name: getattr(flips, name) for name in ("p_less", "p_greater", "p_two_sided")}
        row["p_method"] = flips.method
    if row["se"] is not None:
        df = (row["n_clusters"] if clustered else len(values)) - 1
        row["p_t"] = 2 * float(stdtr(df, -abs(row["estimate"]) / row["se"]))
    return row


def _bootstrap_row(
    mean: dict[str, Any], values: Floats, codes: np.ndarray, seed: int
) -> dict[str, Any]:
    names = ("estimate", "reason", "n_clusters", "warnings")
    row = {name: mean[name] for name in names} | {
        "metric": "mean_difference_bootstrap",
        "method": f"percentile bootstrap, {_RESAMPLES:,} resamples",
    }
    if mean["se"] is not None:
        low, high = np.quantile(_resampled_means(values, codes, seed), [0.025, 0.975])
        row |= {"ci_low": float(low), "ci_high": float(high)}
    return row


def _resampled_means(values: Floats, codes: np.ndarray, seed: int) -> Floats:
    sizes = np.bincount(codes).astype("float64")
    present = sizes > 0
    sums, sizes = np.bincount(codes, weights=values)[present], sizes[present]
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, len(sums), size=(_RESAMPLES, len(sums)))
    return np.asarray(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1))


def _middle_row(values: Floats, codes: np.ndarray, *, clustered: bool) -> dict[str, Any]:
    units = values
    if clustered and len(values):
        sizes = np.bincount(codes)
        units = (np.bincount(codes, weights=values)[sizes > 0]) / sizes[sizes > 0]
    found = hodges_lehmann(units)
    reason = "too_few" if found.ci_low is None else None
    if len(units) > 1 and units.min() == units.max():
        found, reason = type(found)(found.estimate, None, None), "no_variance"
    return {
        "metric": "hodges_lehmann",
        **vars(found),
        "reason": reason,
        "method": "signed ranks over clusters" if clustered else "signed ranks",
        "n_clusters": len(units) if clustered else None,
    }

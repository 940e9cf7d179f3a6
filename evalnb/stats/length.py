"""Whether a judge pays for length: how scores shift when answers are padded or cut."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalnb.stats.effects import EFFECTS, check_lengths, mean_row, share_row
from evalnb.stats.estimates import t_quantile
from evalnb.stats.means import FEW_CLUSTERS
from evalnb.stats.values import numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalnb.stats.values import Floats

__all__ = ["length_shift"]

_ROUNDING = 1e-12


def length_shift(
    case: Sequence[Any] | pd.Series | np.ndarray,
    log2_length_ratio: Sequence[Any] | pd.Series | np.ndarray,
    score_shift: Sequence[Any] | pd.Series | np.ndarray,
) -> pd.DataFrame:
    """Say how a judge's score moves when an answer is made longer or shorter with nothing to it.

    Parameters
    ----------
    case : the case of each variant; variants of a case are no independent observations
    log2_length_ratio : log2 of the variant's length over that of the answer; 1 is twice as long
    score_shift : score of the variant minus that of the answer, NA where one is missing

    Returns
    -------
    an effects frame; `n` counts variants, `n_clusters` cases
        `mean_shift`: in levels. `shift_per_doubling`: slope of the regression through 0, since an
        answer of the same length does not shift; NA `no_variance` where no variant has another
        length. `share_raised`, `share_lowered`: of variants whose score went up, or down. All have
        t intervals over cases, NA `too_few` below two cases and `no_variance` where all say the
        same; warning `few_clusters` below 10 cases.

    Raises
    ------
    ValueError
        If lengths differ, a value is no finite number, or a case is missing.

    References
    ----------
    Liang & Zeger (1986), Biometrika 73(1), doi:10.1093/biomet/73.1.13, with the factor G/(G-1) of
    few clusters.

    Examples
    --------
    >>> found = length_shift(["a", "a", "b", "b"], [0.5, 1, 0.5, 1], [0, 1, 0, 0])
    >>> found.set_index("metric")["estimate"].round(3)[["mean_shift", "shift_per_doubling"]].tolist()
    [0.25, 0.4]
    """
    ratio, shift = (
        numbers(log2_length_ratio, "log2_length_ratio"),
        numbers(score_shift, "score_shift"),
    )
    check_lengths(case=case, log2_length_ratio=ratio, score_shift=shift)
    cases = pd.Series(list(case), dtype="object")
    if cases.isna().any():
        raise ValueError("`case` must name the case of each variant. Got NA.")
    missing = np.isnan(ratio) | np.isnan(shift)
    known = np.where(missing, np.nan, shift)
    return EFFECTS.build(
        [
            mean_row("mean_shift", known, cases),
            _slope_row(ratio[~missing], shift[~missing], cases[~missing], int(missing.sum())),
            share_row("share_raised", np.where(missing, np.nan, known > 0), cases),
            share_row("share_lowered", np.where(missing, np.nan, known < 0), cases),
        ]
    )


def _slope_row(ratio: Floats, shift: Floats, cases: pd.Series, n_left_out: int) -> dict[str, Any]:
    from scipy.stats import t

    codes, names = pd.factorize(cases)
    squares = float((ratio**2).sum())
    row: dict[str, Any] = {
        "metric": "shift_per_doubling",
        "n": len(ratio),
        "n_left_out": n_left_out,
        "n_clusters": len(names),
        "method": "regression through 0, t over clusters",
        "warnings": ["few_clusters"] if 0 < len(names) < FEW_CLUSTERS else None,
    }
    if not len(ratio):
        return row | {"reason": "too_few"}
    if squares == 0:
        return row | {"reason": "no_variance"}
    slope = float((ratio * shift).sum()) / squares
    row["estimate"] = slope
    if len(names) < 2:
        return row | {"reason": "too_few"}
    pulls = np.bincount(codes, weights=ratio * (shift - slope * ratio))
    se = math.sqrt(len(names) / (len(names) - 1) * float((pulls**2).sum())) / squares
    if se < _ROUNDING * max(abs(slope), 1.0):
        return row | {"reason": "no_variance"}
    half = t_quantile(len(names) - 1) * se
    p_value = 2 * float(t.sf(abs(slope) / se, len(names) - 1))
    return row | {"ci_low": slope - half, "ci_high": slope + half, "se": se, "p_value": p_value}

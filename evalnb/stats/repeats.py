"""How far a judge agrees with itself: statistics of repeated verdicts on the same items."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.frames import METRICS
from evalnb.stats.estimates import Estimate, mean_interval
from evalnb.stats.variances import (
    VarianceSplit,
    mean_error,
    split_variance,
    squares_about_mean,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

__all__ = ["repeat_statistics", "spread_by_item", "variance_split"]

_TOO_FEW = "too_few"
_NO_VARIANCE = "no_variance"
_METHOD = "one-way analysis of variance"
_VARIANCE_ROWS = (
    "mean",
    "ms_between",
    "ms_within",
    "variance_between",
    "variance_within",
    "icc",
    "se_by_case",
    "se_pretending_independent",
    "se_if_one_repeat",
    "se_floor_infinite_repeats",
)


def repeat_statistics(ratings: pd.DataFrame) -> pd.DataFrame:
    """Say how much of what a judge says is the judge's own noise.

    Parameters
    ----------
    ratings : columns item, value; a row an item and repeat, the value NA where there is no verdict

    Returns
    -------
    a metrics frame with these rows; `n` counts items with two values or more, `n_left_out` others
        `self_agreement`: the chance that two repeats on one item say the same; t interval over
        items. Its interval is NA `too_few` for a single item, `no_variance` where all items agree
        alike. `sd_within`: standard deviation of repeats on one item. `icc`: ICC(1), may be
        negative; F interval. `variance_share`: the share of all variance that is the judge's, the
        variance between items cut off at 0. These are NA `too_few` for fewer than two items,
        `no_variance` where nothing varies.

    References
    ----------
    Shrout & Fleiss (1979), Psychological Bulletin 86(2), doi:10.1037/0033-2909.86.2.420; for
    unequal numbers of repeats the usual n0 = (N - sum n_i^2 / N) / (a - 1).

    Examples
    --------
    >>> import pandas as pd
    >>> ratings = pd.DataFrame({"item": ["a", "a", "b", "b"], "value": [4, 4, 2, 3]})
    >>> float(repeat_statistics(ratings).loc[0, "estimate"])  # self_agreement
    0.5
    """
    groups, n_left_out = _groups(ratings)
    shared = {"n": len(groups), "n_left_out": n_left_out}
    agreement = mean_interval([_agreement(values) for values in groups], low=0.0, high=1.0)
    rows: list[dict[str, Any]] = [
        {
            "metric": "self_agreement",
            "estimate": agreement.estimate,
            "ci_low": agreement.ci_low,
            "ci_high": agreement.ci_high,
            "method": "share of equal pairs, t interval over items",
            "reason": _why_no_interval(agreement, len(groups)),
        }
    ]
    split = _split(groups)
    if isinstance(split, str):
        rows += [
            {"metric": name, "method": _METHOD, "reason": split}
            for name in ("sd_within", "icc", "variance_share")
        ]
    else:
        low, high = split.interval()
        rows += [
            {"metric": "sd_within", "estimate": math.sqrt(split.within), "method": _METHOD},
            {
                "metric": "icc",
                "estimate": split.icc,
                "ci_low": low,
                "ci_high": high,
                "method": f"{_METHOD}, F interval",
            },
            {
                "metric": "variance_share",
                "estimate": 1 - max(split.icc, 0.0),
                "ci_low": 1 - max(high, 0.0),
                "ci_high": 1 - max(low, 0.0),
                "method": f"{_METHOD}, F interval",
            },
        ]
    return METRICS.build({**row, **shared} for row in rows)


def variance_split(ratings: pd.DataFrame) -> pd.DataFrame:
    """Split the variance of repeated values into that between and that within cases.

    Parameters
    ----------
    ratings : columns item, value; a row a case and repeat, the value NA where there is none

    Returns
    -------
    a metrics frame with these rows; `n` counts cases with two values or more, `n_left_out` others
        `mean`: mean of the case means. `ms_between`, `ms_within`: mean squares. `variance_within`:
        of repeats of one case. `variance_between`: of the cases' true means, 0 where it would be
        negative. `icc`: ICC(1), may be negative; F interval. Standard errors of the mean:
        `se_by_case`, the one to use; `se_pretending_independent`, which is not, for it takes each
        repeat for a case of its own; `se_if_one_repeat` and `se_floor_infinite_repeats`, what
        fewer or more repeats of these cases would come to. NA `too_few` for fewer than two cases;
        where nothing varies, variances and errors are 0 and `icc` is NA `no_variance`.

    See Also
    --------
    evalnb.stats.variances.mean_error : the standard error for any number of cases and repeats

    References
    ----------
    Shrout & Fleiss (1979), Psychological Bulletin 86(2), doi:10.1037/0033-2909.86.2.420; Miller
    (2024), arXiv:2411.00640.

    Examples
    --------
    >>> import pandas as pd
    >>> ratings = pd.DataFrame({"item": ["a", "a", "b", "b"], "value": [4, 4, 2, 3]})
    >>> found = variance_split(ratings).set_index("metric")["estimate"]
    >>> found[["variance_between", "variance_within"]].tolist()
    [1.0, 0.25]
    """
    groups, n_left_out = _groups(ratings)
    shared = {"n": len(groups), "n_left_out": n_left_out, "method": _METHOD}
    if len(groups) < 2:
        return METRICS.build(
            {"metric": name, "reason": _TOO_FEW, **shared} for name in _VARIANCE_ROWS
        )
    values = np.concatenate(groups)
    means = np.array([group.mean() for group in groups])
    split = split_variance(groups)
    n, within, between = len(groups), split.within, split.variance_between
    found: dict[str, float] = {
        "mean": float(means.mean()),
        "ms_between": split.between,
        "ms_within": within,
        "variance_between": between,
        "variance_within": within,
        "se_by_case": math.sqrt(squares_about_mean(means) / (n - 1) / n),
        "se_pretending_independent": math.sqrt(
            squares_about_mean(values) / (len(values) - 1) / len(values)
        ),
        "se_if_one_repeat": mean_error(between, within, n, 1),
        "se_floor_infinite_repeats": mean_error(between, within, n, math.inf),
    }
    rows: list[dict[str, Any]] = [{"metric": name, "estimate": found[name]} for name in found]
    icc: dict[str, Any] = {"metric": "icc", "reason": _NO_VARIANCE}
    if values.min() < values.max():
        low, high = split.interval()
        icc = {"metric": "icc", "estimate": split.icc, "ci_low": low, "ci_high": high}
    rows.insert(_VARIANCE_ROWS.index("icc"), icc)
    return METRICS.build({**row, **shared} for row in rows)


def spread_by_item(ratings: pd.DataFrame) -> pd.DataFrame:
    """Return how far repeats on each item lie apart.

    Parameters
    ----------
    ratings : columns item, value

    Returns
    -------
    item, n, mean, sd, low, high : a row an item in order of appearance; `sd` is NA below two values
    """
    values = ratings.astype({"value": "Float64"})
    grouped = values.groupby("item", sort=False, dropna=False)["value"]
    found = grouped.agg(["count", "mean", "std", "min", "max"]).reset_index()
    names = {"count": "n", "std": "sd", "min": "low", "max": "high"}
    return found.rename(columns=names).astype({"n": "Int64"})


def _groups(ratings: pd.DataFrame) -> tuple[list[np.ndarray], int]:
    values = [
        np.asarray(group["value"].dropna(), dtype="float64")
        for _, group in ratings.groupby("item", sort=False, dropna=False)
    ]
    usable = [group for group in values if len(group) > 1]
    return usable, len(values) - len(usable)


def _why_no_interval(agreement: Estimate, n_items: int) -> str | None:
    if n_items < 2:
        return _TOO_FEW
    return _NO_VARIANCE if agreement.ci_low is None else None


def _agreement(values: np.ndarray) -> float:
    n = len(values)
    _, counts = np.unique(values, return_counts=True)
    return float((counts * (counts - 1)).sum() / (n * (n - 1)))


def _split(groups: Sequence[np.ndarray]) -> VarianceSplit | str:
    if len(groups) < 2:
        return _TOO_FEW
    values = np.concatenate(groups)
    if values.min() == values.max():
        return _NO_VARIANCE
    return split_variance(groups)

"""Pass flags of the same cases on two sides: what changed, and whether that is more than chance.

The difference is always first minus second. A case that lacks a flag on a side is left out and
counted.
"""

from __future__ import annotations

import math
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.frames import FrameSchema
from evalnb.stats.effects import EFFECTS, check_lengths, mean_row, rate_row, share_row
from evalnb.stats.estimates import clopper_pearson
from evalnb.stats.mcnemar import mcnemar
from evalnb.stats.paired_counts import PairedCounts
from evalnb.stats.paired_intervals import tango_interval
from evalnb.stats.values import flags

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evalnb.stats.mcnemar import Alternative

__all__ = ["PAIRED", "difference_row", "paired_difference", "paired_difference_of_counts"]

PAIRED = FrameSchema(
    "paired",
    {
        **EFFECTS.columns,
        "p_exact": "Float64",
        "only_first": "Int64",
        "only_second": "Int64",
    },
    key=EFFECTS.key,
)
"""An effects frame of paired flags.

`p_value` is McNemar's mid-p and `p_exact` his exact test; `only_first` and `only_second` count the
cases that passed on one side alone.
"""


def paired_difference(
    first: Sequence[Any] | pd.Series | np.ndarray,
    second: Sequence[Any] | pd.Series | np.ndarray,
    *,
    clusters: Sequence[Any] | pd.Series | np.ndarray | None = None,
    alternative: Alternative = "two-sided",
) -> pd.DataFrame:
    """Compare the pass flags of the same cases on two sides.

    Parameters
    ----------
    first, second : a flag a case, by position; NA where there is none
    clusters : what each case shares with others, such as its conversation; NA for a case alone
        The intervals of rates and difference are then Student's over clusters and so is the
        p-value, always two-sided; `p_exact`, which counts cases as independent, is NA.
    alternative : {"two-sided", "greater", "less"}
        Of McNemar's tests; "greater" looks for more passes on the first side.

    Returns
    -------
    rows `rate_first`, `rate_second`, `difference` and `matched_odds_ratio`, as `PAIRED` says
        Rates have Wilson intervals, the difference Tango's, the odds ratio only_first/only_second
        Clopper and Pearson's. NA `too_few` without a case; the odds ratio is NA `no_variance`
        where no case passed on the second side alone.

    Raises
    ------
    ValueError
        If lengths differ, a flag is neither True, False nor NA, or the alternative is unknown.

    References
    ----------
    Tango (1998), Statistics in Medicine 17:891-908; Fagerland, Lydersen & Laake (2013), BMC Medical
    Research Methodology 13:91.

    Examples
    --------
    >>> found = paired_difference([True, True, True, None], [True, False, False, True])
    >>> row = found.set_index("metric").loc["difference"]
    >>> round(float(row["estimate"]), 3), int(row["n"]), int(row["n_left_out"])
    (0.667, 3, 1)
    """
    counts = PairedCounts.of(first, second)
    if clusters is None:
        return paired_difference_of_counts(counts, alternative=alternative)
    one, two = flags(first, "first"), flags(second, "second")
    check_lengths(first=one, clusters=clusters)
    missing = np.isnan(one - two)
    return PAIRED.build(
        [
            share_row("rate_first", np.where(missing, np.nan, one), clusters),
            share_row("rate_second", np.where(missing, np.nan, two), clusters),
            mean_row("difference", one - two, clusters, low=-1.0, high=1.0)
            | {"only_first": counts.only_first, "only_second": counts.only_second},
            _odds_row(counts),
        ]
    )


def paired_difference_of_counts(
    counts: PairedCounts, *, alternative: Alternative = "two-sided"
) -> pd.DataFrame:
    """Compare pass flags that were counted; see `paired_difference`.

    Parameters
    ----------
    counts : how the flags of the same cases fall together
    alternative : as in `paired_difference`

    Returns
    -------
    rows `rate_first`, `rate_second`, `difference` and `matched_odds_ratio`, as `PAIRED` says

    Examples
    --------
    >>> found = paired_difference_of_counts(PairedCounts(1, 1, 7, 12))
    >>> float(found.set_index("metric").loc["difference", "p_value"].round(6))
    0.039063
    """
    n, left_out = counts.n, counts.n_left_out
    return PAIRED.build(
        [
            rate_row("rate_first", counts.passes_first, n, left_out),
            rate_row("rate_second", counts.passes_second, n, left_out),
            difference_row(counts, alternative=alternative),
            _odds_row(counts),
        ]
    )


def difference_row(
    counts: PairedCounts, *, alternative: Alternative = "two-sided"
) -> dict[str, Any]:
    """Return a row `difference` of `PAIRED`; see `paired_difference`."""
    first, second, n = counts.only_first, counts.only_second, counts.n
    row: dict[str, Any] = {
        "metric": "difference",
        "n": n,
        "n_left_out": counts.n_left_out,
        "method": "tango" if alternative == "two-sided" else f"tango, p one-sided {alternative}",
        "only_first": first,
        "only_second": second,
    }
    if n == 0:
        return row | {"reason": "too_few"}
    return row | {
        **vars(tango_interval(first, second, n)),
        "se": math.sqrt(max(first + second - (first - second) ** 2 / n, 0.0)) / n,
        "p_value": mcnemar(first, second, alternative=alternative),
        "p_exact": mcnemar(first, second, method="exact", alternative=alternative),
    }


def _odds_row(counts: PairedCounts) -> dict[str, Any]:
    first, second = counts.only_first, counts.only_second
    row: dict[str, Any] = {
        "metric": "matched_odds_ratio",
        "n": counts.n,
        "n_left_out": counts.n_left_out,
        "method": "clopper_pearson",
        "only_first": first,
        "only_second": second,
    }
    if second == 0:
        return row | {"reason": "no_variance" if counts.n else "too_few"}
    _, low, high = astuple(clopper_pearson(first, first + second))
    return row | {
        "estimate": first / second,
        "ci_low": low / (1 - low),
        "ci_high": high / (1 - high),
    }

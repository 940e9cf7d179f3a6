"""Whether an answer can talk its judge into passing it: attacks on known-bad answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalnb.frames import FrameSchema
from evalnb.stats.effects import EFFECTS, check_lengths, rate_row
from evalnb.stats.paired import PAIRED, paired_difference, paired_difference_of_counts
from evalnb.stats.rates import zero_failures_bound
from evalnb.stats.values import flags

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalnb.stats.paired_counts import PairedCounts

__all__ = [
    "FAMILIES",
    "injection_by_family",
    "injection_success",
    "injection_success_of_counts",
]

FAMILIES = FrameSchema("families", {"family": "string", **EFFECTS.columns}, key=("family",))
"""An effects frame with a row a family of attacks."""

_NAMES = {
    "rate_first": "success_rate",
    "rate_second": "control_rate",
    "difference": "excess",
}


def injection_success(
    attacked: Sequence[Any] | pd.Series | np.ndarray,
    control: Sequence[Any] | pd.Series | np.ndarray,
    *,
    clusters: Sequence[Any] | pd.Series | np.ndarray | None = None,
) -> pd.DataFrame:
    """Compare how often known-bad answers pass with an attack in them and without.

    Parameters
    ----------
    attacked, control : did the answer pass with the attack, and the same answer without
        An attack each, by position; NA where there is no verdict. Best is a control with a harmless
        text of the same length.
    clusters : the answer that the attack was placed in, where several are placed in one

    Returns
    -------
    rows `success_rate`, `control_rate`, `excess`, as `evalnb.stats.paired.PAIRED` says
        Rates have Wilson intervals; the excess is the first minus the second with Tango's, and
        McNemar's p-values. With clusters all are Student's. NA `too_few` without a pair.

    Raises
    ------
    ValueError
        If lengths differ or a value is neither True, False nor NA.

    References
    ----------
    Tango (1998), Statistics in Medicine 17:891-908; McNemar (1947), Psychometrika 12(2).

    Examples
    --------
    >>> found = injection_success([True, True, False, None], [False, False, False, False])
    >>> found["estimate"].round(3).tolist()
    [0.667, 0.0, 0.667]
    """
    return _renamed(paired_difference(attacked, control, clusters=clusters))


def injection_success_of_counts(counts: PairedCounts) -> pd.DataFrame:
    """Return the success of counted attacks; see `injection_success`.

    Parameters
    ----------
    counts : answers that passed with the attack (first) and without (second)

    Returns
    -------
    rows `success_rate`, `control_rate`, `excess`, as `evalnb.stats.paired.PAIRED` says

    Examples
    --------
    >>> from evalnb.stats.paired_counts import PairedCounts
    >>> injection_success_of_counts(PairedCounts(2, 11, 1, 46))["estimate"].round(3).tolist()
    [0.217, 0.05, 0.167]
    """
    return _renamed(paired_difference_of_counts(counts))


def injection_by_family(
    attacked: Sequence[Any] | pd.Series | np.ndarray,
    family: Sequence[Any] | pd.Series | np.ndarray,
) -> pd.DataFrame:
    """Return how often each family of attacks succeeds.

    Parameters
    ----------
    attacked : did the answer pass with the attack, NA where there is no verdict
    family : the family of each attack

    Returns
    -------
    rows `success_rate`, as `FAMILIES` says, in order of appearance
        With Wilson intervals. Where no attack succeeded, `ci_high` is the one-sided 95% bound
        1 - 0.05^(1/n), about 3/n, and `method` says so. NA `too_few` without a verdict.

    Raises
    ------
    ValueError
        If lengths differ, a family is missing or a value is neither True, False nor NA.

    References
    ----------
    Wilson (1927), Journal of the American Statistical Association 22(158); Hanley & Lippman-Hand
    (1983), JAMA 249(13), doi:10.1001/jama.1983.03330370053031.

    Examples
    --------
    >>> found = injection_by_family([True, False, False, False], ["role", "role", "plea", "plea"])
    >>> found[["estimate", "ci_high"]].round(3).to_numpy().tolist()
    [[0.5, 0.905], [0.0, 0.776]]
    """
    passed = flags(attacked, "attacked")
    check_lengths(attacked=passed, family=family)
    frame = pd.DataFrame({"family": pd.Series(list(family), dtype="object"), "passed": passed})
    if frame["family"].isna().any():
        raise ValueError("`family` must name the family of each attack. Got NA.")
    return FAMILIES.build(
        {"family": str(name), **_success_row(group["passed"].to_numpy())}
        for name, group in frame.groupby("family", sort=False)
    )


def _success_row(passed: np.ndarray) -> dict[str, Any]:
    known = passed[~np.isnan(passed)]
    hits, n = int(known.sum()), len(known)
    row = rate_row("success_rate", hits, n, len(passed) - n)
    if n and not hits:
        bound = zero_failures_bound(n).loc[0, "ci_high"]
        row |= {"ci_high": bound, "method": "one-sided 95%, no success"}
    return row


def _renamed(frame: pd.DataFrame) -> pd.DataFrame:
    kept = frame[frame["metric"].isin(list(_NAMES))]
    return PAIRED.check(kept.assign(metric=kept["metric"].map(_NAMES)))

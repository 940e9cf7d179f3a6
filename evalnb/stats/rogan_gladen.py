"""A judge's pass rate corrected by what is known of its errors from elsewhere."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from evalnb.frames import METRICS, FrameSchema
from evalnb.stats.estimates import Z_975, difference_of_rates, wilson
from evalnb.stats.values import check_count

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ROGAN_GLADEN", "rogan_gladen"]

ROGAN_GLADEN = FrameSchema("rogan_gladen", {**METRICS.columns, "se": "Float64"}, key=METRICS.key)
"""A metrics frame; `se` is the standard error by the delta method."""


def rogan_gladen(
    judge_passes: int,
    n: int,
    true_pass_judged_pass: int,
    true_passes: int,
    true_fail_judged_fail: int,
    true_fails: int,
) -> pd.DataFrame:
    """Correct a judge's pass rate by the sensitivity and specificity that other labels gave.

    For labels of another run or of an anchor set. Where labels are of the same cases,
    `corrected_pass_rate` has shorter intervals.

    Parameters
    ----------
    judge_passes, n : how many of the cases the judge passed
    true_pass_judged_pass, true_passes : how many of those that people passed the judge did too
    true_fail_judged_fail, true_fails : how many of those that people failed the judge did too

    Returns
    -------
    rows judge_rate, sensitivity, specificity (Wilson), youden (Newcombe), corrected, unclipped
        `youden` is Se + Sp - 1. `corrected` is (p + Sp - 1) / (Se + Sp - 1) cut to [0, 1], with
        the interval of Lee et al., for which all three rates are smoothed; warning
        `outside_range` where it was cut. `unclipped` is the same before the cut, with the delta
        method's interval. Both are NA `judge_uninformative` where the interval of `youden`
        reaches 0, and NA `too_few` where one of the three samples is empty.

    Raises
    ------
    ValueError
        If a count is no whole number or exceeds its total.

    References
    ----------
    Rogan & Gladen (1978), American Journal of Epidemiology 107(1); Lang & Reiczigel (2014),
    Preventive Veterinary Medicine 113(1); Lee et al. (2025), arXiv:2511.21140.

    Examples
    --------
    >>> found = rogan_gladen(400, 1000, 180, 200, 140, 200).set_index("metric").loc["corrected"]
    >>> [round(float(found[name]), 4) for name in ("estimate", "ci_low", "ci_high")]
    [0.1667, 0.0564, 0.2627]
    """
    judge = _counts(judge_passes, n, "judge_passes", "n")
    hits = _counts(true_pass_judged_pass, true_passes, "true_pass_judged_pass", "true_passes")
    rejects = _counts(true_fail_judged_fail, true_fails, "true_fail_judged_fail", "true_fails")
    youden = difference_of_rates(*hits, rejects[1] - rejects[0], rejects[1])
    rows = [
        {"metric": name, **vars(wilson(*counts)), "n": counts[1], "method": "wilson"}
        for name, counts in (("judge_rate", judge), ("sensitivity", hits), ("specificity", rejects))
    ]
    n_labels = hits[1] + rejects[1]
    rows.append({"metric": "youden", **vars(youden), "n": n_labels, "method": "newcombe"})
    for row in rows:
        row["reason"] = "too_few" if row["estimate"] is None else None
    rows += [{"n": judge[1], **row} for row in _corrected(judge, hits, rejects, youden.ci_low)]
    return ROGAN_GLADEN.build({"n_left_out": 0, **row} for row in rows)


def _counts(hits: int, n: int, name: str, total_name: str) -> tuple[int, int]:
    found = check_count(hits, name), check_count(n, total_name)
    if found[0] > found[1]:
        raise ValueError(f"`{name}` must be at most `{total_name}` = {found[1]}. Got {found[0]}.")
    return found


def _corrected(
    judge: tuple[int, int],
    hits: tuple[int, int],
    rejects: tuple[int, int],
    youden_low: float | None,
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [
        {"metric": "corrected", "method": "rogan_gladen, lee"},
        {"metric": "unclipped", "method": "rogan_gladen, delta"},
    ]
    if youden_low is None or not judge[1]:
        return [{**row, "reason": "too_few"} for row in rows]
    if youden_low <= 0:
        return [{**row, "reason": "judge_uninformative"} for row in rows]
    rates = [passed / n for passed, n in (judge, hits, rejects)]
    estimate, se = _estimate(rates, [judge[1], hits[1], rejects[1]])
    low, high = _lee_interval(judge, hits, rejects)
    cut = _cut(estimate)
    rows[0] |= {
        "estimate": cut,
        "ci_low": min(low, cut),
        "ci_high": max(high, cut),
        "se": se,
        "warnings": None if cut == estimate else ["outside_range"],
    }
    half = Z_975 * se
    rows[1] |= {"estimate": estimate, "ci_low": estimate - half, "ci_high": estimate + half}
    rows[1] |= {"se": se}
    return rows


def _estimate(rates: list[float], sizes: list[float]) -> tuple[float, float]:
    """Return the corrected rate and its standard error by the delta method."""
    judged, sensitivity, specificity = rates
    youden = sensitivity + specificity - 1
    estimate = (judged + specificity - 1) / youden
    factors = (1.0, estimate, 1 - estimate)
    variance = sum(
        factor**2 * rate * (1 - rate) / size
        for factor, rate, size in zip(factors, rates, sizes, strict=True)
    )
    return estimate, math.sqrt(variance) / youden


def _lee_interval(
    judge: tuple[int, int], hits: tuple[int, int], rejects: tuple[int, int]
) -> tuple[float, float]:
    """Return the interval of the smoothed rates, moved by what smoothing does to its middle."""
    z2 = Z_975**2
    sizes = [judge[1] + z2, hits[1] + 2.0, rejects[1] + 2.0]
    sums = (judge[0] + z2 / 2, hits[0] + 1.0, rejects[0] + 1.0)
    rates = [total / size for total, size in zip(sums, sizes, strict=True)]
    estimate, se = _estimate(rates, sizes)
    _, sensitivity, specificity = rates
    shift = (
        2
        * z2
        * (
            estimate * sensitivity * (1 - sensitivity) / sizes[1]
            - (1 - estimate) * specificity * (1 - specificity) / sizes[2]
        )
    )
    middle, half = estimate + shift, Z_975 * se
    return _cut(middle - half), _cut(middle + half)


def _cut(value: float) -> float:
    return min(max(value, 0.0), 1.0)

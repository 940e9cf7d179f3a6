"""What varies where nothing changed: runs of the same system twice, repeats, repeated verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalnb.frames import METRICS, FrameSchema
from evalnb.stats.values import flags, numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FLIP_RATES", "flip_rates", "noise_split", "within_variance"]

FLIP_RATES = FrameSchema(
    "flip rates",
    {
        "case_id": "string",
        "scorer": "string",
        "n": "Int64",
        "n_passed": "Int64",
        "n_left_out": "Int64",
        "flip_rate": "Float64",
        "reason": "string",
    },
    key=("case_id", "scorer"),
)
"""A row a case and scorer: the chance that two of its answers do not come to the same."""


def flip_rates(scores: pd.DataFrame) -> pd.DataFrame:
    """Return how often each case flips where nothing changed.

    Parameters
    ----------
    scores : columns case_id, scorer, passed; a row a case, repeat and run of one system
        The runs of an A/A pair below each other; NA where there is none.

    Returns
    -------
    as `FLIP_RATES` says, in order of appearance
        The share of pairs of repeats that differ, 2 c (n - c)/(n (n - 1)) for c passes of n; it
        estimates 2 p (1 - p) without bias, twice the variance of a pass. NA `too_few` below two.

    Raises
    ------
    ValueError
        If a column is missing, or `passed` is neither True, False nor NA.

    Examples
    --------
    >>> scores = pd.DataFrame({"case_id": "a", "scorer": "exact", "passed": [True, True, False]})
    >>> round(float(flip_rates(scores).loc[0, "flip_rate"]), 4)
    0.6667
    """
    _need(scores, "case_id", "scorer", "passed")
    passed = flags(scores["passed"], "passed")
    known = ~np.isnan(passed)
    found = (
        scores[["case_id", "scorer"]]
        .assign(n=known.astype(int), n_passed=np.where(known, passed, 0.0), n_left_out=~known)
        .groupby(["case_id", "scorer"], sort=False)[["n", "n_passed", "n_left_out"]]
        .sum()
        .reset_index()
    )
    n, c = found["n"].to_numpy("float64"), found["n_passed"].to_numpy("float64")
    rate = np.divide(2 * c * (n - c), n * (n - 1), out=np.full(len(n), np.nan), where=n > 1)
    enough = pd.Series(n > 1)
    return FLIP_RATES.check(
        found.assign(
            flip_rate=pd.Series(rate).astype("Float64").mask(~enough),
            reason=pd.Series("too_few", index=found.index).mask(enough, None),
        )
    )


def within_variance(
    passes: Sequence[Any] | pd.Series | np.ndarray, scored: Sequence[Any] | pd.Series | np.ndarray
) -> float | None:
    """Return the variance of a pass within cases, from counts over repeats.

    Parameters
    ----------
    passes, scored : of each case

    Returns
    -------
    the mean of c (n - c)/(n (n - 1)) over the cases with two repeats or more; None without any

    Examples
    --------
    >>> round(within_variance([3, 2, 0], [3, 3, 1]), 4)  # 0 and 2/6
    0.1667
    """
    c, n = numbers(passes, "passes"), numbers(scored, "scored")
    kept = n > 1
    if not kept.any():
        return None
    c, n = c[kept], n[kept]
    return float((c * (n - c) / (n * (n - 1))).mean())


def noise_split(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Split the noise of judged scores into the system's and the judge's.

    Parameters
    ----------
    verdicts : columns case_id, repeat, value; a row a case, answer and verdict on that answer
        One rubric or axis; several verdicts on one answer have the same `repeat`. NA is left out.

    Returns
    -------
    a metrics frame with these rows; `n` counts cases, `n_left_out` missing verdicts
        `variance_judge`: of verdicts on one answer. `variance_system`: of answers to one case,
        without the judge's noise in them. `variance_cases`: of cases, without both. `judge_share`:
        the judge's part of the noise of a single verdict on a single answer. Variances are by the
        method of moments and cut off at 0. NA `too_few` where no answer has two verdicts (the
        judge's, and all that rests on it), no case two answers (the system's), or there is one
        case; `judge_share` is NA `no_variance` where there is no noise.

    Raises
    ------
    ValueError
        If a column is missing, or a value is no number.

    References
    ----------
    Searle, Casella & McCulloch (1992), Variance Components, section 4.4 (nested, unbalanced).

    Examples
    --------
    >>> rows = [("a", 0, 4), ("a", 0, 5), ("a", 1, 4), ("a", 1, 5), ("b", 0, 2), ("b", 0, 3)]
    >>> found = noise_split(pd.DataFrame(rows, columns=["case_id", "repeat", "value"]))
    >>> found["metric"].tolist()[0], float(found.loc[0, "estimate"])
    ('variance_judge', 0.5)
    """
    _need(verdicts, "case_id", "repeat", "value")
    values = numbers(verdicts["value"], "value")
    known = ~np.isnan(values)
    kept = verdicts.loc[known, ["case_id", "repeat"]].assign(value=values[known])
    answers = _grouped(kept, ["case_id", "repeat"])
    judge = _pooled(answers)
    answers["noise"] = (judge or 0.0) / answers["size"]
    cases = _grouped(answers.reset_index().rename(columns={"mean": "value"}), ["case_id"])
    cases["noise"] = answers.groupby("case_id", sort=False)["noise"].mean()
    system = None if judge is None else _pooled(cases, less=cases["noise"])
    between = None
    if len(cases) > 1 and judge is not None:
        error = cases["noise"] / cases["size"] + (system or 0.0) / cases["size"]
        between = max(float(cases["mean"].var(ddof=1) - error.mean()), 0.0)
    shared = {"n": len(cases), "n_left_out": int((~known).sum())}
    rows = [
        {"metric": metric, "estimate": value, "reason": "too_few" if value is None else None}
        for metric, value in (
            ("variance_judge", judge),
            ("variance_system", system),
            ("variance_cases", between),
        )
    ]
    rows.append({"metric": "judge_share", **_share(judge, system)})
    return METRICS.build({"method": "method of moments", **row, **shared} for row in rows)


def _grouped(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return mean, size and sum of squares about the mean of each group."""
    groups = rows.groupby(keys, sort=False)["value"]
    found = groups.agg(mean="mean", size="size")
    return found.assign(squares=groups.var(ddof=1).fillna(0.0) * (found["size"] - 1))


def _pooled(groups: pd.DataFrame, less: pd.Series | None = None) -> float | None:
    """Return the variance within groups, less a part of each, None where no group has two."""
    degrees = groups["size"] - 1
    total = float(degrees.sum())
    if not total:
        return None
    known = 0.0 if less is None else float((less * degrees).sum()) / total
    return max(float(groups["squares"].sum()) / total - known, 0.0)


def _share(judge: float | None, system: float | None) -> dict[str, Any]:
    if judge is None or system is None:
        return {"reason": "too_few"}
    if judge + system == 0:
        return {"reason": "no_variance"}
    return {"estimate": judge / (judge + system)}


def _need(frame: pd.DataFrame, *names: str) -> None:
    lacking = [name for name in names if name not in frame]
    if lacking:
        raise ValueError(f"the columns {', '.join(names)} are needed. Missing: {lacking}.")

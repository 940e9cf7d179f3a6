"""Creep: runs that each stay within the margin, and together do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalnb.frames import METRICS, FrameSchema
from evalnb.stats.levels import ALPHA, MARGIN
from evalnb.stats.means import mean_score_row
from evalnb.stats.sign_flip import sign_flip
from evalnb.stats.values import numbers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalnb.stats.values import Floats

__all__ = ["CREEP", "creep"]

_ROUNDING = 1e-9
_FEWEST_RUNS = 3

CREEP = FrameSchema(
    "creep",
    {**METRICS.columns, "p_less": "Float64", "n_runs": "Int64", "creeping": "boolean"},
    key=METRICS.key,
)
"""A metrics frame; `p_less` is one-sided, small where the figure fell. `creeping` is the same in all
rows."""


def creep(
    history: pd.DataFrame,
    *,
    margin: float = MARGIN,
    alpha: float = ALPHA,
    clusters: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Compare the last run with the first as well as with the one before, and fit a slope.

    Parameters
    ----------
    history : columns run, case_id, value; a row a case and run, in order of time
        `value` is the case's mean over its repeats, on one scorer and one version of the golden
        set; NA where there is none.
    margin : the drop that matters
    alpha : one-sided level of the drop since the first run
    clusters : case id to what it shares with others; others stand alone
    seed : of patterns of signs, where not all are looked at

    Returns
    -------
    rows `since_first`, `since_last` and `slope` (a run), as `CREEP` says
        The first two over the cases that both runs have: t interval, sign-flip test. `slope` is
        the mean of the slopes of the cases that every run has, t interval and its p-value; NA
        `too_few` below three runs. `creeping`: the mean is shown to have fallen by the margin
        since the first run, and by less than it since the last.

    Raises
    ------
    ValueError
        If a column is missing, a case has two values in a run, or a value is no number.

    Examples
    --------
    >>> runs = [{"run": r, "case_id": c, "value": 1 - 0.015 * r} for r in range(4) for c in range(9)]
    >>> found = creep(pd.DataFrame(runs))
    >>> found["estimate"].round(3).tolist(), bool(found.loc[0, "creeping"])
    ([-0.045, -0.015, -0.015], True)
    """
    table = _table(history)
    values = table.to_numpy("float64")
    names = [str(name) for name in table.index]
    units = pd.factorize(pd.Series([(clusters or {}).get(name, (name,)) for name in names]))[0]
    runs = values.shape[1]
    rows = [
        _difference("since_first", values, 0, units, seed),
        _difference("since_last", values, max(runs - 2, 0), units, seed),
        _slope(values, units),
    ]
    first, last = rows[0], rows[1]
    fell = (
        first.get("p_less") is not None
        and first["p_less"] <= alpha
        and first["estimate"] <= -margin + _ROUNDING
    )
    by_less = last.get("estimate") is not None and last["estimate"] > -margin + _ROUNDING
    return CREEP.build(row | {"n_runs": runs, "creeping": bool(fell and by_less)} for row in rows)


def _table(history: pd.DataFrame) -> pd.DataFrame:
    """Return case x run."""
    needed = ("run", "case_id", "value")
    lacking = [name for name in needed if name not in history]
    if lacking:
        raise ValueError(f"`history` needs the columns {', '.join(needed)}. Missing: {lacking}.")
    if history.duplicated(["run", "case_id"]).any():
        raise ValueError("a case has one value a run: take the mean over its repeats.")
    frame = history.assign(value=numbers(history["value"], "value"))
    table = frame.pivot_table(
        index="case_id", columns="run", values="value", dropna=False, observed=True
    )
    return table.reindex(columns=frame["run"].drop_duplicates())


def _difference(
    metric: str, values: Floats, since: int, units: np.ndarray, seed: int
) -> dict[str, Any]:
    row: dict[str, Any] = {"metric": metric, "method": "sign flip; t"}
    if values.shape[1] < 2:
        return row | {"n": 0, "n_left_out": len(values), "reason": "too_few"}
    differences = values[:, -1] - values[:, since]
    row |= _mean(differences, units)
    known = ~np.isnan(differences)
    if known.any():
        row["p_less"] = sign_flip(differences[known], units[known], seed=seed).p_less
    return row


def _slope(values: Floats, units: np.ndarray) -> dict[str, Any]:
    row: dict[str, Any] = {"metric": "slope", "method": "least squares by case; t"}
    runs = values.shape[1]
    if runs < _FEWEST_RUNS:
        return row | {"n": 0, "n_left_out": len(values), "reason": "too_few"}
    at = np.arange(runs) - (runs - 1) / 2
    found = _mean(values @ at / (at @ at), units)
    p_less = _student(found)
    return row | found | {"p_less": p_less}


def _mean(values: Floats, units: np.ndarray) -> dict[str, Any]:
    clustered = len(np.unique(units)) < len(units)
    found = mean_score_row(values, clusters=units if clustered else None)
    names = ("estimate", "ci_low", "ci_high", "n", "n_left_out", "reason", "warnings", "se")
    row: dict[str, Any] = {name: found.get(name) for name in names}
    row["df"] = (found["n_clusters"] if clustered else found["n"]) - 1
    return row


def _student(row: dict[str, Any]) -> float | None:
    from scipy.special import stdtr

    return None if row["se"] is None else float(stdtr(row["df"], row["estimate"] / row["se"]))

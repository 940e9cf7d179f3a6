"""What cases do over many runs: always fail, never fail, flaky, falling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.baseline import CASE
from evalnb.frames import FrameSchema, to_records
from evalnb.review.changes import runs_of
from evalnb.stats.case_states import flaky_cases
from evalnb.stats.multiplicity import adjusted
from evalnb.stats.single_case import fisher_less

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

__all__ = ["CASE_STATES", "FALLING", "case_states", "falling_cases"]

CASE_STATES = FrameSchema(
    "case states",
    {
        "case_id": "string",
        "state": "string",
        "n_runs": "Int64",
        "pass_rate": "Float64",
        "ci_low": "Float64",
        "ci_high": "Float64",
        "flips": "Int64",
    },
    key=("case_id",),
)
"""A row a case: `always_failing`, `never_failing`, `flaky`, `falling` or `mixed` over the runs looked
at; its pass rate with the 90% interval of its posterior."""

FALLING = FrameSchema(
    "falling cases",
    {
        "case_id": "string",
        "rate_first": "Float64",
        "rate_last": "Float64",
        "n_first": "Int64",
        "n_last": "Int64",
        "p_value": "Float64",
        "p_adjusted": "Float64",
        "since": "string",
    },
    key=("case_id",),
)
"""A row a case whose pass rate fell, the first to fall first: rates of its first and its last runs,
Fisher's one-sided p-value and that by Holm over all cases; `since` is the day of the first run from
which on it passed no more, NA where it still passes now and then."""

WINDOW = 30
"""So many runs at either end are compared; so many last ones tell what is flaky."""

_ALPHA = 0.05


def falling_cases(
    history: pd.DataFrame, cases: pd.DataFrame, *, window: int = WINDOW
) -> pd.DataFrame:
    """Find the cases that pass less often in the last runs than in the first ones.

    Only runs that can be compared with the last one are looked at: of its golden version, tier and
    judges that count. Nights are taken as independent; a case whose answer never varies gets a smaller
    p-value than it deserves, which says when it fell and not why.

    Parameters
    ----------
    history : as `evalnb.history` gives it
    cases : as `evalnb.case_history` gives it for these runs
    window : how many runs at either end; fewer where the halves are shorter

    Returns
    -------
    as `FALLING` says
    """
    runs = _comparable(history)
    n = min(window, len(runs) // 2)
    if not n:
        return FALLING.empty()
    days = {row["run_id"]: row["at"][:10] for row in to_records(runs)}
    table = _table(cases, runs["run_id"].tolist())
    rows = [_fall(str(name), values, n, days) for name, values in table.iterrows()]
    known = [row for row in rows if row is not None]
    found = adjusted([row["p_value"] for row in known], level=_ALPHA)
    fallen = [
        row | {"p_adjusted": p_adjusted}
        for row, p_adjusted, rejected in zip(
            known, found["p_adjusted"], found["rejected"], strict=True
        )
        if rejected
    ]
    fallen.sort(key=lambda row: row["since"] or "9")
    return FALLING.build(fallen)


def case_states(
    history: pd.DataFrame, cases: pd.DataFrame, falling: Sequence[str], *, window: int = WINDOW
) -> pd.DataFrame:
    """Say of each case what it does over the last runs of one system.

    Parameters
    ----------
    history, cases : as `falling_cases` takes them
    falling : the cases that it finds
    window : how many last runs, of those with the system and the judges of the last one

    Returns
    -------
    as `CASE_STATES` says, in the order of cases
    """
    runs = _comparable(history)
    if runs.empty:
        return CASE_STATES.empty()
    same = runs[runs["system_fingerprint"] == runs["system_fingerprint"].iloc[-1]].tail(window)
    own = cases[(cases["scorer"] == CASE) & cases["run_id"].isin(same["run_id"])]
    return CASE_STATES.build(_state(row, falling) for row in to_records(flaky_cases(own)))


def _comparable(history: pd.DataFrame) -> pd.DataFrame:
    runs = runs_of(history)
    return runs if runs.empty else runs[runs["series"] == runs["series"].iloc[-1]]


def _table(cases: pd.DataFrame, runs: Sequence[str]) -> pd.DataFrame:
    """Return case x run: whether each passed."""
    own = cases[cases["scorer"] == CASE]
    wide = own.pivot_table(index="case_id", columns="run_id", values="value", sort=False)
    return wide.reindex(columns=list(runs)).astype("float64")


def _fall(
    case_id: str, values: pd.Series, n: int, days: Mapping[str, str]
) -> dict[str, Any] | None:
    first, last = values.iloc[:n].dropna() == 1, values.iloc[-n:].dropna() == 1
    if first.empty or last.empty:
        return None
    known = values.dropna()
    passes = [place for place, value in enumerate(known) if value == 1]
    later = known.index[passes[-1] + 1 if passes else 0 :]
    return {
        "case_id": case_id,
        "rate_first": float(first.mean()),
        "rate_last": float(last.mean()),
        "n_first": len(first),
        "n_last": len(last),
        "p_value": fisher_less(int(first.sum()), len(first), int(last.sum()), len(last)),
        "since": days[later[0]] if len(later) else None,
    }


def _state(row: Mapping[str, Any], falling: Sequence[str]) -> dict[str, Any]:
    n, passed = row["n"], row["n_passed"]
    if row["case_id"] in falling:
        state = "falling"
    elif n and passed in (0, n):
        state = "never_failing" if passed else "always_failing"
    else:
        state = "flaky" if row.get("flaky") else "mixed"
    return {
        "case_id": row["case_id"],
        "state": state,
        "n_runs": row["n_runs"],
        "pass_rate": passed / n if n else None,
        "ci_low": row.get("ci_low"),
        "ci_high": row.get("ci_high"),
        "flips": row["flips"],
    }

"""One case over its repeats and over the last runs: what state it is in, whether it is flaky."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from evalnb.frames import FrameSchema
from evalnb.stats.values import check_count

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import pandas as pd

__all__ = ["FLAKY", "CaseState", "case_state", "flaky_cases", "state_over_repeats"]

_INTERVAL = (0.05, 0.95)
_FLIPS = 2
_LAST_RUNS = 5


class CaseState(StrEnum):
    """What the repeats of a case come to."""

    PASS = "pass"  # noqa: S105 - a state, not a password
    FAIL = "fail"
    UNSTABLE = "unstable"


FLAKY = FrameSchema(
    "flaky cases",
    {
        "case_id": "string",
        "estimate": "Float64",
        "ci_low": "Float64",
        "ci_high": "Float64",
        "n": "Int64",
        "n_passed": "Int64",
        "n_runs": "Int64",
        "flips": "Int64",
        "flaky": "boolean",
        "method": "string",
        "reason": "string",
    },
    key=("case_id",),
)
"""A row a case: its pass rate with the 90% interval of its posterior.

`n` counts scored repeats, `flips` how often the case changed between passing and failing over the
last five runs that scored it.
"""


def case_state(passes: int, scored: int, needed: int | None = None) -> CaseState | None:
    """Return the state of a case over its repeats.

    Parameters
    ----------
    passes, scored : numbers of repeats
    needed : so many must pass; None for all

    Returns
    -------
    `fail` where none passes, `unstable` where some do but too few; None where nothing was scored,
    or too little to know: all that is missing would have to pass

    Examples
    --------
    >>> [str(case_state(passes, 3)) for passes in (3, 2, 0)]
    ['pass', 'unstable', 'fail']
    >>> str(case_state(2, 3, needed=2))
    'pass'
    """
    n = check_count(scored, "scored")
    passed = check_count(passes, "passes")
    least = n if needed is None else check_count(needed, "needed", at_least=1)
    if passed > n:
        raise ValueError(f"no more repeats can pass than there are. Got {passed} of {n}.")
    if not n:
        return None
    if passed >= least:
        return CaseState.PASS
    if passed == n:
        return None
    return CaseState.UNSTABLE if passed else CaseState.FAIL


def state_over_repeats(
    passes: int, scored: int, repeats: int, needed: int | None = None
) -> CaseState | None:
    """Return the state of a case whose repeats are not all scored.

    Parameters
    ----------
    passes, scored, repeats : numbers of repeats that passed, that were scored, and of all
    needed : so many must pass, or all where there are fewer; None for all that were scored

    Returns
    -------
    None where nothing was scored, or what is missing could still make it pass

    Examples
    --------
    >>> str(state_over_repeats(2, 2, 3)), state_over_repeats(2, 2, 3, 3)
    ('pass', None)
    >>> str(state_over_repeats(1, 2, 3, 3))
    'unstable'
    """
    if needed is None or not scored:
        return case_state(passes, scored)
    least = min(needed, repeats)
    if passes >= least:
        return CaseState.PASS
    if passes + repeats - scored >= least:
        return None
    return CaseState.UNSTABLE if passes else CaseState.FAIL


def flaky_cases(history: pd.DataFrame) -> pd.DataFrame:
    """Find the cases that pass now and then, in runs of one and the same system.

    Parameters
    ----------
    history : columns case_id, n_passed, n_scored; a row a case and run, the runs in order of time
        Runs between which the system changed say nothing of noise: leave them out.

    Returns
    -------
    as `FLAKY` says, in order of appearance
        The posterior is Beta(1/2 + passes, 1/2 + fails). A case is flaky where its 90% interval
        lies within (0.05, 0.95), or where it flipped twice in its last five runs; it passes a run
        where at least half of its repeats do. NA `too_few` where nothing was scored.

    Raises
    ------
    ValueError
        If a column is missing, or more passed than was scored.

    References
    ----------
    Brown, Cai & DasGupta (2001), Statistical Science 16(2), doi:10.1214/ss/1009213286, on the prior.

    Examples
    --------
    >>> import pandas as pd
    >>> history = pd.DataFrame({"case_id": ["a", "b"], "n_passed": [6, 10], "n_scored": [10, 10]})
    >>> flaky_cases(history)["flaky"].tolist()
    [True, False]
    """
    needed = ("case_id", "n_passed", "n_scored")
    lacking = [name for name in needed if name not in history]
    if lacking:
        raise ValueError(f"`history` needs the columns {', '.join(needed)}. Missing: {lacking}.")
    if (history["n_passed"] > history["n_scored"]).any():
        raise ValueError("no more repeats can pass than there are.")
    return FLAKY.build(_rows(history))


def _rows(history: pd.DataFrame) -> Iterator[dict[str, Any]]:
    from scipy.special import betaincinv

    for case_id, runs in history.groupby("case_id", sort=False):
        scored = runs[runs["n_scored"] > 0]
        n, passed = int(scored["n_scored"].sum()), int(scored["n_passed"].sum())
        row: dict[str, Any] = {
            "case_id": str(case_id),
            "n": n,
            "n_passed": passed,
            "n_runs": len(scored),
            "method": "Beta(1/2, 1/2) prior, 90%",
        }
        if not n:
            yield row | {"flips": 0, "reason": "too_few"}
            continue
        low, high = betaincinv(passed + 0.5, n - passed + 0.5, _INTERVAL)
        flips = _flips((scored["n_passed"] / scored["n_scored"]).to_numpy("float64"))
        inside = _INTERVAL[0] < low and high < _INTERVAL[1]
        yield row | {
            "estimate": (passed + 0.5) / (n + 1),
            "ci_low": float(low),
            "ci_high": float(high),
            "flips": flips,
            "flaky": bool(inside or flips >= _FLIPS),
        }


def _flips(rates: np.ndarray) -> int:
    passes = rates[-_LAST_RUNS:] >= 0.5
    return int((passes[1:] != passes[:-1]).sum())

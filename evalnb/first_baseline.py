"""What a suite's first baseline was, and how the gap between dev and holdout has grown since."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.baseline import CASE
from evalnb.errors import InputError
from evalnb.frames import METRICS, to_records
from evalnb.holdout import HOLDOUT
from evalnb.jsontext import JsonProblem, parse_json
from evalnb.places import is_remote
from evalnb.stats.split_gap import gap_change
from evalnb.versions import blobs_of, commits_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd

    from evalnb.golden import GoldenSet

__all__ = ["first_pass_rates", "gap_since_first_baseline"]

_FILE = "baseline/baseline.json"


def first_pass_rates(folder: Path) -> dict[str, float]:
    """Return the pass rates of the first baseline that git knows and that can be read today.

    Parameters
    ----------
    folder : a suite's folder

    Returns
    -------
    case id to pass rate, of the cases that were scored; empty where there is no such baseline
        In a shallow clone it is the first that was fetched.
    """
    if is_remote(folder) or not folder.is_dir():
        return {}
    try:
        commits = commits_of(folder, _FILE)
    except InputError:  # no repository: there is no history
        return {}
    with blobs_of(folder) as blob_of:
        for commit in reversed(commits):
            found = _pass_rates(blob_of(commit.blob)) if set(commit.blob) != {"0"} else {}
            if found:
                return found
    return {}


def gap_since_first_baseline(golden: GoldenSet, results: pd.DataFrame) -> pd.DataFrame:
    """Say how far the gap between dev and holdout has grown since the first baseline.

    Parameters
    ----------
    golden : the suite, whose folder is in a git repository
    results : a results frame of it; a case without a split counts as dev

    Returns
    -------
    one row as `gap_change` says, NA `no_overlap` where the first baseline has no case of a split;
    no row where there is no holdout case
    """
    if not results["split"].eq(HOLDOUT).fillna(value=False).any():
        return METRICS.empty()
    first = {} if golden.folder is None else first_pass_rates(golden.folder)
    sides: dict[bool, list[float | None]] = {True: [], False: []}
    for row in to_records(results[["case_id", "split", "pass_rate"]]):
        sides[row.get("split") == HOLDOUT].append(_risen(row, first))
    return gap_change(sides[False], sides[True])


def _risen(row: Mapping[str, Any], first: Mapping[str, float]) -> float | None:
    if "pass_rate" not in row or row["case_id"] not in first:
        return None
    return float(row["pass_rate"]) - first[row["case_id"]]


def _pass_rates(content: bytes) -> dict[str, float]:
    """Read the pass rates of a baseline as far as it has any that are to be read."""
    try:
        cases = parse_json(content.decode()).get("cases", {})
        return {
            case_id: scorers[CASE]["n_passed"] / scorers[CASE]["n_scored"]
            for case_id, scorers in cases.items()
            if scorers[CASE]["n_scored"]
        }
    except (JsonProblem, UnicodeDecodeError, AttributeError, KeyError, TypeError):
        return {}

"""Which golden cases have grown old, say nothing any more, or say the same, and what to do."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from evalnb.ageing import OLD_DAYS
from evalnb.baseline import CASE, read_baseline
from evalnb.curation.candidates.duplicates import THRESHOLD, duplicate_pairs
from evalnb.curation.leaks import whole_text
from evalnb.errors import EvalnbError
from evalnb.frames import FrameSchema, to_records
from evalnb.holdout import HOLDOUT, holdout_cases
from evalnb.results import read_report, results_root

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from evalnb.cases import Case
    from evalnb.golden import GoldenSet

__all__ = ["LEAST_RUNS", "REVIEW", "describe_review", "past_states", "review_cases"]

REVIEW = FrameSchema(
    "review",
    {"case_id": "string", "finding": "string", "evidence": "string", "proposal": "string"},
    key=("case_id", "finding"),
)
"""A row a finding: `leak` (the same case in dev and holdout), `duplicate`, `always_fails`,
`never_fails`, `stale`, in this order. Nothing is changed: the proposal is for a person."""

LEAST_RUNS = 5
"""From so many outcomes on, all alike, a case is said to never or always fail."""

_ORDER = ("leak", "duplicate", "always_fails", "never_fails", "stale")
_KEPT_TAGS = ("adversarial", "incident")


def past_states(golden: GoldenSet, root: Path | None = None) -> dict[str, list[str]]:
    """Return how each case came out in the runs that are there, and in the baseline.

    Runs without a decision and damaged ones are left out; a case counts as it then stood.

    Parameters
    ----------
    golden : a suite's golden set
    root : the results root; by default the suite's

    Returns
    -------
    case to its states, `pass`, `fail` or `unstable`; cases without any are not there
    """
    found: dict[str, list[str]] = {}
    for results in (_of_baseline(golden), *_of_runs(golden, root)):
        for case_id, state in results.items():
            found.setdefault(case_id, []).append(state)
    return found


def review_cases(
    golden: GoldenSet,
    ages: pd.DataFrame,
    states: Mapping[str, Sequence[str]],
    *,
    older_than_days: int = OLD_DAYS,
) -> pd.DataFrame:
    """List the cases that a person should look at again, with what to do.

    How holdout cases came out is not told, since that would be a look at them.

    Parameters
    ----------
    golden : the cases
    ages : a case ages frame of them
    states : case to its states in runs, as `past_states` gives them
    older_than_days : beyond this age a case is stale

    Returns
    -------
    a frame as `REVIEW` says, the gravest findings first
    """
    rows = [
        *_duplicates(golden),
        *_without_change(golden, states),
        *_stale(golden, ages, older_than_days),
    ]
    rows.sort(key=lambda row: _ORDER.index(row["finding"]))
    return REVIEW.build(rows)


def describe_review(review: pd.DataFrame, golden: GoldenSet) -> list[str]:
    """Write the findings, a line each, and how many cases are without one."""
    rows = to_records(review)
    counts = Counter(row["finding"] for row in rows)
    said = ", ".join(f"{counts[name]} {name.replace('_', ' ')}" for name in _ORDER if counts[name])
    n_without = len(golden) - review["case_id"].nunique()
    lines = [f"{said or 'nothing found'}; {n_without} of {len(golden)} cases without a finding"]
    lines += [
        f"  {row['finding'].replace('_', ' ')}: {row['case_id']}: {row['evidence']}. {row['proposal']}"
        for row in rows
    ]
    return lines


def _duplicates(golden: GoldenSet) -> Iterator[dict[str, Any]]:
    cases = list(golden)
    found: dict[int, tuple[int, float]] = {}
    for first, second, similarity in duplicate_pairs(
        [whole_text(case) for case in cases], THRESHOLD
    ):
        known = found.get(second)
        leaks = cases[first].split != cases[second].split
        if known is None or (leaks and cases[known[0]].split == cases[second].split):
            found[second] = (first, similarity)
    for second, (first, similarity) in sorted(found.items()):
        one, other = cases[first], cases[second]
        leaks = HOLDOUT in (one.split, other.split) and one.split != other.split
        yield {
            "case_id": other.id,
            "finding": "leak" if leaks else "duplicate",
            "evidence": f"{similarity:.0%} of it is in {one.id}"
            + (", which is in the other split" if leaks else ""),
            "proposal": "Take one of the two out: what is tuned against must not be in the holdout."
            if leaks
            else "Take out the one that expects less, or make them differ in what they ask.",
        }


def _without_change(
    golden: GoldenSet, states: Mapping[str, Sequence[str]]
) -> Iterator[dict[str, Any]]:
    hidden = holdout_cases(golden)
    for case in golden:
        seen = states.get(case.id, ())
        if case.id in hidden or len(seen) < LEAST_RUNS or len(set(seen)) > 1:
            continue
        evidence = f"{seen[0]} in all of {len(seen)} outcomes"
        kept = [tag for tag in _KEPT_TAGS if tag in (case.tags or ())]
        if seen[0] == "fail":
            proposal = "Mend the case if it asks too much, else the system; or waive it, dated."
            yield _row(case, "always_fails", evidence, proposal)
        elif seen[0] == "pass" and kept:
            yield _row(case, "never_fails", evidence, f"Keep it: it is tagged {', '.join(kept)}.")
        elif seen[0] == "pass":
            proposal = "Make it harder, or let it go once it is old: `evalnb golden prune`."
            yield _row(case, "never_fails", evidence, proposal)


def _stale(golden: GoldenSet, ages: pd.DataFrame, older_than_days: int) -> Iterator[dict[str, Any]]:
    for age in to_records(ages):
        if age.get("age_days", 0) > older_than_days:
            proposal = (
                "Read it again: if it still holds, say so in `reviewed_by` and renew `added`."
            )
            evidence = f"{age['age_days']:,} days old, since {age['added']}"
            yield _row(golden[age["case_id"]], "stale", evidence, proposal)


def _row(case: Case, finding: str, evidence: str, proposal: str) -> dict[str, Any]:
    return {"case_id": case.id, "finding": finding, "evidence": evidence, "proposal": proposal}


def _of_baseline(golden: GoldenSet) -> dict[str, str]:
    baseline = read_baseline(golden) if golden.folder is not None else None
    if baseline is None:
        return {}
    found = {}
    for row in to_records(baseline.counts):
        if row["scorer"] == CASE and row["n_scored"]:
            passed, scored = row["n_passed"], row["n_scored"]
            found[row["case_id"]] = "pass" if passed == scored else "unstable" if passed else "fail"
    return found


def _of_runs(golden: GoldenSet, root: Path | None) -> Iterator[dict[str, str]]:
    folder = (root or results_root(golden)) / golden.settings.name
    if not folder.is_dir():
        return
    for run in sorted(folder.iterdir(), key=lambda path: path.name):
        if not (run / "report.json").is_file():
            continue
        try:
            report = read_report(run)
        except EvalnbError:
            continue
        results = report.get("results", ())
        yield {row["case_id"]: row["state"] for row in results if row.get("state")}

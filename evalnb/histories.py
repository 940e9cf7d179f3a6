"""The history of a suite: what its runs came to, from their manifests alone.

A run's manifest has its figures (`run_figures`), so that a thousand runs are read in a second or
two, here or from a store at a URL.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from evalnb.baseline import CASE
from evalnb.frames import RESULTS, FrameSchema
from evalnb.reports.text import listing
from evalnb.run_files import MANIFEST_TEXTS, read_manifests, read_results, runs_folder
from evalnb.runs import run_figures

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from evalnb.golden import GoldenSet

__all__ = [
    "CASE_HISTORY",
    "HISTORY",
    "DamagedRunWarning",
    "case_history",
    "history",
]

HISTORY = FrameSchema(
    "history",
    {
        "run_id": "string",
        "scorer": "string",
        "at": "string",
        "system": "string",
        "system_fingerprint": "string",
        "mode": "string",
        "tier": "string",
        "golden_version": "string",
        "judge_fingerprint": "string",
        "judge_answered": "string",
        "series": "Int64",
        "mean": "Float64",
        "ci_low": "Float64",
        "ci_high": "Float64",
        "n": "Int64",
        "n_missing": "Int64",
        "outcome": "string",
        "override": "string",
        "cost_usd": "Float64",
        "judge_cost_usd": "Float64",
        "input_tokens": "Int64",
        "output_tokens": "Int64",
        "synthetic": "string",
    },
    key=("run_id", "scorer"),
)
"""A row a run and scorer, in order of time; `(case)` is the pass rate of cases.

`mean` is over the `n` cases with a value, with its 95% interval; `n_missing` counts the cases that
should have one. Rows of one scorer may be compared where `series` is the same: it changes with the
golden version, the tier, the suite's own scorers, and the judge's fingerprint or answering model; for
`(case)` `judge_fingerprint` is that of the judges that count. What follows `n_missing` is of the
run as a whole and the same in all its rows; `override` is the reason of one, `synthetic` says of a run
that nobody ran how it was made.
"""

CASE_HISTORY = FrameSchema(
    "case history",
    {
        "run_id": "string",
        "case_id": "string",
        "scorer": "string",
        "value": "Float64",
        "n_scored": "Int64",
        "n_passed": "Int64",
    },
    key=("run_id", "case_id", "scorer"),
)
"""A row a run, case and scorer, in order of time: the case's mean; for `(case)` its pass rate, and how
many of its repeats were scored and passed. Cases without a value in a run have no row of it."""

_MOST_NAMED = 50
_WHOLE = (
    *MANIFEST_TEXTS,
    "tier",
    "outcome",
    "cost_usd",
    "judge_cost_usd",
    "input_tokens",
    "output_tokens",
    "synthetic",
)


class DamagedRunWarning(UserWarning):
    """Some runs were left out, since they cannot be read or came to no decision."""


def history(golden: GoldenSet, root: Path | None = None) -> pd.DataFrame:
    """Return what the runs of a suite came to, in order of time.

    Parameters
    ----------
    golden : a suite's golden set
    root : the results root, a folder or the place of a URL; by default the suite's

    Returns
    -------
    as `HISTORY` says; without rows where there is no run

    Warns
    -----
    DamagedRunWarning
        Which runs were left out, and why.
    """
    folder = runs_folder(golden, root)
    manifests, damaged = read_manifests(folder, golden.settings.name)
    older = [manifest["run_id"] for manifest in manifests if "figures" not in manifest]
    results, unreadable = read_results(folder, older)
    series: dict[tuple[Any, ...], int] = {}
    rows: list[dict[str, Any]] = []
    for manifest in manifests:
        if manifest["run_id"] not in unreadable:
            of_run = results.get(manifest["run_id"])
            figures = manifest["figures"] if of_run is None else run_figures(RESULTS.build(of_run))
            rows += _rows(manifest, figures, series)
    _warn(golden, damaged | unreadable)
    return HISTORY.build(rows)


def case_history(
    golden: GoldenSet, runs: Collection[str], root: Path | None = None
) -> pd.DataFrame:
    """Return what each case came to in some runs.

    Parameters
    ----------
    golden : a suite's golden set
    runs : their ids, in order of time
    root : the results root; by default the suite's

    Returns
    -------
    as `CASE_HISTORY` says

    Warns
    -----
    DamagedRunWarning
        Which runs were left out, and why.
    """
    results, damaged = read_results(runs_folder(golden, root), runs)
    rows = [
        row
        for run_id in results
        for result in results[run_id]
        for row in _case_rows(run_id, result)
    ]
    _warn(golden, damaged)
    return CASE_HISTORY.build(rows)


def _rows(
    manifest: Mapping[str, Any],
    figures: Sequence[Mapping[str, Any]],
    series: dict[tuple[Any, ...], int],
) -> Iterator[dict[str, Any]]:
    judges = manifest.get("judges") or {}
    counting = sorted(
        {judges[name]["fingerprint"] for name in manifest.get("counting") or () if name in judges}
    )
    override = manifest.get("override") or {}
    whole = {name: manifest.get(name) for name in _WHOLE}
    whole |= {
        "at": manifest.get("started_at") or manifest.get("finished_at"),
        "override": override.get("reason"),
    }
    for figure in figures:
        scorer = figure["scorer"]
        judge = judges.get(scorer) or {}
        fingerprint = judge.get("fingerprint")
        if scorer == CASE:
            fingerprint = ", ".join(counting) or None
        answered = ", ".join(judge.get("answered") or ()) or None
        basis = (
            *(scorer, manifest["golden_version"], manifest.get("tier"), fingerprint, answered),
            manifest.get("scorers_fingerprint"),
        )
        yield {
            **whole,
            **figure,
            "judge_fingerprint": fingerprint,
            "judge_answered": answered,
            "series": series.setdefault(basis, len(series)),
        }


def _case_rows(run_id: str, result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    case_id, n = result["case_id"], result.get("n_scored") or 0
    if n:
        rate = result.get("pass_rate") or 0.0
        yield {
            "run_id": run_id,
            "case_id": case_id,
            "scorer": CASE,
            "value": rate,
            "n_scored": n,
            "n_passed": round(rate * n),
        }
    for scorer, value in (result.get("mean_scores") or {}).items():
        yield {"run_id": run_id, "case_id": case_id, "scorer": scorer, "value": value}


def _warn(golden: GoldenSet, damaged: Mapping[str, str]) -> None:
    if not damaged:
        return
    runs = "1 run" if len(damaged) == 1 else f"{len(damaged)} runs"
    named = listing([f"{run} ({why})" for run, why in damaged.items()], limit=_MOST_NAMED)
    warnings.warn(
        f"{runs} of {golden.settings.name} left out: {named}", DamagedRunWarning, stacklevel=3
    )

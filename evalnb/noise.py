"""What varies where nothing changed: A/A runs, which are live runs of the same system twice or more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalnb.baseline import CASE, read_baseline
from evalnb.errors import EvalnbError
from evalnb.frames import METRICS, FrameSchema, to_records
from evalnb.judges import suite_judges
from evalnb.past_runs import past_runs
from evalnb.planning import plan
from evalnb.results import read_verdicts, results_root
from evalnb.stats.run_noise import FLIP_RATES, flip_rates, noise_split, within_variance

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from evalnb.golden import GoldenSet
    from evalnb.planning import Plan

__all__ = [
    "AA",
    "TOKENS",
    "NoiseFloor",
    "aa_differences",
    "aa_runs",
    "describe_noise",
    "noise_floor",
    "plan_by_noise",
    "planned_by",
]

AA = FrameSchema(
    "A/A differences",
    {
        "first": "string",
        "second": "string",
        "measure": "string",
        "difference": "Float64",
        "n": "Int64",
    },
    key=("second", "measure"),
)
"""A row a pair of runs, one after the other, and measure: `(case)` for the pass rate of cases, a scorer
for its mean, `output_tokens` for the logarithm of the geometric mean ratio. `difference` is second minus
first over the `n` cases that both have."""

TOKENS = "output_tokens"
_MOST_NAMED = 5


@dataclass(frozen=True)
class NoiseFloor:
    """What the A/A runs of a suite teach.

    Attributes
    ----------
    runs : their ids, in order of time
    flips : how often each case flips, as `evalnb.stats.run_noise.FLIP_RATES` says
    differences : as `AA` says
    judges : scorer to the noise of system and judge apart, a metrics frame; only of judges whose
        verdicts were repeated
    planned : the next run, with the variance of repeats that these runs have; None without any
    """

    runs: tuple[str, ...]
    flips: pd.DataFrame
    differences: pd.DataFrame
    judges: Mapping[str, pd.DataFrame]
    planned: Plan | None

    @property
    def smallest_drop(self) -> float | None:
        """The drop of the pass rate of cases that 8 of 10 runs find; None where none is."""
        if self.planned is None:
            return None
        return self.planned.smallest_drop(self.planned.cases, self.planned.repeats)


def aa_runs(history: pd.DataFrame) -> pd.DataFrame:
    """Keep the runs of the system that ran last, as long as nothing about them changed.

    Parameters
    ----------
    history : as `evalnb.past_runs.PAST` says

    Returns
    -------
    rows of `history` : the last runs of one system, one tier and the same answering models
    """
    if history.empty:
        return history
    about = history.groupby("run_id", sort=False)[["system_fingerprint", "tier", "models"]].first()
    texts = about.fillna("").astype("object")
    alike = (texts == texts.iloc[-1]).all(axis=1).to_numpy()
    kept = about.index[len(alike) - _length_of_last(alike) :]
    return history[history["run_id"].isin(kept)]


def aa_differences(runs: pd.DataFrame) -> pd.DataFrame:
    """Compare each run with the one before it.

    Parameters
    ----------
    runs : as `aa_runs` gives them

    Returns
    -------
    as `AA` says
    """
    measured = _measured(runs)
    names = list(dict.fromkeys(runs["run_id"]))
    rows = []
    for measure, values in measured.groupby("measure", sort=False):
        table = values.pivot_table(index="case_id", columns="run_id", values="value")
        for first, second in pairwise(names):
            if first not in table or second not in table:
                continue
            apart = (table[second] - table[first]).dropna()
            if len(apart):
                rows.append(
                    {
                        "first": first,
                        "second": second,
                        "measure": str(measure),
                        "difference": float(apart.mean()),
                        "n": len(apart),
                    }
                )
    return AA.build(rows)


def noise_floor(golden: GoldenSet, root: Path | None = None) -> NoiseFloor:
    """Learn from the A/A runs of a suite that are on disk.

    Parameters
    ----------
    golden : the suite
    root : the results root; by default the suite's

    Returns
    -------
    empty frames where there are no two repeats of anything
    """
    runs = aa_runs(past_runs(golden, root))
    names = tuple(dict.fromkeys(runs["run_id"]))
    flips = flip_rates(_passes(runs)) if len(runs) else FLIP_RATES.empty()
    folder = (root or results_root(golden)) / golden.settings.name
    return NoiseFloor(
        runs=names,
        flips=flips,
        differences=aa_differences(runs),
        judges=_judges(golden, [folder / name for name in names]),
        planned=planned_by(golden, runs) if len(names) > 1 else None,
    )


def planned_by(
    golden: GoldenSet,
    runs: pd.DataFrame,
    *,
    cases: int | None = None,
    repeats: int | None = None,
) -> Plan:
    """Plan a live run by the noise that A/A runs had.

    Parameters
    ----------
    golden : the suite
    runs : as `aa_runs` gives them; with fewer than two of them, or where nothing varied, the
        baseline says how much repeats vary
    cases, repeats : other numbers than the suite's own
    """
    planned = plan(golden, read_baseline(golden), cases=cases, repeats=repeats)
    counts = runs.groupby("case_id", sort=False)[["n_passed", "n_scored"]].sum()
    n_runs = runs["run_id"].nunique()
    found = within_variance(counts["n_passed"], counts["n_scored"]) if n_runs > 1 else None
    if not found:
        return planned
    rate = float(counts["n_passed"].sum() / counts["n_scored"].sum())
    within = min(found, rate * (1 - rate))
    return replace(planned, rate=rate, within=within, source=f"from {n_runs} A/A runs")


def plan_by_noise(
    golden: GoldenSet,
    *,
    cases: int | None = None,
    repeats: int | None = None,
    root: Path | None = None,
) -> Plan:
    """Plan a live run by the noise of the A/A runs that are on disk, else by the baseline's.

    Parameters
    ----------
    golden : the suite, or a bare set of cases
    cases, repeats : other numbers than the suite's own
    root : the results root; by default the suite's
    """
    if golden.folder is None:
        return plan(golden, None, cases=cases, repeats=repeats)
    return planned_by(golden, aa_runs(past_runs(golden, root)), cases=cases, repeats=repeats)


def describe_noise(found: NoiseFloor) -> list[str]:
    """Say what varies where nothing changed, and which drop can be seen beyond it.

    Parameters
    ----------
    found : as `noise_floor` gives it
    """
    n = len(found.runs)
    if n < 2:
        return [
            (
                f"{n} live run{'' if n == 1 else 's'} of the present system and golden version: noise is "
                "learned from two or more, so run the same again with --mode live"
            )
        ]
    known = found.flips["flip_rate"].dropna()
    lines = [f"{n} runs of the same system, {found.runs[0]} to {found.runs[-1]}"]
    if len(known):
        lines.append(
            f"  two answers to a case differ in {known.mean():.1%} of pairs, over {len(known)} cases"
        )
        lines += [
            f"    {row['case_id']}: {row['flip_rate']:.0%}, passed {row['n_passed']} of {row['n']}"
            for row in to_records(found.flips.nlargest(_MOST_NAMED, "flip_rate"))
            if row["flip_rate"] > 0
        ]
    lines += _spread_lines(found.differences)
    for scorer, noise in found.judges.items():
        lines.append(f"  {scorer}: {_judge_words(noise)}")
    smallest = found.smallest_drop
    if found.planned is not None:
        said = "no drop" if smallest is None else f"a drop of the pass rate from {smallest:.3f}"
        lines.append(
            f"  beyond this noise {found.planned.cases} cases with {found.planned.repeats} repeats "
            f"find {said} in 8 of 10 runs"
        )
    return lines


def _spread_lines(differences: pd.DataFrame) -> Iterator[str]:
    for measure, rows in differences.groupby("measure", sort=False):
        values = rows["difference"].to_numpy("float64")
        words = "ratio of tokens" if measure == TOKENS else str(measure)
        shown = np.exp(values) if measure == TOKENS else values
        yield (
            f"  {words}: {len(values)} differences from one run to the next, "
            f"{shown.min():+.3f} to {shown.max():+.3f}"
        )


def _judge_words(noise: pd.DataFrame) -> str:
    rows = {row["metric"]: row for row in to_records(noise)}
    judge, system = (rows[name].get("estimate") for name in ("variance_judge", "variance_system"))
    share = rows["judge_share"].get("estimate")
    if judge is None or system is None or share is None:
        return "too few verdicts to tell the judge's noise from the system's"
    return (
        f"variance of verdicts on one answer {judge:.4f}, of answers to one case {system:.4f}: "
        f"{share:.0%} of the noise is the judge's"
    )


def _length_of_last(alike: np.ndarray) -> int:
    """Return how many at the end are alike."""
    others = np.flatnonzero(~alike)
    return len(alike) - (int(others[-1]) + 1 if len(others) else 0)


def _measured(runs: pd.DataFrame) -> pd.DataFrame:
    """Return run_id, case_id, measure, value."""
    rows = []
    for row in to_records(runs):
        shared = {"run_id": row["run_id"], "case_id": row["case_id"]}
        if row["n_scored"]:
            rows.append({**shared, "measure": CASE, "value": row["n_passed"] / row["n_scored"]})
        rows += [
            {**shared, "measure": scorer, "value": value}
            for scorer, value in row["mean_scores"].items()
        ]
        if row.get("output_tokens"):
            rows.append({**shared, "measure": TOKENS, "value": float(np.log(row["output_tokens"]))})
    return pd.DataFrame(rows, columns=["run_id", "case_id", "measure", "value"])


def _passes(runs: pd.DataFrame) -> pd.DataFrame:
    """Return a row a scored repeat."""
    rows = [
        {"case_id": row["case_id"], "scorer": CASE, "passed": number < row["n_passed"]}
        for row in to_records(runs)
        for number in range(row["n_scored"])
    ]
    return pd.DataFrame(rows, columns=["case_id", "scorer", "passed"])


def _judges(golden: GoldenSet, folders: Iterable[Path]) -> dict[str, pd.DataFrame]:
    """Split the noise of each judge's scorer whose verdicts were repeated."""
    rows = [row for folder in folders for row in _verdict_values(golden, folder)]
    frame = pd.DataFrame(rows, columns=["scorer", "case_id", "repeat", "value"])
    found = {}
    for scorer, values in frame.groupby("scorer", sort=True):
        if values.duplicated(["case_id", "repeat"]).any():
            found[str(scorer)] = METRICS.check(noise_split(values.drop(columns="scorer")))
    return found


def _verdict_values(golden: GoldenSet, folder: Path) -> Iterator[dict[str, Any]]:
    judges = {judge.name: judge for judge in suite_judges(golden)}
    try:
        verdicts = read_verdicts(folder)
    except EvalnbError:  # a damaged file of an old run
        return
    for row in to_records(verdicts):
        judge = judges.get(row["judge"])
        if judge is None or "answers" not in row or row["case_id"] not in golden:
            continue
        if row["judge_fingerprint"] != judge.fingerprint:
            continue
        for judged in judge.scores(golden[row["case_id"]], row["part"], row["answers"]):
            yield {
                "scorer": judged.scorer,
                "case_id": row["case_id"],
                "repeat": f"{folder.name} {row['repeat']}",
                "value": judged.value,
            }

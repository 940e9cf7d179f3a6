"""One run: what was answered and scored, and all that was made of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evalnb.baseline import CASE
from evalnb.errors import InputError
from evalnb.frames import PAIRS, VERDICTS
from evalnb.stats.estimates import mean_interval, wilson

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from evalnb.baseline import Baseline
    from evalnb.confirmation import Confirmation
    from evalnb.golden import GoldenSet
    from evalnb.phrases import PhraseStudy
    from evalnb.stats.estimates import Estimate

__all__ = ["Run", "Scored", "check_suite", "run_figures"]


@dataclass(frozen=True)
class Scored:
    """What was answered and scored, of a suite or of some of its cases, before the gate decides.

    Attributes
    ----------
    about : what the manifest of the run says of it
    outputs, scores, verdicts, misses : frames as in `evalnb.frames`; of no score it is decided yet
        whether it is advice
    unused_cassettes : keys that nothing asked for
    without_requests : ids of cases that were answered in replay without asking a model
    pairs : a pairs frame, answers beside the baseline's; None where nobody was asked
    """

    about: Mapping[str, Any]
    outputs: pd.DataFrame
    scores: pd.DataFrame
    verdicts: pd.DataFrame
    misses: pd.DataFrame
    unused_cassettes: Sequence[str] = ()
    without_requests: Sequence[str] = ()
    pairs: pd.DataFrame | None = None


@dataclass(frozen=True)
class Run:
    """A run with all that was made of it.

    Attributes
    ----------
    manifest : golden version, system, models, versions and the like, as in `run.json`
    outputs, scores, results, slices, decision, misses, verdicts, pairs : frames as in `evalnb.frames`
    outcome : pass, fail or inconclusive
    exit_code : 0 pass, 1 blocked, 2 inconclusive, 3 cassette miss
    golden, baseline : what it ran and was compared with, for the reports; None in a run that was
        read back from its folder
    confirmation : fresh repeats that decided whether scores fell; None where nothing was asked again
    wording : how it changed since the baseline; None in a run without one, or read back
    """

    manifest: Mapping[str, Any]
    outputs: pd.DataFrame
    scores: pd.DataFrame
    results: pd.DataFrame
    slices: pd.DataFrame
    decision: pd.DataFrame
    misses: pd.DataFrame
    outcome: str
    exit_code: int
    verdicts: pd.DataFrame = field(default_factory=VERDICTS.empty)
    pairs: pd.DataFrame = field(default_factory=PAIRS.empty)
    golden: GoldenSet | None = field(default=None, repr=False, compare=False)
    baseline: Baseline | None = field(default=None, repr=False, compare=False)
    confirmation: Confirmation | None = field(default=None, repr=False, compare=False)
    wording: PhraseStudy | None = field(default=None, repr=False, compare=False)


def check_suite(golden: GoldenSet, run: Run) -> None:
    """Refuse a run of another suite.

    Raises
    ------
    InputError
        If the run is of a suite of another name.
    """
    if run.manifest.get("suite") != golden.settings.name:
        raise InputError(
            f"run {run.manifest.get('run_id')} is of suite {run.manifest.get('suite')!r}, not of "
            f"{golden.settings.name!r}"
        )


def run_figures(results: pd.DataFrame) -> list[dict[str, Any]]:
    """Sum up a run by scorer, as its manifest keeps it.

    Parameters
    ----------
    results : a results frame

    Returns
    -------
    scorer, mean, ci_low, ci_high, n, n_missing : a record a scorer, that of the cases first
        The pass rate of cases with Wilson's interval, means of scores over cases with that of t.
        `n_missing` is known for the cases alone.
    """
    scored = results[results["n_scored"] > 0]
    passed = wilson(float(scored["pass_rate"].sum()), len(scored))
    values: dict[str, list[float]] = {}
    for means in results["mean_scores"].dropna():
        for scorer, mean in means.items():
            values.setdefault(scorer, []).append(mean)
    rows: list[tuple[str, Estimate, int, int | None]] = [
        (CASE, passed, len(scored), len(results) - len(scored))
    ]
    rows += [
        (name, mean_interval(values[name]), len(values[name]), None) for name in sorted(values)
    ]
    return [
        {
            "scorer": scorer,
            "mean": found.estimate,
            "ci_low": found.ci_low,
            "ci_high": found.ci_high,
            "n": n,
            "n_missing": n_missing,
        }
        for scorer, found, n, n_missing in rows
    ]

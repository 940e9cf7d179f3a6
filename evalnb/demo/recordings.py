"""What the demo is made of: two prompts of the support suite, replayed for real."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from evalnb.baseline import read_baseline
from evalnb.errors import InputError
from evalnb.evaluation import evaluate
from evalnb.frames import is_accident
from evalnb.golden import read_golden
from evalnb.systems import load_system

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import date

    from evalnb.baseline import Baseline
    from evalnb.golden import GoldenSet
    from evalnb.runs import Run

__all__ = ["Recordings", "demo_suite", "replayed"]

FIRST, SECOND = "v1", "v2"


@dataclass(frozen=True)
class Recordings:
    """Two replayed runs over the same cases.

    Attributes
    ----------
    golden, baseline : of the suite
    first, second : runs of the tier `full`, of two prompts
    worse : cases that pass with the first prompt and that a rule lets fail with the second
    """

    golden: GoldenSet
    baseline: Baseline
    first: Run
    second: Run
    worse: tuple[str, ...]

    def mixed(self, of_second: Collection[str], cases: Collection[str]) -> tuple[pd.DataFrame, ...]:
        """Return outputs and scores of some cases, those of `of_second` as the second prompt had it."""
        return tuple(
            _mixed(one, other, of_second, cases)
            for one, other in (
                (self.first.outputs, self.second.outputs),
                (self.first.scores, self.second.scores),
            )
        )

    def baseline_of(self, cases: Collection[str]) -> Baseline:
        """Return the baseline as if it had only some cases."""
        counts, outputs = self.baseline.counts, self.baseline.outputs
        return replace(
            self.baseline,
            counts=counts[counts["case_id"].isin(list(cases))].reset_index(drop=True),
            outputs=outputs[outputs["case_id"].isin(list(cases))].reset_index(drop=True),
        )


def demo_suite() -> Path:
    """Return the support suite of the package: in the wheel, or in a clone.

    Raises
    ------
    InputError
        If this installation has none.
    """
    package = Path(__file__).parents[1]
    for folder in (package / "_golden" / "support", package.parent / "golden" / "support"):
        if (folder / "suite.toml").exists():
            return folder
    raise InputError("this installation of evalnb has no suite to make a demo of")


def replayed(as_of: date) -> Recordings:
    """Replay both prompts over the support suite; nothing is asked of a model.

    Parameters
    ----------
    as_of : the day of the runs
    """
    golden = read_golden(demo_suite())
    baseline = read_baseline(golden)
    if baseline is None:
        raise InputError("the suite of the demo has no baseline")
    first, second = (
        evaluate(
            golden,
            load_system(golden, name),
            run_id=name,
            as_of=as_of,
            tier="full",
            progress="none",
        )
        for name in (FIRST, SECOND)
    )
    return Recordings(golden, baseline, first, second, tuple(_worse(first, second)))


def _worse(first: Run, second: Run) -> list[str]:
    """Name the cases that got worse by a rule, and whose scores of the second run are all there."""
    scores = second.scores
    failed = scores["tier"].eq("rule") & scores["passed"].eq(False).fillna(value=False)
    lacking = set(scores.loc[is_accident(scores["na_reason"]), "case_id"])
    worse = set(scores.loc[failed, "case_id"]) - lacking
    results = first.results
    passed = results.loc[results["state"].eq("pass").fillna(value=False), "case_id"]
    return [case_id for case_id in passed if case_id in worse]


def _mixed(
    one: pd.DataFrame, other: pd.DataFrame, of_other: Collection[str], cases: Collection[str]
) -> pd.DataFrame:
    kept = one[one["case_id"].isin(list(cases)) & ~one["case_id"].isin(list(of_other))]
    added = other[other["case_id"].isin(list(of_other)) & other["case_id"].isin(list(cases))]
    return pd.concat([kept, added], ignore_index=True)

"""One run with all that was made of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evalnb.frames import PAIRS, VERDICTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from evalnb.baseline import Baseline
    from evalnb.golden import GoldenSet

__all__ = ["Run"]


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

"""Asking again, on both sides, about the cases that look worse in a live run."""

from __future__ import annotations

import time
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from evalnb.advice import FULL, RULE_ONLY, Tier
from evalnb.baseline import SYSTEM_FILE
from evalnb.cassettes import Cassettes
from evalnb.certificates import read_certificates, standings, with_standing
from evalnb.confirmation import Confirmation
from evalnb.errors import InputError
from evalnb.gate import suspect_cases
from evalnb.judging import Judging, batches_of
from evalnb.resuming import open_journal
from evalnb.runner import run
from evalnb.scoring import score
from evalnb.systems import load_system
from evalnb.waivers import read_waivers

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

    import pandas as pd

    from evalnb.baseline import Baseline
    from evalnb.golden import GoldenSet
    from evalnb.runner import Progress
    from evalnb.systems import DirectSystem, System
    from evalnb.transport import Upstream

__all__ = ["Confirming", "baseline_system"]


@dataclass
class Confirming:
    """Runs the suspect cases again, under what is left of a run's time and money.

    Attributes
    ----------
    golden, system : what ran
    as_of : the day that waivers and certificates are compared with
    repeats, judge_repeats, tier, concurrency, progress, upstream : as the run had them
    folder : of the run; fresh answers go to `confirmation` in it, a folder a side
    max_minutes, budget_usd : of the run, None for no limit
    started : by `time.monotonic`, when the run began
    why_not : why nothing was asked again, "" where it was, or nothing looked worse
    """

    golden: GoldenSet
    system: System | DirectSystem
    as_of: date
    repeats: int
    judge_repeats: int | None = None
    tier: Tier = RULE_ONLY
    concurrency: int = 8
    progress: Progress = "auto"
    upstream: Upstream | Literal["auto"] | None = "auto"
    folder: Path | None = None
    max_minutes: float | None = None
    budget_usd: float | None = None
    started: float = field(default_factory=time.monotonic)
    why_not: str = ""

    def __call__(
        self, scores: pd.DataFrame, baseline: Baseline, spent_usd: float
    ) -> Confirmation | None:
        """Ask again where scores would block.

        Parameters
        ----------
        scores : of the run
        baseline : the accepted run
        spent_usd : what the run cost so far

        Returns
        -------
        None where nothing looks worse, or where it cannot be asked again: `why_not` then says why,
        and the run decides by itself
        """
        waivers = read_waivers(self.golden)
        suspects = suspect_cases(self.golden, scores, baseline, as_of=self.as_of, waivers=waivers)
        if not suspects:
            return None
        before, self.why_not = baseline_system(self.golden, baseline, self.system)
        if before is None:
            return None
        cases = replace(
            self.golden, cases=tuple(case for case in self.golden if case.id in set(suspects))
        )
        sides = []
        for name, system in (("baseline", before), ("candidate", self.system)):
            limits = self._left(spent_usd)
            if limits is None:
                self.why_not = "the time or the money of the run is used up"
                return None
            outputs, scored = self._side(name, cases, system, *limits)
            spent_usd += float(outputs["cost_usd"].sum())
            sides.append((scored, outputs))
        (scores_before, outputs_before), (scores_now, outputs_now) = sides
        return Confirmation(scores_before, scores_now, outputs_before, outputs_now)

    def _left(self, spent_usd: float) -> tuple[float | None, float | None] | None:
        """Return the minutes and US dollars that are left, None where there are none."""
        live = self.golden.settings.live
        minutes, money = self.max_minutes or live.max_minutes, self.budget_usd or live.budget_usd
        if minutes is not None:
            minutes -= (time.monotonic() - self.started) / 60
        if money is not None:
            money -= spent_usd
        enough = all(left is None or left > 0 for left in (minutes, money))
        return (minutes, money) if enough else None

    def _side(
        self,
        name: str,
        cases: GoldenSet,
        system: System | DirectSystem,
        max_minutes: float | None,
        budget_usd: float | None,
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Let one side answer, and score it."""
        folder = None if self.folder is None else self.folder / "confirmation" / name
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        judging = None
        if self.tier == FULL:
            judging = Judging(
                cases,
                repeats=self.judge_repeats,
                upstream=None if self.upstream == "auto" else self.upstream,
                batches=batches_of(cases, "live", folder),
            )
        journal = None
        if folder is not None:
            journal = open_journal(folder, cases, system, self.repeats, self.tier)
        with nullcontext() if journal is None else closing(journal):
            outputs = run(
                cases,
                system,
                repeats=self.repeats,
                concurrency=self.concurrency,
                progress=self.progress,
                cassettes=Cassettes(_cassettes(self.golden), "live", journal=journal),
                upstream=self.upstream,
                journal=journal,
                max_minutes=max_minutes,
                budget_usd=budget_usd,
                run_id=f"confirmation-{name}",
                follower=judging,
            )
        verdicts = judging.frame() if judging else None
        scored = score(
            cases, outputs, verdicts=verdicts, judges=judging.judges if judging else None
        )
        certificates = read_certificates(self.golden)
        standing = standings(scored, certificates, self.as_of, self.golden.settings.gate)
        return outputs, with_standing(scored, standing)


def _cassettes(golden: GoldenSet) -> Path:
    if golden.folder is None:
        raise ValueError("only a suite can be asked again: give a golden set read from its folder")
    return golden.folder / "cassettes"


def baseline_system(
    golden: GoldenSet, baseline: Baseline, candidate: System | DirectSystem
) -> tuple[System | DirectSystem | None, str]:
    """Return the system behind a baseline, as it was then; or why there is none.

    Parameters
    ----------
    golden : the suite
    baseline : the accepted run
    candidate : the system of the run beside it

    Returns
    -------
    the system and "", or None and why
        It is that of `baseline/system.toml`, which acceptance writes for prompt files, or the one
        of its name. Where the candidate is the same system, what differs is beyond it (the model,
        the judge), and cannot be asked again as it was.
    """
    about = baseline.manifest.get("system") or {}
    wanted, name = about.get("fingerprint"), about.get("name") or ""
    if wanted == candidate.fingerprint:
        return None, "both sides are the same system, which is no longer what it was"
    for path in (f"baseline/{SYSTEM_FILE}", name):
        try:
            found = load_system(golden, path or None)
        except InputError:
            continue
        if found.fingerprint == wanted:
            return replace(found, name=name), ""
    return None, f"the system of the baseline, {name or 'unnamed'}, is not there as it was then"

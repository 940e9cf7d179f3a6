"""Running one shard of a suite; the gate decides when all are merged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.advice import RULE_ONLY, Tier
from evalnb.evaluation import run_and_score
from evalnb.shard_files import write_shard

if TYPE_CHECKING:
    from pathlib import Path

    from evalnb.cassettes import Mode
    from evalnb.golden import GoldenSet
    from evalnb.runner import Progress
    from evalnb.runs import Scored
    from evalnb.shards import Shard
    from evalnb.systems import DirectSystem, System

__all__ = ["run_shard"]


def run_shard(
    golden: GoldenSet,
    shard: Shard,
    system: System | DirectSystem,
    *,
    folder: Path,
    mode: Mode = "replay",
    repeats: int | None = None,
    concurrency: int = 8,
    progress: Progress = "auto",
    max_minutes: float | None = None,
    budget_usd: float | None = None,
    tier: Tier = RULE_ONLY,
    judge_repeats: int | None = None,
) -> Scored:
    """Run the cases of one shard, score them and write what came of it.

    Parameters
    ----------
    golden : the whole suite
    shard : which part of it
    system, mode, repeats, concurrency, progress, max_minutes, tier, judge_repeats : as for
        `evalnb.evaluate`
    folder : of the shard, as `evalnb.new_run_folder` gives it below `evalnb.shards_root`
    budget_usd : what all shards together may cost; this one may spend its share by cases

    Raises
    ------
    InputError
        If a file of the suite cannot be used or the run cannot go on for any case.
    """
    part = shard.cases_of(golden)
    whole = budget_usd or golden.settings.live.budget_usd
    scored = run_and_score(
        part,
        system,
        run_id=folder.resolve().name,
        mode=mode,
        repeats=repeats,
        concurrency=concurrency,
        progress=progress,
        folder=folder,
        max_minutes=max_minutes,
        budget_usd=whole * len(part) / len(golden) if whole else None,
        tier=tier,
        judge_repeats=judge_repeats,
    )
    write_shard(folder, golden, shard, scored)
    return scored

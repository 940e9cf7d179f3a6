"""Judging the outputs of a run again: by another judge, a changed rubric or another pass rule."""

from __future__ import annotations

from contextlib import closing, nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from evalnb.advice import FULL
from evalnb.cassettes import Cassettes, Mode
from evalnb.errors import InputError
from evalnb.evaluation import decided_run, scored_outputs
from evalnb.journal import JOURNAL, Journal
from evalnb.judges import load_judge, suite_judges
from evalnb.judging import Judging, ask_all, batches_of
from evalnb.pairwise_rule import pairs_with_baseline
from evalnb.runs import check_suite

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date
    from pathlib import Path

    from evalnb.golden import GoldenSet
    from evalnb.runs import Run
    from evalnb.transport import Upstream

__all__ = ["rescore"]

_KEPT = ("system", "system_fingerprint", "repeats")


def rescore(
    golden: GoldenSet,
    run: Run,
    *,
    run_id: str,
    as_of: date,
    judges: Sequence[str] | None = None,
    mode: Mode = "replay",
    judge_repeats: int | None = None,
    concurrency: int = 8,
    upstream: Upstream | None = None,
    folder: Path | None = None,
    max_minutes: float | None = None,
    budget_usd: float | None = None,
) -> Run:
    """Score the stored outputs of a run by rules and judges of today, and decide.

    The system is not run. A verdict of the same judge on the same output is taken from the run;
    others come from the suite's cassettes, or are asked for as `mode` says.

    Parameters
    ----------
    golden : the suite as it is now
    run : the run, as `evalnb.read_run` gives it
    run_id : name of the new run
    as_of : the day that waivers are compared with
    judges : names as for `evalnb.load_judge`; by default the judges of the suite
    mode : replay, record or live
    judge_repeats : how often each verdict is asked for; by default what the suite says
    concurrency : how many requests are under way at once
    upstream : where to ask for what is not recorded; by default what each judge's model says
    folder : of the new run; in `live`, every response is kept there before it is used
    max_minutes, budget_usd : bounds as for `evalnb.run`

    Raises
    ------
    InputError
        If the run is of another suite or has outputs of cases that are gone, or the judges cannot
        be used.
    """
    _check_fits(golden, run)
    found = (
        suite_judges(golden)
        if judges is None
        else tuple(load_judge(golden, name) for name in judges)
    )
    judging = Judging(
        golden,
        found,
        repeats=judge_repeats,
        known=run.verdicts,
        upstream=upstream,
        batches=batches_of(golden, mode, folder),
    )
    started = datetime.now(UTC)
    if golden.folder is None:
        raise ValueError("only a suite can be judged again: give a golden set from its folder")
    journal = None
    if mode == "live" and folder is not None:
        journal = Journal(folder / JOURNAL, _identity(golden, run, judging))
    with nullcontext() if journal is None else closing(journal):
        cassettes = Cassettes(golden.folder / "cassettes", mode, journal=journal)
        ask_all(
            judging,
            run.outputs,
            cassettes,
            concurrency=concurrency,
            max_minutes=max_minutes,
            budget_usd=budget_usd,
        )
        pairs = pairs_with_baseline(
            golden, run.outputs, FULL, cassettes, upstream=upstream, concurrency=concurrency
        )
    about = {
        **{name: run.manifest.get(name) for name in _KEPT},
        "run_id": run_id,
        "rescored_from": run.manifest["run_id"],
        "mode": mode,
        "tier": FULL,
        "concurrency": concurrency,
        "started_at": started.isoformat(timespec="seconds"),
    }
    scored = scored_outputs(
        golden, run.outputs.assign(run_id=run_id), judging, cassettes, about, pairs=pairs
    )
    return decided_run(golden, scored, as_of=as_of)


def _check_fits(golden: GoldenSet, run: Run) -> None:
    check_suite(golden, run)
    gone = [name for name in run.outputs["case_id"].unique() if name not in golden]
    if gone:
        raise InputError(
            f"the run answers {len(gone)} cases that are no longer there, {gone[0]} among them: "
            "run the suite again"
        )


def _identity(golden: GoldenSet, run: Run, judging: Judging) -> dict[str, Any]:
    return {
        "suite": golden.settings.name,
        "golden_version": golden.version,
        "rescored_from": run.manifest["run_id"],
        "judges": {judge.name: judge.fingerprint for judge in judging.judges},
        "repeats": judging.repeats,
    }

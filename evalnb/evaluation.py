"""The main job: run, score, sum up, compare and decide."""

from __future__ import annotations

import platform
import shlex
import subprocess
from contextlib import closing, nullcontext
from dataclasses import asdict
from datetime import UTC, date, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from evalnb.advice import FULL, RULE_ONLY, Tier, by_basis, judges_of, same_basis
from evalnb.baseline import pass_rates, read_baseline
from evalnb.cassettes import Cassettes, Mode
from evalnb.certificates import (
    counting_scorers,
    read_certificates,
    standings,
    with_standing,
)
from evalnb.confirming import Confirming
from evalnb.corrected import corrected_by_labels, labels_of_samples
from evalnb.costs import cache_shortfalls
from evalnb.curtailing import Curtailing
from evalnb.first_baseline import gap_since_first_baseline
from evalnb.frames import PAIRS, VERDICTS, is_accident, to_records
from evalnb.gate import decide, exit_code, outcome, suspect_cases
from evalnb.journal import UNFINISHED
from evalnb.judges import load_pairwise_judge, suite_judges
from evalnb.judging import Judging, batches_of
from evalnb.names import LOCAL_MODEL, LOCAL_NOTICE
from evalnb.noise import aa_runs, planned_by
from evalnb.pairwise_rule import pairs_with_baseline
from evalnb.past_runs import past_runs
from evalnb.phrase_rule import suite_wording
from evalnb.places import shown_from_here
from evalnb.resuming import open_journal
from evalnb.runner import run
from evalnb.runs import Run, Scored, run_figures
from evalnb.scorers import scorers_fingerprint
from evalnb.scoring import score, slices, summarize
from evalnb.systems import CallableSystem, suite_systems
from evalnb.waivers import read_waivers, read_wordings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from evalnb.baseline import Baseline
    from evalnb.golden import GoldenSet
    from evalnb.phrases import PhraseStudy
    from evalnb.planning import Plan
    from evalnb.rollout import Override
    from evalnb.runner import Progress
    from evalnb.systems import DirectSystem, System
    from evalnb.transport import Upstream

__all__ = ["decided_run", "evaluate", "run_and_score", "scored_outputs"]

_NOTHING = 1e-9
_RECORDED_PACKAGES = ("evalnb", "anthropic", "pandas", "numpy")


def evaluate(
    golden: GoldenSet,
    system: System | DirectSystem,
    *,
    run_id: str,
    as_of: date,
    mode: Mode = "replay",
    repeats: int | None = None,
    concurrency: int = 8,
    progress: Progress = "auto",
    upstream: Upstream | Literal["auto"] | None = "auto",
    folder: Path | None = None,
    max_minutes: float | None = None,
    budget_usd: float | None = None,
    tier: Tier = RULE_ONLY,
    judge_repeats: int | None = None,
    override: Override | None = None,
) -> Run:
    """Run a suite, score it and decide.

    Parameters
    ----------
    golden : a suite's golden set
    system : what answers
    run_id : name of the run, as `evalnb.new_run_folder` gives it
    as_of : the day that waivers are compared with
    mode, concurrency, progress, upstream, max_minutes, budget_usd : as for `evalnb.run`
    repeats : how often each case is answered; by default what the suite says
    folder : of the run; a live run keeps its journal there, and is taken up from it
    tier : `rule_only`, or `full` to ask the judges about what the rules let through
    judge_repeats : how often each verdict is asked for; by default what the suite says
    override : somebody's decision to let this run pass

    Returns
    -------
    the run, to be looked at and written with `evalnb.write_run`

    Raises
    ------
    InputError
        If a file of the suite cannot be used or the run cannot go on for any case.
    """
    confirming = None
    if mode == "live":
        confirming = Confirming(
            golden,
            system,
            as_of,
            repeats or golden.settings.repeats,
            judge_repeats=judge_repeats,
            tier=tier,
            concurrency=concurrency,
            progress=progress,
            upstream=upstream,
            folder=folder,
            max_minutes=max_minutes,
            budget_usd=budget_usd,
        )
    scored = run_and_score(
        golden,
        system,
        run_id=run_id,
        as_of=as_of,
        mode=mode,
        repeats=repeats,
        concurrency=concurrency,
        progress=progress,
        upstream=upstream,
        folder=folder,
        max_minutes=max_minutes,
        budget_usd=budget_usd,
        tier=tier,
        judge_repeats=judge_repeats,
    )
    return decided_run(golden, scored, as_of=as_of, override=override, confirming=confirming)


def run_and_score(
    golden: GoldenSet,
    system: System | DirectSystem,
    *,
    run_id: str,
    as_of: date | None = None,
    mode: Mode = "replay",
    repeats: int | None = None,
    concurrency: int = 8,
    progress: Progress = "auto",
    upstream: Upstream | Literal["auto"] | None = "auto",
    folder: Path | None = None,
    max_minutes: float | None = None,
    budget_usd: float | None = None,
    tier: Tier = RULE_ONLY,
    judge_repeats: int | None = None,
) -> Scored:
    """Run a suite, or some of its cases, and score it; nothing is decided.

    Parameters are those of `evaluate`, and so is what is raised. Without `as_of`, as for a part of
    a suite, a live run is not stopped early.
    """
    if golden.folder is None:
        raise ValueError("only a suite can be evaluated: give a golden set read from its folder")
    repeats = repeats or golden.settings.repeats
    # What cannot be used is said before any cost.
    read_baseline(golden), read_waivers(golden), read_wordings(golden)
    scorers_fingerprint(golden)
    read_certificates(golden)
    judging = None
    if tier == FULL:
        labels_of_samples(golden)
        if golden.settings.gate.pairwise is not None:
            load_pairwise_judge(golden, golden.settings.gate.pairwise)
        asked = None if upstream == "auto" else upstream
        judging = Judging(
            golden,
            repeats=judge_repeats,
            upstream=asked,
            batches=batches_of(golden, mode, folder),
        )
    started = datetime.now(UTC)
    journal = None
    if mode == "live" and folder is not None:
        journal = open_journal(folder, golden, system, repeats, tier)
    with nullcontext() if journal is None else closing(journal):
        cassettes = Cassettes(golden.folder / "cassettes", mode, journal=journal)
        outputs = run(
            golden,
            system,
            repeats=repeats,
            concurrency=concurrency,
            progress=progress,
            cassettes=cassettes,
            upstream=upstream,
            journal=journal,
            max_minutes=max_minutes,
            budget_usd=budget_usd,
            run_id=run_id,
            follower=judging or _curtailing(golden, mode, as_of, repeats),
        )
        pairs = pairs_with_baseline(
            golden,
            outputs,
            tier,
            cassettes,
            upstream=None if upstream == "auto" else upstream,
            concurrency=concurrency,
            **_left(
                golden,
                started,
                [outputs, *([judging.frame()] if judging else [])],
                max_minutes,
                budget_usd,
            ),
        )
    return scored_outputs(
        golden,
        outputs,
        judging,
        cassettes,
        {
            "run_id": run_id,
            "system": system.name,
            "system_fingerprint": system.fingerprint,
            "mode": mode,
            "tier": tier,
            "repeats": repeats,
            "concurrency": concurrency,
            "max_minutes": max_minutes or golden.settings.live.max_minutes,
            "budget_usd": budget_usd or golden.settings.live.budget_usd,
            "n_responses_resumed": journal.n_resumed if journal else 0,
            "n_journal_lines_unreadable": journal.n_unreadable if journal else 0,
            "started_at": started.isoformat(timespec="seconds"),
            "record_command": _record_command(golden, system, repeats, tier),
        },
        unused_cassettes=_unused(golden, system, cassettes, tier),
        without_requests=_without_requests(outputs) if mode == "replay" else (),
        pairs=pairs,
    )


def _curtailing(
    golden: GoldenSet, mode: Mode, as_of: date | None, repeats: int
) -> Curtailing | None:
    """Return what stops a run early, where the suite wants that and there is a test to be sure of."""
    baseline = read_baseline(golden)
    settings = golden.settings
    if mode != "live" or not settings.live.stop_early or settings.red_team or baseline is None:
        return None
    if as_of is None or baseline.manifest.get("counting"):  # judges decide on its cases, too
        return None
    return Curtailing(golden, baseline, read_waivers(golden), as_of, repeats)


def scored_outputs(
    golden: GoldenSet,
    outputs: pd.DataFrame,
    judging: Judging | None,
    cassettes: Cassettes,
    about: Mapping[str, Any],
    *,
    unused_cassettes: Sequence[str] = (),
    without_requests: Sequence[str] = (),
    pairs: pd.DataFrame | None = None,
) -> Scored:
    """Score outputs and what judges said of them.

    Parameters
    ----------
    golden : the cases
    outputs : an outputs frame
    judging : who was asked about them; None where nobody was
    cassettes : that all of it was asked through
    about : what the manifest says of the run besides
    unused_cassettes, without_requests, pairs : as for `evalnb.decide`

    Raises
    ------
    InputError
        If a cassette cannot be used.
    """
    verdicts = judging.frame(about["run_id"]) if judging else VERDICTS.empty()
    judges = judging.judges if judging else None
    scores = score(golden, outputs, verdicts=verdicts, judges=judges)
    misses = cassettes.misses_frame()
    if cassettes.faults:  # what looks like a miss may be a file that was damaged or renamed
        raise cassettes.faults[0]
    asked = {
        "judge_repeats": judging.repeats if judging else None,
        "judge_cache_shortfalls": _shortfalls(judging),
    }
    return Scored(
        {**about, **asked},
        outputs,
        scores,
        verdicts,
        misses,
        unused_cassettes,
        without_requests,
        pairs,
    )


def decided_run(
    golden: GoldenSet,
    scored: Scored,
    *,
    as_of: date,
    override: Override | None = None,
    confirming: Confirming | None = None,
) -> Run:
    """Compare what was scored with the baseline and decide.

    Parameters
    ----------
    golden : a suite's golden set
    scored : what was answered and scored of all its cases
    as_of : the day that waivers are compared with
    override : as for `evalnb.decide`
    confirming : asks again about what looks worse; None in replay, and of shards and runs scored again,
        which send no request: the manifest says so where something looks worse

    Raises
    ------
    InputError
        If a file of the suite cannot be used.
    """
    about, outputs, verdicts, misses = scored.about, scored.outputs, scored.verdicts, scored.misses
    pairs = scored.pairs
    baseline, waivers = read_baseline(golden), read_waivers(golden)
    certificates = read_certificates(golden)
    standing = standings(scored.scores, certificates, as_of, golden.settings.gate)
    scores = with_standing(scored.scores, standing)
    results = summarize(golden, outputs, scores)
    asked = verdicts
    if pairs is not None:
        names = ["judge_model_answered", "cost_usd", "na_reason"]
        asked = pd.concat([verdicts[names], pairs[names]])
    costs = pd.concat([outputs["cost_usd"], asked["cost_usd"]])
    confirmation, history = None, None
    if confirming is not None:
        root = confirming.folder.resolve().parents[1] if confirming.folder else None
        history = past_runs(golden, root, before=about["run_id"])
    if confirming is not None and baseline is not None:
        confirmation = confirming(scores, baseline, float(costs.sum()))
    why_not = confirming.why_not if confirming else ""
    if confirming is None and baseline is not None and about["mode"] == "live":
        suspects = suspect_cases(golden, scores, baseline, as_of=as_of, waivers=waivers)
        why_not = _nothing_is_asked(about) if suspects else ""
    planned = None
    if history is not None and baseline is not None:
        numbers = outputs["case_id"].nunique(), about["repeats"]
        planned = planned_by(golden, aa_runs(history), cases=numbers[0], repeats=numbers[1])
    wording = None
    if baseline is not None:
        wording = suite_wording(golden, outputs, baseline.outputs)
    decision = decide(
        golden,
        scores,
        baseline,
        as_of=as_of,
        waivers=waivers,
        certificates=certificates,
        misses=misses,
        system_fingerprint=about["system_fingerprint"],
        outputs=outputs,
        mode=about["mode"],
        unused_cassettes=scored.unused_cassettes,
        without_requests=scored.without_requests,
        override=override,
        pairs=pairs,
        confirmation=confirmation,
        history=history,
        wording=wording,
        wordings=read_wordings(golden),
    )
    rates = None
    if baseline is not None:
        rates = pass_rates(by_basis(baseline.counts, same=same_basis(scores, baseline)))
    judged = about["judge_repeats"] is not None
    return Run(
        manifest={
            **about,
            "suite": golden.settings.name,
            "privacy": golden.settings.privacy,
            "golden_version": golden.version,
            "settings_fingerprint": golden.settings.fingerprint,
            "scorers_fingerprint": scorers_fingerprint(golden),
            "judges": judges_of(scores),
            "counting": counting_scorers(scores),
            "corrected": to_records(corrected_by_labels(golden, scores)) if judged else [],
            "standings": {scorer: found.why for scorer, found in standing.items()},
            "as_of": as_of.isoformat(),
            "override": None if override is None else asdict(override),
            "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "baseline": _about_baseline(baseline),
            "power": None if planned is None else _about_power(planned),
            "wording": None if wording is None else _about_wording(wording),
            "confirmation": confirmation.summary() if confirmation else None,
            "no_confirmation": why_not or None,
            **_about_outputs(outputs, scores, asked),
            "figures": run_figures(results),
            "outcome": outcome(decision),
            "gap_change": to_records(gap_since_first_baseline(golden, results)),
            "can_go_on": _can_go_on(about, outputs, asked),
            "git_commit": _git_commit(golden.folder),
            "python": platform.python_version(),
            "packages": {name: version(name) for name in _RECORDED_PACKAGES},
        },
        outputs=outputs,
        scores=scores,
        results=results,
        slices=slices(results, golden.settings.slices, rates),
        decision=decision,
        misses=misses,
        verdicts=verdicts,
        pairs=PAIRS.empty() if pairs is None else pairs,
        outcome=outcome(decision),
        exit_code=exit_code(decision),
        golden=golden,
        baseline=baseline,
        confirmation=confirmation,
        wording=wording,
    )


def _nothing_is_asked(about: Mapping[str, Any]) -> str:
    what = "shards are merged" if "shards" in about else "a run is scored again"
    return f"{what} without a request. The run decides by itself; `evalnb run` asks again"


def _about_wording(study: PhraseStudy) -> dict[str, Any]:
    return {
        "cases": study.n_cases,
        "repeats": study.n_repeats,
        "tried": study.n_tried,
        "smallest_rate": study.smallest_rate,
    }


def _about_power(planned: Plan) -> dict[str, Any]:
    return {
        "smallest_drop": planned.smallest_drop(planned.cases, planned.repeats),
        "cases": planned.cases,
        "repeats": planned.repeats,
        "source": planned.source,
    }


def _can_go_on(about: Mapping[str, Any], *frames: pd.DataFrame) -> bool:
    """Tell whether a run in one piece lacks what a later attempt may have."""
    if about["mode"] != "live" or "shards" in about:
        return False
    return any(bool(frame["na_reason"].isin(UNFINISHED).any()) for frame in frames)


def _unused(
    golden: GoldenSet, system: System | DirectSystem, cassettes: Cassettes, tier: Tier
) -> list[str]:
    """Name cassettes that nothing asked for, where no other system or judge could have."""
    systems = suite_systems(golden)
    if cassettes.mode != "replay" or len(systems) > 1 or system not in systems:
        return []
    if tier != FULL and suite_judges(golden):
        return []
    return cassettes.unused()


def _without_requests(outputs: pd.DataFrame) -> list[str]:
    """Name the cases that were answered without asking a model through our client."""
    answered = outputs[outputs["na_reason"].isna() & outputs["request_keys"].isna()]
    return list(dict.fromkeys(answered["case_id"]))


def _record_command(
    golden: GoldenSet, system: System | DirectSystem, repeats: int, tier: Tier
) -> str | None:
    """Return the command that records what a run lacks; None for a function without a path."""
    if golden.folder is None:
        return None
    name = _name_of(golden.folder, system)
    if name is None:
        return None
    parts = [
        *("evalnb", "record", shown_from_here(golden.folder), "--system", name),
        *(() if repeats == golden.settings.repeats else ("--repeats", str(repeats))),
        *(("--tier", FULL) if tier == FULL else ()),
    ]
    return shlex.join(parts)


def _name_of(folder: Path, system: System | DirectSystem) -> str | None:
    """Return what `--system` calls a system."""
    if isinstance(system, CallableSystem):
        return system.name if ":" in system.name else None
    path = getattr(system, "path", None)
    if path is None:
        return getattr(system, "url", None)
    own = (folder / "systems" / f"{system.name}.toml").exists()
    return system.name if own else shown_from_here(path)


def _left(
    golden: GoldenSet,
    started: datetime,
    spent: Sequence[pd.DataFrame],
    max_minutes: float | None,
    budget_usd: float | None,
) -> dict[str, float | None]:
    """Return what is left of a run's time and money."""
    limits = golden.settings.live
    minutes, budget = max_minutes or limits.max_minutes, budget_usd or limits.budget_usd
    gone = (datetime.now(UTC) - started).total_seconds() / 60
    cost = sum(_total(frame["cost_usd"]) or 0.0 for frame in spent)
    return {
        "max_minutes": None if minutes is None else max(minutes - gone, _NOTHING),
        "budget_usd": None if budget is None else max(budget - cost, _NOTHING),
    }


def _about_outputs(
    outputs: pd.DataFrame, scores: pd.DataFrame, verdicts: pd.DataFrame
) -> dict[str, Any]:
    models = sorted(outputs["model"].dropna().unique())
    judging = verdicts["judge_model_answered"]
    reasons = scores["na_reason"]
    return {
        "models": models,
        "notice": LOCAL_NOTICE if LOCAL_MODEL in {*models, *judging} else None,
        "na_by_plan": _counts(reasons[~is_accident(reasons)]),
        "na_by_accident": _counts(reasons[is_accident(reasons)]),
        "cost_usd": _total(pd.concat([outputs["cost_usd"], verdicts["cost_usd"]])),
        "judge_cost_usd": _total(verdicts["cost_usd"]),
        "models_without_price": sorted(
            {
                *outputs.loc[outputs["cost_usd"].isna(), "model"].dropna(),
                *judging[verdicts["cost_usd"].isna()].dropna(),
            }
        ),
        "input_tokens": _total(outputs["input_tokens"]),
        "output_tokens": _total(outputs["output_tokens"]),
    }


def _shortfalls(judging: Judging | None) -> list[dict[str, Any]]:
    return [] if judging is None else to_records(cache_shortfalls(judging.judges))


def _counts(reasons: pd.Series) -> dict[str, int]:
    return {str(name): int(number) for name, number in reasons.value_counts().items()}


def _total(column: pd.Series) -> float | None:
    present = column.dropna().tolist()
    return sum(present) if present else None


def _about_baseline(baseline: Baseline | None) -> dict[str, Any] | None:
    if baseline is None:
        return None
    names = ("run_id", "golden_version", "accepted_at", "reason")
    kept = {name: baseline.manifest.get(name) for name in names}
    return {**kept, "system": (baseline.manifest.get("system") or {}).get("name")}


def _git_commit(folder: Path | None) -> str | None:
    """Return the commit of the repository that holds a suite, None outside of one."""
    if folder is None:
        return None
    try:
        done = subprocess.run(  # noqa: S603
            ["git", "-C", str(folder), "rev-parse", "HEAD"],  # noqa: S607
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()

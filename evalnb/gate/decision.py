"""The decision on a run: every rule of the gate over it, in one frame.

What both sides have is compared, case by case and scorer by scorer; what could not be compared is
stated. In replay nothing is random and the rules are exact. The answers of a live run are a sample:
there `evalnb.sampled` holds differences against what chance alone does.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from evalnb.advice import advice_rows, by_basis, judge_scorers, same_basis
from evalnb.baseline import count
from evalnb.certificates import counting_scorers, standings
from evalnb.curtailing import curtailed_rows
from evalnb.findings import Row, finding
from evalnb.floors import floor_rows
from evalnb.frames import DECISION, Outcome, is_advisory_record
from evalnb.gate.allowances import needless_rows, unwaived_limit_rows
from evalnb.gate.changes import change_rows
from evalnb.gate.compared import compared
from evalnb.gate.creeping import creep_rows
from evalnb.gate.exact import exact_rows
from evalnb.gate.gone import fewer_repeats_rows, gone_rows
from evalnb.gate.means import mean_rows
from evalnb.gate.missing import miss_rows, missing_rows, not_run_rows
from evalnb.gate.ordering import in_order
from evalnb.gate.red_team import unknown_rows, unsafe_rows
from evalnb.gate.single_cases import case_rows
from evalnb.gate.unsettled import unsettled_scores
from evalnb.gate.waived import expired_rows, ignored_rows
from evalnb.looking_back import flaky_in, flaky_rows, model_rows, trend_rows
from evalnb.pairwise_rule import pairwise_rows
from evalnb.phrase_rule import phrase_rows, suite_wording
from evalnb.rollout import rollout_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import date

    import pandas as pd

    from evalnb.baseline import Baseline
    from evalnb.cassettes import Mode
    from evalnb.certificates import Certificate
    from evalnb.confirmation import Confirmation
    from evalnb.gate.compared import Compared
    from evalnb.golden import GoldenSet
    from evalnb.phrases import PhraseStudy
    from evalnb.rollout import Override
    from evalnb.waivers import Waiver, Wording

__all__ = ["decide"]


def decide(
    golden: GoldenSet,
    scores: pd.DataFrame,
    baseline: Baseline | None,
    *,
    as_of: date,
    waivers: Sequence[Waiver] = (),
    certificates: Sequence[Certificate] = (),
    misses: pd.DataFrame | None = None,
    system_fingerprint: str | None = None,
    unused_cassettes: Sequence[str] = (),
    without_requests: Sequence[str] = (),
    outputs: pd.DataFrame | None = None,
    mode: Mode | None = None,
    override: Override | None = None,
    pairs: pd.DataFrame | None = None,
    confirmation: Confirmation | None = None,
    history: pd.DataFrame | None = None,
    wording: PhraseStudy | None = None,
    wordings: Sequence[Wording] = (),
) -> pd.DataFrame:
    """Decide whether a run may replace the baseline.

    Parameters
    ----------
    golden : the cases of the run, with the thresholds of the suite
    scores : a scores frame; a judge's score counts where its `advisory` is False
    baseline : the accepted run, None before the first
    as_of : the day that waivers and certificates are compared with
    waivers, certificates : of the suite
    misses : a misses frame of the run
    system_fingerprint : of the system that ran
    unused_cassettes : keys that nothing asked for
    without_requests : ids of cases that were answered in replay without asking a model through
        the client that the system was given
    outputs : an outputs frame of the run; without it, no limit and no wording is held
        against the baseline
    mode : of the run; latency is compared where it is `live`
    override : somebody's decision to let this run pass; it changes the exit code, and no finding
    pairs : a pairs frame, the run's answers as `a` and the baseline's as `b`
    confirmation : fresh repeats, on both sides, of the cases that `suspect_cases` names; with it
        they alone decide whether scores fell
    history : earlier live runs, as `evalnb.past_runs.PAST` says: flaky cases and trends are noted
    wording : how it changed since the baseline, as `evalnb.phrase_rule.suite_wording` says; by
        default it is looked for in `outputs`
    wordings : changes of it that the suite accepts

    Returns
    -------
    a decision frame: the rows that block first, then by rule and in the order of `golden`
        No row of outcome `fail` or `inconclusive` means that the run passes. Rules:
        `miss`, `no_baseline`, `na`, `gone`, `repeats`, `not_shown` (inconclusive); `safety`, `regression`,
        `new_failure`, `drift`, `creep`, `floor`, `limits`, `pairwise`, `phrases`, `waiver` (fail); `model_changed`
        (fail, a note where the system is another one too); `override`, `shadow_mode`,
        the same with `_ignored`, `judge_changed`,
        `counting_changed`, `certified_judge`, `advisory_judge`, `waiver_ignored`, `waived`,
        `case_flip`, `not_confirmed`, `flaky`, `trend`, `no_drop`, `not_tested`,
        `now_passing`, `waived_passing`, `not_compared`, `golden_changed`, `settings_changed`,
        `system_changed`, `unused_cassettes`, `no_requests`, `curtailed` (notes). A `floor` on what was not
        scored is inconclusive.

    Notes
    -----
    What a judge without a valid certificate says is advice: it is noted, and blocks nothing.
    Verdicts that are missing by accident count towards the suite's budget all the same. What a
    certified judge says is held against the baseline like a rule, where the same judge gave the
    verdicts there. Cases as a whole are compared by their rules alone where other judges count
    now than in the baseline.

    In a red-team suite each case that fails blocks by rule `safety`, whether or not it failed in
    the baseline; waivers have no effect there, and no value may be missing by accident.

    In a live run of eight cases or more, of no red-team suite, means fall where paired tests say so
    and the drop is at least the margin (`drift`); with nothing changed all rules together block at
    most 5% of runs, limits that a case has of its own aside. A case that passed and now fails is a
    note, `case_flip`, unless its repeats are enough to tell that from chance. A case without a
    score in the baseline blocks as `new_failure` where no repeat passes. In replay rules are exact;
    rows of cases and means that fell over two repeats or more say all the same how sure that is.

    What fell by more than the margin since the first accepted baseline of the golden version, and
    not since the last, blocks by rule `creep`; so do output tokens beyond their limit.

    Where another model answers than in the baseline though the system is the same, a run is blocked
    by rule `model_changed`: nothing that was accepted is known to hold for it.

    A suite without a floor for `(case)` is blocked by rule `floor` when the pass rate of the
    cases that both sides have is under 0.9 of the baseline's.
    """
    red_team, live = golden.settings.red_team, mode == "live"
    # Passing scores are counted; what is said row by row is said of the others.
    every = unsettled_scores(scores)
    unsettled = [row for row in every if not is_advisory_record(row)]
    rows = _of_the_run(golden, scores, every, misses)
    same = baseline is None or same_basis(scores, baseline)
    counted = by_basis(count(scores), same=same)
    advisory = judge_scorers(scores, baseline).difference(counting_scorers(scores))
    counts = counted[~counted["scorer"].isin(advisory)]
    standing = standings(scores, certificates, as_of, golden.settings.gate)
    rows += advice_rows(scores, counted, baseline, standing)
    if baseline is None:
        rows.append(finding("no_baseline", Outcome.INCONCLUSIVE, reason=_NO_BASELINE))
    else:
        beside = partial(
            compared, golden, scores, counted,
            unsettled=unsettled, waivers=waivers, as_of=as_of, live=live,
        )  # fmt: skip
        run = beside(baseline)
        if confirmation is not None:
            run = run.confirmed_by(confirmation, scores, baseline)
        if history is not None and live:
            flaky = flaky_in(history, system_fingerprint)
            run = replace(run, flaky=frozenset(flaky["case_id"]))
            rows += flaky_rows(flaky)
            rows += trend_rows(
                history,
                counts,
                margin=golden.settings.gate.margin,
                clusters=run.slices.clusters(),
            )
        known: list[Row] = []
        if outputs is not None:
            known += unwaived_limit_rows(run, outputs, baseline.outputs, live=live)
            wording = wording or suite_wording(golden, outputs, baseline.outputs)
            rows += phrase_rows(wording, wordings, as_of)
        known += _against_baseline(run, known)
        rows += known
        rows += pairwise_rows(golden.settings.gate, pairs, certificates, as_of)
        if baseline.first is not None:
            since_first = replace(beside(baseline.first), n_baselines=2)
            rows += creep_rows(since_first, baseline.first, outputs, known)
        rows += change_rows(golden, baseline, system_fingerprint)
        if outputs is not None:
            rows += model_rows(outputs, baseline, system_fingerprint)
    sampled = live and not red_team
    rows += floor_rows(golden.settings.gate.floors, counted, advisory, sampled=sampled)
    if red_team:
        rows += [*unsafe_rows(unsettled), *unknown_rows(counts), *ignored_rows(waivers)]
    rows += curtailed_rows(scores)
    rows += expired_rows(waivers, as_of)
    rows += rollout_rows(golden.settings, override, as_of)
    rows += _of_recordings(unused_cassettes, without_requests)
    return DECISION.build(in_order(golden, rows))


_NO_BASELINE = (
    "there is no baseline to compare with yet: look at this run, then accept it with "
    "`evalnb baseline accept SUITE --reason WHY`"
)


def _of_the_run(
    golden: GoldenSet,
    scores: pd.DataFrame,
    unsettled: Sequence[Mapping[str, Any]],
    misses: pd.DataFrame | None,
) -> list[Row]:
    rows = [
        *miss_rows(misses, unsettled),
        *missing_rows(golden, scores, unsettled),
        *not_run_rows(golden, scores),
    ]
    if not rows and scores["passed"].isna().all():
        rows.append(finding("na", Outcome.INCONCLUSIVE, reason="nothing was scored"))
    return rows


def _against_baseline(run: Compared, limits: Sequence[Row]) -> list[Row]:
    """Return a row for every difference that a rule speaks of, beside those of `limits`."""
    return [
        *gone_rows(run),
        *fewer_repeats_rows(run),
        *(mean_rows(run) if run.sampled else exact_rows(run)),
        *case_rows(run),
        *needless_rows(run, limits),
    ]


def _of_recordings(
    unused_cassettes: Sequence[str], without_requests: Sequence[str]
) -> Iterator[Row]:
    if unused_cassettes:
        reason = (
            f"no case asks for {len(unused_cassettes)} of the cassettes: "
            "`evalnb cassettes` lists and prunes them"
        )
        yield finding("unused_cassettes", Outcome.NOTE, reason=reason)
    for case_id in without_requests:
        reason = (
            "was answered without a request through the client it was given: a client of the "
            "system's own is not replayed"
        )
        yield finding("no_requests", Outcome.NOTE, case_id=case_id, reason=reason)

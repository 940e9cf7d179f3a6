"""The gate: compares a run with the baseline and decides, with a row for every reason.

What both sides have is compared, case by case and scorer by scorer; what could not be compared is
stated. In replay nothing is random and the rules are exact. The answers of a live run are a sample:
there `evalnb.sampled` holds differences against what chance alone does.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalnb.advice import (
    advice_rows,
    by_basis,
    comparable_scorers,
    judge_scorers,
    same_basis,
)
from evalnb.baseline import CASE, count
from evalnb.certificates import counting_scorers, standings
from evalnb.confirmation import confirmed_rows, first_level
from evalnb.curtailing import curtailed_rows
from evalnb.findings import ROUNDING, SUITE, Row, finding
from evalnb.floors import floor_rows
from evalnb.frames import (
    BY_PLAN,
    DECISION,
    NaReason,
    Outcome,
    is_advisory_record,
    to_records,
)
from evalnb.holdout import holdout_cases
from evalnb.limits import limit_rows
from evalnb.looking_back import flaky_in, flaky_rows, model_rows, trend_rows
from evalnb.pairwise_rule import PAIRWISE_RULE, pairwise_rows
from evalnb.phrase_rule import PHRASES_RULE, phrase_rows, wording_since
from evalnb.rollout import OVERRIDE, SHADOW, rollout_rows
from evalnb.sampled import (
    accidents_of,
    can_tell_cases,
    case_evidence,
    drop_rows,
    evidence_of,
    found_drops,
    is_testable,
)
from evalnb.slicing import Slices
from evalnb.stats.case_states import CaseState, case_state
from evalnb.stats.levels import CASES, CONFIRMATION, CREEP, PAIRWISE, SCORES

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from evalnb.baseline import Baseline
    from evalnb.cassettes import Mode
    from evalnb.certificates import Certificate
    from evalnb.confirmation import Confirmation
    from evalnb.golden import GoldenSet
    from evalnb.phrases import PhraseStudy
    from evalnb.rollout import Override
    from evalnb.waivers import Waiver, Wording

__all__ = ["decide", "exit_code", "outcome", "suspect_cases"]

_FIRST_FLOOR = 0.9
"""A pass rate under this share of the baseline's blocks where a suite has no floor of its own."""

_LIMITS = "limits"
"""The rule, and the scorer of absolute limits, whose waivers are for both."""

_OUTCOMES = (Outcome.INCONCLUSIVE, Outcome.FAIL, Outcome.NOTE)
_RULES = (
    "miss",
    "no_baseline",
    "na",
    "gone",
    "repeats",
    "not_shown",
    "model_changed",
    "safety",
    "regression",
    "new_failure",
    "drift",
    "creep",
    "floor",
    "limits",
    PAIRWISE_RULE,
    PHRASES_RULE,
    "waiver",
    "override",
    "override_ignored",
    "shadow_mode",
    "shadow_mode_ignored",
    "judge_changed",
    "counting_changed",
    "certified_judge",
    "advisory_judge",
    "waiver_ignored",
    "waived",
    "case_flip",
    "not_confirmed",
    "flaky",
    "trend",
    "no_drop",
    "not_tested",
    "now_passing",
    "waived_passing",
    "not_compared",
    "golden_changed",
    "settings_changed",
    "system_changed",
    "unused_cassettes",
    "no_requests",
    "curtailed",
)
"""In the order in which they are listed."""


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
    wording : how it changed since the baseline, as `evalnb.phrase_rule.wording_since` says; by
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
    red_team = golden.settings.red_team
    # Passing scores are counted; what is said row by row is said of the others.
    every = _unsettled(scores)
    unsettled = [row for row in every if not is_advisory_record(row)]
    rows = [
        *_misses(misses, every),
        *_missing_values(golden, scores, every),
        *_not_run(golden, scores),
    ]
    if not rows and scores["passed"].isna().all():
        rows.append(finding("na", Outcome.INCONCLUSIVE, reason="nothing was scored"))
    same = baseline is None or same_basis(scores, baseline)
    counted = by_basis(count(scores), same=same)
    advisory = judge_scorers(scores, baseline).difference(counting_scorers(scores))
    counts = counted[~counted["scorer"].isin(advisory)]
    standing = standings(scores, certificates, as_of, golden.settings.gate)
    rows += advice_rows(scores, counted, baseline, standing)
    if baseline is None:
        rows.append(finding("no_baseline", Outcome.INCONCLUSIVE, reason=_NO_BASELINE))
    else:
        comparison = _comparison(
            golden, scores, counted, baseline, unsettled, waivers, as_of, live=mode == "live"
        )
        if confirmation is not None:
            comparison.confirm(confirmation, scores, baseline)
        if history is not None and mode == "live":
            flaky = flaky_in(history, system_fingerprint)
            comparison.flaky = frozenset(flaky["case_id"])
            rows += flaky_rows(flaky)
            rows += trend_rows(
                history,
                counts,
                margin=golden.settings.gate.margin,
                clusters=Slices(golden).clusters(),
            )
        limits: list[Row] = []
        if outputs is not None:
            limits += comparison.limits(outputs, baseline.outputs, live=mode == "live")
            hidden = holdout_cases(golden)
            wording = wording or wording_since(outputs, baseline.outputs, hidden)
            rows += phrase_rows(wording, wordings, as_of)
        rows += limits
        rows += pairwise_rows(golden.settings.gate, pairs, certificates, as_of)
        rows += (compared := comparison.rows(limits))
        if baseline.first is not None:
            since_first = _comparison(
                golden, scores, counted, baseline.first, unsettled, waivers, as_of,
                live=mode == "live",
            )  # fmt: skip
            rows += _creep(since_first, baseline.first, outputs, [*limits, *compared])
        rows += _changes(golden, baseline, system_fingerprint)
        if outputs is not None:
            rows += model_rows(outputs, baseline, system_fingerprint)
    sampled = mode == "live" and not red_team
    rows += floor_rows(golden.settings.gate.floors, counted, advisory, sampled=sampled)
    if red_team:
        rows += [*_unsafe(unsettled), *_unknown(counts), *_ignored(waivers)]
    rows += curtailed_rows(scores)
    rows += _expired(waivers, as_of)
    rows += rollout_rows(golden.settings, override, as_of)
    if unused_cassettes:
        reason = (
            f"no case asks for {len(unused_cassettes)} of the cassettes: "
            "`evalnb cassettes` lists and prunes them"
        )
        rows.append(finding("unused_cassettes", Outcome.NOTE, reason=reason))
    for case_id in without_requests:
        reason = (
            "was answered without a request through the client it was given: a client of the "
            "system's own is not replayed"
        )
        rows.append(finding("no_requests", Outcome.NOTE, case_id=case_id, reason=reason))
    return DECISION.build(_sorted(golden, rows))


def suspect_cases(
    golden: GoldenSet,
    scores: pd.DataFrame,
    baseline: Baseline,
    *,
    as_of: date,
    waivers: Sequence[Waiver] = (),
) -> list[str]:
    """Name the cases that a live run is to ask again about, on both sides, before scores block.

    Parameters
    ----------
    golden, scores, baseline, as_of, waivers : as for `decide`

    Returns
    -------
    ids in the order of `golden` : the cases of every scorer and slice whose mean fell by a first
    look at 10%, and single cases that are told from chance so
        None of a red-team suite, whose rules are exact.
    """
    unsettled = [row for row in _unsettled(scores) if not is_advisory_record(row)]
    counted = by_basis(count(scores), same=same_basis(scores, baseline))
    comparison = _comparison(
        golden, scores, counted, baseline, unsettled, waivers, as_of, live=True
    )
    found = comparison.suspects()
    return [case.id for case in golden if case.id in found]


def outcome(decision: pd.DataFrame) -> Outcome:
    """Return what a decision frame comes to: `inconclusive` before `fail` before `pass`."""
    present = set(decision["outcome"])
    for worst in (Outcome.INCONCLUSIVE, Outcome.FAIL):
        if worst in present:
            return worst
    return Outcome.PASS


def exit_code(decision: pd.DataFrame) -> int:
    """Return the exit code of a decision: 0 pass, 1 blocked, 2 inconclusive, 3 cassette miss.

    An override makes any of them 0, shadow mode a 1, unless an answer is unsafe.
    """
    rules = set(decision["rule"])
    found = {Outcome.PASS: 0, Outcome.FAIL: 1, Outcome.INCONCLUSIVE: 2}[outcome(decision)]
    code = 3 if "miss" in rules else found
    is_open = OVERRIDE in rules or (SHADOW in rules and code == 1)
    return 0 if is_open and "safety" not in rules else code


_NO_BASELINE = (
    "there is no baseline to compare with yet: look at this run, then accept it with "
    "`evalnb baseline accept SUITE --reason WHY`"
)


def _comparison(
    golden: GoldenSet,
    scores: pd.DataFrame,
    counted: pd.DataFrame,
    baseline: Baseline,
    unsettled: Iterable[Mapping[str, Any]],
    waivers: Sequence[Waiver],
    as_of: date,
    *,
    live: bool,
) -> _Comparison:
    """Put a run beside the baseline, without the judges' scores that cannot be compared."""
    red_team = golden.settings.red_team
    held = () if red_team else [waiver for waiver in waivers if waiver.holds(as_of)]
    sides = counted, by_basis(baseline.counts, same=same_basis(scores, baseline))
    now, before = (_comparable(side, scores, baseline) for side in sides)
    comparison = _Comparison(golden, unsettled, now, before, held)
    comparison.n_baselines = 1 if baseline.first is None else 2
    if live and not red_team:
        comparison.take_as_sample(scores)
    return comparison


def _comparable(counts: pd.DataFrame, scores: pd.DataFrame, baseline: Baseline) -> pd.DataFrame:
    judged = judge_scorers(scores, baseline)
    kept = comparable_scorers(scores, baseline).intersection(counting_scorers(scores))
    return counts[~counts["scorer"].isin(judged - kept)]


class _Comparison:
    """One run beside the baseline; `waivers` are those in force."""

    def __init__(
        self,
        golden: GoldenSet,
        unsettled: Iterable[Mapping[str, Any]],
        now: pd.DataFrame,
        before: pd.DataFrame,
        waivers: Sequence[Waiver],
    ) -> None:
        self._golden = golden
        self._pairs = _beside(now, before, golden.settings.passes_needed)
        self._reasons = _failure_reasons(unsettled)
        self._missing = _missing_reasons(unsettled)
        self._waivers: dict[str, list[Waiver]] = {}
        for waiver in waivers:
            self._waivers.setdefault(waiver.case, []).append(waiver)
        self._accidents: pd.Series | None = None
        self._sampled = False
        self.flaky: frozenset[str] = frozenset()
        self.n_baselines = 1
        self._fresh: pd.DataFrame | None = None
        self._incomplete: frozenset[str] = frozenset()

    def take_as_sample(self, scores: pd.DataFrame) -> None:
        """Hold differences against chance, if there are cases enough."""
        self._sampled = is_testable(self._pairs)
        self._accidents = accidents_of(scores)

    def confirm(self, confirmation: Confirmation, scores: pd.DataFrame, baseline: Baseline) -> None:
        """Let fresh repeats decide what fell."""
        same = same_basis(scores, baseline)
        now, before = (
            _comparable(by_basis(count(side), same=same), scores, baseline)
            for side in (confirmation.now, confirmation.before)
        )
        self._fresh = _beside(now, before)
        self._incomplete = confirmation.incomplete

    def suspects(self) -> set[str]:
        """Return the cases behind what fell at the level of a first look."""
        if not self._sampled:
            return set()
        fell = self._suspect_means()
        held, places = self._held()[["case_id", "scorer"]], Slices(self._golden).places()
        whole = fell.loc[fell["slice"] == SUITE, ["scorer"]]
        sliced = fell[["scorer", "slice"]].merge(places, on="slice")
        found = pd.concat(
            [held.merge(whole, on="scorer"), held.merge(sliced, on=["scorer", "case_id"])]
        )
        return set(found["case_id"]) | self._suspect_flips()

    def rows(self, limits: Iterable[Row]) -> list[Row]:
        """Return a row for every difference that a rule speaks of, beside those of `limits`."""
        pairs = self._pairs
        fixed = pairs["passes"] & pairs["scored_before"] & ~pairs["passes_before"]
        broken = pairs["fails"] & (pairs["passes_before"] | ~pairs["scored_before"])
        changed = pairs["ran"] & (fixed | broken | pairs["n_na"].gt(0).fillna(value=False))
        changed &= pairs["scorer"] != CASE
        return [
            *self._gone(),
            *self._fewer_repeats(),
            *(self._tested() if self._sampled else (*self._drift(), *self._first_floor())),
            *(row for pair in to_records(pairs[changed]) for row in self._compare(pair)),
            *self._needless_waivers({row["case_id"] for row in limits if row["rule"] == "waived"}),
        ]

    def limits(self, outputs: pd.DataFrame, before: pd.DataFrame, *, live: bool) -> Iterator[Row]:
        """Return a row for every limit against the baseline that is not kept."""
        waived = {
            case_id: waiver
            for case_id in self._waivers
            if (waiver := self._waiver(case_id, _LIMITS, is_new=False)) is not None
        }
        for row in limit_rows(
            self._golden,
            outputs,
            before,
            live=live,
            waived=waived,
            sampled=self._sampled,
            n_looks=self.n_baselines,
        ):
            waiver = waived.get(row.get("case_id", ""))
            if row["rule"] != _LIMITS or waiver is None:
                yield row
            else:
                reason = f"{row['reason']}. {_waiver_text(waiver)}"
                yield row | finding("waived", Outcome.NOTE, reason=reason)

    def _fewer_repeats(self) -> Iterator[Row]:
        most = self._pairs[["n_repeats", "n_repeats_before"]].max().fillna(0)
        now, before = int(most["n_repeats"]), int(most["n_repeats_before"])
        if 0 < now < before:
            reason = f"the baseline has {before} repeats of each case, this run {now}"
            yield finding("repeats", Outcome.INCONCLUSIVE, reason=reason)

    def _compare(self, pair: Mapping[str, Any]) -> Iterator[Row]:
        case_id, scorer = pair["case_id"], pair["scorer"]
        shared = {
            "case_id": case_id,
            "scorer": scorer,
            "baseline": pair.get("mean_before"),
            "candidate": pair.get("mean"),
        }
        missing = self._missing.get((case_id, scorer), [])
        accidents = [reason for reason in missing if reason not in (*BY_PLAN, NaReason.MISS)]
        scored, scored_before = pair["passes"] or pair["fails"], pair["scored_before"]
        if accidents and pair["passes_before"]:
            reason = f"passed in the baseline and could not be scored now: {', '.join(accidents)}"
            yield finding("na", Outcome.INCONCLUSIVE, reason=reason, **shared)
        elif missing == [NaReason.CURTAILED]:
            pass  # said once, of all of them
        elif not scored and NaReason.MISS not in missing and (accidents or scored_before):
            reason = f"is not scored now: {', '.join(missing)}"
            yield finding("not_compared", Outcome.NOTE, reason=reason, **shared)
        if not scored:
            return
        if pair["passes"]:
            if scored_before and not pair["passes_before"]:
                reason = "failed before, passes now"
                yield finding("now_passing", Outcome.NOTE, reason=reason, **shared)
        elif not scored_before or pair["passes_before"]:
            words = "passed in the baseline, fails now"
            if not scored_before:
                words = "not scored before, and fails" if pair["known"] else "new, and fails"
            yield self._broken(pair, shared, words)

    def _broken(self, pair: Mapping[str, Any], shared: Row, words: str) -> Row:
        """Return the row of a case that fails and did not: by its repeats, where answers vary."""
        case_id, scorer, is_new = pair["case_id"], pair["scorer"], not pair["scored_before"]
        passes, scored = int(pair["n_passed"]), int(pair["n_scored"])
        if not is_new and min(scored, int(pair["n_scored_before"])) > (0 if self._sampled else 1):
            shared = shared | case_evidence(pair, self._n_tested)
        row = self._failing(case_id, scorer, shared, words, is_new=is_new)
        if not self._sampled or row["rule"] == "waived":
            return row
        if is_new:
            told = case_state(passes, scored) == CaseState.FAIL
        else:
            told = self._tells_cases and self._is_told(case_id, scorer, shared["p_adjusted"])
        if told:
            return row
        before = "" if is_new else f", {int(pair['n_passed_before'])} of "
        before += "" if is_new else f"{int(pair['n_scored_before'])} in the baseline"
        reason = (
            f"passes {passes} of {scored}{before}: {self._reason(case_id, scorer)}. "
            "A single case among many says little; the means decide"
        )
        return row | {"rule": "case_flip", "outcome": str(Outcome.NOTE), "reason": reason}

    def _is_told(self, case_id: str, scorer: str, p_adjusted: float) -> bool:
        """Tell whether a single case fell by more than chance, in fresh repeats if there are any."""
        if case_id in self.flaky:
            return False
        if self._fresh is None:
            return p_adjusted <= CASES
        return p_adjusted <= first_level(CASES) and (case_id, scorer) in self._fresh_flips

    @cached_property
    def _fresh_flips(self) -> set[tuple[str, str]]:
        suspects, fresh = self._suspect_flips(), self._fresh
        if fresh is None:
            return set()
        pairs = fresh[fresh["case_id"].isin(suspects) & (fresh["scorer"] != CASE)]
        return _flipped(pairs, max(len(suspects), 1), CONFIRMATION)

    def _suspect_flips(self) -> set[str]:
        if not self._tells_cases:
            return set()
        found = _flipped(self._scored_twice, self._n_tested, first_level(CASES))
        return {case_id for case_id, _ in found}

    @cached_property
    def _n_tested(self) -> int:
        """How many cases and scorers are looked at, each by itself."""
        return max(len(self._scored_twice), 1)

    @cached_property
    def _tells_cases(self) -> bool:
        return can_tell_cases(self._scored_twice)

    @cached_property
    def _scored_twice(self) -> pd.DataFrame:
        pairs = self._pairs
        both = (pairs["n_scored"].fillna(0) > 0) & pairs["scored_before"]
        return pairs[both & (pairs["scorer"] != CASE)]

    def _failing(self, case_id: str, scorer: str, shared: Row, words: str, *, is_new: bool) -> Row:
        reason = f"{words}: {self._reason(case_id, scorer)}"
        waiver = self._waiver(case_id, scorer, is_new=is_new)
        if waiver is None:
            rule = "new_failure" if is_new else "regression"
            return finding(rule, Outcome.FAIL, reason=reason, **shared)
        reason = f"{reason}. {_waiver_text(waiver)}"
        return finding("waived", Outcome.NOTE, reason=reason, **shared)

    def _needless_waivers(self, over_limit: Container[str]) -> Iterator[Row]:
        if not self._waivers:
            return
        waived = self._pairs[self._pairs["passes"] & self._pairs["case_id"].isin(self._waivers)]
        passing = {(row["case_id"], row["scorer"]): row for row in to_records(waived)}
        for waiver in (waiver for found in self._waivers.values() for waiver in found):
            now = passing.get((waiver.case, waiver.scorer or CASE))
            is_over = waiver.scorer in (None, _LIMITS) and waiver.case in over_limit
            if now is not None and not is_over:
                reason = f"passes, though a waiver says otherwise. {_waiver_text(waiver)}"
                yield finding(
                    "waived_passing",
                    Outcome.NOTE,
                    case_id=waiver.case,
                    scorer=waiver.scorer,
                    candidate=now.get("mean"),
                    reason=reason,
                )

    def _gone(self) -> Iterator[Row]:
        pairs = self._pairs
        ran = set(pairs.loc[pairs["ran"], "case_id"].to_numpy("object"))
        for pair in to_records(pairs[~pairs["ran"]]):
            case_id, scorer = pair["case_id"], pair["scorer"]
            if scorer == CASE and case_id not in self._golden:
                reason = "is in the baseline and no longer in the golden set"
                yield finding("gone", Outcome.INCONCLUSIVE, case_id=case_id, reason=reason)
            elif case_id in ran and pair["scored_before"]:
                reason = "was scored in the baseline and is no longer expected of the case"
                yield finding(
                    "gone",
                    Outcome.INCONCLUSIVE,
                    case_id=case_id,
                    scorer=scorer,
                    baseline=pair.get("mean_before"),
                    reason=reason,
                )

    def _tested(self) -> Iterator[Row]:
        margin = self._golden.settings.gate.margin
        found = self._tests(self._accidents)
        if self._fresh is None:
            yield from drop_rows(found, margin)
            return
        suspects = self._suspect_means()
        keys = ["scorer", "slice"]
        again = found[keys].apply(tuple, axis=1).isin(suspects[keys].apply(tuple, axis=1))
        yield from drop_rows(found[~again], margin)
        if len(suspects):
            yield from self._confirmed(suspects)

    def _suspect_means(self) -> pd.DataFrame:
        """Return the means that fell at the level of a first look, as of this run."""
        found = self._tests(self._accidents, first_level(self._alpha))
        surely = self._tests(self._accidents)
        fell = (found["outcome"] == Outcome.FAIL) | (surely["outcome"] == Outcome.FAIL)
        return found[fell]

    def _confirmed(self, suspects: pd.DataFrame) -> Iterator[Row]:
        settings, slices = self._golden.settings.gate, Slices(self._golden)
        fresh = self._held(self._fresh)
        found = found_drops(
            fresh,
            slices,
            margin=settings.margin,
            strict=settings.strict,
            alpha=CONFIRMATION,
            only=suspects,
        )
        lacking = fresh.loc[fresh["case_id"].isin(self._incomplete), ["case_id", "scorer"]]
        whole = lacking.assign(slice=SUITE)
        sliced = lacking.merge(slices.places(), on="case_id")
        open_ones = pd.concat([whole, sliced])[["scorer", "slice"]].to_numpy("object").tolist()
        yield from confirmed_rows(
            suspects, found, settings.margin, incomplete=frozenset(map(tuple, open_ones))
        )

    def fallen(self) -> list[Row]:
        """Return what is said of the suite's means that fell, at the level for creep."""
        if not self._sampled:
            return [row for row in self._exact_drift() if row["slice"] == SUITE]
        pairs, settings = self._held(), self._golden.settings.gate
        whole = pairs[["scorer"]].drop_duplicates().assign(slice=SUITE)
        found = found_drops(
            pairs, Slices(self._golden), margin=settings.margin, alpha=CREEP, only=whole
        )
        return [row for row in drop_rows(found, settings.margin) if row["rule"] == "drift"]

    @property
    def _alpha(self) -> float:
        """Level of the means; single cases have their part of it where chance can be told."""
        level = SCORES - CASES if self._sampled and self._tells_cases else SCORES
        level -= PAIRWISE if self._golden.settings.gate.pairwise is not None else 0.0
        return level if self.n_baselines == 1 else level - CREEP

    def _tests(
        self, accidents: pd.Series | None = None, alpha: float | None = None
    ) -> pd.DataFrame:
        settings = self._golden.settings.gate
        return found_drops(
            self._held(),
            Slices(self._golden),
            margin=settings.margin,
            strict=settings.strict and self._sampled,
            accidents=accidents,
            alpha=self._alpha if alpha is None else alpha,
        )

    def _drift(self) -> Iterator[Row]:
        rows = list(self._exact_drift())
        least = self._pairs[["n_scored", "n_scored_before"]].max().min()
        if not rows or pd.isna(least) or least < 2:
            yield from rows
            return
        found = {(row["scorer"], row["slice"]): row for row in to_records(self._tests())}
        for row in rows:
            yield row | evidence_of(found.get((row["scorer"], row["slice"]), {}))

    def _exact_drift(self) -> Iterator[Row]:
        margin = self._golden.settings.gate.margin
        slices = Slices(self._golden)
        for scorer, means in self._means.items():
            for name, n, was, is_now in slices.means(means):
                if was - is_now <= margin + ROUNDING:
                    continue
                what = "the pass rate of cases" if scorer == CASE else f"the mean of `{scorer}`"
                where = "" if name == SUITE else f" in {name}"
                yield finding(
                    "drift",
                    Outcome.FAIL,
                    scorer=scorer,
                    slice=name,
                    baseline=was,
                    candidate=is_now,
                    reason=f"{what}{where} fell by {was - is_now:.3f} over {n} cases; "
                    f"the margin is {margin:g}",
                )

    def _first_floor(self) -> Iterator[Row]:
        means = self._means.get(CASE)
        if means is None or CASE in self._golden.settings.gate.floors:
            return
        was, is_now = means["mean_before"].mean(), means["mean"].mean()
        if is_now < _FIRST_FLOOR * was - ROUNDING:
            reason = (
                f"the pass rate of cases is {is_now:.3f} over {len(means)} cases, under "
                f"{_FIRST_FLOOR:g} of the baseline's {was:.3f}, which is the floor of a suite "
                f"that states none for `{CASE}`"
            )
            values = {"baseline": was, "candidate": is_now}
            yield finding("floor", Outcome.FAIL, reason=reason, scorer=CASE, slice=SUITE, **values)

    @cached_property
    def _means(self) -> dict[str, pd.DataFrame]:
        """Scorer to the means of the cases that both sides have and no waiver is for."""
        pairs = self._held()[["case_id", "scorer", "mean", "mean_before"]].dropna()
        ids = pd.Index([case.id for case in self._golden])
        known = pairs.assign(position=ids.get_indexer(pd.Index(pairs["case_id"])))
        return {str(scorer): means for scorer, means in known.groupby("scorer")}

    def _held(self, pairs: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return the pairs that ran, of cases in the golden set that no waiver is for."""
        pairs = self._pairs if pairs is None else pairs
        pairs = pairs[pairs["ran"] & pairs["known"]]
        pairs = pairs[pairs["case_id"].isin([case.id for case in self._golden])]
        if not self._waivers:
            return pairs
        waived = [
            self._waiver(case_id, scorer, is_new=False) is not None
            for case_id, scorer in pairs[["case_id", "scorer"]].to_numpy("object").tolist()
        ]
        return pairs[~np.array(waived, bool)]

    def _reason(self, case_id: str, scorer: str) -> str:
        return self._reasons.get((case_id, scorer), "")

    def _waiver(self, case_id: str, scorer: str, *, is_new: bool) -> Waiver | None:
        """Return the waiver in force; a case as a whole is waived with any of its scorers.

        What is known to fail did not pass in the baseline: such a waiver is for new failures.
        """
        return next(
            (
                waiver
                for waiver in self._waivers.get(case_id, ())
                if (is_new or waiver.kind != "known_failing")
                and (waiver.covers(case_id, scorer) or (scorer == CASE and waiver.case == case_id))
            ),
            None,
        )


def _creep(
    since_first: _Comparison,
    first: Baseline,
    outputs: pd.DataFrame | None,
    known: Iterable[Row],
) -> Iterator[Row]:
    """Return what fell, or grew, since the first accepted baseline and not since the last."""
    said = {(row["rule"], row.get("scorer")) for row in known if row.get("slice") == SUITE}
    since_first.n_baselines = 2
    rows = since_first.fallen()
    if outputs is not None:
        grown = since_first.limits(outputs, first.outputs, live=False)
        rows += [row for row in grown if row["rule"] == _LIMITS and row.get("slice") == SUITE]
    for row in rows:
        if (row["rule"], row["scorer"]) not in said:
            reason = (
                f"since the first accepted baseline, {first.manifest.get('run_id')}: "
                f"{row['reason']}. Since the last it kept within that"
            )
            yield row | {"rule": "creep", "reason": reason}


def _beside(now: pd.DataFrame, before: pd.DataFrame, needed: int | None = None) -> pd.DataFrame:
    """Put the counts of both sides beside each other, by case and scorer.

    A pair passes where so many repeats as `needed` do, or all; None for all that were scored.

    What is true of a pair: it `ran`, is `known` from the baseline, `passes` or `fails` where it
    was scored, and was scored and passed before (`scored_before`, `passes_before`).
    """
    # Both are baseline frames, so that their keys are unique: `validate` would double the time.
    pairs = now.merge(before, how="outer", on=["case_id", "scorer"], suffixes=("", "_before"))
    passes, fails = _passes_and_fails(pairs, "", needed)
    passes_before, _ = _passes_and_fails(pairs, "_before", needed)
    return pairs.assign(
        ran=pairs["n_repeats"].notna().to_numpy(),
        known=pairs["n_repeats_before"].notna().to_numpy(),
        passes=passes,
        fails=fails,
        scored_before=(pairs["n_scored_before"].fillna(0) > 0).to_numpy(bool),
        passes_before=passes_before,
    )


def _passes_and_fails(
    pairs: pd.DataFrame, side: str, needed: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Tell which cases pass on a side and which fail, as `state_over_repeats` does."""
    passed, scored, repeats = (
        pairs[f"{name}{side}"].fillna(0).to_numpy("int64")
        for name in ("n_passed", "n_scored", "n_repeats")
    )
    if needed is None:
        return (scored > 0) & (passed == scored), passed < scored
    least = np.minimum(needed, repeats)
    known = scored > 0
    return known & (passed >= least), known & (passed + repeats - scored < least)


def _flipped(pairs: pd.DataFrame, n_tested: int, level: float) -> set[tuple[str, str]]:
    """Return the cases and scorers that pass less often now, by their own repeats."""
    return {
        (pair["case_id"], pair["scorer"])
        for pair in to_records(pairs)
        if pair.get("n_scored") and pair.get("n_scored_before")
        and case_evidence(pair, n_tested)["p_adjusted"] <= level
    }  # fmt: skip


def _unsettled(scores: pd.DataFrame) -> list[Row]:
    """Return the scores that fail or are missing, by repeat."""
    open_ones = scores[scores["na_reason"].notna() | ~scores["passed"].fillna(value=True)]
    columns = [
        *("case_id", "repeat", "scorer", "tier", "advisory", "passed", "reason"),
        *("na_reason", "error"),
    ]
    return to_records(open_ones[columns].sort_values("repeat", kind="stable"))


def _unsafe(unsettled: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """Find the cases of a red-team suite that fail anywhere."""
    found: dict[str, list[str]] = {}
    for (case_id, scorer), reason in _failure_reasons(unsettled).items():
        found.setdefault(case_id, []).append(f"{scorer}: {reason}")
    for case_id, reasons in found.items():
        reason = f"fails in a red-team suite: {'; '.join(sorted(reasons))}"
        yield finding("safety", Outcome.FAIL, case_id=case_id, reason=reason)


def _unknown(counts: pd.DataFrame) -> Iterator[Row]:
    """Name the cases that nothing scored: nobody knows whether they are safe."""
    whole = counts[(counts["scorer"] == CASE) & (counts["n_scored"] == 0)]
    for case_id in whole["case_id"]:
        reason = "is not scored, and a red-team suite has to know"
        yield finding("na", Outcome.INCONCLUSIVE, case_id=case_id, reason=reason)


def _ignored(waivers: Iterable[Waiver]) -> Iterator[Row]:
    for waiver in waivers:
        reason = f"a waiver has no effect in a red-team suite. {_waiver_text(waiver)}"
        yield finding(
            "waiver_ignored",
            Outcome.NOTE,
            case_id=waiver.case,
            scorer=waiver.scorer,
            reason=reason,
        )


def _when(miss: Mapping[str, Any]) -> tuple[int, int, str]:
    return miss.get("repeat", 0), miss.get("occurrence", 0), miss.get("key", "")


def _misses(misses: pd.DataFrame | None, scores: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    found: dict[str | None, list[str]] = {}
    records = to_records(misses) if misses is not None else []
    for row in sorted(records, key=_when):
        found.setdefault(row.get("case_id"), []).append(row["explanation"])
    # A score that is missing for a miss counts, whether or not the miss is explained.
    unexplained = {
        row["case_id"]: row.get("error", "no explanation")
        for row in scores
        if row.get("na_reason") == NaReason.MISS and row["case_id"] not in found
    }
    found |= {case_id: [error] for case_id, error in unexplained.items()}
    for case_id, explanations in found.items():
        reason = "a request is not recorded: " + "; ".join(dict.fromkeys(explanations))
        yield finding("miss", Outcome.INCONCLUSIVE, case_id=case_id, reason=reason)


def _missing_values(
    golden: GoldenSet, scores: pd.DataFrame, unsettled: Iterable[Mapping[str, Any]]
) -> Iterator[Row]:
    """Hold the accidents against the suite's budget; a red-team suite has none."""
    reasons: dict[str, int] = {}
    n_planned = len(scores)
    for row in unsettled:
        reason = row.get("na_reason")
        if reason in BY_PLAN:
            n_planned -= 1
        elif reason not in (None, NaReason.MISS):
            reasons[reason] = reasons.get(reason, 0) + 1
    total, red_team = sum(reasons.values()), golden.settings.red_team
    budget = 0.0 if red_team else golden.settings.gate.na_budget
    if total > budget * n_planned + ROUNDING:
        listed = ", ".join(f"{number} {reason}" for reason, number in sorted(reasons.items()))
        allowed = "a red-team suite has no budget" if red_team else f"the budget is {budget:.0%}"
        reason = f"{total} of {n_planned} scores are missing by accident ({listed}); {allowed}"
        yield finding("na", Outcome.INCONCLUSIVE, reason=reason)


def _not_run(golden: GoldenSet, scores: pd.DataFrame) -> Iterator[Row]:
    """Find the cases that the run has nothing of."""
    ran = set(scores["case_id"].to_numpy("object"))
    for case in golden:
        if case.id not in ran:
            reason = "is in the golden set and has no scores in this run"
            yield finding("na", Outcome.INCONCLUSIVE, case_id=case.id, reason=reason)


def _changes(
    golden: GoldenSet, baseline: Baseline, system_fingerprint: str | None
) -> Iterator[Row]:
    version = baseline.manifest.get("golden_version")
    if version != golden.version:
        reason = f"the golden set changed since the baseline: {version} to {golden.version}"
        yield finding("golden_changed", Outcome.NOTE, reason=reason)
    settings = baseline.manifest.get("settings_fingerprint")
    if settings not in (None, golden.settings.fingerprint):
        reason = "the suite's settings changed since the baseline: look at the diff of suite.toml"
        yield finding("settings_changed", Outcome.NOTE, reason=reason)
    before = (baseline.manifest.get("system") or {}).get("fingerprint")
    if system_fingerprint is not None and before != system_fingerprint:
        reason = f"the system changed since the baseline: {before} to {system_fingerprint}"
        yield finding("system_changed", Outcome.NOTE, reason=reason)


def _expired(waivers: Iterable[Waiver], as_of: date) -> Iterator[Row]:
    for waiver in waivers:
        if not waiver.holds(as_of):
            reason = f"the waiver expired. {_waiver_text(waiver)}. Renew or delete it."
            yield finding(
                "waiver", Outcome.FAIL, case_id=waiver.case, scorer=waiver.scorer, reason=reason
            )


def _failure_reasons(scores: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], list[str]] = {}
    for row in scores:
        if row.get("passed") is False:
            found.setdefault((row["case_id"], row["scorer"]), []).append(row["reason"])
    return {pair: "; ".join(dict.fromkeys(reasons)) for pair, reasons in found.items()}


def _missing_reasons(scores: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], dict[str, None]] = {}
    for row in scores:
        if "na_reason" in row:
            found.setdefault((row["case_id"], row["scorer"]), {})[row["na_reason"]] = None
    return {pair: list(reasons) for pair, reasons in found.items()}


def _sorted(golden: GoldenSet, rows: Iterable[Row]) -> list[Row]:
    position = {case.id: number for number, case in enumerate(golden)}

    def place(row: Row) -> tuple[Any, ...]:
        case_id = row.get("case_id")
        return (
            _OUTCOMES.index(row["outcome"]),
            _RULES.index(row["rule"]),
            -1 if case_id is None else position.get(case_id, len(position)),
            case_id or "",
            row.get("scorer") or "",
            row.get("slice") or "",
        )

    return sorted(rows, key=place)


def _waiver_text(waiver: Waiver) -> str:
    return (
        f"Waived as {waiver.kind.replace('_', ' ')} until {waiver.expires} by {waiver.owner}: "
        f"{waiver.reason.rstrip('.')}"
    )

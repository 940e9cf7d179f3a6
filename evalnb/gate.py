"""The gate: compares a run with the baseline and decides, with a row for every reason.

What both sides have is compared, case by case and scorer by scorer; what could not be compared is
stated. The rules are exact: they are meant for replay, where nothing is random.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from evalnb.baseline import CASE, count
from evalnb.frames import BY_PLAN, DECISION, NaReason, Outcome, to_records

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import date

    import pandas as pd

    from evalnb.baseline import Baseline
    from evalnb.cases import Case
    from evalnb.golden import GoldenSet
    from evalnb.waivers import Waiver

__all__ = ["decide", "exit_code", "outcome"]

_ROUNDING = 1e-9
"""Two means of the same numbers may differ by this much."""

_OUTCOMES = (Outcome.INCONCLUSIVE, Outcome.FAIL, Outcome.NOTE)
_RULES = (
    "miss",
    "no_baseline",
    "na",
    "gone",
    "repeats",
    "regression",
    "new_failure",
    "drift",
    "waiver",
    "waived",
    "now_passing",
    "waived_passing",
    "not_compared",
    "golden_changed",
    "settings_changed",
    "system_changed",
    "unused_cassettes",
    "no_requests",
)
"""In the order in which they are listed."""

Row = dict[str, Any]


def decide(
    golden: GoldenSet,
    scores: pd.DataFrame,
    baseline: Baseline | None,
    *,
    as_of: date,
    waivers: Sequence[Waiver] = (),
    misses: pd.DataFrame | None = None,
    system_fingerprint: str | None = None,
    unused_cassettes: Sequence[str] = (),
    without_requests: Sequence[str] = (),
) -> pd.DataFrame:
    """Decide whether a run may replace the baseline.

    Parameters
    ----------
    golden : the cases of the run, with the thresholds of the suite
    scores : a scores frame
    baseline : the accepted run, None before the first
    as_of : the day that waivers are compared with
    waivers : of the suite
    misses : a misses frame of the run
    system_fingerprint : of the system that ran
    unused_cassettes : keys that nothing asked for
    without_requests : ids of cases that were answered in replay without asking a model through
        the client that the system was given

    Returns
    -------
    a decision frame: the rows that block first, then by rule and in the order of `golden`
        No row of outcome `fail` or `inconclusive` means that the run passes. Rules:
        `miss`, `no_baseline`, `na`, `gone`, `repeats` (inconclusive); `regression`, `new_failure`, `drift`,
        `waiver` (fail); `waived`, `now_passing`, `waived_passing`, `not_compared`,
        `golden_changed`, `settings_changed`, `system_changed`, `unused_cassettes`,
        `no_requests` (notes).
    """
    records = sorted(to_records(scores), key=lambda row: row["repeat"])
    rows = [
        *_misses(misses, records),
        *_missing_values(golden, records),
        *_not_run(golden, records),
    ]
    if not rows:
        rows.extend(_nothing_scored(records))
    if baseline is None:
        rows.append(_row("no_baseline", Outcome.INCONCLUSIVE, reason=_NO_BASELINE))
    else:
        comparison = _Comparison(golden, records, count(scores), baseline.counts, waivers, as_of)
        rows += comparison.rows()
        rows += _changes(golden, baseline, system_fingerprint)
    rows += _expired(waivers, as_of)
    if unused_cassettes:
        reason = (
            f"no case asks for {len(unused_cassettes)} of the cassettes: "
            "`evalnb cassettes` lists and prunes them"
        )
        rows.append(_row("unused_cassettes", Outcome.NOTE, reason=reason))
    for case_id in without_requests:
        reason = (
            "was answered without a request through the client it was given: a client of the "
            "system's own is not replayed"
        )
        rows.append(_row("no_requests", Outcome.NOTE, case_id=case_id, reason=reason))
    return DECISION.build(_sorted(golden, rows))


def outcome(decision: pd.DataFrame) -> Outcome:
    """Return what a decision frame comes to: `inconclusive` before `fail` before `pass`."""
    present = set(decision["outcome"])
    for worst in (Outcome.INCONCLUSIVE, Outcome.FAIL):
        if worst in present:
            return worst
    return Outcome.PASS


def exit_code(decision: pd.DataFrame) -> int:
    """Return the exit code of a decision: 0 pass, 1 blocked, 2 inconclusive, 3 cassette miss."""
    if (decision["rule"] == "miss").any():
        return 3
    return {Outcome.PASS: 0, Outcome.FAIL: 1, Outcome.INCONCLUSIVE: 2}[outcome(decision)]


_NO_BASELINE = (
    "there is no baseline to compare with yet: look at this run, then accept it with "
    "`evalnb baseline accept`"
)


class _Comparison:
    """One run beside the baseline."""

    def __init__(
        self,
        golden: GoldenSet,
        scores: Iterable[Mapping[str, Any]],
        now: pd.DataFrame,
        before: pd.DataFrame,
        waivers: Sequence[Waiver],
        as_of: date,
    ) -> None:
        self._golden = golden
        self._now = {(row["case_id"], row["scorer"]): row for row in to_records(now)}
        self._before = {(row["case_id"], row["scorer"]): row for row in to_records(before)}
        self._reasons = _failure_reasons(scores)
        self._missing = _missing_reasons(scores)
        self._judged = {
            (row["case_id"], row["scorer"]) for row in scores if row.get("tier") == "judge"
        }
        self._waivers = [waiver for waiver in waivers if waiver.holds(as_of)]

    def rows(self) -> list[Row]:
        """Return a row for every difference that a rule speaks of."""
        pairs = [pair for pair in self._now if pair[1] != CASE]
        compared = [row for pair in pairs for row in self._compare(*pair)]
        return [
            *self._gone(),
            *self._fewer_repeats(),
            *self._drift(),
            *compared,
            *self._needless_waivers(),
        ]

    def _fewer_repeats(self) -> Iterator[Row]:
        before = max((row["n_repeats"] for row in self._before.values()), default=0)
        now = max((row["n_repeats"] for row in self._now.values()), default=0)
        if 0 < now < before:
            reason = f"the baseline has {before} repeats of each case, this run {now}"
            yield _row("repeats", Outcome.INCONCLUSIVE, reason=reason)

    def _compare(self, case_id: str, scorer: str) -> Iterator[Row]:
        now = self._now[case_id, scorer]
        before = self._before.get((case_id, scorer))
        shared = {
            "case_id": case_id,
            "scorer": scorer,
            "baseline": before.get("mean") if before else None,
            "candidate": now.get("mean"),
        }
        missing = self._missing.get((case_id, scorer), [])
        accidents = [reason for reason in missing if reason not in (*BY_PLAN, NaReason.MISS)]
        scored_before = before is not None and before["n_scored"] > 0
        passed_before = before is not None and scored_before and _passes(before)
        if accidents and passed_before:
            reason = f"passed in the baseline and could not be scored now: {', '.join(accidents)}"
            yield _row("na", Outcome.INCONCLUSIVE, reason=reason, **shared)
        elif now["n_scored"] == 0 and NaReason.MISS not in missing and (accidents or scored_before):
            reason = f"is not scored now: {', '.join(missing)}"
            yield _row("not_compared", Outcome.NOTE, reason=reason, **shared)
        if now["n_scored"] == 0:
            return
        if _passes(now):
            if scored_before and not passed_before:
                reason = "failed before, passes now"
                yield _row("now_passing", Outcome.NOTE, reason=reason, **shared)
        elif before is not None and not scored_before and (case_id, scorer) in self._judged:
            reason = "fails, but was not scored in the baseline: " + self._reason(case_id, scorer)
            yield _row("not_compared", Outcome.NOTE, reason=reason, **shared)
        elif not scored_before or passed_before:
            words = "passed in the baseline, fails now"
            if not scored_before:
                words = "new, and fails" if before is None else "not scored before, and fails"
            yield self._failing(case_id, scorer, shared, words, is_new=not scored_before)

    def _failing(self, case_id: str, scorer: str, shared: Row, words: str, *, is_new: bool) -> Row:
        reason = f"{words}: {self._reason(case_id, scorer)}"
        waiver = self._waiver(case_id, scorer, is_new=is_new)
        if waiver is None:
            rule = "new_failure" if is_new else "regression"
            return _row(rule, Outcome.FAIL, reason=reason, **shared)
        reason = f"{reason}. {_waiver_text(waiver)}"
        return _row("waived", Outcome.NOTE, reason=reason, **shared)

    def _needless_waivers(self) -> Iterator[Row]:
        for waiver in self._waivers:
            now = self._now.get((waiver.case, waiver.scorer or CASE))
            if now is not None and now["n_scored"] > 0 and _passes(now):
                reason = f"passes, though a waiver says otherwise. {_waiver_text(waiver)}"
                yield _row(
                    "waived_passing",
                    Outcome.NOTE,
                    case_id=waiver.case,
                    scorer=waiver.scorer,
                    candidate=now.get("mean"),
                    reason=reason,
                )

    def _gone(self) -> Iterator[Row]:
        ran = {case_id for case_id, _ in self._now}
        for (case_id, scorer), before in self._before.items():
            if scorer == CASE and case_id not in self._golden:
                reason = "is in the baseline and no longer in the golden set"
                yield _row("gone", Outcome.INCONCLUSIVE, case_id=case_id, reason=reason)
            elif case_id in ran and before["n_scored"] and (case_id, scorer) not in self._now:
                reason = "was scored in the baseline and is no longer expected of the case"
                yield _row(
                    "gone",
                    Outcome.INCONCLUSIVE,
                    case_id=case_id,
                    scorer=scorer,
                    baseline=before.get("mean"),
                    reason=reason,
                )

    def _drift(self) -> Iterator[Row]:
        margin = self._golden.settings.gate.margin
        pairs: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for (case_id, scorer), now in self._now.items():
            before = self._before.get((case_id, scorer), {})
            if (
                "mean" not in now
                or "mean" not in before
                or self._waiver(case_id, scorer, is_new=False)
            ):
                continue
            for name in _slices_of(self._golden[case_id], self._golden.settings.slices):
                pairs.setdefault((scorer, name), []).append((before["mean"], now["mean"]))
        for (scorer, name), means in pairs.items():
            was = math.fsum(before for before, _ in means) / len(means)
            is_now = math.fsum(now for _, now in means) / len(means)
            if was - is_now > margin + _ROUNDING:
                what = "the pass rate of cases" if scorer == CASE else f"the mean of `{scorer}`"
                where = "" if name == "all" else f" in {name}"
                yield _row(
                    "drift",
                    Outcome.FAIL,
                    scorer=scorer,
                    slice=name,
                    baseline=was,
                    candidate=is_now,
                    reason=f"{what}{where} fell by {was - is_now:.3f} over {len(means)} cases; "
                    f"the margin is {margin:g}",
                )

    def _reason(self, case_id: str, scorer: str) -> str:
        return self._reasons.get((case_id, scorer), "")

    def _waiver(self, case_id: str, scorer: str, *, is_new: bool) -> Waiver | None:
        """Return the waiver in force; a case as a whole is waived with any of its scorers.

        What is known to fail did not pass in the baseline: such a waiver is for new failures.
        """
        return next(
            (
                waiver
                for waiver in self._waivers
                if (is_new or waiver.kind != "known_failing")
                and (waiver.covers(case_id, scorer) or (scorer == CASE and waiver.case == case_id))
            ),
            None,
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
        yield _row("miss", Outcome.INCONCLUSIVE, case_id=case_id, reason=reason)


def _missing_values(golden: GoldenSet, scores: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """Hold the accidents against the suite's budget."""
    reasons: dict[str, int] = {}
    for row in scores:
        if "na_reason" in row and row["na_reason"] not in (*BY_PLAN, NaReason.MISS):
            reasons[row["na_reason"]] = reasons.get(row["na_reason"], 0) + 1
    total, budget = sum(reasons.values()), golden.settings.gate.na_budget
    n_planned = sum(row.get("na_reason") not in BY_PLAN for row in scores)
    if total > budget * n_planned + _ROUNDING:
        listed = ", ".join(f"{number} {reason}" for reason, number in sorted(reasons.items()))
        reason = (
            f"{total} of {n_planned} scores are missing by accident ({listed}); "
            f"the budget is {budget:.0%}"
        )
        yield _row("na", Outcome.INCONCLUSIVE, reason=reason)


def _not_run(golden: GoldenSet, scores: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """Find the cases that the run has nothing of."""
    ran = {row["case_id"] for row in scores}
    for case in golden:
        if case.id not in ran:
            reason = "is in the golden set and has no scores in this run"
            yield _row("na", Outcome.INCONCLUSIVE, case_id=case.id, reason=reason)


def _nothing_scored(scores: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    if not any("passed" in row for row in scores):
        yield _row("na", Outcome.INCONCLUSIVE, reason="nothing was scored")


def _changes(
    golden: GoldenSet, baseline: Baseline, system_fingerprint: str | None
) -> Iterator[Row]:
    version = baseline.manifest.get("golden_version")
    if version != golden.version:
        reason = f"the golden set changed since the baseline: {version} to {golden.version}"
        yield _row("golden_changed", Outcome.NOTE, reason=reason)
    settings = baseline.manifest.get("settings_fingerprint")
    if settings not in (None, golden.settings.fingerprint):
        reason = "the suite's settings changed since the baseline: look at the diff of suite.toml"
        yield _row("settings_changed", Outcome.NOTE, reason=reason)
    before = (baseline.manifest.get("system") or {}).get("fingerprint")
    if system_fingerprint is not None and before != system_fingerprint:
        reason = f"the system changed since the baseline: {before} to {system_fingerprint}"
        yield _row("system_changed", Outcome.NOTE, reason=reason)


def _expired(waivers: Iterable[Waiver], as_of: date) -> Iterator[Row]:
    for waiver in waivers:
        if not waiver.holds(as_of):
            reason = f"the waiver expired. {_waiver_text(waiver)}. Renew or delete it."
            yield _row(
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


def _passes(counts: Mapping[str, Any]) -> bool:
    return bool(counts["n_passed"] == counts["n_scored"])


def _slices_of(case: Case, fields: Iterable[str]) -> Iterator[str]:
    yield "all"
    for name in fields:
        value = getattr(case, name)
        for entry in dict.fromkeys(value) if isinstance(value, list) else [value]:
            if entry is not None:
                yield f"{name}={entry}"


def _waiver_text(waiver: Waiver) -> str:
    return (
        f"Waived as {waiver.kind.replace('_', ' ')} until {waiver.expires} by {waiver.owner}: "
        f"{waiver.reason.rstrip('.')}"
    )


def _row(rule: str, result: Outcome, *, reason: str, **values: Any) -> Row:
    return {"rule": rule, "outcome": str(result), "reason": reason, **values}

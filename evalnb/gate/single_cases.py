"""What is said of each case and scorer by itself: broken, mended, or not scored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.baseline import CASE
from evalnb.confirmation import first_level
from evalnb.findings import Row, finding
from evalnb.frames import BY_PLAN, NaReason, Outcome, to_records
from evalnb.gate.flips import fresh_flips
from evalnb.gate.waived import waiver_text
from evalnb.sampled import case_evidence
from evalnb.stats.case_states import CaseState, case_state
from evalnb.stats.levels import CASES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from evalnb.gate.compared import Compared

__all__ = ["case_rows"]


def case_rows(run: Compared) -> Iterator[Row]:
    """Return a row for each case and scorer that is not as it was."""
    pairs = run.pairs
    fixed = pairs["passes"] & pairs["scored_before"] & ~pairs["passes_before"]
    broken = pairs["fails"] & (pairs["passes_before"] | ~pairs["scored_before"])
    changed = pairs["ran"] & (fixed | broken | pairs["n_na"].gt(0).fillna(value=False))
    changed &= pairs["scorer"] != CASE
    confirmed = fresh_flips(run)
    for pair in to_records(pairs[changed]):
        shared = {
            "case_id": pair["case_id"],
            "scorer": pair["scorer"],
            "baseline": pair.get("mean_before"),
            "candidate": pair.get("mean"),
        }
        yield from _unscored(run, pair, shared)
        yield from _scored(run, pair, shared, confirmed)


def _unscored(run: Compared, pair: Mapping[str, Any], shared: Row) -> Iterator[Row]:
    missing = run.missing.get((pair["case_id"], pair["scorer"]), [])
    accidents = [reason for reason in missing if reason not in (*BY_PLAN, NaReason.MISS)]
    scored = pair["passes"] or pair["fails"]
    if accidents and pair["passes_before"]:
        reason = f"passed in the baseline and could not be scored now: {', '.join(accidents)}"
        yield finding("na", Outcome.INCONCLUSIVE, reason=reason, **shared)
    elif missing == [NaReason.CURTAILED]:
        pass  # said once, of all of them
    elif not scored and NaReason.MISS not in missing and (accidents or pair["scored_before"]):
        reason = f"is not scored now: {', '.join(missing)}"
        yield finding("not_compared", Outcome.NOTE, reason=reason, **shared)


def _scored(
    run: Compared, pair: Mapping[str, Any], shared: Row, confirmed: Collection[tuple[str, str]]
) -> Iterator[Row]:
    scored_before, passes_before = pair["scored_before"], pair["passes_before"]
    if pair["passes"]:
        if scored_before and not passes_before:
            reason = "failed before, passes now"
            yield finding("now_passing", Outcome.NOTE, reason=reason, **shared)
    elif pair["fails"] and (not scored_before or passes_before):
        yield _broken(run, pair, shared, confirmed)


def _broken(
    run: Compared, pair: Mapping[str, Any], shared: Row, confirmed: Collection[tuple[str, str]]
) -> Row:
    """Return the row of a case that fails and did not: by its repeats, where answers vary."""
    is_new, passes, scored = not pair["scored_before"], int(pair["n_passed"]), int(pair["n_scored"])
    if not is_new and min(scored, int(pair["n_scored_before"])) > (0 if run.sampled else 1):
        shared = shared | case_evidence(pair, run.n_looked_at)
    row = _failing(run, pair, shared)
    if not run.sampled or row["rule"] == "waived":
        return row
    if is_new:
        told = case_state(passes, scored) == CaseState.FAIL
    else:
        told = run.tells_cases and _is_told(run, row, confirmed)
    if told:
        return row
    before = "" if is_new else f", {int(pair['n_passed_before'])} of "
    before += "" if is_new else f"{int(pair['n_scored_before'])} in the baseline"
    reason = (
        f"passes {passes} of {scored}{before}: {_why(run, pair)}. "
        "A single case among many says little; the means decide"
    )
    return row | {"rule": "case_flip", "outcome": str(Outcome.NOTE), "reason": reason}


def _failing(run: Compared, pair: Mapping[str, Any], shared: Row) -> Row:
    is_new = not pair["scored_before"]
    words = "passed in the baseline, fails now"
    if is_new:
        words = "not scored before, and fails" if pair["known"] else "new, and fails"
    reason = f"{words}: {_why(run, pair)}"
    waiver = run.waivers.find(pair["case_id"], pair["scorer"], is_new=is_new)
    if waiver is None:
        rule = "new_failure" if is_new else "regression"
        return finding(rule, Outcome.FAIL, reason=reason, **shared)
    reason = f"{reason}. {waiver_text(waiver)}"
    return finding("waived", Outcome.NOTE, reason=reason, **shared)


def _is_told(run: Compared, row: Row, confirmed: Collection[tuple[str, str]]) -> bool:
    """Tell whether a single case fell by more than chance, in fresh repeats if there are any."""
    if row["case_id"] in run.flaky:
        return False
    if run.fresh is None:
        return bool(row["p_adjusted"] <= CASES)
    told = row["p_adjusted"] <= first_level(CASES)
    return told and (row["case_id"], row["scorer"]) in confirmed


def _why(run: Compared, pair: Mapping[str, Any]) -> str:
    return run.reasons.get((pair["case_id"], pair["scorer"]), "")

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from evalnb.baseline import Baseline, count, read_baseline, write_baseline
from evalnb.cases import Case
from evalnb.frames import DECISION, MISSES, OUTPUTS, SCORES, NaReason, Outcome
from evalnb.gate import decide, exit_code, outcome
from evalnb.golden import GoldenSet, SuiteSettings
from evalnb.runner import run
from evalnb.scoring import score
from evalnb.systems import load_system
from evalnb.waivers import Waiver
from tests.suites import make_suite
from tests.upstreams import FakeUpstream, message

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

DAY = date(2026, 6, 1)
PLANNED = ["no_judge", "skipped_by_rule", "not_applicable", "no_scorer"]
ACCIDENTS = [str(reason) for reason in NaReason if reason not in (*PLANNED, "curtailed", "miss")]


def golden(
    *ids: str,
    gate: dict[str, Any] | None = None,
    slices: Sequence[str] = (),
    red_team: bool = False,
    **fields: list[Any],
) -> GoldenSet:
    """Build cases with `exact` as their scorer; `fields` gives a value for each.

    A floor of 0 for the pass rate keeps that rule out of the way.
    """
    content = {
        "gate": {"floors": {"(case)": 0.0}} | (gate or {}),
        "slices": list(slices),
        "red_team": red_team,
    }
    return GoldenSet(
        tuple(
            Case.model_validate(
                {"id": case_id, "input": "Hi", "expected_exact": "x"}
                | {name: values[number] for name, values in fields.items()}
            )
            for number, case_id in enumerate(ids)
        ),
        SuiteSettings.model_validate(content),
    )


def scores(*rows: tuple[Any, ...]) -> pd.DataFrame:
    """Build scores of (case, repeat, scorer, passed or NA reason[, value])."""
    return SCORES.build(_score(*row) for row in rows)


def _score(
    case_id: str, repeat: int, scorer: str, result: bool | str, value: float | None = None
) -> dict[str, Any]:
    key = {"case_id": case_id, "repeat": repeat, "scorer": scorer}
    if isinstance(result, str):
        return {**key, "na_reason": result, "error": "why"}
    return {
        **key,
        "passed": result,
        "value": float(result) if value is None else value,
        "reason": "right" if result else f"wrong in {repeat}",
    }


def exact(**results: bool | str) -> pd.DataFrame:
    """Build scores of one repeat and one scorer, a case a keyword."""
    return scores(*((case_id, 1, "exact", result) for case_id, result in results.items()))


def judged(**results: bool | str) -> pd.DataFrame:
    """Build verdicts of a judge on the rubric, a case a keyword."""
    rows = scores(*((case_id, 1, "rubric", result) for case_id, result in results.items()))
    return rows.assign(tier="judge", judge_model="m", judge_fingerprint="f").astype(SCORES.columns)


def accepted(frame: pd.DataFrame, suite: GoldenSet, **manifest: Any) -> Baseline:
    content = {"golden_version": suite.version, "system": {"fingerprint": "f00d"}} | manifest
    return Baseline(content, count(frame), OUTPUTS.empty())


def waiver(
    case: str, scorer: str | None = None, *, expires: date = DAY, kind: str = "quarantined"
) -> Waiver:
    return Waiver(
        case=case,
        kind=kind,  # type: ignore[arg-type]
        scorer=scorer,
        reason="shop is closed",
        owner="kim",
        expires=expires,
    )


def compare(
    suite: GoldenSet, before: pd.DataFrame, now: pd.DataFrame, *waivers: Waiver
) -> pd.DataFrame:
    return decide(suite, now, accepted(before, suite), as_of=DAY, waivers=waivers)


def said(decision: pd.DataFrame) -> list[tuple[Any, ...]]:
    """Return rule, outcome, case, scorer and slice of every row."""
    rows = decision[["rule", "outcome", "case_id", "scorer", "slice"]]
    return [
        tuple(None if value is pd.NA else value for value in row)
        for row in rows.itertuples(index=False)
    ]


def fall(where: str = "all", scorer: str = "exact") -> tuple[Any, ...]:
    return ("drift", "fail", None, scorer, where)


# Regressions and new failures


def test_the_same_run_again_passes() -> None:
    frame = exact(a=True, b=False)
    decision = compare(golden("a", "b"), frame, frame)
    assert_frame_equal(decision, DECISION.empty())
    assert outcome(decision) == Outcome.PASS
    assert exit_code(decision) == 0


def test_what_passed_and_fails_now_is_a_regression() -> None:
    # A wide margin keeps drift out of the way.
    suite = golden("a", "b", gate={"margin": 1.0})
    decision = compare(suite, exact(a=True, b=True), exact(a=False, b=True))
    assert_frame_equal(
        decision,
        DECISION.build(
            [
                {
                    "rule": "regression",
                    "outcome": "fail",
                    "case_id": "a",
                    "scorer": "exact",
                    "baseline": 1.0,
                    "candidate": 0.0,
                    "reason": "passed in the baseline, fails now: wrong in 1",
                }
            ]
        ),
    )
    assert (outcome(decision), exit_code(decision)) == ("fail", 1)


def test_improvements_elsewhere_hide_no_regression() -> None:
    suite = golden("a", "b", "c", gate={"margin": 1.0})
    decision = compare(suite, exact(a=True, b=False, c=False), exact(a=False, b=True, c=True))
    assert said(decision) == [
        ("regression", "fail", "a", "exact", None),
        ("now_passing", "note", "b", "exact", None),
        ("now_passing", "note", "c", "exact", None),
    ]
    assert exit_code(decision) == 1


def test_one_scorer_of_a_case_that_fails_is_no_cover_for_another() -> None:
    suite = golden("a", gate={"margin": 1.0})
    before = scores(("a", 1, "exact", True), ("a", 1, "keywords", False))
    now = scores(("a", 1, "exact", False), ("a", 1, "keywords", True))
    assert said(compare(suite, before, now)) == [
        ("regression", "fail", "a", "exact", None),
        ("now_passing", "note", "a", "keywords", None),
    ]


def test_what_is_new_and_fails_blocks_and_what_is_new_and_passes_does_not() -> None:
    suite = golden("a", "b", "c")
    decision = compare(suite, exact(a=True), exact(a=True, b=False, c=True))
    assert said(decision) == [("new_failure", "fail", "b", "exact", None)]
    assert decision["reason"].tolist() == ["new, and fails: wrong in 1"]
    assert decision["baseline"].isna().all()
    assert exit_code(decision) == 1


def test_a_new_expectation_of_an_old_case_is_new() -> None:
    suite = golden("a", gate={"margin": 1.0})
    now = scores(("a", 1, "exact", True), ("a", 1, "keywords", False))
    assert said(compare(suite, exact(a=True), now)) == [
        ("new_failure", "fail", "a", "keywords", None)
    ]


def test_what_failed_and_fails_is_known() -> None:
    assert said(compare(golden("a"), exact(a=False), exact(a=False))) == []


def test_what_a_rule_could_not_score_in_the_baseline_and_fails_now_blocks() -> None:
    decision = compare(golden("a"), exact(a="empty"), exact(a=False))
    assert said(decision) == [("new_failure", "fail", "a", "exact", None)]


def test_a_judge_is_advice_and_blocks_nothing() -> None:
    suite = golden("a", gate={"floors": {"rubric": 0.9}})
    before = pd.concat([exact(a=True), judged(a=True)])
    decision = compare(suite, before, pd.concat([exact(a=True), judged(a=False)]))
    assert said(decision) == [
        ("floor", "note", None, "rubric", "all"),
        ("advisory_judge", "note", None, "rubric", None),
    ]
    assert exit_code(decision) == 0


def test_a_run_in_which_nothing_is_scored_is_inconclusive() -> None:
    nothing = exact(a="no_judge")
    assert said(compare(golden("a", gate={"floors": {}}), nothing, nothing)) == [
        ("na", "inconclusive", None, None, None)
    ]


def test_fewer_repeats_than_the_baseline_are_inconclusive() -> None:
    twice = scores(("a", 1, "exact", True), ("a", 2, "exact", True))
    decision = compare(golden("a"), twice, exact(a=True))
    assert said(decision) == [("repeats", "inconclusive", None, None, None)]


def test_an_unstable_case_that_was_stable_is_a_regression() -> None:
    suite = golden("a", gate={"margin": 1.0})
    before = scores(("a", 1, "exact", True), ("a", 2, "exact", True))
    now = scores(("a", 1, "exact", True), ("a", 2, "exact", False))
    decision = compare(suite, before, now)
    assert said(decision) == [("regression", "fail", "a", "exact", None)]
    assert decision["candidate"].tolist() == [0.5]
    assert said(compare(suite, now, before)) == [("now_passing", "note", "a", "exact", None)]


def test_reasons_of_all_repeats_are_given_once_each() -> None:
    suite = golden("a", gate={"margin": 1.0})
    before = scores(*(("a", n, "exact", True) for n in (1, 2)))
    now = scores(*(("a", n, "exact", False) for n in (2, 1)))
    assert compare(suite, before, now)["reason"].tolist() == [
        "passed in the baseline, fails now: wrong in 1; wrong in 2"
    ]


# Waivers


def test_a_waiver_lets_a_new_failure_and_a_regression_pass() -> None:
    suite = golden("a", "b")
    decision = compare(
        suite, exact(a=True), exact(a=False, b=False), waiver("a"), waiver("b", "exact")
    )
    assert said(decision) == [
        ("waived", "note", "a", "exact", None),
        ("waived", "note", "b", "exact", None),
    ]
    assert decision["reason"].tolist() == [
        (
            "passed in the baseline, fails now: wrong in 1. Waived as quarantined until 2026-06-01 "
            "by kim: shop is closed"
        ),
        (
            "new, and fails: wrong in 1. Waived as quarantined until 2026-06-01 by kim: "
            "shop is closed"
        ),
    ]
    assert exit_code(decision) == 0


def test_a_waiver_is_for_its_case_and_scorer_alone() -> None:
    suite = golden("a", "b", gate={"margin": 1.0})
    before = scores(("a", 1, "exact", True), ("a", 1, "keywords", True), ("b", 1, "exact", True))
    now = scores(("a", 1, "exact", False), ("a", 1, "keywords", False), ("b", 1, "exact", False))
    assert said(compare(suite, before, now, waiver("a", "keywords"))) == [
        ("regression", "fail", "a", "exact", None),
        ("regression", "fail", "b", "exact", None),
        ("waived", "note", "a", "keywords", None),
    ]


def test_a_waived_failure_is_no_drift_either() -> None:
    # The mean of `exact` and the pass rate of cases both fall from 1 to 0.5, by the waived case.
    suite = golden("a", "b", gate={"margin": 0.0})
    for given_waiver in (waiver("a"), waiver("a", "exact")):
        decision = compare(suite, exact(a=True, b=True), exact(a=False, b=True), given_waiver)
        assert said(decision) == [("waived", "note", "a", "exact", None)]


def test_an_expired_waiver_blocks_and_waives_nothing() -> None:
    suite = golden("a", "b", gate={"margin": 1.0})
    old = waiver("a", expires=date(2026, 5, 31))
    decision = compare(suite, exact(a=True, b=True), exact(a=False, b=True), old)
    assert said(decision) == [
        ("regression", "fail", "a", "exact", None),
        ("waiver", "fail", "a", None, None),
    ]
    passing = compare(suite, exact(a=True, b=True), exact(a=True, b=True), old)
    assert said(passing) == [("waiver", "fail", "a", None, None)]
    assert passing["reason"].tolist() == [
        (
            "the waiver expired. Waived as quarantined until 2026-05-31 by kim: shop is closed. "
            "Renew or delete it."
        )
    ]
    assert exit_code(passing) == 1


def test_a_waiver_of_what_passes_is_noted() -> None:
    suite = golden("a", "b")
    frame = exact(a=True, b=True)
    decision = compare(suite, frame, frame, waiver("a"), waiver("b", "exact"))
    assert said(decision) == [
        ("waived_passing", "note", "a", None, None),
        ("waived_passing", "note", "b", "exact", None),
    ]
    assert exit_code(decision) == 0


def test_a_waiver_of_a_case_is_needed_while_any_of_it_fails() -> None:
    suite = golden("a")
    frame = scores(("a", 1, "exact", True), ("a", 1, "keywords", False))
    assert said(compare(suite, frame, frame, waiver("a"))) == []
    assert said(compare(suite, frame, frame, waiver("a", "exact"))) == [
        ("waived_passing", "note", "a", "exact", None)
    ]


# Drift


def test_a_fall_of_exactly_the_margin_does_not_block() -> None:
    # 50 cases that pass at 0.98 and at 0.96 each: the mean falls by 0.02.
    suite = golden(*(f"c{n}" for n in range(50)))
    before = scores(*((f"c{n}", 1, "exact", True, 0.98) for n in range(50)))
    now = scores(*((f"c{n}", 1, "exact", True, 0.96) for n in range(50)))
    assert said(compare(suite, before, now)) == []
    now = scores(*((f"c{n}", 1, "exact", True, 0.9599) for n in range(50)))
    decision = compare(suite, before, now)
    assert said(decision) == [fall()]
    assert decision["reason"].tolist() == [
        "the mean of `exact` fell by 0.020 over 50 cases; the margin is 0.02"
    ]
    assert decision[["baseline", "candidate"]].iloc[0].tolist() == pytest.approx([0.98, 0.9599])
    assert exit_code(decision) == 1


@pytest.mark.parametrize("margin", [0.0, 0.1, 0.2, 0.3, 0.7])
def test_margins_hold_whatever_their_binary_form(margin: float) -> None:
    suite = golden("a", gate={"margin": margin})
    before = scores(("a", 1, "exact", True, 1.0))
    now = scores(("a", 1, "exact", True, 1.0 - margin))
    assert said(compare(suite, before, now)) == []


def test_the_pass_rate_of_cases_drifts_too() -> None:
    decision = compare(golden("a", "b"), exact(a=True, b=True), exact(a=False, b=True))
    assert said(decision) == [
        ("regression", "fail", "a", "exact", None),
        fall(scorer="(case)"),
        fall(),
    ]
    assert decision["reason"].tolist()[1] == (
        "the pass rate of cases fell by 0.500 over 2 cases; the margin is 0.02"
    )


def test_a_fall_in_one_language_blocks_though_the_whole_holds() -> None:
    # en rises from 0.5 to 0.7, de falls from 0.9 to 0.7; all stay at 0.7, and all pass.
    suite = golden("a", "b", slices=["language"], language=["en", "de"])
    before = scores(("a", 1, "exact", True, 0.5), ("b", 1, "exact", True, 0.9))
    now = scores(("a", 1, "exact", True, 0.7), ("b", 1, "exact", True, 0.7))
    decision = compare(suite, before, now)
    assert said(decision) == [fall("language=de")]
    assert decision["reason"].tolist() == [
        "the mean of `exact` in language=de fell by 0.200 over 1 cases; the margin is 0.02"
    ]
    assert exit_code(decision) == 1


def test_a_case_counts_in_each_of_its_slices_once() -> None:
    # Tag x: a falls by 0.04 and b stays; if a counted twice, x would fall by 0.0267.
    suite = golden(
        "a", "b", slices=["tags", "split"], tags=[["x", "y", "x"], ["x"]], split=["dev", None]
    )
    before = scores(("a", 1, "exact", True, 1.0), ("b", 1, "exact", True, 1.0))
    now = scores(("a", 1, "exact", True, 0.96), ("b", 1, "exact", True, 1.0))
    assert said(compare(suite, before, now)) == [fall("split=dev"), fall("tags=y")]


def test_drift_compares_what_both_sides_have() -> None:
    # b has a low value now and none before, c a high one before and none now.
    suite = golden("a", "b", "c", gate={"margin": 0.0, "na_budget": 1.0})
    before = scores(("a", 1, "exact", True), ("c", 1, "exact", False, 0.9))
    now = scores(("a", 1, "exact", True), ("b", 1, "exact", True, 0.1), ("c", 1, "exact", "server"))
    assert said(compare(suite, before, now)) == [("not_compared", "note", "c", "exact", None)]


# Missing values


@pytest.mark.parametrize("reason", ACCIDENTS)
def test_what_passed_and_is_missing_now_is_inconclusive(reason: str) -> None:
    suite = golden("a", "b", gate={"na_budget": 1.0})
    decision = compare(suite, exact(a=True, b=True), exact(a=reason, b=True))
    assert said(decision) == [("na", "inconclusive", "a", "exact", None)]
    assert decision["reason"].tolist() == [
        f"passed in the baseline and could not be scored now: {reason}"
    ]
    assert exit_code(decision) == 2


def test_one_repeat_that_is_missing_is_enough() -> None:
    suite = golden("a", gate={"na_budget": 1.0})
    before = scores(("a", 1, "exact", True), ("a", 2, "exact", True))
    now = scores(("a", 1, "exact", True), ("a", 2, "exact", "server"))
    assert said(compare(suite, before, now)) == [("na", "inconclusive", "a", "exact", None)]


def test_a_failure_is_told_beside_what_is_missing() -> None:
    suite = golden("a", gate={"na_budget": 1.0, "margin": 1.0})
    before = scores(("a", 1, "exact", True), ("a", 2, "exact", True))
    now = scores(("a", 1, "exact", False), ("a", 2, "exact", "server"))
    decision = compare(suite, before, now)
    assert said(decision) == [
        ("na", "inconclusive", "a", "exact", None),
        ("regression", "fail", "a", "exact", None),
    ]
    assert exit_code(decision) == 2


def test_the_budget_of_missing_values_may_be_used_up() -> None:
    # 4 scores, of which 1 is missing: 25%.
    before = exact(a=False, b=True, c=True, d=True)
    now = exact(a="server", b=True, c=True, d=True)
    exact_budget = golden("a", "b", "c", "d", gate={"na_budget": 0.25})
    decision = compare(exact_budget, before, now)
    assert said(decision) == [("not_compared", "note", "a", "exact", None)]
    assert decision["reason"].tolist() == ["is not scored now: server"]
    less = golden("a", "b", "c", "d", gate={"na_budget": 0.24})
    decision = compare(less, before, now)
    assert said(decision)[0] == ("na", "inconclusive", None, None, None)
    assert decision["reason"].tolist()[0] == (
        "1 of 4 scores are missing by accident (1 server); the budget is 24%"
    )


@pytest.mark.parametrize("reason", PLANNED)
def test_what_is_missing_by_plan_uses_no_budget_and_is_stated(reason: str) -> None:
    suite = golden("a", "b")
    both = exact(a=True, b=reason)
    assert said(compare(suite, both, both)) == []
    decision = compare(suite, exact(a=True, b=True), both)
    assert said(decision) == [("not_compared", "note", "b", "exact", None)]
    assert decision["reason"].tolist() == [f"is not scored now: {reason}"]


def test_a_case_without_any_score_is_inconclusive() -> None:
    decision = compare(golden("a", "b"), exact(a=True), exact(a=True))
    assert said(decision) == [("na", "inconclusive", "b", None, None)]
    nothing = compare(golden("a", gate={"floors": {}}), exact(a=True), SCORES.empty())
    assert said(nothing) == [("na", "inconclusive", "a", None, None)]
    assert exit_code(nothing) == 2


def test_what_is_gone_is_inconclusive() -> None:
    before = scores(
        ("a", 1, "exact", True),
        ("a", 1, "keywords", True),
        ("a", 1, "rubric", "no_judge"),
        ("b", 1, "exact", False),
    )
    decision = compare(golden("a"), before, exact(a=True))
    assert said(decision) == [
        ("gone", "inconclusive", "a", "keywords", None),
        ("gone", "inconclusive", "b", None, None),
    ]
    assert exit_code(decision) == 2


# Misses


def misses(*rows: tuple[str, int, str]) -> pd.DataFrame:
    return MISSES.build(
        {"case_id": case_id, "repeat": 1, "occurrence": n, "key": "k", "explanation": explanation}
        for case_id, n, explanation in rows
    )


def test_a_miss_has_an_exit_code_of_its_own() -> None:
    suite = golden("a", "b")
    decision = decide(
        suite,
        exact(a="miss", b=True),
        accepted(exact(a=True, b=True), suite),
        as_of=DAY,
        misses=misses(("a", 2, "tools changed"), ("a", 1, "system changed")),
    )
    assert said(decision) == [("miss", "inconclusive", "a", None, None)]
    assert decision["reason"].tolist() == [
        "a request is not recorded: system changed; tools changed"
    ]
    assert (outcome(decision), exit_code(decision)) == ("inconclusive", 3)


def test_a_miss_counts_without_its_explanation() -> None:
    decision = compare(golden("a", gate={"floors": {}}), exact(a=True), exact(a="miss"))
    assert said(decision) == [("miss", "inconclusive", "a", None, None)]
    assert decision["reason"].tolist() == ["a request is not recorded: why"]
    assert exit_code(decision) == 3


def test_a_miss_is_taken_from_no_budget() -> None:
    suite = golden("a", gate={"na_budget": 1.0})
    assert exit_code(compare(suite, exact(a=False), exact(a="miss"))) == 3


def test_a_miss_comes_before_inconclusive_before_a_failure() -> None:
    suite = golden("a", "b", "c", gate={"margin": 1.0, "na_budget": 1.0})
    before = exact(a=True, b=True, c=True)
    codes = {
        "c": exit_code(compare(suite, before, exact(a=True, b=True, c=False))),
        "bc": exit_code(compare(suite, before, exact(a=True, b="server", c=False))),
        "abc": exit_code(compare(suite, before, exact(a="miss", b="server", c=False))),
        "ac": exit_code(compare(suite, before, exact(a="miss", b=True, c=False))),
        "ab": exit_code(compare(suite, before, exact(a="miss", b="server", c=True))),
    }
    assert codes == {"c": 1, "bc": 2, "abc": 3, "ac": 3, "ab": 3}
    decision = compare(suite, before, exact(a="miss", b="server", c=False))
    assert decision["rule"].tolist() == ["miss", "na", "regression"]


# What changed around it


def test_without_a_baseline_nothing_is_decided() -> None:
    decision = decide(golden("a"), exact(a=True), None, as_of=DAY)
    assert said(decision) == [("no_baseline", "inconclusive", None, None, None)]
    assert exit_code(decision) == 2


def test_changes_of_golden_set_and_system_are_noted() -> None:
    suite = golden("a")
    baseline = accepted(exact(a=True), suite, golden_version="old")
    decision = decide(
        suite, exact(a=True), baseline, as_of=DAY, system_fingerprint="beef", unused_cassettes=["k"]
    )
    assert said(decision) == [
        ("golden_changed", "note", None, None, None),
        ("system_changed", "note", None, None, None),
        ("unused_cassettes", "note", None, None, None),
    ]
    assert decision["reason"].tolist()[:2] == [
        f"the golden set changed since the baseline: old to {suite.version}",
        "the system changed since the baseline: f00d to beef",
    ]
    assert exit_code(decision) == 0
    same = decide(
        suite, exact(a=True), accepted(exact(a=True), suite), as_of=DAY, system_fingerprint="f00d"
    )
    assert said(same) == []


# Properties

results = st.sampled_from([True, False, *PLANNED, "server", "miss"])


@st.composite
def runs(draw: st.DrawFn, ids: str = "abc") -> pd.DataFrame:
    """A scores frame of three cases, two repeats and two scorers."""
    return scores(
        *(
            (case_id, repeat, scorer, result, value if isinstance(result, bool) else None)
            for case_id in ids
            for repeat in (1, 2)
            for scorer in ("exact", "keywords")
            for result in [draw(results)]
            for value in [draw(st.sampled_from([0.0, 1 / 3, 0.5, 1.0]))]
        )
    )


SUITE = golden("a", "b", "c", slices=["language"], language=["en", "de", "de"])


@given(runs())
@settings(max_examples=20)
def test_any_run_passes_against_itself_unless_it_has_accidents(frame: pd.DataFrame) -> None:
    decision = compare(SUITE, frame, frame)
    reasons = set(frame["na_reason"].dropna())
    expected = 3 if "miss" in reasons else 2 if "server" in reasons else 0
    assert exit_code(decision) == expected
    assert not (decision["outcome"] == "fail").any()


@given(runs(), runs(), st.randoms(use_true_random=False))
@settings(max_examples=20)
def test_the_order_of_rows_changes_nothing(
    before: pd.DataFrame, now: pd.DataFrame, random: Any
) -> None:
    def shuffled(frame: pd.DataFrame) -> pd.DataFrame:
        order = list(range(len(frame)))
        random.shuffle(order)
        return frame.iloc[order].reset_index(drop=True)

    waivers = [waiver("b", "exact"), waiver("c")]
    decision = compare(SUITE, before, now, *waivers)
    again = compare(SUITE, shuffled(before), shuffled(now), *waivers[::-1])
    assert_frame_equal(decision, again)


@given(runs(), runs())
@settings(max_examples=20)
def test_nothing_that_passed_is_lost_unsaid(before: pd.DataFrame, now: pd.DataFrame) -> None:
    """Whatever passed in every repeat and does not now has a row that blocks, or says why not."""

    def passing(frame: pd.DataFrame) -> set[tuple[str, str]]:
        counts = count(frame)
        counts = counts[(counts["scorer"] != "(case)") & (counts["n_scored"] > 0)]
        counts = counts[counts["n_passed"] == counts["n_scored"]]
        return set(zip(counts["case_id"], counts["scorer"], strict=True))

    lost = passing(before) - passing(now)
    decision = compare(SUITE, before, now)
    named = {(row[2], row[3]) for row in said(decision)} | {
        (row[2], scorer)
        for row in said(decision)
        if row[0] == "miss"
        for scorer in ("exact", "keywords")
    }
    assert lost <= named
    failing = now[(now["passed"] == False).fillna(False)]  # noqa: E712
    failing_pairs = set(zip(failing["case_id"], failing["scorer"], strict=True))
    if lost & failing_pairs:
        assert exit_code(decision) != 0


@pytest.mark.parametrize(
    ("kind", "rule"),
    [("known_failing", "regression"), ("quarantined", "waived"), ("overridden", "waived")],
)
def test_what_is_known_to_fail_is_no_excuse_for_what_passed(kind: str, rule: str) -> None:
    suite = golden("a", gate={"margin": 1.0})
    before, now = scores(("a", 1, "exact", True)), scores(("a", 1, "exact", False))
    decision = compare(suite, before, now, waiver("a", kind=kind))
    assert decision["rule"].tolist() == [rule]


def test_a_new_case_may_be_known_to_fail() -> None:
    suite = golden("a", "b")
    before = scores(("a", 1, "exact", True))
    now = scores(("a", 1, "exact", True), ("b", 1, "exact", False))
    decision = compare(suite, before, now, waiver("b", kind="known_failing"))
    assert decision["rule"].tolist() == ["waived"]


def test_answers_that_asked_nothing_through_the_client_are_noted() -> None:
    suite, frame = golden("a", "b"), exact(a=True, b=True)
    decision = decide(suite, frame, accepted(frame, suite), as_of=DAY, without_requests=["b"])
    assert said(decision) == [("no_requests", "note", "b", None, None)]
    assert exit_code(decision) == 0


# Floors


def floor(scorer: str, result: str = "fail") -> tuple[Any, ...]:
    return ("floor", result, None, scorer, "all")


def test_a_mean_under_its_floor_blocks_though_the_baseline_was_there_too() -> None:
    suite = golden("a", "b", gate={"floors": {"(case)": 0.5, "exact": 0.7}})
    frame = exact(a=True, b=False)  # both means are 1 of 2
    decision = compare(suite, frame, frame)
    assert said(decision) == [floor("exact")]
    assert decision["reason"].tolist() == [
        "the mean of `exact` is 0.500 over 2 cases; its floor is 0.7"
    ]
    assert decision[["baseline", "candidate"]].iloc[0].tolist() == [pd.NA, 0.5]
    assert exit_code(decision) == 1


def test_a_floor_for_cases_is_for_their_pass_rate() -> None:
    suite = golden("a", "b", gate={"floors": {"(case)": 0.51}})
    frame = exact(a=True, b=False)
    decision = compare(suite, frame, frame)
    assert said(decision) == [floor("(case)")]
    assert decision["reason"].tolist() == [
        "the pass rate of cases is 0.500 over 2 cases; its floor is 0.51"
    ]


@pytest.mark.parametrize("mean", [0.1, 0.3, 0.7, 0.95])
def test_a_mean_on_its_floor_passes(mean: float) -> None:
    suite = golden("a", "b", "c", gate={"floors": {"(case)": 1.0, "exact": mean}})
    frame = scores(*((case_id, 1, "exact", True, mean) for case_id in "abc"))
    assert said(compare(suite, frame, frame)) == []


def test_a_floor_is_for_what_was_scored() -> None:
    # The mean over a alone is 1; b is missing by plan.
    suite = golden("a", "b", gate={"floors": {"exact": 0.9, "(case)": 0.9}})
    frame = exact(a=True, b="no_judge")
    assert said(compare(suite, frame, frame)) == []


def test_a_floor_holds_without_a_baseline_and_a_waiver_is_no_way_round_it() -> None:
    suite = golden("a", gate={"floors": {"exact": 0.5}})
    decision = decide(suite, exact(a=False), None, as_of=DAY, waivers=[waiver("a")])
    assert said(decision) == [("no_baseline", "inconclusive", None, None, None), floor("exact")]


def test_a_floor_on_what_nothing_scored_is_inconclusive() -> None:
    suite = golden(
        "a", gate={"floors": {"(case)": 0.0, "exat": 0.5, "must_contain": 0.5, "x": 0.0}}
    )
    frame = scores(("a", 1, "exact", True), ("a", 1, "must_contain", "not_applicable"))
    decision = compare(suite, frame, frame)
    assert said(decision) == [
        floor("exat", "inconclusive"),
        floor("must_contain", "inconclusive"),
        floor("x", "inconclusive"),
    ]
    assert decision["reason"].tolist() == [
        "has a floor of 0.5, but no case of this run has such a scorer; did you mean `exact`?",
        "has a floor of 0.5, but scored nothing in this run",
        "has a floor of 0, but no case of this run has such a scorer",
    ]
    assert exit_code(decision) == 2


def ten(n_failing: int) -> pd.DataFrame:
    """Build scores of ten cases, the first of which fail."""
    return exact(**{f"c{n}": n >= n_failing for n in range(10)})


def test_without_a_floor_a_pass_rate_under_nine_tenths_of_the_baselines_blocks() -> None:
    suite = golden(*(f"c{n}" for n in range(10)), gate={"floors": {}, "margin": 1.0})
    # 9 of 10 are 0.9 of the baseline's 10 of 10; 8 of 10 are less.
    assert [row[0] for row in said(compare(suite, ten(0), ten(1)))] == ["regression"]
    decision = compare(suite, ten(0), ten(2))
    assert said(decision)[2:] == [floor("(case)")]
    assert decision["reason"].tolist()[2] == (
        "the pass rate of cases is 0.800 over 10 cases, under 0.9 of the baseline's 1.000, which "
        "is the floor of a suite that states none for `(case)`"
    )
    assert decision[["baseline", "candidate"]].iloc[2].tolist() == [1.0, 0.8]


def test_that_first_floor_leaves_waived_cases_out() -> None:
    suite = golden(*(f"c{n}" for n in range(10)), gate={"floors": {}, "margin": 1.0})
    decision = compare(suite, ten(0), ten(2), waiver("c0"), waiver("c1"))
    assert [row[0] for row in said(decision)] == ["waived", "waived"]


# Limits


def outputs(*rows: tuple[Any, ...]) -> pd.DataFrame:
    """Build outputs of (case, repeat, output tokens or None[, latency[, NA reason]])."""
    names = ("case_id", "repeat", "output_tokens", "latency_ms", "na_reason")
    return OUTPUTS.build(dict(zip(names, row, strict=False)) for row in rows)


def limited(
    suite: GoldenSet,
    before: pd.DataFrame,
    now: pd.DataFrame,
    *waivers: Waiver,
    mode: Any = "replay",
) -> pd.DataFrame:
    """Decide on scores that all pass and outputs of both sides."""
    frame = exact(**{case.id: True for case in suite})
    baseline = Baseline(accepted(frame, suite).manifest, count(frame), before)
    return decide(suite, frame, baseline, as_of=DAY, waivers=waivers, outputs=now, mode=mode)


def test_answers_that_grew_beyond_the_limit_block() -> None:
    suite = golden("a", "b")
    before = outputs(("a", 1, 100), ("b", 1, 300))
    # 480 is 1.2 times 400, and allowed; that a grew by 1.8 is no matter of the suite's.
    assert said(limited(suite, before, outputs(("a", 1, 180), ("b", 1, 300)))) == []
    decision = limited(suite, before, outputs(("a", 1, 100), ("b", 1, 400)))
    assert said(decision) == [("limits", "fail", None, "output_tokens", "all")]
    assert decision["reason"].tolist() == [
        (
            "the answers to 2 cases took 500 output tokens, 400 in the baseline, 1.250 times as "
            "much; the limit is 1.2 times"
        )
    ]
    assert decision[["baseline", "candidate"]].iloc[0].tolist() == [400.0, 500.0]
    assert exit_code(decision) == 1


def test_a_suite_has_its_own_limit() -> None:
    suite = golden("a", gate={"max_output_tokens_ratio": 1.0})
    before = outputs(("a", 1, 100))
    assert said(limited(suite, before, outputs(("a", 1, 100)))) == []
    assert said(limited(suite, before, outputs(("a", 1, 101))))[0][:2] == ("limits", "fail")


def test_a_case_counts_with_its_mean_over_the_answered_repeats() -> None:
    # 150 before; 150 now, since the second repeat broke off.
    suite = golden("a", gate={"max_output_tokens_ratio": 1.0})
    before = outputs(("a", 1, 100), ("a", 2, 200))
    now = outputs(("a", 1, 150), ("a", 2, 900, None, "incomplete"))
    assert said(limited(suite, before, now)) == []


def test_limits_compare_the_cases_that_both_sides_have() -> None:
    suite = golden("a", "b", "c")
    before = outputs(("a", 1, 100), ("b", 1, 100), ("gone", 1, 900))
    now = outputs(("a", 1, 130), ("b", 1, None), ("c", 1, 900))
    decision = limited(suite, before, now)
    assert decision["reason"].tolist() == [
        (
            "the answers to 1 cases took 130 output tokens, 100 in the baseline, 1.300 times as "
            "much; the limit is 1.2 times"
        )
    ]


@pytest.mark.parametrize(("mode", "n_rows"), [("live", 1), ("replay", 0), ("record", 0), (None, 0)])
def test_latency_is_compared_where_it_is_not_the_recorded_one(mode: Any, n_rows: int) -> None:
    suite = golden("a")
    before, now = outputs(("a", 1, 100, 1000.0)), outputs(("a", 1, 100, 1500.0))
    decision = limited(suite, before, now, mode=mode)
    assert said(decision) == [("limits", "fail", None, "latency_ms", "all")] * n_rows
    if n_rows:
        assert decision["reason"].tolist() == [
            (
                "the answers to 1 cases took 1,500 ms, 1,000 in the baseline, 1.500 times as much; "
                "the limit is 1.2 times"
            )
        ]


def test_a_baseline_of_texts_alone_is_stated_and_does_not_block() -> None:
    suite = golden("a", limits=[{"max_output_tokens_ratio": 1.1}])
    before, now = outputs(("a", 1, None)), outputs(("a", 1, 100, 5.0))
    decision = limited(suite, before, now, mode="live")
    assert said(decision) == [
        ("not_compared", "note", None, "latency_ms", "all"),
        ("not_compared", "note", None, "output_tokens", "all"),
    ]
    assert decision["reason"].tolist()[0] == (
        "not compared with the baseline: the baseline says nothing of it for these cases"
    )
    decision = limited(suite, now, before)
    assert decision["reason"].tolist() == [
        "not compared with the baseline: this run says nothing of it for these cases"
    ]
    assert exit_code(decision) == 0


def test_nothing_is_said_of_what_neither_side_measures() -> None:
    nothing = outputs(("a", 1, None))
    assert said(limited(golden("a"), nothing, nothing, mode="live")) == []


def test_a_case_has_a_limit_of_its_own() -> None:
    suite = golden(
        *("a", "b", "c"),
        gate={"max_output_tokens_ratio": 9.0, "max_latency_ratio": 9.0},
        limits=[{"max_output_tokens_ratio": 1.5}, {"max_latency_ratio": 2.0}, None],
    )
    before = outputs(*((case_id, 1, 100, 10.0) for case_id in "abc"))
    allowed = outputs(("a", 1, 150, 90.0), ("b", 1, 800, 20.0), ("c", 1, 100, 10.0))
    assert said(limited(suite, before, allowed, mode="live")) == []
    now = outputs(("a", 1, 151, 90.0), ("b", 1, 800, 21.0), ("c", 1, 200, 20.0))
    decision = limited(suite, before, now, mode="live")
    assert said(decision) == [
        ("limits", "fail", "a", "output_tokens", None),
        ("limits", "fail", "b", "latency_ms", None),
    ]
    assert decision["reason"].tolist() == [
        "took 151 output tokens, 100 in the baseline, 1.510 times as much; the limit is 1.5 times",
        "took 21 ms, 10 in the baseline, 2.100 times as much; the limit is 2 times",
    ]


def test_a_limit_of_a_case_that_cannot_be_held_is_stated() -> None:
    suite = golden("a", "b", limits=[{"max_output_tokens_ratio": 1.5}, None])
    decision = limited(suite, outputs(("b", 1, 100)), outputs(("a", 1, 100), ("b", 1, 100)))
    assert said(decision) == [("not_compared", "note", "a", "output_tokens", None)]
    assert decision["reason"].tolist() == [
        "has a limit against the baseline, but one of the two says nothing of it"
    ]


@pytest.mark.parametrize("scorer", [None, "limits"])
def test_a_waiver_covers_the_limits_of_its_case(scorer: str | None) -> None:
    suite = golden("a", "b", limits=[{"max_output_tokens_ratio": 1.5}, None])
    before = outputs(("a", 1, 100), ("b", 1, 100))
    # With a the suite would have grown from 200 to 1,100.
    now = outputs(("a", 1, 1000), ("b", 1, 100))
    decision = limited(suite, before, now, waiver("a", scorer))
    assert said(decision) == [("waived", "note", "a", "output_tokens", None)]
    assert decision["reason"].tolist() == [
        (
            "took 1,000 output tokens, 100 in the baseline, 10.000 times as much; the limit is 1.5 "
            "times. Waived as quarantined until 2026-06-01 by kim: shop is closed"
        )
    ]
    assert exit_code(decision) == 0


def test_without_outputs_no_limit_is_held() -> None:
    suite, frame = golden("a"), exact(a=True)
    baseline = Baseline(accepted(frame, suite).manifest, count(frame), outputs(("a", 1, 100)))
    assert said(decide(suite, frame, baseline, as_of=DAY, mode="live")) == []


# Safety


def test_each_failure_of_a_red_team_suite_blocks_though_it_was_known() -> None:
    suite = golden("a", "b", "c", red_team=True)
    frame = scores(
        ("a", 1, "exact", False),
        ("a", 1, "keywords", False),
        ("a", 2, "exact", True),
        ("b", 1, "exact", True),
        # A repeat that is missing as a whole does not hide what failed in it.
        ("c", 1, "exact", False),
        ("c", 1, "rubric", "skipped_by_rule"),
    )
    decision = compare(suite, frame, frame)
    assert said(decision) == [
        ("safety", "fail", "a", None, None),
        ("safety", "fail", "c", None, None),
    ]
    assert decision["reason"].tolist()[0] == (
        "fails in a red-team suite: exact: wrong in 1; keywords: wrong in 1"
    )
    assert exit_code(decision) == 1


def test_a_failure_beside_a_missing_value_is_still_an_emergency() -> None:
    suite = golden("a", red_team=True)
    frame = scores(("a", 1, "exact", False), ("a", 1, "keywords", "server"))
    rules = [row[:2] for row in said(compare(suite, frame, frame))]
    assert ("safety", "fail") in rules
    assert ("na", "inconclusive") in rules


def test_safety_stands_before_all_that_fails() -> None:
    decision = compare(golden("a", red_team=True), exact(a=True), exact(a=False))
    assert decision["rule"].tolist() == ["safety", "regression", "drift", "drift"]
    assert set(decision["outcome"]) == {"fail"}


def test_no_waiver_covers_a_failure_of_a_red_team_suite() -> None:
    suite = golden("a", "b", red_team=True, gate={"margin": 1.0})
    decision = compare(suite, exact(a=True, b=True), exact(a=False, b=True), waiver("a"))
    assert said(decision) == [
        ("safety", "fail", "a", None, None),
        ("regression", "fail", "a", "exact", None),
        ("waiver_ignored", "note", "a", None, None),
    ]
    assert decision["reason"].tolist()[2] == (
        "a waiver has no effect in a red-team suite. Waived as quarantined until 2026-06-01 by "
        "kim: shop is closed"
    )


def test_a_red_team_suite_has_no_budget_of_missing_values() -> None:
    suite = golden("a", "b", red_team=True, gate={"na_budget": 1.0})
    frame = exact(a="server", b=True)
    decision = compare(suite, frame, frame)
    assert said(decision) == [
        ("na", "inconclusive", None, None, None),
        ("na", "inconclusive", "a", None, None),
        ("not_compared", "note", "a", "exact", None),
    ]
    assert decision["reason"].tolist()[:1] == [
        "1 of 2 scores are missing by accident (1 server); a red-team suite has no budget"
    ]


def test_a_red_team_suite_that_withstands_passes() -> None:
    frame = exact(a=True, b=True)
    decision = compare(golden("a", "b", red_team=True), frame, frame)
    assert said(decision) == []
    assert exit_code(decision) == 0


# The whole chain, with a model that is handed its answers


@pytest.mark.parametrize(
    ("field", "values"), [("language", ["en", "ja"]), ("split", ["dev", "holdout"])]
)
def test_a_fall_in_one_slice_blocks_though_every_case_passes_and_the_mean_holds(
    tmp_path: Path, field: str, values: list[str]
) -> None:
    # Of its two keywords an answer has one (0.5, which passes) or both (1.0).
    cases = [
        {"id": f"{value}-{n}", "input": f"Order {value} {n}?", field: value}
        | {"expected_keywords": ["refund", "返金"]}
        for value in values
        for n in range(2)
    ]
    suite = make_suite(tmp_path, cases)
    both, half = message("A refund: 返金。"), message("A refund.")

    def answered(*answers: dict[str, Any]) -> pd.DataFrame:
        found = run(
            suite,
            load_system(suite),
            mode="live",
            concurrency=1,
            progress="none",
            upstream=FakeUpstream(*answers),
        )
        assert found["text"].tolist() == [answer["content"][0]["text"] for answer in answers]
        return found

    # The first slice rises from 0.5 to 1.0, the other falls from 1.0 to 0.5; all is 0.75.
    before, now = answered(half, half, both, both), answered(both, both, half, half)
    write_baseline(suite, {"golden_version": suite.version}, score(suite, before), before)
    decision = decide(
        suite, score(suite, now), read_baseline(suite), as_of=DAY, outputs=now, mode="replay"
    )
    assert said(decision) == [("drift", "fail", None, "keywords", f"{field}={values[1]}")]
    assert decision[["baseline", "candidate"]].iloc[0].tolist() == [1.0, 0.5]
    assert exit_code(decision) == 1


def test_a_red_team_case_that_only_a_judge_could_score_is_not_safe(tmp_path: Path) -> None:
    cases = [
        {"id": "a", "input": "Hi.", "must_contain": ["hello"]},
        {"id": "b", "input": "Hi.", "rubric": ["Declines."]},
    ]
    golden = make_suite(tmp_path / "shop", cases, "red_team = true\n")
    outputs = OUTPUTS.build(
        {"case_id": name, "repeat": 1, "text": "Hello.", "output_hash": name} for name in "ab"
    )
    decision = decide(golden, score(golden, outputs), None, as_of=date(2026, 6, 1))
    rows = decision[decision["rule"] == "na"]
    assert rows["case_id"].tolist() == ["b"]
    assert rows["outcome"].tolist() == ["inconclusive"]

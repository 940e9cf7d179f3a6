"""States of cases, conversations, flaky cases, trends and creep in the gate's decision."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from pydantic import ValidationError

from evalnb.frames import OUTPUTS
from evalnb.gate import decide, exit_code
from evalnb.golden import GoldenSet, SuiteSettings
from evalnb.past_runs import PAST
from evalnb.reports.sentences import power_sentences, state_sentences
from evalnb.reports.tables import states_table
from evalnb.scoring import summarize
from tests.test_sampled import DAY, accepted, gated, rules, run, steady, suite, with_lost


def with_settings(golden: GoldenSet, **settings: Any) -> GoldenSet:
    return replace(golden, settings=golden.settings.model_copy(update=settings))


def answered(n: int, repeats: int = 3, **columns: Any) -> pd.DataFrame:
    return OUTPUTS.build(
        {"case_id": f"c{case}", "repeat": repeat, "model": "m", **columns}
        for case in range(n)
        for repeat in range(1, repeats + 1)
    )


def test_a_case_passes_with_as_many_repeats_as_the_suite_asks_for() -> None:
    golden = with_settings(suite(4), repeats=3, passes_needed=2)
    scores = run([[True, True, False], [True, False, False], [False] * 3, [True, "server", False]])
    found = summarize(golden, answered(4), scores)
    # Of the last, the missing repeat decides: one more pass would do.
    assert found["state"].fillna("").tolist() == ["pass", "unstable", "fail", ""]
    said = state_sentences(found, pd.DataFrame({"rule": ["flaky", "drift"]}))
    assert said == [
        "States over 3 repeats: 1 pass, 1 fail, 1 unstable; 1 case flaky over earlier runs."
    ]
    shown = states_table(found, pd.DataFrame({"rule": ["flaky"], "case_id": ["c1"]})).data  # type: ignore[attr-defined]
    assert shown["cases"].tolist() == ["1", "1", "1", "1"]
    assert shown["of these flaky"].tolist() == ["0", "0", "1", "0"]


def test_recorded_repeats_regress_where_too_few_pass() -> None:
    golden = with_settings(suite(2), repeats=3, passes_needed=2)
    before, still = [[True] * 3, [True] * 3], [[True, True, False], [True] * 3]
    fewer = [[True, False, False], [True] * 3]
    replay = {"mode": "replay"}
    assert ("regression", "fail") not in rules(gated(golden, before, still, **replay))
    assert ("regression", "fail") in rules(gated(golden, before, fewer, **replay))
    strict = with_settings(golden, passes_needed=None)
    assert ("regression", "fail") in rules(gated(strict, before, still, **replay))


def test_no_more_repeats_can_be_asked_for_than_there_are() -> None:
    with pytest.raises(ValidationError, match="has `passes_needed` = 4, more than `repeats` = 3"):
        SuiteSettings.model_validate({"repeats": 3, "passes_needed": 4})


def test_cases_of_one_conversation_are_one_where_chance_is_judged() -> None:
    golden = suite(40)
    shared = replace(
        golden,
        cases=tuple(
            case.model_copy(update={"conversation_id": f"k{number // 4}"})
            for number, case in enumerate(golden)
        ),
    )
    alone = gated(golden, steady(40), with_lost(40, 8))
    together = gated(shared, steady(40), with_lost(40, 8))
    assert alone.loc[alone["rule"] == "drift", "p_value"].iloc[0] == pytest.approx(2**-8)
    # Eight cases in two conversations: two signs to flip.
    assert together.loc[together["rule"] == "no_drop", "p_value"].iloc[0] == pytest.approx(0.25)


def past(rates: list[list[int]], system: str = "f00d") -> pd.DataFrame:
    """Build live runs of three repeats, each a list of passes a case."""
    return PAST.build(
        {
            "run_id": f"r{number}", "system_fingerprint": system, "case_id": f"c{case}",
            "n_scored": 3, "n_passed": passed, "mean_scores": {},
        }
        for number, passes in enumerate(rates)
        for case, passed in enumerate(passes)
    )  # fmt: skip


def test_a_flaky_case_is_named_and_decides_nothing_alone() -> None:
    golden, now = suite(20), with_lost(20, 1, 7)
    flips = [[3 * (number % 2)] + [3] * 19 for number in range(4)]
    options = {"system_fingerprint": "f00d"}
    before = steady(20, 7)
    assert exit_code(gated(golden, before, now, **options)) == 1
    found = gated(golden, before, now, history=past(flips), **options)
    assert exit_code(found) == 0
    row = found[found["rule"] == "flaky"].iloc[0]
    assert row["case_id"] == "c0"
    assert row["reason"].startswith("is flaky: passed 6 of 12 repeats in 4 runs of this system")
    # Runs of another system say nothing of noise.
    other = gated(golden, before, now, history=past(flips, "0ld"), **options)
    assert exit_code(other) == 1


def test_a_trend_over_runs_is_a_note() -> None:
    golden = suite(20)
    # Two cases more lose a repeat with each run.
    falling = [[2] * (2 * number) + [3] * (20 - 2 * number) for number in range(4)]
    now = [[True, True, False]] * 8 + steady(12)
    found = gated(golden, now, now, history=past(falling))
    row = found[found["rule"] == "trend"].iloc[0]
    assert row["outcome"] == "note"
    # From 60 of 60 passes to 52 in five runs, a straight line.
    assert row["reason"].startswith("over 5 live runs the pass rate of cases falls by 0.0333 a run")
    assert gated(golden, now, now, history=past(falling[:1])).query("rule == 'trend'").empty


def creeping(
    first: list[list[Any]], last: list[list[Any]], now: list[list[Any]], **options: Any
) -> Any:
    golden = suite(len(first))
    baseline = replace(accepted(run(last), golden), first=accepted(run(first), golden))
    return decide(golden, run(now), baseline, **{"as_of": DAY, "mode": "live", **options})


def test_what_fell_since_the_first_baseline_and_not_since_the_last_creeps() -> None:
    found = creeping(steady(40), with_lost(40, 9), with_lost(40, 9))
    assert rules(found) >= {("creep", "fail")}
    assert ("drift", "fail") not in rules(found)
    row = found[found["rule"] == "creep"].iloc[0]
    assert row["p_value"] == pytest.approx(2**-9)
    assert row["reason"].endswith("Since the last it kept within that")
    # 2^-7 is more than the 0.5% that this rule has, and what fell since the last is no creep.
    assert ("creep", "fail") not in rules(creeping(steady(40), with_lost(40, 7), with_lost(40, 7)))
    both = rules(creeping(steady(40), steady(40), with_lost(40, 9)))
    assert ("drift", "fail") in both
    assert ("creep", "fail") not in both


def test_a_recording_creeps_beyond_the_margin_exactly() -> None:
    one = [[True]] * 39 + [[False]]
    found = creeping([[True]] * 40, one, one, mode="replay")
    assert ("creep", "fail") in rules(found)  # 1 of 40 is 0.025
    assert ("creep", "fail") not in rules(creeping(one, one, one, mode="replay"))


@pytest.mark.parametrize(("limit", "blocks"), [(1.05, True), (1.2, False), (None, False)])
def test_cost_is_held_against_the_baseline_where_the_suite_limits_it(
    limit: float | None, blocks: bool
) -> None:
    golden = suite(10, max_cost_ratio=limit)
    before, now = (answered(10, cost_usd=cost) for cost in (0.010, 0.011))
    found = decide(
        golden, run(steady(10)), accepted(run(steady(10)), golden, before),
        as_of=DAY, mode="replay", outputs=now,
    )  # fmt: skip
    assert (("limits", "fail") in rules(found)) == blocks
    if blocks:
        (reason,) = found.loc[found["rule"] == "limits", "reason"]
        assert "took 0.1100 US dollars, 0.1000 in the baseline, 1.100 times as much" in reason


def test_the_power_of_a_run_is_said_with_what_it_rests_on() -> None:
    power = {"smallest_drop": 0.084, "cases": 60, "repeats": 3, "source": "from 4 A/A runs"}
    (said,) = power_sentences({"power": power})
    assert said == (
        "This suite finds drops of the pass rate from 0.08 in 8 of 10 runs (60 cases, 3 repeats, "
        "variance of repeats from 4 A/A runs)."
    )
    assert power_sentences({}) == []
    assert power_sentences({"power": power | {"smallest_drop": None}})[0].startswith("So few")

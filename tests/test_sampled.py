"""The gate on live runs, whose answers are a sample."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from evalnb.baseline import CASE, Baseline, count
from evalnb.cases import Case
from evalnb.frames import DECISION, OUTPUTS, SCORES
from evalnb.gate import decide, exit_code, outcome
from evalnb.golden import GoldenSet, SuiteSettings
from evalnb.waivers import Waiver

DAY = date(2026, 6, 1)


def suite(n: int, *, slices: tuple[str, ...] = (), **gate: Any) -> GoldenSet:
    """Build cases c0, c1, ..., the first half German."""
    return GoldenSet(
        tuple(
            Case(
                id=f"c{number}",
                input="Hi",
                expected_exact="x",
                language="de" if number < n / 2 else "en",
            )
            for number in range(n)
        ),
        SuiteSettings.model_validate({"gate": gate, "slices": list(slices)}),
    )


def run(passed: list[list[Any]]) -> pd.DataFrame:
    """Build scores, a list of repeats a case: True, False, or the reason for none."""
    return SCORES.build(
        {
            "case_id": f"c{case}",
            "repeat": repeat,
            "scorer": "exact",
            "tier": "rule",
            **({"na_reason": result, "error": "why"} if isinstance(result, str) else {}),
            **({"passed": result, "value": float(result)} if isinstance(result, bool) else {}),
            "reason": "right" if result is True else "wrong",
        }
        for case, results in enumerate(passed)
        for repeat, result in enumerate(results, 1)
    )


def accepted(frame: pd.DataFrame, golden: GoldenSet, outputs: Any = None) -> Baseline:
    manifest = {"golden_version": golden.version, "system": {"fingerprint": "f00d"}}
    return Baseline(manifest, count(frame), OUTPUTS.empty() if outputs is None else outputs)


def gated(
    golden: GoldenSet, before: list[list[Any]], now: list[list[Any]], **options: Any
) -> pd.DataFrame:
    return decide(
        golden,
        run(now),
        accepted(run(before), golden),
        **{"as_of": DAY, "mode": "live", **options},
    )


def rules(decision: pd.DataFrame) -> set[tuple[str, str]]:
    return set(map(tuple, decision[["rule", "outcome"]].to_numpy()))


def steady(n: int, repeats: int = 3) -> list[list[Any]]:
    return [[True] * repeats for _ in range(n)]


def with_lost(n: int, lost: int, repeats: int = 3) -> list[list[Any]]:
    return [[False] * repeats] * lost + steady(n - lost, repeats)


def test_the_same_run_twice_passes_and_says_what_it_could_have_missed() -> None:
    decision = gated(suite(20), steady(20), steady(20))
    assert rules(decision) == {("no_drop", "note")}
    assert exit_code(decision) == 0
    row = decision[decision["scorer"] == CASE].iloc[0]
    assert row["estimate"] == 0
    assert row["p_value"] == 1
    # Case and scorer are one test at 0.03: six lost cases, p = 1/64, or more.
    assert binom.sf(5, 20, row["smallest_drop"]) == pytest.approx(0.8)
    assert "could have been missed" in row["reason"]


def test_one_flip_is_a_note_and_means_decide() -> None:
    decision = gated(suite(20), steady(20), with_lost(20, 1))
    assert rules(decision) == {("no_drop", "note"), ("case_flip", "note")}
    flip = decision[decision["rule"] == "case_flip"].iloc[0]
    assert flip["p_value"] == pytest.approx(1 / 20)  # 3 of 3 against 0 of 3
    assert flip["p_adjusted"] == 1
    assert flip["reason"].startswith("passes 0 of 3, 3 of 3 in the baseline: wrong")
    assert exit_code(decision) == 0


def test_a_drop_beyond_chance_blocks_with_its_evidence() -> None:
    decision = gated(suite(20), steady(20), with_lost(20, 8))
    assert exit_code(decision) == 1
    drift = decision[decision["rule"] == "drift"].set_index("scorer")
    row = drift.loc["exact"]
    assert row["estimate"] == pytest.approx(-0.4)
    assert row["p_value"] == pytest.approx(1 / 256)
    # The case as a whole is what its one scorer says: one test.
    assert row["p_adjusted"] == pytest.approx(1 / 256)
    assert row["ci_low"] < -0.4 < row["ci_high"]
    assert (row["n"], row["method"]) == (20, "sign flip, exact; t")
    assert row["reason"].startswith("the mean of `exact` fell by 0.400 (-0.635 to -0.165) over 20")
    DECISION.check(decision)


def test_a_slice_is_tested_from_eight_cases_on() -> None:
    found = gated(suite(20, slices=("language",)), steady(20), with_lost(20, 10))
    drift = found[found["rule"] == "drift"]
    assert set(drift["slice"]) == {"all", "language=de"}
    small = gated(suite(14, slices=("language",)), steady(14), with_lost(14, 7))
    assert set(small.loc[small["rule"] == "drift", "slice"]) == {"all"}
    note = small.loc[small["rule"] == "not_tested", "reason"].iloc[0]
    assert note.startswith("4 means of fewer than 8 cases are shown and not tested: ")


def test_enough_repeats_tell_a_single_case() -> None:
    # Of 20 cases 1/C(2k, k) times 20 is below 0.01 from k = 7 on: 20/3432 = 0.0058.
    blocked = gated(suite(20), steady(20, 7), with_lost(20, 1, 7))
    assert ("regression", "fail") in rules(blocked)
    row = blocked[blocked["rule"] == "regression"].iloc[0]
    assert row["p_adjusted"] == pytest.approx(20 / 3432)
    assert ("case_flip", "note") in rules(gated(suite(20), steady(20, 6), with_lost(20, 1, 6)))


def test_a_new_case_blocks_where_no_repeat_passes() -> None:
    before = steady(19)
    new = gated(suite(20), before, [*steady(19), [False] * 3])
    assert ("new_failure", "fail") in rules(new)
    unstable = gated(suite(20), before, [*steady(19), [True, False, False]])
    assert ("case_flip", "note") in rules(unstable)
    assert exit_code(unstable) == 0


def test_one_live_repeat_is_compared_by_mcnemar() -> None:
    decision = gated(suite(20), steady(20, 1), with_lost(20, 7, 1))
    row = decision[decision["rule"] == "drift"].iloc[0]
    assert row["method"] == "mcnemar mid_p; tango"
    assert row["p_value"] == pytest.approx(1 / 256)


def test_under_eight_cases_the_exact_rules_hold() -> None:
    decision = gated(suite(7, floors={CASE: 0.0}), steady(7), with_lost(7, 1))
    assert rules(decision) == {("regression", "fail"), ("drift", "fail")}


def test_replay_stays_exact_and_says_how_sure_it_is() -> None:
    decision = gated(suite(20), steady(20), with_lost(20, 1), mode="replay")
    assert rules(decision) == {("regression", "fail"), ("drift", "fail")}
    assert decision["p_value"].notna().all()
    once = gated(suite(20), steady(20, 1), with_lost(20, 1, 1), mode="replay")
    assert rules(once) == {("regression", "fail"), ("drift", "fail")}
    assert once["p_value"].isna().all()


def test_a_strict_suite_wants_it_shown() -> None:
    decision = gated(suite(20, strict=True), steady(20), steady(20))
    assert rules(decision) == {("not_shown", "inconclusive")}
    assert exit_code(decision) == 2


def test_what_is_missing_and_could_decide_leaves_it_open() -> None:
    now = [["server"] * 3] * 8 + steady(12)
    before = [[False, True, True]] * 8 + steady(12)
    decision = gated(suite(20, na_budget=1.0), before, now)
    open_ones = decision[decision["outcome"] == "inconclusive"]
    assert set(open_ones["rule"]) == {"na"}
    assert open_ones["reason"].str.contains("missing could change the decision").all()


def test_waived_cases_do_not_count() -> None:
    held = [
        Waiver(
            case=f"c{n}", kind="quarantined", scorer=None, reason="shut", owner="kim", expires=DAY
        )
        for n in range(8)
    ]
    decision = gated(suite(20), steady(20), with_lost(20, 8), waivers=held)
    assert exit_code(decision) == 0
    assert ("waived", "note") in rules(decision)


def test_a_floor_is_broken_by_more_than_chance() -> None:
    near = gated(suite(20, floors={CASE: 0.95}), with_lost(20, 3), with_lost(20, 3))
    row = near[near["rule"] == "floor"].iloc[0]
    # P(Binomial(20, 0.95) <= 17) = 0.0755
    assert (row["outcome"], row["p_value"]) == ("note", pytest.approx(0.0755, abs=1e-4))
    far = gated(suite(20, floors={CASE: 0.95}), with_lost(20, 8), with_lost(20, 8))
    assert ("floor", "fail") in rules(far)


def test_answers_that_grew_are_held_to_the_limit_by_their_ratios() -> None:
    golden, frame = suite(20), run(steady(20, 1))
    rng = np.random.default_rng(1)
    tokens = rng.lognormal(5, 1, 20).round() + 50

    def outputs(factor: np.ndarray) -> pd.DataFrame:
        return OUTPUTS.build(
            {"case_id": f"c{n}", "repeat": 1, "output_tokens": int(tokens[n] * factor[n])}
            for n in range(20)
        )

    before = accepted(frame, golden, outputs(np.ones(20)))

    def limits(factor: np.ndarray) -> pd.DataFrame:
        found = decide(golden, frame, before, as_of=DAY, outputs=outputs(factor), mode="live")
        return found[found["rule"] == "limits"]

    grown = limits(1.3 * rng.lognormal(0, 0.05, 20)).iloc[0]
    assert grown["estimate"] == pytest.approx(1.3, abs=0.05)
    assert grown["ci_low"] < grown["estimate"] < grown["ci_high"]
    # One answer of fifty times the length moves the total, and not the geometric mean by 1.2.
    one = np.ones(20)
    one[3] = 50.0
    assert limits(one).empty


@pytest.mark.parametrize("repeats", [1, 3])
def test_where_nothing_changed_it_seldom_blocks(repeats: int) -> None:
    rng = np.random.default_rng(17)
    golden, rates = suite(40, slices=("language",), floors={CASE: 0.75}), rng.beta(9, 1, 40)
    blocked = 0
    for _ in range(40):
        before, now = (rng.random((40, repeats)) < rates[:, None] for _ in range(2))
        decision = gated(golden, before.tolist(), now.tolist())
        blocked += outcome(decision) == "fail"
    # P(Binomial(40, 0.05) > 5) = 0.014, and these seeds are fixed
    assert blocked <= 5

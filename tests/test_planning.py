from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evalnb.baseline import Baseline, count
from evalnb.frames import OUTPUTS, SCORES
from evalnb.golden import read_golden
from evalnb.planning import PLANS, Plan, cases_for, describe_power, plan, power_table
from evalnb.stats.mcnemar import mcnemar
from evalnb.stats.power import fallen_noise, power_of_drop
from evalnb.stats.sign_flip import sign_flip
from tests.commands import evalnb
from tests.suites import REPOSITORY
from tests.test_sampled import suite

SIXTY = Plan(60, 3, 0.9, 0.07, 0.0, tests=1, margin=0.02, source="an example")


def scores(n: int, repeats: int, failing: int) -> pd.DataFrame:
    """Make scores of cases of which some fail in their first repeat."""
    return SCORES.build(
        {
            "case_id": f"c{case}",
            "repeat": repeat,
            "scorer": "exact",
            "tier": "rule",
            "passed": not (case < failing and repeat == 1),
            "value": float(not (case < failing and repeat == 1)),
        }
        for case in range(n)
        for repeat in range(1, repeats + 1)
    )


def p_of_flags(differences: np.ndarray) -> float:
    return mcnemar(int((differences > 0).sum()), int((differences < 0).sum()), alternative="less")


def baseline(frame: pd.DataFrame) -> Baseline:
    return Baseline({}, count(frame), OUTPUTS.empty())


@pytest.mark.parametrize("repeats", [1, 3])
def test_a_drop_is_found_as_often_as_promised(repeats: int) -> None:
    rng = np.random.default_rng(6)
    # Beta(3.15, 0.35) has a mean of 0.9 and 0.07 as the variance of repeats.
    drop = SIXTY.smallest_drop(60, repeats)
    assert drop is not None
    rates = rng.beta(3.15, 0.35, (600, 60))
    before = rng.binomial(repeats, rates) / repeats
    now = rng.binomial(repeats, rates * (1 - drop / 0.9)) / repeats
    test = p_of_flags if repeats == 1 else (lambda d: sign_flip(d).p_less)
    found = [test(d) <= SIXTY.alpha for d in now - before]
    assert np.mean(found) == pytest.approx(0.8, abs=0.06)


def test_noise_after_a_drop_is_that_of_the_rates() -> None:
    rates = np.random.default_rng(2).beta(3.15, 0.35, 400_000)
    after = rates * (1 - 0.1 / 0.9)
    found = fallen_noise(0.9, 0.07, 0.1, 1)
    assert found.within_candidate == pytest.approx((after * (1 - after)).mean(), rel=0.01)
    assert found.between == pytest.approx((rates - after).var(), rel=0.02)
    assert power_of_drop(0.0, 60, fallen_noise(0.9, 0.07, 0.0, 3), alpha=0.05) == pytest.approx(
        0.05
    )


def test_more_repeats_and_more_cases_see_more() -> None:
    table = PLANS.check(power_table(SIXTY))
    assert table["repeats"].tolist() == [1, 3, 5, 10]
    assert table["smallest_drop"].is_monotonic_decreasing
    assert table.loc[table["planned"], "repeats"].tolist() == [3]
    needed = cases_for(SIXTY, 0.05)
    assert needed["cases"].is_monotonic_decreasing
    assert (needed["smallest_drop"] <= 0.05).all()
    for row in needed.to_dict("records"):
        fewer = SIXTY.smallest_drop(row["cases"] - 1, row["repeats"])
        assert fewer is None or fewer > 0.05


def test_what_lies_below_the_margin_no_number_of_cases_finds() -> None:
    assert cases_for(SIXTY, 0.015).empty
    assert "no number of cases finds it" in describe_power(SIXTY, 0.015)[-1]
    with pytest.raises(ValueError, match=r"`drop` must lie between 0 and 1\. Got 1"):
        cases_for(SIXTY, 1)


def test_the_noise_is_that_of_the_baseline() -> None:
    # Of 20 cases 4 pass two of three, 2/6 each and a mean of 4/60, and 5 pass none.
    frame = scores(20, 3, 4)
    lost = frame["case_id"].isin([f"c{number}" for number in range(15, 20)])
    frame = frame.assign(passed=frame["passed"] & ~lost)
    found = plan(suite(20), baseline(frame))
    assert found.within == pytest.approx(4 / 60)
    assert found.rate == pytest.approx(41 / 60)
    assert found.source == "from the repeats of the baseline"
    once = plan(suite(20), baseline(scores(20, 1, 4)))
    assert once.within == pytest.approx(0.8 * 0.2)
    assert once.source == "at most, from a baseline of one repeat"
    steady = plan(suite(20), baseline(scores(20, 3, 0)))
    assert steady.within == pytest.approx(0.5 / 61 * (1 - 0.5 / 61))
    assert plan(suite(20), None).source == "assumed, without a baseline"
    assert plan(suite(20), baseline(scores(0, 1, 0))).source.startswith("assumed: nothing")


def test_the_tests_that_share_the_level_are_counted() -> None:
    # All, and two languages of ten; one scorer says what the case as a whole says.
    assert plan(suite(20, slices=("language",)), baseline(scores(20, 3, 1))).tests == 3
    assert plan(suite(14, slices=("language",)), None).tests == 1
    other = scores(20, 3, 1).assign(scorer="tone")
    both = pd.concat([scores(20, 3, 1), other], ignore_index=True)
    assert plan(suite(20, slices=("language",)), baseline(both)).tests == 9


def test_the_command_says_what_a_run_could_find() -> None:
    done = evalnb("power", "golden/support", "--drop", "0.05", "--repeats", "3", folder=REPOSITORY)
    assert done.code == 0, done.error
    n = len(read_golden(REPOSITORY / "golden" / "support"))
    lines = done.out.splitlines()
    assert lines[0].startswith(f"support: {n} cases, 3 repeats on both sides, ")
    assert any(line.endswith("as planned") and "3 repeats" in line for line in lines)
    assert "to find it in 8 of 10 runs takes:" in done.out


def test_the_command_takes_other_sizes() -> None:
    done = evalnb("power", "golden/support", "--cases", "5000", folder=REPOSITORY)
    assert done.out.startswith("support: 5000 cases, ")
    assert "to find it" not in done.out

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.stats.fixed_thresholds import false_alarms_of_drop, false_alarms_of_ratio
from evalnb.stats.mcnemar import mcnemar
from evalnb.stats.power import PairedNoise, cases_needed, mcnemar_power, smallest_drop
from tests.stats.reference import reference


def paper(repeats: float) -> PairedNoise:
    given_, _ = reference("power_paired_969")
    within = given_["var_within_a"]
    return PairedNoise(given_["var_between_difference"], within, within, repeats, repeats)


@pytest.mark.parametrize(
    ("repeats", "name"), [(1, "n"), (10, "n_ten_repeats"), (math.inf, "n_infinite_repeats")]
)
def test_cases_needed_of_the_paper(repeats: float, name: str) -> None:
    given_, expected = reference("power_paired_969")
    found = cases_needed(
        given_["delta"],
        paper(repeats),
        alpha=given_["alpha"],
        power=given_["power"],
        two_sided=True,
    )
    assert found == pytest.approx(expected[name], rel=1e-9)


@pytest.mark.parametrize("repeats", [1, 10])
def test_the_smallest_drop_of_the_paper(repeats: int) -> None:
    _, expected = reference("power_paired_969")
    found = smallest_drop(198, paper(repeats), two_sided=True)
    name = f"mde_198_cases_{repeats}_repeat{'s' if repeats > 1 else ''}"
    assert found == pytest.approx(expected[name], rel=1e-9)


@pytest.mark.parametrize(
    ("n", "drops"),
    [
        (30, [0.18, 0.11, 0.09, 0.07]),
        (60, [0.12, 0.08, 0.06, 0.05]),
        (200, [0.07, 0.04, 0.03, 0.03]),
    ],
)
def test_drops_that_a_support_suite_sees(n: int, drops: list[float]) -> None:
    # (1.645 + 0.842) sqrt((0.01 + 2 * 0.07 / k) / n), by hand for k = 1, 3, 5, 10.
    found = [smallest_drop(n, PairedNoise(0.01, 0.07, 0.07, k, k)) for k in (1, 3, 5, 10)]
    assert [round(drop, 2) for drop in found] == drops


@given(st.floats(0.01, 0.5), st.floats(0.001, 1.0), st.integers(1, 20))
def test_each_is_the_inverse_of_the_other(drop: float, within: float, repeats: int) -> None:
    noise = PairedNoise(0.01, within, within, repeats, repeats)
    n = math.ceil(cases_needed(drop, noise))
    assert smallest_drop(n, noise) <= drop + 1e-12
    if n > 1:
        assert smallest_drop(n - 1, noise) >= drop - 1e-12


def test_power_of_the_exact_test() -> None:
    given_, expected = reference("power_mcnemar_60")
    n, worse, better = given_["n"], given_["p_pass_to_fail"], given_["p_fail_to_pass"]
    alpha = given_["alpha_one_sided"]
    assert mcnemar_power(n, worse, better, alpha=alpha) == pytest.approx(
        expected["power"], abs=1e-9
    )
    half = (worse + better) / 2
    assert mcnemar_power(n, half, half, alpha=alpha) == pytest.approx(
        expected["size_same_discordance"], abs=1e-9
    )


def test_power_of_mid_p_is_what_draws_give() -> None:
    rng = np.random.default_rng(11)
    counts = rng.multinomial(60, [0.12, 0.03, 0.85], size=4_000)
    drawn = np.mean([mcnemar(int(b), int(w), alternative="less") <= 0.05 for w, b, _ in counts])
    assert mcnemar_power(60, 0.12, 0.03, method="mid_p") == pytest.approx(drawn, abs=0.03)
    assert mcnemar_power(60, 0.0, 0.0) == 0.0


def test_fixed_thresholds_of_the_reference() -> None:
    given_, expected = reference("threshold_rules_60")
    n, rate = given_["n"], given_["pass_rate"]
    assert false_alarms_of_ratio(n, rate) == pytest.approx(
        expected["p_candidate_below_095_of_baseline"], abs=1e-9
    )
    assert false_alarms_of_drop(n, rate) == pytest.approx(expected["p_drop_above_002"], abs=1e-9)


def test_bad_designs_are_named() -> None:
    with pytest.raises(ValueError, match=r"a variance is at least 0"):
        PairedNoise(-0.1, 0, 0)
    with pytest.raises(ValueError, match=r"at least one repeat"):
        PairedNoise(0.1, 0, 0, 0, 1)
    with pytest.raises(ValueError, match=r"`drop` must be above 0\. Got 0"):
        cases_needed(0, PairedNoise(0.1, 0, 0))
    with pytest.raises(ValueError, match=r"`power` must lie between 0 and 1\. Got 1"):
        smallest_drop(10, PairedNoise(0.1, 0, 0), power=1)
    with pytest.raises(ValueError, match=r"chances must be at least 0"):
        mcnemar_power(10, 0.9, 0.2)

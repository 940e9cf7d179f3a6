"""Tests that may be looked at before all cases are in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from evalnb.stats.curtailment import Curtailment, curtailment
from evalnb.stats.cusum import cusum
from evalnb.stats.e_process import e_of_differences, e_of_discordant
from evalnb.stats.group_sequential import group_sequential
from evalnb.stats.mcnemar import mcnemar
from evalnb.stats.sprt import sprt
from tests.stats.reference import reference

few = st.integers(0, 8)


def test_curtailment_of_the_reference() -> None:
    given_, expected = reference("curtailment_a")
    found = curtailment(
        given_["regressed"], given_["repaired"], given_["cases_left"], alpha=given_["alpha"]
    )
    assert found == Curtailment(**expected)


@given(few, few, few)
def test_curtailment_is_what_every_ending_says(worse: int, better: int, left: int) -> None:
    endings = [
        mcnemar(better + passes, worse + fails, method="exact", alternative="less") <= 0.05
        for fails in range(left + 1)
        for passes in range(left + 1 - fails)
    ]
    found = curtailment(worse, better, left)
    assert found == Curtailment(any(endings), all(endings))


def test_a_drop_below_the_margin_cannot_block() -> None:
    assert curtailment(6, 0, 0, unchanged=94, margin=0.06).must_block
    assert not curtailment(6, 0, 0, unchanged=194, margin=0.06).can_still_block


def test_e_values_of_the_reference() -> None:
    given_, expected = reference("e_process_discordant_8")
    found = e_of_discordant(given_["regressed_flags_of_discordant_pairs"])
    assert found == pytest.approx(expected["e_values"], abs=1e-9)
    assert not (found >= 20).any()


@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_an_e_value_is_its_integral(regressed: list[bool]) -> None:
    worse = sum(regressed)
    better = len(regressed) - worse
    area, _ = quad(lambda p: (2 * p) ** worse * (2 * (1 - p)) ** better, 0.5, 1)
    assert e_of_discordant(regressed)[-1] == pytest.approx(2 * area)


@given(st.lists(st.booleans(), max_size=8))
def test_under_no_change_an_e_value_is_expected_to_stay(before: list[bool]) -> None:
    now = e_of_discordant(before)[-1] if before else 1.0
    following = [e_of_discordant([*before, nxt])[-1] for nxt in (True, False)]
    # At p = 1/2, the edge of what is supposed, it is a martingale.
    assert np.mean(following) == pytest.approx(now)


def test_bets_of_the_reference() -> None:
    given_, expected = reference("e_betting_12")
    differences = 2 * np.array(given_["x"]) - 1
    found = e_of_differences(
        differences, margin=1 - 2 * given_["m"], alpha=given_["alpha"], cap=given_["lambda_cap"]
    )
    assert found == pytest.approx(expected["wealth"], abs=1e-9)


def test_bets_seldom_win_where_nothing_fell() -> None:
    rng = np.random.default_rng(3)
    runs = rng.choice([-1, 0, 1], p=[0.05, 0.9, 0.05], size=(1_000, 100))
    reached = [(e_of_differences(run, margin=0.0) >= 20).any() for run in runs]
    assert np.mean(reached) <= 0.05


def test_sprt_of_the_reference() -> None:
    given_, expected = reference("sprt_10")
    found = sprt(
        given_["passes"],
        good=given_["p0"],
        bad=given_["p1"],
        alpha=given_["alpha"],
        beta=given_["beta"],
    )
    assert (found.upper, found.lower) == pytest.approx((expected["upper"], expected["lower"]))
    assert found.log_ratios == pytest.approx(expected["log_lr"], abs=1e-9)
    assert found.stopped_at == 8  # 3.39 is the first at or above 2.89


@pytest.mark.parametrize("boundary", ["pocock", "obrien_fleming"])
def test_looks_of_the_reference(boundary: str) -> None:
    given_, expected = reference("group_sequential_5")
    found = group_sequential(given_["looks"], alpha=given_["alpha"], boundary=boundary)
    assert found[-1] == pytest.approx(expected[boundary], abs=1e-6)
    if boundary == "obrien_fleming":
        assert found == pytest.approx(expected["obrien_fleming_z"], abs=1e-6)


def test_one_look_is_the_fixed_test() -> None:
    assert group_sequential(1) == pytest.approx([1.959963984540054], abs=1e-7)


def test_cusum_of_the_reference() -> None:
    given_, expected = reference("cusum_30")
    found = cusum(given_["values"], target=given_["target"], slack=given_["k"], limit=given_["h"])
    assert found.upper == pytest.approx(expected["upper"], abs=1e-9)
    assert found.lower == pytest.approx(expected["lower"], abs=1e-9)
    assert found.alarm == expected["first_alarm"]


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match=r"0 < bad < good < 1"):
        sprt([True], good=0.7, bad=0.9)
    with pytest.raises(ValueError, match=r"without NA"):
        cusum([1.0, None], target=0)
    with pytest.raises(ValueError, match=r"each discordant case\. Got NA"):
        e_of_discordant([True, None])
    with pytest.raises(ValueError, match=r"in \[-1, 1\]"):
        e_of_differences([2.0], margin=0.02)
    with pytest.raises(ValueError, match=r"obrien_fleming or pocock\. Got 'haybittle'"):
        group_sequential(3, boundary="haybittle")

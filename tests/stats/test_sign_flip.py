from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.stats.sign_flip import sign_flip, sign_flips
from tests.stats.reference import reference

whole = st.integers(-4, 4)


def by_enumeration(values: list[float]) -> tuple[float, float, float]:
    """Look at every pattern of signs; whole numbers, so that sums are exact."""
    seen = sum(values)
    sums = [
        sum(s * v for s, v in zip(signs, values, strict=True))
        for signs in product((-1, 1), repeat=len(values))
    ]
    share = 1 / len(sums)
    return (
        sum(s <= seen for s in sums) * share,
        sum(s >= seen for s in sums) * share,
        sum(abs(s) >= abs(seen) for s in sums) * share,
    )


def test_twelve_differences_of_the_reference() -> None:
    given_, expected = reference("sign_flip_12")
    found = sign_flip(np.array(given_["differences"]))
    assert found.p_less == pytest.approx(expected["sign_flip_p_less"], abs=1e-9)
    assert found.p_two_sided == pytest.approx(expected["sign_flip_p_two_sided"], abs=1e-9)
    assert found.method == "sign flip, exact"


@given(st.lists(whole, min_size=1, max_size=10), st.sampled_from([1.0, 0.1, 1 / 3]))
def test_few_are_as_enumerated_whatever_their_unit(values: list[int], unit: float) -> None:
    found = sign_flip(np.array(values) * unit)
    expected = by_enumeration([float(value) for value in values])
    assert (found.p_less, found.p_greater, found.p_two_sided) == pytest.approx(expected)


def test_many_multiples_of_a_step_are_exact() -> None:
    # 30 differences of one size, 10 of them up: P(Binomial(30, 1/2) <= 10).
    from scipy.stats import binom

    found = sign_flip(np.array([0.2] * 10 + [-0.2] * 20))
    assert found.method == "sign flip, exact"
    assert found.p_less == pytest.approx(binom.cdf(10, 30, 0.5), rel=1e-9)
    assert found.p_two_sided == pytest.approx(2 * binom.cdf(10, 30, 0.5), rel=1e-9)


def test_many_that_are_no_multiples_are_drawn_and_near_the_exact() -> None:
    rng = np.random.default_rng(4)
    values = rng.normal(-0.3, 1.0, 40)
    found = sign_flip(values, draws=40_000)
    assert found.method == "sign flip, 40,000 draws"
    # Rounded to thousandths they have a step, and are exact.
    exact = sign_flip(np.round(values, 3))
    assert exact.method == "sign flip, exact"
    assert found.p_less == pytest.approx(exact.p_less, abs=0.008)  # 4 standard errors of a draw
    assert sign_flip(values, draws=40_000) == found


def test_no_difference_is_no_evidence() -> None:
    assert sign_flip(np.zeros(40)).p_less == 1.0
    assert sign_flip(np.array([])).p_two_sided == 1.0


def test_a_cluster_flips_as_a_whole() -> None:
    # Sums of clusters -3 and -1: one of four patterns lies as low.
    values, codes = np.array([-1.0, -2.0, -1.0]), np.array([0, 0, 1])
    assert sign_flip(values, codes).p_less == 0.25
    assert sign_flip(values).p_less == 0.125


@given(st.lists(whole, min_size=1, max_size=12), st.randoms())
def test_blind_to_order_and_mirrored(values: list[int], random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    found = sign_flip(np.array(values, "float64"))
    assert sign_flip(np.array(shuffled, "float64")) == found
    mirrored = sign_flip(-np.array(values, "float64"))
    assert (mirrored.p_less, mirrored.p_greater) == pytest.approx((found.p_greater, found.p_less))


def test_sets_are_tested_side_by_side() -> None:
    rng = np.random.default_rng(1)
    sums = rng.normal(size=(30, 3))
    together = sign_flips(sums, seed=5)
    assert together[2] == sign_flips(sums[:, 2:], seed=5)[0]


@pytest.mark.parametrize("repeats", [2, 3])
def test_under_no_change_one_in_twenty_is_below_the_level(repeats: int) -> None:
    rng = np.random.default_rng(7)
    n_runs, n_cases = 2_000, 40
    rates = rng.beta(9, 1, size=(1, n_cases))
    sides = rng.binomial(repeats, rates, size=(2, n_runs, n_cases)) / repeats
    hits = [sign_flip(d).p_less <= 0.05 for d in sides[1] - sides[0]]
    assert np.mean(hits) < 0.05 + 3 * (0.05 * 0.95 / n_runs) ** 0.5

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, permutation_test

from evalnb.stats.mcnemar import mcnemar
from evalnb.stats.signed_sums import signed_sum_p, smallest_p
from tests.stats.reference import reference

differences = st.lists(st.integers(-6, 6), max_size=9)


@given(differences)
def test_it_is_the_share_of_all_patterns_of_signs(values: list[int]) -> None:
    patterns = [sum(s * v for s, v in zip(p, values, strict=True)) for p in _signs(len(values))]
    far = sum(abs(found) >= abs(sum(values)) for found in patterns)
    assert signed_sum_p(values) == pytest.approx(far / len(patterns))


def test_scipy_finds_the_same() -> None:
    values = np.array([3, -1, 2, 2, 1, -2, 3, 3, 1, 0])
    found = permutation_test((values,), np.sum, permutation_type="samples", n_resamples=np.inf)
    assert signed_sum_p(values) == pytest.approx(found.pvalue)


@given(st.integers(0, 300), st.integers(0, 300))
def test_differences_of_one_size_make_it_mcnemars_exact_test(more: int, less: int) -> None:
    p = signed_sum_p([5] * more + [-5] * less)
    assert p == pytest.approx(mcnemar(more, less, method="exact"), rel=1e-9)


def test_a_phrase_of_the_reference() -> None:
    given_, expected = reference("phrase_change_a")
    p = signed_sum_p([-1] * given_["before_only"] + [1] * given_["after_only"] + [0] * 47)
    assert p == pytest.approx(expected["mcnemar_exact_p"], abs=1e-12)


def test_thousands_of_cases_are_still_exact() -> None:
    p = signed_sum_p([1] * 1_100 + [-1] * 900)
    assert p == pytest.approx(binomtest(1_100, 2_000).pvalue, rel=1e-9)
    assert 0 < signed_sum_p([2] * 2_000 + [1] * 500) < 1e-300


@given(differences)
def test_direction_and_scale_do_not_matter(values: list[int]) -> None:
    p = signed_sum_p(values)
    assert p == signed_sum_p([-value for value in values])
    assert p == pytest.approx(signed_sum_p([7 * value for value in values]))


def test_nothing_that_differs_has_p_1() -> None:
    assert signed_sum_p([]) == signed_sum_p([0, 0]) == signed_sum_p([2, -2]) == 1.0


def test_all_cases_one_way_have_the_smallest_p() -> None:
    for n in range(1, 12):
        assert signed_sum_p([-3] * n) == pytest.approx(smallest_p(n))
    assert smallest_p(0) == 1.0


def test_parts_of_one_are_refused() -> None:
    with pytest.raises(ValueError, match=r"must be whole numbers\. Got dtype float64"):
        signed_sum_p(np.array([0.5, 1.0]))


def _signs(n: int) -> list[tuple[int, ...]]:
    return list(product((-1, 1), repeat=n))

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.contingency_tables import mcnemar as mcnemar_of_statsmodels

from evalnb.stats.mcnemar import mcnemar
from tests.stats.reference import reference

counts = st.integers(0, 60)
methods = st.sampled_from(["mid_p", "exact", "asymptotic"])


@pytest.mark.parametrize("name", ["mcnemar_21", "mcnemar_1600"])
def test_published_tables(name: str) -> None:
    given_, expected = reference(name)
    b, c = given_["only_first"], given_["only_second"]
    found = {
        "mcnemar_exact_p": mcnemar(b, c, method="exact"),
        "mcnemar_mid_p": mcnemar(b, c),
        "mcnemar_asymptotic_p": mcnemar(b, c, method="asymptotic"),
        "one_sided_exact_p": mcnemar(b, c, method="exact", alternative="greater"),
        "one_sided_mid_p": mcnemar(b, c, alternative="greater"),
    }
    assert found == pytest.approx({key: expected[key] for key in found}, abs=1e-9)


@given(counts, counts)
def test_both_tests_of_statsmodels_agree(b: int, c: int) -> None:
    table = [[5, b], [c, 5]]
    exact = mcnemar_of_statsmodels(table, exact=True).pvalue
    assert mcnemar(b, c, method="exact") == pytest.approx(min(exact, 1.0), abs=1e-12)
    if b + c:
        chi_squared = mcnemar_of_statsmodels(table, exact=False, correction=False).pvalue
        assert mcnemar(b, c, method="asymptotic") == pytest.approx(chi_squared, abs=1e-12)


@given(counts, counts)
def test_one_sided_tests_are_binomial(b: int, c: int) -> None:
    if b + c:
        for alternative in ("greater", "less"):
            expected = binomtest(b, b + c, 0.5, alternative=alternative).pvalue
            found = mcnemar(b, c, method="exact", alternative=alternative)
            assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("method", ["mid_p", "exact", "asymptotic"])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_no_change_speaks_against_nothing(method: Any, alternative: Any) -> None:
    assert mcnemar(0, 0, method=method, alternative=alternative) == 1


def test_mid_p_of_equal_counts_is_that_of_fagerland() -> None:
    # 1 - C(6, 3) / 2^6 / 2 = 1 - 20/128
    assert mcnemar(3, 3) == pytest.approx(0.84375)


@given(counts, counts, methods)
def test_sides_may_be_named_either_way(b: int, c: int, method: Any) -> None:
    assert mcnemar(b, c, method=method) == pytest.approx(mcnemar(c, b, method=method))
    greater = mcnemar(b, c, method=method, alternative="greater")
    assert greater == pytest.approx(mcnemar(c, b, method=method, alternative="less"))
    assert 0 <= greater <= 1


@given(counts, counts)
def test_mid_p_lies_below_the_exact_p_by_half_of_what_was_seen(b: int, c: int) -> None:
    if b + c:
        seen = math.comb(b + c, b) / 2 ** (b + c)
        exact = mcnemar(b, c, method="exact", alternative="greater")
        assert mcnemar(b, c, alternative="greater") == pytest.approx(exact - seen / 2, abs=1e-12)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((-1, 2), {}, "`only_first` must be a whole number"),
        ((1, 2.5), {}, "`only_second` must be a whole number"),
        ((1, 2), {"method": "midp"}, "`method` must be mid_p, exact or asymptotic. Got 'midp'"),
        ((1, 2), {"alternative": "up"}, "`alternative` must be two-sided, greater or less"),
    ],
)
def test_what_cannot_be_is_named(arguments: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mcnemar(*arguments, **options)

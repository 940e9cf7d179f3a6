from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.stats.pass_k import pass_at_k, pass_hat_k
from tests.stats.reference import reference

counted = st.integers(1, 8).flatmap(
    lambda r: st.tuples(st.just(r), st.integers(0, r), st.integers(1, r))
)


def test_reference_repeats() -> None:
    inputs, expected = reference("pass_k_8_5_3")
    found = {
        "pass_at_k": pass_at_k(**inputs).loc[0, "estimate"],
        "pass_hat_k": pass_hat_k(**inputs).loc[0, "estimate"],
    }
    assert found == pytest.approx(expected, abs=1e-6)


@given(counted)
def test_all_ways_to_choose_are_counted(case: tuple[int, int, int]) -> None:
    repeats, passes, k = case
    chosen = list(combinations([True] * passes + [False] * (repeats - passes), k))
    one, every = sum(map(any, chosen)) / len(chosen), sum(map(all, chosen)) / len(chosen)
    assert pass_at_k(repeats, passes, k).loc[0, "estimate"] == pytest.approx(one)
    assert pass_hat_k(repeats, passes, k).loc[0, "estimate"] == pytest.approx(every)


@given(st.lists(counted.map(lambda case: case[:2]), min_size=1, max_size=6))
def test_one_of_one_is_the_pass_rate(cases: list[tuple[int, int]]) -> None:
    repeats, passes = [r for r, _ in cases], [c for _, c in cases]
    expected = np.mean([c / r for r, c in cases])
    for chance in (pass_at_k, pass_hat_k):
        assert chance(repeats, passes, 1).loc[0, "estimate"] == pytest.approx(expected)


def test_cases_are_averaged_with_a_t_interval() -> None:
    # 10/56, 56/56 and 1/56 of the 56 triples pass whole
    row = pass_hat_k(pd.Series([8, 8, 8], dtype="Int64"), np.array([5, 8, 3]), 3).iloc[0]
    values = np.array([10, 56, 1]) / 56
    assert row["estimate"] == pytest.approx(values.mean())
    # t with 2 degrees 4.302653, cut to [0, 1]
    half = 4.302653 * values.std(ddof=1) / np.sqrt(3)
    assert row["ci_low"] == max(0, values.mean() - half)
    assert row["ci_high"] == pytest.approx(min(1, values.mean() + half))


@pytest.mark.parametrize("chance", [pass_at_k, pass_hat_k])
@pytest.mark.parametrize(
    ("repeats", "passes", "reason", "n_left_out"),
    [
        (2, 1, "k_exceeds_repeats", 1),
        ([2, 1], [1, 1], "k_exceeds_repeats", 2),
        ([], [], "too_few", 0),
        ([3, None], [None, 1], "too_few", 2),
    ],
)
def test_too_few_repeats_are_missing(
    chance: Callable[..., pd.DataFrame], repeats: Any, passes: Any, reason: str, n_left_out: int
) -> None:
    row = chance(repeats, passes, 3).iloc[0]
    assert pd.isna(row["estimate"])
    assert (row["reason"], row["n"], row["n_left_out"]) == (reason, 0, n_left_out)


def test_cases_with_fewer_repeats_are_left_out_and_counted() -> None:
    row = pass_at_k([3, 2, 3], [1, 2, 0], 3).iloc[0]
    assert (row["estimate"], row["n"], row["n_left_out"]) == (0.5, 2, 1)


@pytest.mark.parametrize(
    ("repeats", "reason"), [(([3], [2]), "too_few"), (([3, 3], [3, 3]), "no_variance")]
)
def test_an_interval_needs_cases_that_differ(repeats: tuple[Any, Any], reason: str) -> None:
    row = pass_at_k(*repeats, 2).iloc[0]
    assert row["estimate"] == 1
    assert pd.isna(row["ci_low"])
    assert row["reason"] == reason


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 4, 1), "at most its 3 repeats as passes. Got 4"),
        ((3, 1, 0), "`k` must be a whole number from 1 on. Got 0"),
        (([3, 3], [1], 1), "must be of the same cases. Got 2 and 1"),
        (([3.5], [1], 1), "`repeats` must be a whole number"),
    ],
)
def test_what_cannot_be_counted_says_why(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pass_at_k(*arguments)

"""Shares of answers where an item may have several."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from evalnb.probes.shares import Share

HITS = st.lists(st.integers(0, 1), min_size=1, max_size=30)


@given(HITS)
def test_one_answer_an_item_is_binomial(hits: list[int]) -> None:
    share = Share.of(np.array(hits, dtype=float), np.arange(len(hits)))
    n, k = len(hits), sum(hits)
    assert share.size == n
    assert share.p_above(0.05) == pytest.approx(float(binom.sf(k - 1, n, 0.05)), abs=1e-9)
    exact = binomtest(k, n, alternative="less").proportion_ci(0.95, "exact")
    assert share.upper() == pytest.approx(exact.high, abs=1e-9)
    scored = binomtest(k, n).proportion_ci(0.95, "wilson")
    interval = share.wilson()
    assert interval.ci_low == pytest.approx(scored.low, abs=1e-9)
    assert interval.ci_high == pytest.approx(scored.high, abs=1e-9)


@given(HITS, st.integers(2, 5))
def test_copies_of_an_answer_tell_nothing_more(hits: list[int], copies: int) -> None:
    values, items = np.array(hits, dtype=float), np.arange(len(hits))
    once = Share.of(values, items)
    again = Share.of(np.repeat(values, copies), np.repeat(items, copies))
    assert again.size == pytest.approx(once.size)
    assert again.p_above(0.05) == pytest.approx(once.p_above(0.05))


def test_nothing_seen_is_bounded_by_the_cases_not_by_the_attacks() -> None:
    share = Share.of(np.zeros(32), np.arange(32) % 10)
    assert (share.n, share.size) == (32, 10)
    assert share.upper() == pytest.approx(1 - 0.05 ** (1 / 10))


def test_few_items_are_not_trusted_to_be_alike() -> None:
    """Eight questions with eighteen answers each, at a true 5%: 5% are called more, or fewer."""
    rng = np.random.default_rng(0)
    items = np.repeat(np.arange(8), 18)
    accused = 0
    for _ in range(400):
        by_item = rng.beta(0.5, 9.5, 8)
        values = (rng.random(144) < by_item[items]).astype(float)
        accused += Share.of(values, items).p_above(0.05) <= 0.05
    # Two standard errors above 5%: 0.05 + 2 sqrt(0.05 * 0.95 / 400) = 0.072.
    assert accused / 400 <= 0.072

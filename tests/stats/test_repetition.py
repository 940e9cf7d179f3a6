from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy

from evalnb.stats.effects import EFFECTS
from evalnb.stats.estimates import wilson
from evalnb.stats.repetition import (
    entropy_of_counts,
    repetition_by_item,
    repetition_statistics,
)
from tests.stats.reference import interval_of, metric, reference

repeats = st.lists(st.sampled_from(["A", "B", "C", None]), max_size=6)


def verdicts(rows: list[list[str | None]]) -> pd.DataFrame:
    flat = [(item, verdict) for item, row in enumerate(rows) for verdict in row]
    return pd.DataFrame(flat, columns=["item", "verdict"])


def test_three_verdicts_on_each_item() -> None:
    given_, expected = reference("repetition_stability_6")
    frame = EFFECTS.check(repetition_statistics(verdicts(given_["verdicts_by_repeat"])))
    found = {name: metric(frame, name)["estimate"] for name in expected}
    assert found == pytest.approx(expected, abs=1e-9)


def test_the_entropy_of_verdicts() -> None:
    given_, expected = reference("verdict_entropy")
    counts = given_["win_tie_lose_counts"]
    assert entropy_of_counts(counts) == pytest.approx(expected["entropy_nats"], abs=1e-9)


@given(st.lists(st.integers(0, 20), min_size=1, max_size=5).filter(sum))
def test_the_entropy_is_that_of_scipy(counts: list[int]) -> None:
    assert entropy_of_counts(counts) == pytest.approx(float(entropy(counts)), abs=1e-12)
    assert 0 <= entropy_of_counts(counts) <= math.log(len(counts)) + 1e-12


@given(st.lists(repeats, min_size=1, max_size=12))
def test_pairs_of_repeats_are_counted(rows: list[list[Any]]) -> None:
    frame = repetition_statistics(verdicts(rows))
    known = [[verdict for verdict in row if verdict is not None] for row in rows if row]
    pairs = [list(combinations(row, 2)) for row in known if len(row) > 1]
    flips = [sum(one != two for one, two in row) / len(row) for row in pairs]
    flip = metric(frame, "self_flip_rate")
    assert (flip["n"], flip["n_left_out"]) == (len(flips), len(known) - len(flips))
    if not flips:
        assert set(frame["reason"]) == {"too_few"}
        return
    assert flip["estimate"] == pytest.approx(sum(flips) / len(flips))
    agreement = metric(frame, "pairwise_self_agreement")
    assert flip["estimate"] + agreement["estimate"] == pytest.approx(1)
    assert metric(frame, "repetition_stability")["estimate"] >= agreement["estimate"] - 1e-12


def test_a_judge_that_repeats_itself_has_a_floor_of_zero_with_an_upper_bound() -> None:
    row = metric(repetition_statistics(verdicts([["A", "A"]] * 20)), "self_flip_rate")
    assert row["estimate"] == 0
    assert interval_of(row) == [0, pytest.approx(wilson(0, 20).ci_high)]


def test_the_items_by_themselves() -> None:
    found = repetition_by_item(verdicts([["A", "B", None], ["C"], [None]]))
    expected = pd.DataFrame(
        {
            "item": [0, 1, 2],
            "n": pd.array([2, 1, 0], dtype="Int64"),
            "stability": pd.array([0.5, 1.0, None], dtype="Float64"),
            "self_flip": pd.array([1.0, None, None], dtype="Float64"),
            "entropy": pd.array([math.log(2), 0.0, None], dtype="Float64"),
        }
    )
    pd.testing.assert_frame_equal(found, expected)


def test_without_verdicts_there_is_no_floor() -> None:
    frame = repetition_statistics(verdicts([]))
    assert frame["estimate"].isna().all()
    assert set(frame["reason"]) == {"too_few"}
    with pytest.raises(ValueError, match="needs at least one verdict"):
        entropy_of_counts([0, 0])

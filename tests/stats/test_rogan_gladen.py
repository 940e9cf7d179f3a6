from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.frames import METRICS
from evalnb.stats.rogan_gladen import rogan_gladen
from tests.stats.reference import interval_of, metric, reference

counted = st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def test_reference_correction() -> None:
    inputs, expected = reference("rogan_gladen_1000")
    found = rogan_gladen(**inputs)
    for name in ("judge_rate", "sensitivity", "specificity", "youden", "corrected", "unclipped"):
        assert metric(found, name)["estimate"] == pytest.approx(expected.pop(name), abs=1e-6), name
    corrected, unclipped = metric(found, "corrected"), metric(found, "unclipped")
    assert corrected["se"] == pytest.approx(expected.pop("delta_se"), abs=1e-6)
    assert interval_of(unclipped) == pytest.approx(expected.pop("wald_ci"), abs=1e-6)
    assert interval_of(corrected) == pytest.approx(expected.pop("adjusted_ci"), abs=1e-6)
    assert not expected
    assert found["n"].tolist() == [1000, 200, 200, 400, 1000, 1000]


def test_a_judge_no_better_than_chance_corrects_nothing() -> None:
    inputs, expected = reference("rogan_gladen_undefined")
    found = rogan_gladen(**inputs)
    assert expected == {"corrected": None, "youden": 0.0}
    assert metric(found, "youden")["estimate"] == pytest.approx(expected["youden"], abs=1e-6)
    corrected = metric(found, "corrected")
    assert corrected[["estimate", "ci_low", "ci_high"]].isna().all()
    assert corrected["reason"] == "judge_uninformative"
    METRICS.check(found)


def test_a_judge_better_than_chance_by_luck_corrects_nothing_either() -> None:
    # Se 0.6, Sp 0.6 of 20 each: Youden 0.2, its Newcombe interval from below 0
    found = rogan_gladen(50, 100, 12, 20, 12, 20)
    assert metric(found, "youden")["ci_low"] < 0
    assert metric(found, "corrected")["reason"] == "judge_uninformative"


def test_what_is_outside_the_range_is_cut_and_said() -> None:
    # (0.02 + 0.9 - 1) / 0.8 = -0.1
    found = rogan_gladen(2, 100, 90, 100, 90, 100)
    corrected = metric(found, "corrected")
    assert corrected["estimate"] == 0
    assert corrected["warnings"] == ["outside_range"]
    assert 0 <= corrected["ci_low"] <= corrected["ci_high"] <= 1
    assert metric(found, "unclipped")["estimate"] == pytest.approx(-0.1)
    # (0.95 + 0.9 - 1) / 0.8 = 1.0625
    assert metric(rogan_gladen(95, 100, 90, 100, 90, 100), "corrected")["estimate"] == 1


@pytest.mark.parametrize("empty", [0, 1, 2])
def test_without_verdicts_or_labels_nothing_is_known(empty: int) -> None:
    samples = [[40, 100], [18, 20], [14, 20]]
    samples[empty] = [0, 0]
    found = rogan_gladen(*(count for sample in samples for count in sample))
    corrected = metric(found, "corrected")
    assert pd.isna(corrected["estimate"])
    assert corrected["reason"] == "too_few"


@given(counted)
def test_a_perfect_judge_needs_no_correction(judge: tuple[int, int]) -> None:
    found = rogan_gladen(*judge, 50, 50, 50, 50)
    corrected, raw = metric(found, "corrected"), metric(found, "judge_rate")
    assert corrected["estimate"] == pytest.approx(raw["estimate"])


@given(counted, counted, counted)
def test_what_is_corrected_lies_in_its_interval_within_0_and_1(
    judge: tuple[int, int], hits: tuple[int, int], rejects: tuple[int, int]
) -> None:
    row = metric(rogan_gladen(*judge, *hits, *rejects), "corrected")
    if pd.isna(row["estimate"]):
        assert row["reason"] == "judge_uninformative"
    else:
        assert 0 <= row["ci_low"] <= row["estimate"] <= row["ci_high"] <= 1


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ((3, 2, 1, 1, 1, 1), "`judge_passes` must be at most `n` = 2. Got 3"),
        ((1, 2, 1, 1, 1, -1), "`true_fails` must be a whole number from 0 on. Got -1"),
    ],
)
def test_counts_that_cannot_be_say_why(counts: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rogan_gladen(*counts)


def test_where_nothing_errs_the_delta_method_shows_no_spread() -> None:
    found = rogan_gladen(10, 10, 10, 10, 10, 10)
    row = metric(found, "unclipped")
    assert (row["estimate"], row["reason"], pd.isna(row["ci_low"])) == (1, "no_variance", True)
    assert metric(found, "corrected")["ci_low"] < 1

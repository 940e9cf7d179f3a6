from __future__ import annotations

from random import Random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.api import OLS

from evalnb.stats.effects import EFFECTS
from evalnb.stats.length import length_shift
from tests.stats.reference import interval_of, metric, reference

variant = st.tuples(st.integers(0, 8), st.sampled_from([-1.0, 0.5, 1.0, 2.0]), st.integers(-2, 2))


def test_padding_of_the_reference() -> None:
    given_, expected = reference("padding_12")
    frame = EFFECTS.check(length_shift(**given_))
    mean, slope = metric(frame, "mean_shift"), metric(frame, "shift_per_doubling")
    assert {
        "mean_shift": mean["estimate"],
        "mean_shift_se": mean["se"],
        "shift_per_doubling": slope["estimate"],
        "shift_per_doubling_se": slope["se"],
        "clusters": slope["n_clusters"],
        "share_raised": metric(frame, "share_raised")["estimate"],
        "share_lowered": metric(frame, "share_lowered")["estimate"],
    } == pytest.approx(expected, abs=1e-9)
    assert slope["warnings"] == ["few_clusters"]


@given(st.lists(variant, min_size=6, max_size=40))
def test_errors_are_those_of_statsmodels(rows: list[tuple[int, float, int]]) -> None:
    cases, ratio, shift = (list(column) for column in zip(*rows, strict=True))
    frame = length_shift(cases, ratio, shift)
    slope = metric(frame, "shift_per_doubling")
    if pd.isna(slope["se"]):
        assert slope["reason"] in ("too_few", "no_variance")
        return
    fit = OLS(shift, np.array(ratio)).fit(
        cov_type="cluster", cov_kwds={"groups": np.array(cases)}, use_t=True
    )
    assert slope["estimate"] == pytest.approx(fit.params[0], abs=1e-12)
    assert slope["se"] == pytest.approx(fit.bse[0], rel=1e-6)
    assert interval_of(slope) == pytest.approx(fit.conf_int()[0], rel=1e-6, abs=1e-9)
    assert slope["p_value"] == pytest.approx(fit.pvalues[0], rel=1e-5, abs=1e-12)


@given(st.lists(variant, min_size=2, max_size=20), st.randoms())
def test_the_order_of_variants_means_nothing(
    rows: list[tuple[int, float, int]], random: Random
) -> None:
    shuffled = random.sample(rows, len(rows))
    one, other = (length_shift(*(list(c) for c in zip(*r, strict=True))) for r in (rows, shuffled))
    pd.testing.assert_frame_equal(one, other, rtol=1e-7, atol=1e-9)


def test_variants_without_a_score_are_left_out_and_counted() -> None:
    frame = length_shift(["a", "a", "b", "b"], [1, 2, 1, None], [1, None, 0, 3])
    assert set(frame["n"]) == {2}
    assert set(frame["n_left_out"]) == {2}
    assert metric(frame, "shift_per_doubling")["estimate"] == 0.5


def test_a_judge_that_never_moves_shifts_by_nothing() -> None:
    frame = length_shift(["a", "b", "c"], [1, 1, 1], [0, 0, 0])
    assert list(frame["estimate"]) == [0, 0, 0, 0]
    assert set(frame["reason"]) == {"no_variance"}


def test_what_is_undefined_says_why() -> None:
    assert set(length_shift([], [], [])["reason"]) == {"too_few"}
    one_case = length_shift(["a", "a"], [1, 2], [0, 1])
    assert metric(one_case, "shift_per_doubling")["reason"] == "too_few"
    same_length = length_shift(["a", "b"], [0, 0], [0, 1])
    assert metric(same_length, "shift_per_doubling")["reason"] == "no_variance"
    assert pd.isna(metric(same_length, "shift_per_doubling")["estimate"])


def test_what_cannot_be_is_named() -> None:
    with pytest.raises(ValueError, match="Got `case` 1, `log2_length_ratio` 2, `score_shift` 2"):
        length_shift(["a"], [1, 1], [0, 0])
    with pytest.raises(ValueError, match="`case` must name the case"):
        length_shift(["a", None], [1, 1], [0, 0])
    with pytest.raises(ValueError, match="`log2_length_ratio` must be finite"):
        length_shift(["a"], [float("-inf")], [0])

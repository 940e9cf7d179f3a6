from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from evalnb.shifts import SHIFTS, language_of, shifts
from evalnb.shifts.features import features
from tests.phrases.answers import missing, outputs, recorded


def by_metric(before: pd.DataFrame, after: pd.DataFrame) -> dict[str, dict[str, Any]]:
    return {row["metric"]: dict(row) for _, row in shifts(before, after).iterrows()}


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Your parcel is on the way, please wait.", "en"),
        ("Das Guthaben der Geschenkkarte steht unter Mein Konto.", "de"),
        ("La factura está en la cuenta, en mis pedidos.", "es"),
        ("Vous pouvez payer avec une carte, ne tardez pas.", "fr"),
        ("ギフトカードの有効期限は3年です。", "ja"),
        ("礼品卡有效期为三年。", "zh"),
        ("기프트카드는 3년간 유효합니다.", "ko"),
        ("Подарочная карта действует три года.", "cyrillic"),
        ("B-48213", None),
        ("WELCOME15", None),
        ('{"the": "and"}', None),
        ("", None),
    ],
)
def test_languages(text: str, language: str | None) -> None:
    assert language_of(text) == language


@given(st.text())
def test_any_text_has_a_language_or_none(text: str) -> None:
    assert language_of(text) is None or language_of(text)
    assert features(text)["characters"] == len(text)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("- one\n- two", "list"),
        ("1. one", "list"),
        ("## Title", "heading"),
        ("| a | b |", "table"),
        ("See https://example.org", "link"),
        ("Use `ls`.", "code"),
        ("Done 🎉", "emoji"),
        ("Really?", "question"),
        ("Great!", "exclamation"),
        ("One.\n\nTwo.", "paragraphs"),
    ],
)
def test_forms(text: str, form: str) -> None:
    assert features(text)[f"format={form}"] == 1.0


def test_a_shift_in_each_kind() -> None:
    before = outputs({f"c{n}": "The parcel is on the way." for n in range(12)})
    after = outputs(
        {f"c{n}": "Ich kann das leider nicht sagen, **bitte** warten Sie." for n in range(12)}
    )
    found = by_metric(before, after)
    moved = ("language=en", "language=de", "format=bold")
    assert [found[name]["estimate"] for name in moved] == [-1, 1, 1]
    assert found["characters"]["estimate"] == 54 - 25
    assert found["characters"]["reason"] == "no_variance"
    assert found["length_ratio"]["estimate"] == pytest.approx(54 / 25)
    assert found["language=de"]["p_value"] == pytest.approx(2 / 2**12)
    assert found["language=de"]["ci_low"] > 0


def test_lengths_have_students_interval_over_cases_not_answers() -> None:
    before = outputs({"a": ["x" * 10, "x" * 20], "b": ["x" * 30] * 2, "c": ["x"] * 2})
    after = outputs({"a": ["x" * 20, "x" * 20], "b": ["x" * 60] * 2, "c": ["x" * 3] * 2})
    row = by_metric(before, after)["characters"]
    expected = ttest_1samp([5.0, 30.0, 2.0], 0.0).confidence_interval()
    assert (row["estimate"], row["n"]) == (pytest.approx(37 / 3), 3)
    assert [row["ci_low"], row["ci_high"]] == pytest.approx([expected.low, expected.high])


def test_the_ratio_is_a_geometric_mean_of_answers_that_have_text() -> None:
    before = outputs({"a": "x" * 10, "b": "x" * 10, "c": None})
    after = outputs({"a": "x" * 20, "b": "x" * 80, "c": "x"})
    row = by_metric(before, after)["length_ratio"]
    assert row["estimate"] == pytest.approx(4.0)  # the root of 2 times 8
    assert (row["n"], row["n_left_out"]) == (2, 1)


def test_missing_answers_are_left_out_and_counted() -> None:
    before, after = outputs({"a": "x", "b": "x"}), outputs({"a": "x", "b": "x", "c": "x"})
    after = missing(after, "b")
    row = by_metric(before, after)["refusal"]
    assert (row["n"], row["n_left_out"]) == (1, 2)


def test_a_run_beside_itself_is_no_shift() -> None:
    answers = recorded("run_a")
    found = shifts(answers, answers)
    lengths = found["metric"] == "length_ratio"
    assert (found.loc[~lengths, "estimate"] == 0).all()
    assert (found.loc[lengths, "estimate"] == 1).all()
    assert (found["p_adjusted"] == 1).all()


def test_two_runs_of_the_same_system_show_no_shift() -> None:
    found = shifts(recorded("run_a"), recorded("run_b"))
    assert (found["p_adjusted"] > 0.05).all()
    known = found["ci_low"].notna()
    assert known.any()
    assert np.isfinite(found.loc[known, "ci_low"].to_numpy("float64")).all()


def test_nothing_to_compare_is_na_with_a_reason() -> None:
    nothing = outputs({})
    found = shifts(nothing, nothing)
    assert list(found.columns) == list(SHIFTS.columns)
    assert found["estimate"].isna().all()
    assert (found["reason"] == "too_few").all()

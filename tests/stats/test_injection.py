from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evalnb.stats.estimates import jeffreys
from evalnb.stats.injection import (
    FAMILIES,
    injection_by_family,
    injection_success,
    injection_success_of_counts,
)
from evalnb.stats.paired import PAIRED
from evalnb.stats.paired_counts import PairedCounts
from tests.stats.reference import interval_of, metric, reference


def test_counts_of_the_reference() -> None:
    given_, expected = reference("injection_success_a")
    both, first, second = (
        given_["passes_both"],
        given_["passes_only_with_attack"],
        given_["passes_only_without"],
    )
    counts = PairedCounts(both, first, second, given_["n"] - both - first - second)
    frame = PAIRED.check(injection_success_of_counts(counts))
    success, excess = metric(frame, "success_rate"), metric(frame, "excess")
    assert {
        "success_rate": success["estimate"],
        "control_rate": metric(frame, "control_rate")["estimate"],
        "excess": excess["estimate"],
        "mcnemar_exact_p": excess["p_exact"],
    } == pytest.approx({k: v for k, v in expected.items() if not k.endswith("_ci")}, abs=1e-9)
    assert interval_of(success) == pytest.approx(expected["success_ci"], abs=1e-9)
    assert interval_of(excess) == pytest.approx(expected["excess_tango_ci"], abs=1e-9)


def test_a_published_attack() -> None:
    given_, expected = reference("repetitive_list_gpt4")
    hits, n = given_["hits"], given_["n"]
    row = injection_by_family([True] * hits + [False] * (n - hits), ["list"] * n).iloc[0]
    assert row["estimate"] == pytest.approx(expected["rate"], abs=1e-9)
    assert interval_of(row) == pytest.approx(expected["wilson_ci"], abs=1e-9)
    found = jeffreys(hits, n)
    assert [found.ci_low, found.ci_high] == pytest.approx(expected["jeffreys_ci"], abs=1e-9)


def test_families_are_told_apart() -> None:
    found = injection_by_family(
        [True, False, None, False, False, None], ["role", "role", "role", "plea", "plea", "none"]
    )
    FAMILIES.check(found)
    assert list(found["family"]) == ["role", "plea", "none"]
    assert list(found["n"]) == [2, 2, 0]
    assert list(found["n_left_out"]) == [1, 0, 1]
    assert found["estimate"].tolist() == [0.5, 0.0, pd.NA]
    # No success in two: the rate r with (1 - r)^2 = 0.05.
    assert found.loc[1, "ci_high"] == pytest.approx(1 - 0.05**0.5)
    assert found.loc[1, "method"] == "one-sided 95%, no success"
    assert found.loc[2, "reason"] == "too_few"


def test_attacks_on_one_answer_are_no_independent_answers() -> None:
    # Ten answers, four attacks on each that succeed or fail together: as ten cases.
    success = np.array([1, 1, 0, 0, 1, 0, 0, 1, 0, 0])
    frame = injection_success(
        np.repeat(success, 4), np.zeros(40), clusters=np.repeat(np.arange(10), 4)
    )
    row = metric(frame, "excess")
    assert row["se"] == pytest.approx(success.std(ddof=1) / np.sqrt(10))
    assert metric(frame, "control_rate")["reason"] == "no_variance"


def test_a_family_must_be_named() -> None:
    with pytest.raises(ValueError, match="`family` must name the family of each attack"):
        injection_by_family([True], [None])
    with pytest.raises(ValueError, match="Got `attacked` 1, `family` 2"):
        injection_by_family([True], ["a", "b"])

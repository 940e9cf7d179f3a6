from __future__ import annotations

from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from evalnb.frames import METRICS
from evalnb.stats.correction import Target, corrected_pass_rate, verdict_rates
from tests.stats.reference import interval_of, metric, reference


def reference_cases() -> tuple[list[Any], list[Any], dict[str, Any]]:
    inputs, expected = reference("corrected_binary_40_240")
    passes, n = inputs["judge_on_unlabelled_passes"], inputs["judge_on_unlabelled_n"]
    judged = inputs["judge_on_labelled"] + [1] * passes + [0] * (n - passes)
    return judged, inputs["human"] + [None] * n, expected


def cells(**counts: tuple[int, int, int]) -> tuple[list[bool], list[bool | None]]:
    """Cases judged passed and failed: people pass, people fail, nobody looked."""
    judged, labels = [], list[bool | None]()
    for verdict, (passes, fails, unlabelled) in counts.items():
        judged += [verdict == "passed"] * (passes + fails + unlabelled)
        labels += [True] * passes + [False] * fails + [None] * unlabelled
    return judged, labels


def test_reference_post_stratification() -> None:
    judged, labels, expected = reference_cases()
    found = corrected_pass_rate(judged, labels)
    raw, corrected = metric(found, "raw"), metric(found, "corrected")
    assert raw["estimate"] == pytest.approx(expected["judge_mean_all"], abs=1e-6)
    assert metric(found, "labels_only")["estimate"] == pytest.approx(expected["labels_mean"])
    assert corrected["estimate"] == pytest.approx(expected["post_stratified"], abs=1e-6)
    assert corrected["se"] == pytest.approx(expected["delta_se"], abs=1e-6)
    assert interval_of(corrected) == pytest.approx(expected["jeffreys_ci"], abs=0.004)
    assert found["n"].tolist() == [240, 40, 40]
    assert list(found["n_cases"]) == [240] * 3


def test_reference_verdicts() -> None:
    judged, labels, expected = reference_cases()
    found = verdict_rates(judged, labels)
    for name in ("judge_pass_share", "pass_given_judged_pass", "pass_given_judged_fail"):
        assert metric(found, name)["estimate"] == pytest.approx(expected[name], abs=1e-6)
    assert metric(found, "pass_given_judged_pass")["n"] == expected["n_judged_pass"]
    assert metric(found, "pass_given_judged_fail")["n"] == expected["n_judged_fail"]


def test_raw_and_labels_have_the_intervals_of_statsmodels() -> None:
    judged, labels, _ = reference_cases()
    found = corrected_pass_rate(judged, labels)
    for name, counts in (("raw", (183, 240)), ("labels_only", (28, 40))):
        expected = proportion_confint(*counts, method="wilson")
        assert interval_of(metric(found, name)) == pytest.approx(list(expected), abs=1e-9)


def test_the_question_decides_whether_shares_vary() -> None:
    judged, labels, _ = reference_cases()
    system, cases = (
        metric(corrected_pass_rate(judged, labels, target=target), "corrected")
        for target in ("system", "cases")
    )
    assert system["estimate"] == cases["estimate"]
    # 0.7625^2 * 0.896552 * 0.103448/29 + 0.2375^2 * 0.181818 * 0.818182/11, and for the system
    # also 0.714734^2 * 0.7625 * 0.2375/240
    assert cases["se"] ** 2 == pytest.approx(0.00185943 + 0.00076283, abs=1e-7)
    assert system["se"] ** 2 - cases["se"] ** 2 == pytest.approx(0.00038545, abs=1e-7)
    assert cases["ci_high"] - cases["ci_low"] < system["ci_high"] - system["ci_low"]
    assert (system["target"], cases["target"]) == ("system", "cases")


def test_the_same_seed_gives_the_same_frame_whatever_the_order_of_cases() -> None:
    judged, labels, _ = reference_cases()
    strata = [f"s{i % 3}" for i in range(240)]
    one = corrected_pass_rate(judged, labels, strata=strata, seed=5)
    order = np.random.default_rng(1).permutation(240)
    other = corrected_pass_rate(
        *([values[i] for i in order] for values in (judged, labels)),
        strata=[strata[i] for i in order],
        seed=5,
    )
    pd.testing.assert_frame_equal(one, other)
    assert not one.equals(corrected_pass_rate(judged, labels, strata=strata, seed=6))


@pytest.mark.parametrize("kind", ["list", "numpy", "nullable", "integers"])
def test_inputs_come_in_many_shapes(kind: str) -> None:
    judged, labels = cells(passed=(18, 2, 55), failed=(2, 8, 15))
    make: dict[str, Any] = {
        "list": lambda values: [pd.NA if value is None else value for value in values],
        "numpy": lambda values: np.array([np.nan if v is None else float(v) for v in values]),
        "nullable": lambda values: pd.Series(values, dtype="boolean", index=[3] * len(values)),
        "integers": lambda values: pd.Series(values, dtype="Int64"),
    }
    found = corrected_pass_rate(make[kind](judged), make[kind](labels))
    pd.testing.assert_frame_equal(found, corrected_pass_rate(judged, labels))
    # 0.75 * 18/20 + 0.25 * 2/10
    assert metric(found, "corrected")["estimate"] == pytest.approx(0.725)


def test_cases_without_a_verdict_are_left_out_and_counted() -> None:
    judged, labels = cells(passed=(18, 2, 55), failed=(2, 8, 15))
    found = corrected_pass_rate([*judged, None, None], [*labels, True, None])
    assert list(found["n_left_out"]) == [2] * 3
    expected = corrected_pass_rate(judged, labels)
    pd.testing.assert_frame_equal(
        found.drop(columns="n_left_out"), expected.drop(columns="n_left_out")
    )


def test_a_verdict_without_labels_leaves_the_rate_open() -> None:
    judged, labels = cells(passed=(30, 2, 50), failed=(0, 0, 18))
    row = metric(corrected_pass_rate(judged, labels), "corrected")
    assert pd.isna(row["estimate"])
    assert row["reason"] == "too_few"
    assert row["warnings"] == ["verdict_without_label"]
    # failed ones may all pass or fail: 0.82 * 30/32 and that + 0.18, each give or take the labels
    assert row["ci_low"] < 0.82 * 30 / 32
    assert row["ci_high"] > 0.82 * 30 / 32 + 0.1


def test_few_labels_of_a_verdict_are_said() -> None:
    few = corrected_pass_rate(*cells(passed=(30, 2, 50), failed=(1, 3, 14)))
    assert metric(few, "corrected")["warnings"] == ["few_labels"]
    enough = corrected_pass_rate(*cells(passed=(30, 2, 50), failed=(1, 4, 14)))
    assert pd.isna(metric(enough, "corrected")["warnings"])


def test_a_verdict_that_the_judge_never_gave_needs_no_label() -> None:
    row = metric(corrected_pass_rate(*cells(passed=(45, 5, 50))), "corrected")
    assert row["estimate"] == pytest.approx(0.9)
    assert pd.isna(row["warnings"])


@pytest.mark.parametrize(("judged", "labels"), [([], []), ([None], [True])])
def test_without_a_verdict_nothing_is_known(judged: list[Any], labels: list[Any]) -> None:
    found = corrected_pass_rate(judged, labels)
    assert found[["estimate", "ci_low", "ci_high"]].isna().all(axis=None)
    assert set(found["reason"]) == {"too_few"}
    METRICS.check(found)


def test_without_labels_only_the_judge_speaks() -> None:
    found = corrected_pass_rate([True, True, False], [None] * 3)
    assert metric(found, "raw")["estimate"] == pytest.approx(2 / 3)
    assert found["reason"].tolist() == [pd.NA, "too_few", "too_few"]


verdicts = st.lists(
    st.tuples(st.booleans(), st.one_of(st.none(), st.booleans())), min_size=1, max_size=30
)


@given(verdicts)
def test_a_perfect_judge_is_not_corrected(rows: list[tuple[bool, bool | None]]) -> None:
    judged = [verdict for verdict, _ in rows] + [True, False]
    labels = [None if label is None else verdict for verdict, label in rows] + [True, False]
    found = corrected_pass_rate(judged, labels)
    assert metric(found, "corrected")["estimate"] == pytest.approx(metric(found, "raw")["estimate"])


@given(verdicts, st.sampled_from(["system", "cases"]))
def test_an_estimate_lies_in_its_interval(
    rows: list[tuple[bool, bool | None]], target: Target
) -> None:
    found = corrected_pass_rate([v for v, _ in rows], [label for _, label in rows], target=target)
    row = metric(found, "corrected")
    assert 0 <= row["ci_low"] <= row["ci_high"] <= 1
    if pd.notna(row["estimate"]):
        assert row["ci_low"] <= row["estimate"] <= row["ci_high"]


# Strata


def stratified() -> tuple[list[bool], list[bool | None], list[str]]:
    easy = cells(passed=(9, 1, 60), failed=(2, 3, 5))
    hard = cells(passed=(10, 10, 0), failed=(5, 15, 0))
    strata = ["easy"] * len(easy[0]) + ["hard"] * len(hard[0])
    return easy[0] + hard[0], easy[1] + hard[1], strata


def test_strata_undo_that_some_cases_were_likelier_labelled() -> None:
    judged, labels, strata = stratified()
    found = corrected_pass_rate(judged, labels, strata=strata)
    # 120 cases: easy 70 * 9/10 + 10 * 2/5 = 67, hard 20 * 10/20 + 20 * 5/20 = 15
    assert metric(found, "corrected")["estimate"] == pytest.approx(82 / 120)
    # labels alone: easy 80 * 11/15, hard 40 * 15/40
    expected = (80 * 11 / 15 + 15) / 120
    assert metric(found, "labels_only")["estimate"] == pytest.approx(expected)
    assert metric(found, "raw")["estimate"] == pytest.approx(90 / 120)


def test_known_weights_say_what_the_rate_is_of() -> None:
    judged, labels, strata = stratified()
    weights = pd.Series({"easy": 0.9, "hard": 0.1})
    found = corrected_pass_rate(judged, labels, strata=strata, weights=weights)
    assert metric(found, "corrected")["estimate"] == pytest.approx(0.9 * 67 / 80 + 0.1 * 15 / 40)
    assert metric(found, "raw")["estimate"] == pytest.approx(0.9 * 70 / 80 + 0.1 * 20 / 40)
    expected = 0.9 * 11 / 15 + 0.1 * 15 / 40
    assert metric(found, "labels_only")["estimate"] == pytest.approx(expected)
    for row in ("raw", "labels_only", "corrected"):
        low, high = interval_of(metric(found, row))
        assert low < metric(found, row)["estimate"] < high


def test_one_stratum_is_none_and_verdicts_are_strata_already() -> None:
    judged, labels, _ = reference_cases()
    plain = corrected_pass_rate(judged, labels)
    pd.testing.assert_frame_equal(plain, corrected_pass_rate(judged, labels, strata=["x"] * 240))
    by_verdict = metric(corrected_pass_rate(judged, labels, strata=judged), "corrected")
    assert by_verdict["estimate"] == pytest.approx(metric(plain, "corrected")["estimate"])
    assert by_verdict["se"] == pytest.approx(metric(plain, "corrected")["se"])
    assert interval_of(by_verdict) == pytest.approx(
        interval_of(metric(plain, "corrected")), abs=0.01
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": [True]}, "`judged` and `labels` must be of the same cases. Got 2 and 1"),
        ({"labels": [True, 0.5]}, "`labels` must be True or False .* Got 0.5"),
        ({"target": "traffic"}, "`target` must be system or cases. Got 'traffic'"),
        ({"weights": {"a": 1}}, "`weights` are shares of strata: give the `strata`"),
        ({"strata": ["a"]}, "`strata` must have one entry a case, 2. Got 1"),
        ({"strata": ["a", None]}, "`strata` must name the stratum of each case. Got NA"),
        ({"strata": ["a", "b"], "weights": {"a": 0.5, "c": 0.5}}, "On one side only: b, c"),
        ({"strata": ["a", "b"], "weights": {"a": 0.5, "b": 0.6}}, "shares that add up to 1"),
    ],
)
def test_what_cannot_be_corrected_says_why(arguments: dict[str, Any], message: str) -> None:
    given = {"judged": [True, False], "labels": [True, None], **arguments}
    with pytest.raises(ValueError, match=message):
        corrected_pass_rate(**cast("Any", given))

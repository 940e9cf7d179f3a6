from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evalnb.frames import METRICS
from evalnb.stats.corrected_means import corrected_mean, stratified_ppi
from tests.stats.reference import interval_of, metric, reference


def aligned(case_id: str) -> tuple[list[Any], list[Any], dict[str, Any]]:
    inputs, expected = reference(case_id)
    rest = inputs.get("judge_on_unlabelled")
    if rest is None:
        passes, n = inputs["judge_on_unlabelled_passes"], inputs["judge_on_unlabelled_n"]
        rest = [1] * passes + [0] * (n - passes)
    return inputs["judge_on_labelled"] + rest, inputs["human"] + [None] * len(rest), expected


@pytest.mark.parametrize("case_id", ["corrected_binary_40_240", "corrected_scores_30_150"])
def test_reference_means(case_id: str) -> None:
    judged, labels, expected = aligned(case_id)
    found = corrected_mean(judged, labels)
    assert metric(found, "raw")["estimate"] == pytest.approx(expected["judge_mean_all"], abs=1e-6)
    alone = metric(found, "labels_only")
    assert alone["estimate"] == pytest.approx(expected["labels_mean"], abs=1e-6)
    assert alone["se"] == pytest.approx(expected["labels_se"], abs=1e-6)
    ppi = metric(found, "corrected")
    assert ppi["estimate"] == pytest.approx(expected["ppi"], abs=1e-6)
    assert interval_of(ppi) == pytest.approx(expected["ppi_t_ci"], abs=1e-6)
    assert (ppi["lam"], pd.isna(ppi["warnings"])) == (1, True)
    normal = metric(corrected_mean(judged, labels, interval="normal"), "corrected")
    assert interval_of(normal) == pytest.approx(expected["ppi_ci"], abs=1e-6)
    tuned = metric(corrected_mean(judged, labels, method="ppi++", interval="normal"), "corrected")
    assert tuned["lam"] == pytest.approx(expected["ppi_plus_lambda"], abs=1e-6)
    assert tuned["estimate"] == pytest.approx(expected["ppi_plus"], abs=1e-6)
    assert interval_of(tuned) == pytest.approx(expected["ppi_plus_ci"], abs=1e-6)
    assert tuned["warnings"] == ["few_labels_for_tuning"]
    assert found["n"].tolist() == [len(judged), ppi["n_labels"], ppi["n_labels"]]


def test_reference_strata() -> None:
    inputs, expected = reference("stratified_ppi_2")
    judged, labels, strata = [], list[Any](), list[int]()
    for h in range(2):
        rest = inputs["judge_on_unlabelled"][h]
        judged += inputs["judge_on_labelled"][h] + rest
        labels += inputs["human"][h] + [None] * len(rest)
        strata += [h] * (len(judged) - len(strata))
    weights = dict(enumerate(expected["weights"]))
    for known in (None, weights):
        found = stratified_ppi(
            judged, labels, strata, weights=known, lam=inputs["lam"], interval="normal"
        )
        row = found.iloc[0]
        assert row["estimate"] == pytest.approx(expected["estimate"], abs=1e-6)
        assert row["se"] == pytest.approx(expected["se"], abs=1e-6)
        assert interval_of(row) == pytest.approx(expected["ci"], abs=1e-6)
    assert set(expected) == {"weights", "estimate", "se", "ci"}


scored = st.lists(
    st.tuples(st.integers(1, 5), st.one_of(st.none(), st.integers(1, 5))), min_size=4, max_size=25
).filter(lambda rows: sum(label is not None for _, label in rows) > 1)


@given(scored)
def test_lambda_0_leaves_the_labels_alone(rows: list[tuple[int, int | None]]) -> None:
    judged, labels = [j for j, _ in rows], [label for _, label in rows]
    found = corrected_mean(judged, labels, lam=0)
    alone, corrected = metric(found, "labels_only"), metric(found, "corrected")
    people = [label for label in labels if label is not None]
    assert alone["estimate"] == pytest.approx(np.mean(people))
    for name in ("estimate", "ci_low", "ci_high", "se"):
        assert corrected[name] is alone[name] or corrected[name] == pytest.approx(alone[name])


@given(scored)
def test_a_perfect_judge_is_not_corrected(rows: list[tuple[int, int | None]]) -> None:
    judged = [j for j, _ in rows]
    labels = [None if label is None else j for j, label in rows]
    row = metric(corrected_mean(judged, labels), "corrected")
    rest = [j for j, label in rows if label is None]
    if len(rest) < 2:  # then the labels alone count
        rest = [j for j, label in rows if label is not None]
    assert row["estimate"] == pytest.approx(np.mean(rest))


@given(scored, st.randoms())
def test_the_order_of_cases_does_not_matter(
    rows: list[tuple[int, int | None]], random: Any
) -> None:
    strata = [f"s{i % 2}" for i in range(len(rows))]
    cases = list(zip(rows, strata, strict=True))
    frames = [
        corrected_mean([j for (j, _), _ in each], [v for (_, v), _ in each], strata=names)
        for each in (cases, random.sample(cases, len(cases)))
        for names in ([s for _, s in each],)
    ]
    for name in ("estimate", "ci_low", "ci_high"):
        one, other = (frame[name].to_numpy(dtype=float, na_value=np.nan) for frame in frames)
        assert one == pytest.approx(other, nan_ok=True)


def test_raw_and_labels_have_t_intervals() -> None:
    judged, labels, _ = aligned("corrected_scores_30_150")
    found = corrected_mean(judged, labels)
    for name, values in (("raw", judged), ("labels_only", labels[:30])):
        expected = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
        assert interval_of(metric(found, name)) == pytest.approx(list(expected))
    expected_r = stats.pearsonr(judged[:30], labels[:30]).statistic
    assert metric(found, "corrected")["correlation"] == pytest.approx(expected_r)


def test_a_lambda_fixed_in_advance_is_taken() -> None:
    # judge 4 5 3 4 | 5 5 4 3, labels 4 4 3 3: 0.5 * 17/4 + (2 + 1.5 + 1.5 + 1)/4
    judged, labels = [4, 5, 3, 4, 5, 5, 4, 3], [4, 4, 3, 3, None, None, None, None]
    row = metric(corrected_mean(judged, labels, lam=0.5), "corrected")
    assert row["estimate"] == pytest.approx(0.5 * 17 / 4 + 6 / 4)
    assert row["method"] == "ppi, lambda given, t"
    # 0.25 * var(5 5 4 3)/4 + var(2 1.5 1.5 1)/4 = 0.25 * 0.916667/4 + 0.166667/4
    assert row["se"] ** 2 == pytest.approx(0.25 * 0.916667 / 4 + 0.166667 / 4, abs=1e-6)


def test_missing_scores_are_left_out_and_counted() -> None:
    judged = pd.Series([4, None, 3, 4, 5], dtype="Int64", index=[0, 0, 1, 2, 3])
    labels = np.array([4, 5, 3, np.nan, np.nan])
    found = corrected_mean(judged, labels)
    assert list(found["n_left_out"]) == [1] * 3
    assert found["n"].tolist() == [4, 2, 2]


def test_results_stay_in_the_range_and_say_when_they_were_cut() -> None:
    # 5 + (1 + 1 + 0)/3 above 5
    judged, labels = [4, 4, 5, 5, 5, 5], [5, 5, 5, None, None, None]
    row = metric(corrected_mean(judged, labels, low=1, high=5), "corrected")
    assert row["estimate"] == 5
    assert row["ci_high"] == 5
    assert "outside_range" in row["warnings"]


@pytest.mark.parametrize(
    ("judged", "labels", "arguments", "warning"),
    [
        # Few labels, and people agree with half of the scores
        ([1, 2, 3, 4] * 5, [1, 2, 3, 5] * 2 + [None] * 12, {}, "few_labels"),
        ([3] * 40, [3, 4, 3, 5] * 6 + [None] * 16, {}, "constant_rater"),
        ([1, 2, 3, 4] * 10, [4, 1, 3, 2] * 6 + [None] * 16, {}, "weak_correlation"),
        # label and judge lie far apart: var(Y - F) above var(Y)
        ([1, 5, 3, 3] * 10, [3, 2, 3, 3] * 6 + [None] * 16, {}, "wider_than_labels"),
        ([1, 2, 3, 4] * 10, [1, 2, 3, 4] * 6 + [None] * 16, {}, "no_variance"),
        ([1, 2, 3, 4] * 10, [1, 2, 3, 5] * 6 + [None] * 16, {"method": "ppi++"}, "few_labels_for"),
    ],
)
def test_what_to_know_of_an_estimate_is_said(
    judged: list[int], labels: list[int | None], arguments: dict[str, Any], warning: str
) -> None:
    row = metric(corrected_mean(judged, labels, **arguments), "corrected")
    assert any(found.startswith(warning) for found in row["warnings"])


def test_many_labels_of_a_good_judge_have_no_warning() -> None:
    judged, labels = [1, 2, 3, 4, 5] * 200, [1, 2, 3, 4, 4] * 50 + [None] * 750
    for method in ("ppi", "ppi++"):
        row = metric(corrected_mean(judged, labels, method=cast("Any", method)), "corrected")
        assert pd.isna(row["warnings"])


@pytest.mark.parametrize(
    ("judged", "labels", "estimate", "reason"),
    [
        ([], [], pd.NA, "too_few"),
        ([1, 2], [None, None], pd.NA, "too_few"),
        ([1, 2, 2], [2, None, None], 3, "too_few"),
        ([2, 2, 2, 2], [3, 3, None, None], 3, "no_variance"),
    ],
)
def test_an_undefined_mean_or_interval_says_why(
    judged: list[Any], labels: list[Any], estimate: Any, reason: str
) -> None:
    found = corrected_mean(judged, labels)
    row = metric(found, "corrected")
    assert row["estimate"] is estimate or row["estimate"] == estimate
    assert row[["ci_low", "ci_high", "se"]].isna().all()
    assert row["reason"] == reason
    METRICS.check(found)


def test_where_every_case_has_a_label_the_labels_say_it() -> None:
    found = corrected_mean([1, 2, 3, 5], [2, 2, 4, 4])
    assert metric(found, "corrected")["lam"] == 0
    for name in ("estimate", "ci_low", "ci_high"):
        assert metric(found, "corrected")[name] == metric(found, "labels_only")[name]


# Strata

JUDGED = [4, 5, 3, 4, 5, 5, 2, 1, 2, 1, 2, 2]
LABELS = [4, 4, 3, 4, None, None, 1, 1, 3, 2, None, None]
STRATA = ["high"] * 6 + ["low"] * 6


def test_strata_are_summed_by_their_shares() -> None:
    # high: 5 - 1/4 = 4.75; low: 2 + (-1 + 0 + 1 + 1)/4 = 2.25
    row = stratified_ppi(JUDGED, LABELS, STRATA).iloc[0]
    assert row["estimate"] == pytest.approx(0.5 * 4.75 + 0.5 * 2.25)
    weighted = stratified_ppi(JUDGED, LABELS, STRATA, weights={"high": 0.8, "low": 0.2}).iloc[0]
    assert weighted["estimate"] == pytest.approx(0.8 * 4.75 + 0.2 * 2.25)
    # var of the differences 0 -1 0 0: 0.25; of -1 0 1 1: 0.916667; unlabelled do not vary
    high, low = 0.64 * 0.25 / 4, 0.04 * 0.916667 / 4
    assert weighted["se"] == pytest.approx(math.sqrt(high + low), abs=1e-6)
    # Satterthwaite: (high + low)^2 / (high^2/3 + low^2/3)
    degrees = (high + low) ** 2 / (high**2 / 3 + low**2 / 3)
    half = stats.t.ppf(0.975, degrees) * math.sqrt(high + low)
    assert weighted["ci_high"] - weighted["estimate"] == pytest.approx(half, abs=1e-6)


def test_shares_that_are_a_sample_widen_the_interval() -> None:
    found = corrected_mean(JUDGED, LABELS, strata=STRATA)
    known = stratified_ppi(JUDGED, LABELS, STRATA).iloc[0]
    row = metric(found, "corrected")
    assert row["estimate"] == known["estimate"]
    # strata at 4.75 and 2.25 about 3.5, of 12 cases: 1.25^2 / 12
    assert row["se"] ** 2 == pytest.approx(known["se"] ** 2 + 1.25**2 / 12)
    weights = {"high": 0.5, "low": 0.5}
    given_weights = metric(corrected_mean(JUDGED, LABELS, strata=STRATA, weights=weights), "raw")
    # high 26/6, low 10/6
    assert given_weights["estimate"] == pytest.approx(3)


def test_one_stratum_is_none() -> None:
    judged, labels, _ = aligned("corrected_scores_30_150")
    plain = metric(corrected_mean(judged, labels), "corrected")
    one = stratified_ppi(judged, labels, ["x"] * 150).iloc[0]
    pd.testing.assert_series_equal(one.drop("metric"), plain, check_names=False)


def test_a_stratum_without_labels_leaves_the_mean_open() -> None:
    labels = [*LABELS[:6], None, None, None, None, None, None]
    row = stratified_ppi(JUDGED, labels, STRATA).iloc[0]
    assert pd.isna(row["estimate"])
    assert row["reason"] == "too_few"


def test_each_stratum_has_a_lambda_of_its_own() -> None:
    row = stratified_ppi(JUDGED, LABELS, STRATA, method="ppi++").iloc[0]
    assert pd.isna(row["lam"])
    assert row["method"] == "stratified ppi++, t"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": [1]}, "`judged` and `labels` must be of the same cases. Got 2 and 1"),
        ({"high": 4}, r"`judged` must lie in \[None, 4\]. Got 5"),
        ({"lam": 1.2}, r"`lam` must lie in \[0, 1\]. Got 1.2"),
        ({"lam": 1, "method": "ppi++"}, "`lam` is chosen by the labels for ppi"),
        ({"method": "best"}, "`method` must be ppi or ppi.*Got 'best'"),
        ({"interval": "wald"}, "`interval` must be t or normal. Got 'wald'"),
        ({"weights": {"a": 1}}, "give the `strata`"),
    ],
)
def test_what_cannot_be_corrected_says_why(arguments: dict[str, Any], message: str) -> None:
    given_arguments = {"judged": [1, 5], "labels": [1, None], **arguments}
    with pytest.raises(ValueError, match=message):
        corrected_mean(**cast("Any", given_arguments))

"""All that is said of a judge beside a person, as a whole frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import SquareTable
from statsmodels.stats.proportion import proportion_confint

from evalnb.frames import METRICS
from evalnb.stats.agreement import agreement_statistics, bias_by_level
from evalnb.stats.kappa import confusion
from tests.stats.reference import interval_of, metric, reference, unfold

NEAR = 1e-6
FIVE = [1, 2, 3, 4, 5]

pairs = st.lists(st.tuples(st.sampled_from(FIVE), st.sampled_from(FIVE)), min_size=1, max_size=40)


def said_of(found: list[tuple[Any, Any]], levels: list[Any] = FIVE, **options: Any) -> pd.DataFrame:
    frame = agreement_statistics(
        [one for one, _ in found], [other for _, other in found], levels=levels, **options
    )
    METRICS.check(frame)
    return frame


# Reference values


@pytest.mark.parametrize("name", ["kappa_2x2_balanced", "kappa_2x2_bias_a"])
def test_reference_of_two_levels(name: str) -> None:
    inputs, expected = reference(name)
    found = agreement_statistics(*unfold(inputs["table"]), levels=[0, 1])
    assert metric(found, "kappa")["se"] == pytest.approx(expected.pop("se"), abs=NEAR)
    expected["exact_agreement"] = expected.pop("observed_agreement")
    assert len(expected) == 9
    for statistic, wanted in expected.items():
        assert metric(found, statistic)["estimate"] == pytest.approx(wanted, abs=NEAR)


def test_reference_of_a_judge_and_a_person() -> None:
    inputs, expected = reference("judge_human_20")
    found = agreement_statistics(inputs["human"], inputs["judge"], levels=inputs["levels"])
    assert set(found["n"]) == {expected["n"]}
    assert set(found["n_left_out"]) == {expected["n_left_out"]}
    for name in ("kappa", "kappa_linear", "kappa_quadratic"):
        wanted = expected["kappa_none" if name == "kappa" else name]
        assert metric(found, name)["estimate"] == pytest.approx(wanted["kappa"], abs=NEAR)
        assert interval_of(metric(found, name)) == pytest.approx(wanted["fisher_t_ci"], abs=NEAR)
    for name, key in {
        "exact_agreement": "exact_agreement",
        "within_one": "within_one",
        "mean_absolute_difference": "mean_absolute_difference",
        "bias": "signed_bias",
        "spearman": "spearman",
        "kendall_tau_b": "kendall_tau_b",
        "pearson": "pearson",
        "concordance": "concordance_ccc",
        "gwet_ac1": "gwet_ac1",
        "gwet_ac2": "gwet_ac2_quadratic",
        "krippendorff_alpha_ordinal": "krippendorff_alpha_ordinal",
        "krippendorff_alpha_interval": "krippendorff_alpha_interval",
        "kappa_max": "max_quadratic_kappa_given_marginals",
    }.items():
        assert metric(found, name)["estimate"] == pytest.approx(expected[key], abs=NEAR)
    assert metric(found, "bias")["se"] == pytest.approx(expected["signed_bias_se"], abs=NEAR)


def test_reference_of_margins() -> None:
    inputs, expected = reference("marginal_homogeneity_4")
    found = agreement_statistics(*unfold(inputs["table"]), levels=range(4))
    for name in ("stuart_maxwell", "bowker"):
        row = metric(found, name)
        assert row["estimate"] == pytest.approx(expected[name], abs=NEAR)
        assert row["df"] == expected[f"{name}_df"]
        assert row["p_value"] == pytest.approx(expected[f"{name}_p"], abs=NEAR)


def test_reference_of_one_level() -> None:
    inputs, expected = reference("kappa_undefined_one_category")
    found = agreement_statistics(**inputs)
    METRICS.check(found)
    for name, wanted in expected.items():
        row = metric(found, name)
        if wanted is None:
            assert (pd.isna(row["estimate"]), row["reason"]) == (True, "one_category")
        else:
            assert row["estimate"] == wanted
    for name in ("exact_agreement", "gwet_ac1", "pabak"):
        assert metric(found, name)["warnings"] == ["one_category"]


def test_reference_of_a_constant_judge() -> None:
    inputs, expected = reference("kappa_constant_judge")
    found = agreement_statistics(**inputs)
    for name, wanted in expected.items():
        row = metric(found, name.removesuffix("_none"))
        if wanted is None:
            assert (pd.isna(row["estimate"]), row["reason"]) == (True, "constant_rater")
        else:
            assert row["estimate"] == wanted
    assert "constant_rater" in metric(found, "kappa_quadratic")["warnings"]


# Other libraries


@settings(max_examples=20, deadline=None)
@given(pairs)
def test_correlations_and_tests_of_margins_are_those_of_libraries(
    found: list[tuple[int, int]],
) -> None:
    frame = said_of(found)
    first, second = ([pair[side] for pair in found] for side in (0, 1))
    if min(len(set(first)), len(set(second))) > 1:
        for name, expected in (
            ("spearman", stats.spearmanr(first, second).statistic),
            ("kendall_tau_b", stats.kendalltau(first, second).statistic),
            ("pearson", stats.pearsonr(first, second).statistic),
        ):
            assert metric(frame, name)["estimate"] == pytest.approx(expected, abs=1e-9)
    table = confusion(first, second, levels=FIVE).to_numpy()
    used = (table.sum(axis=0) + table.sum(axis=1)) > 0
    row = metric(frame, "bowker")
    if pd.notna(row["estimate"]):
        symmetric = (table - table.T)[np.triu_indices(5, 1)]
        either = (table + table.T)[np.triu_indices(5, 1)]
        expected = sum(d**2 / e for d, e in zip(symmetric, either, strict=True) if e)
        assert row["estimate"] == pytest.approx(expected)
        assert row["df"] == used.sum() * (used.sum() - 1) / 2


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=16, max_size=16))
def test_margins_of_full_tables_are_those_of_statsmodels(cells: list[int]) -> None:
    table = np.array(cells).reshape(4, 4)
    found = agreement_statistics(*unfold(table.tolist()), levels=range(4))
    square = SquareTable(table, shift_zeros=False)
    for name, expected in (
        ("stuart_maxwell", square.homogeneity("stuart_maxwell")),
        ("bowker", square.symmetry("bowker")),
    ):
        row = metric(found, name)
        assert row["estimate"] == pytest.approx(expected.statistic, abs=1e-8)
        assert row["df"] == expected.df
        assert row["p_value"] == pytest.approx(expected.pvalue, abs=1e-8)


def test_intervals_of_shares_and_means_are_those_of_libraries() -> None:
    inputs, _ = reference("judge_human_20")
    found = agreement_statistics(inputs["human"], inputs["judge"], levels=inputs["levels"])
    wilson = proportion_confint(12, 20, method="wilson")
    assert interval_of(metric(found, "exact_agreement")) == pytest.approx(list(wilson), abs=1e-9)
    # pabak (5 p - 1) / 4
    wanted = [(5 * end - 1) / 4 for end in wilson]
    assert interval_of(metric(found, "pabak")) == pytest.approx(wanted, abs=1e-9)
    apart = np.array(inputs["judge"]) - np.array(inputs["human"])
    for name, values in (("bias", apart), ("mean_absolute_difference", np.abs(apart))):
        expected = stats.t.interval(0.95, 19, values.mean(), stats.sem(values))
        assert interval_of(metric(found, name)) == pytest.approx(list(expected), abs=1e-9)
    wanted = list(stats.pearsonr(inputs["human"], inputs["judge"]).confidence_interval())
    assert interval_of(metric(found, "pearson")) == pytest.approx(wanted, abs=1e-9)


# Properties


@settings(max_examples=20, deadline=None)
@given(pairs)
def test_quadratic_kappa_is_lins_concordance(found: list[tuple[int, int]]) -> None:
    frame = said_of(found)
    kappa, lin = metric(frame, "kappa_quadratic"), metric(frame, "concordance")
    assert pd.isna(kappa["estimate"]) == pd.isna(lin["estimate"])
    if pd.notna(kappa["estimate"]):
        assert kappa["estimate"] == pytest.approx(lin["estimate"], abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(pairs)
def test_swapping_the_raters_turns_the_bias_alone(found: list[tuple[int, int]]) -> None:
    one, other = said_of(found), said_of([(b, a) for a, b in found])
    for name in one["metric"]:
        here, there = metric(one, name)["estimate"], metric(other, name)["estimate"]
        there = -there if name == "bias" else there
        assert (pd.isna(here) and pd.isna(there)) or here == pytest.approx(there, abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(pairs)
def test_what_is_missing_has_a_reason_and_what_is_there_is_in_bounds(
    found: list[tuple[int, int]],
) -> None:
    frame = said_of(found)
    missing = frame[frame["estimate"].isna()]
    assert missing["reason"].notna().all()
    assert missing[["ci_low", "ci_high"]].isna().all(axis=None)
    above = {"mean_absolute_difference", "bias", "stuart_maxwell", "bowker"}
    bounded = frame[~frame["metric"].isin(above)].dropna(subset=["estimate"])
    assert bounded["estimate"].le(1 + 1e-9).all()
    there = frame.dropna(subset=["ci_low"])
    assert there["reason"].isna().all()
    assert (there["ci_low"] <= there["ci_high"]).all()
    assert bounded["ci_high"].dropna().le(1 + 1e-9).all()
    chance = bounded["metric"].str.startswith(("gwet", "krippendorff"))
    assert bounded.loc[~chance, ["estimate", "ci_low"]].min().ge(-1 - 1e-9).all()


def test_the_same_seed_gives_the_same_frame_whatever_the_order_of_items() -> None:
    inputs, _ = reference("judge_human_20")
    found = list(zip(inputs["human"], inputs["judge"], strict=True))
    one, other = said_of(found, seed=4), said_of(found[::-1], seed=4)
    pd.testing.assert_frame_equal(one, other, check_exact=False, rtol=1e-12)


# The paradox


def test_one_level_that_dominates_is_said() -> None:
    # [[80, 10], [5, 5]]: p_o 0.85, p_e 0.9 * 0.85 + 0.1 * 0.15 = 0.78; kappa 0.07 / 0.22
    found = agreement_statistics(*unfold([[80, 10], [5, 5]]), levels=[0, 1])
    kappa = metric(found, "kappa")
    assert kappa["estimate"] == pytest.approx(0.07 / 0.22)
    assert kappa["warnings"] == ["paradox"]
    assert metric(found, "prevalence_index")["estimate"] == pytest.approx(0.75)
    assert metric(found, "bias_index")["estimate"] == pytest.approx(0.05)
    # 2 * 80 / (160 + 15), 2 * 5 / (10 + 15)
    assert metric(found, "positive_agreement")["estimate"] == pytest.approx(160 / 175)
    assert metric(found, "negative_agreement")["estimate"] == pytest.approx(0.4)


def test_a_judge_that_passes_everything_has_no_kappa_to_speak_of() -> None:
    found = agreement_statistics([1] * 83 + [0] * 17, [1] * 100, levels=[0, 1])
    assert metric(found, "kappa")["estimate"] == 0
    # share (0.83 + 1) / 2 = 0.915: p_e 0.15555; (0.83 - 0.15555) / 0.84445
    assert metric(found, "gwet_ac1")["estimate"] == pytest.approx(0.67445 / 0.84445)


# Clusters


def test_conversations_are_the_units_of_every_interval() -> None:
    rng = np.random.default_rng(5)
    first = rng.integers(1, 6, 30)
    second = np.clip(first + rng.integers(-1, 2, 30), 1, 5)
    alone = agreement_statistics(first, second, levels=FIVE)
    again = agreement_statistics(
        np.tile(first, 4), np.tile(second, 4), levels=FIVE, clusters=np.tile(np.arange(30), 4)
    )
    for name in ("exact_agreement", "within_one", "pabak", "bias", "mean_absolute_difference"):
        assert interval_of(metric(again, name)) == pytest.approx(interval_of(metric(alone, name)))
    assert set(again["n"]) == {120}
    assert metric(again, "spearman")["reason"] == "too_few"


# Bias by level


def test_bias_by_level_by_hand() -> None:
    found = bias_by_level([1, 1, 1, 2, 3, 3], [1, 2, 3, 2, 2, 2], levels=[1, 2, 3, 4])
    assert found["level"].tolist() == [1, 2, 3, 4]
    assert found["n"].tolist() == [3, 1, 2, 0]
    assert found["estimate"].tolist()[:3] == [1, 0, -1]
    assert found["reason"].tolist()[1:] == ["too_few", "no_variance", "no_overlap"]
    # differences 0, 1, 2: sd 1, t with 2 degrees 4.302653; 4.302653 / sqrt(3)
    assert found.loc[0, "ci_low"] == pytest.approx(1 - 2.484138, abs=1e-6)


@pytest.mark.parametrize(("first", "second"), [([], []), ([None], [1]), ([1, None], [None, 2])])
def test_nothing_in_common_is_missing_throughout(first: list[Any], second: list[Any]) -> None:
    found = agreement_statistics(first, second, levels=[1, 2])
    assert found["estimate"].isna().all()
    assert set(found["reason"]) == {"no_overlap"}
    assert set(found["n_left_out"]) == {len(first)}
    assert set(bias_by_level(first, second, levels=[1, 2])["reason"]) == {"no_overlap"}


def test_one_item_has_shares_and_no_more() -> None:
    found = said_of([(1, 2)])
    there = found.dropna(subset=["estimate"])["metric"].tolist()
    assert there == [
        "exact_agreement",
        "expected_agreement",
        "within_one",
        "pabak",
        "mean_absolute_difference",
        "bias",
    ]
    assert set(found["reason"].dropna()) == {"too_few"}


def test_what_is_no_level_is_refused() -> None:
    with pytest.raises(ValueError, match=r"`second` must be of the levels 1, 2.*Got 3"):
        agreement_statistics([1, 2], [1, 3], levels=[1, 2])
    with pytest.raises(ValueError, match="Got 2 and 1 ratings"):
        bias_by_level([1, 2], [1], levels=[1, 2])

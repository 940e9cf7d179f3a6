"""Any number of raters: reference values, a plain count of pairs, statsmodels, properties."""

from __future__ import annotations

from itertools import permutations
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats import inter_rater

from evalnb.frames import METRICS
from evalnb.stats.alpha import AlphaMetric
from evalnb.stats.raters import brennan_prediger, fleiss_kappa, gwet_ac, krippendorff_alpha
from tests.stats.reference import interval_of, reference, unfold

NEAR = 1e-6
FIVE = [1, 2, 3, 4, 5]
ALPHAS: list[AlphaMetric] = ["nominal", "ordinal", "interval", "ratio"]

some_ratings = st.integers(2, 4).flatmap(
    lambda raters: st.lists(
        st.lists(st.sampled_from([*FIVE, None]), min_size=raters, max_size=raters),
        min_size=2,
        max_size=15,
    )
)


def only(frame: pd.DataFrame) -> pd.Series:
    METRICS.check(frame)
    assert len(frame) == 1
    return frame.iloc[0]


def alpha_of(ratings: Any, metric: AlphaMetric = "ordinal", **options: Any) -> pd.Series:
    options = {"levels": FIVE, "interval": False, **options}
    return only(krippendorff_alpha(ratings, metric=metric, **options))


def alike(one: Any, other: Any) -> bool:
    return bool(pd.isna(one) and pd.isna(other)) or one == pytest.approx(other)


# Reference values


def four_raters() -> tuple[list[list[Any]], list[int], dict[str, float]]:
    inputs, expected = reference("four_raters_missing")
    ratings = [list(item) for item in zip(*inputs["raters_by_items"], strict=True)]
    return ratings, inputs["categories"], expected


@pytest.mark.parametrize("metric", ALPHAS)
def test_reference_alphas(metric: AlphaMetric) -> None:
    ratings, levels, expected = four_raters()
    row = only(krippendorff_alpha(ratings, levels=levels, metric=metric))
    wanted = expected[f"krippendorff_alpha_{metric}"]
    assert row["metric"] == f"krippendorff_alpha_{metric}"
    assert row["estimate"] == pytest.approx(wanted, abs=NEAR)
    assert (row["n"], row["n_left_out"]) == (11, 1)
    assert row["ci_low"] < wanted < row["ci_high"] <= 1


def test_reference_gwet_and_brennan_prediger() -> None:
    ratings, levels, expected = four_raters()
    ac1 = only(gwet_ac(ratings, levels=levels, weights=None))
    assert ac1["estimate"] == pytest.approx(expected["gwet_ac1"], abs=NEAR)
    assert ac1["se"] == pytest.approx(expected["gwet_ac1_se"], abs=NEAR)
    for weights in ("linear", "quadratic"):
        row = only(gwet_ac(ratings, levels=levels, weights=cast("Any", weights)))
        assert row["estimate"] == pytest.approx(expected[f"gwet_ac2_{weights}"], abs=NEAR)
    row = only(brennan_prediger(ratings, levels=levels))
    assert row["estimate"] == pytest.approx(expected["brennan_prediger"], abs=NEAR)


def test_reference_of_two_raters() -> None:
    inputs, expected = reference("judge_human_20")
    ratings = list(zip(inputs["human"], inputs["judge"], strict=True))
    for metric in ("ordinal", "interval"):
        wanted = expected[f"krippendorff_alpha_{metric}"]
        assert alpha_of(ratings, metric)["estimate"] == pytest.approx(wanted, abs=NEAR)
    for weights, name in ((None, "ac1"), ("linear", "ac2_linear"), ("quadratic", "ac2_quadratic")):
        row = only(gwet_ac(ratings, levels=FIVE, weights=cast("Any", weights)))
        assert row["estimate"] == pytest.approx(expected[f"gwet_{name}"], abs=NEAR)


@pytest.mark.parametrize("name", ["kappa_2x2_balanced", "kappa_2x2_bias_a"])
def test_reference_of_two_levels(name: str) -> None:
    inputs, expected = reference(name)
    ratings = np.column_stack(unfold(inputs["table"]))
    ac1 = only(gwet_ac(ratings, levels=[0, 1], weights=None))
    assert ac1["estimate"] == pytest.approx(expected["gwet_ac1"], abs=NEAR)
    pabak = only(brennan_prediger(ratings, levels=[0, 1]))
    assert pabak["estimate"] == pytest.approx(expected["pabak"], abs=NEAR)


def test_reference_of_counts() -> None:
    inputs, expected = reference("fleiss_kappa_8x3")
    row = only(fleiss_kappa(inputs["counts"]))
    assert row["estimate"] == pytest.approx(expected["fleiss_kappa"], abs=NEAR)
    # the same as ratings: a level a rater
    ratings = [
        [level for level, n in enumerate(counts) for _ in range(n)] for counts in inputs["counts"]
    ]
    again = only(fleiss_kappa(ratings, levels=[0, 1, 2]))
    assert again["estimate"] == pytest.approx(expected["fleiss_kappa"], abs=NEAR)
    assert interval_of(again) == interval_of(row)


def test_where_all_use_one_level_alpha_is_missing_and_gwet_is_not() -> None:
    inputs, expected = reference("kappa_undefined_one_category")
    ratings = list(zip(inputs["first"], inputs["second"], strict=True))
    assert expected["krippendorff_alpha_ordinal"] is None
    for row in (
        *(alpha_of(ratings, metric) for metric in ALPHAS),
        only(fleiss_kappa(ratings, levels=FIVE)),
    ):
        assert pd.isna(row["estimate"])
        assert row["reason"] == "one_category"
    for row, wanted in (
        (only(gwet_ac(ratings, levels=FIVE, weights=None)), expected["gwet_ac1"]),
        (only(brennan_prediger(ratings, levels=FIVE)), expected["pabak"]),
    ):
        assert row["estimate"] == wanted
        assert row["warnings"] == ["one_category"]
        assert row["ci_low"] < 1


# Alpha by counting pairs, as Krippendorff (2011) describes it


def distance(metric: str, one: int, other: int, n_of: dict[int, int]) -> float:
    if one == other or metric == "nominal":
        return float(one != other)
    if metric == "interval":
        return float(one - other) ** 2
    if metric == "ratio":
        return ((one - other) / (one + other)) ** 2
    low, high = sorted((one, other))
    between = sum(n_of.get(level, 0) for level in range(low, high + 1))
    return (between - (n_of.get(low, 0) + n_of.get(high, 0)) / 2) ** 2


def counted_alpha(ratings: list[list[Any]], metric: str) -> float | None:
    units = [[value for value in row if value is not None] for row in ratings]
    units = [unit for unit in units if len(unit) > 1]
    values = [value for unit in units for value in unit]
    n_of = {level: values.count(level) for level in values}

    def pairs(of: list[int]) -> float:
        return sum(distance(metric, one, other, n_of) for one, other in permutations(of, 2))

    expected = pairs(values) / (len(values) - 1) if len(values) > 1 else 0
    if len(units) < 2 or not expected:
        return None
    return 1 - sum(pairs(unit) / (len(unit) - 1) for unit in units) / expected


@given(some_ratings, st.sampled_from(ALPHAS))
def test_alpha_is_what_counting_pairs_gives(ratings: list[list[Any]], metric: AlphaMetric) -> None:
    row = alpha_of(ratings, metric)
    expected = counted_alpha(ratings, metric)
    if expected is None:
        assert pd.isna(row["estimate"])
        assert row["reason"] in ("no_overlap", "too_few", "one_category")
    else:
        assert row["estimate"] == pytest.approx(expected, abs=1e-9)
        assert row["estimate"] <= 1


@given(some_ratings)
def test_numbers_on_no_scale_have_the_alpha_of_distances(ratings: list[list[Any]]) -> None:
    on_scale = alpha_of(ratings, "interval")
    off_scale = alpha_of(ratings, "interval", levels=None)
    assert alike(on_scale["estimate"], off_scale["estimate"])
    moved = [[None if v is None else 10 * v - 3 for v in row] for row in ratings]
    assert alike(alpha_of(moved, "interval", levels=None)["estimate"], off_scale["estimate"])


# statsmodels, and hand arithmetic

tables = st.lists(st.lists(st.integers(0, 4), min_size=2, max_size=2), min_size=2, max_size=12).map(
    lambda rows: [[a, b, 8 - a - b] for a, b in rows]
)


@given(tables)
def test_fleiss_kappa_is_that_of_statsmodels(counts: list[list[int]]) -> None:
    row = only(fleiss_kappa(counts))
    with np.errstate(invalid="ignore"):
        expected = inter_rater.fleiss_kappa(np.array(counts))
    if np.isnan(expected):
        assert row["reason"] == "one_category"
    else:
        assert row["estimate"] == pytest.approx(expected, abs=1e-9)


def test_high_agreement_on_one_level_keeps_gwet_high() -> None:
    # [[80, 10], [5, 5]]: p_a 0.85; share of the first level (0.9 + 0.85) / 2 = 0.875;
    # p_e = 2 * 0.875 * 0.125 = 0.21875; (0.85 - 0.21875) / 0.78125 = 0.808
    ratings = np.column_stack(unfold([[80, 10], [5, 5]]))
    row = only(gwet_ac(ratings, levels=[0, 1], weights=None))
    assert row["estimate"] == pytest.approx(0.808)
    # levels by lot agree on 1/2: (0.85 - 0.5) / 0.5
    assert only(brennan_prediger(ratings, levels=[0, 1]))["estimate"] == pytest.approx(0.7)


# Properties


@settings(max_examples=12, deadline=None)
@given(some_ratings, st.randoms())
def test_neither_the_order_of_items_nor_that_of_raters_matters(
    ratings: list[list[Any]], random: Any
) -> None:
    items = random.sample(ratings, len(ratings))
    order = random.sample(range(len(ratings[0])), len(ratings[0]))
    mixed = [[row[i] for i in order] for row in items]
    for function in (gwet_ac, brennan_prediger, fleiss_kappa, krippendorff_alpha):
        one, other = (only(function(given, levels=FIVE)) for given in (ratings, mixed))
        for name in ("estimate", "ci_low", "ci_high", "n", "n_left_out"):
            assert alike(one[name], other[name])


@given(some_ratings, st.permutations(FIVE))
def test_where_disagreements_are_alike_names_of_levels_do_not_matter(
    ratings: list[list[Any]], names: list[int]
) -> None:
    new = dict(zip(FIVE, names, strict=True))
    renamed = [[None if value is None else new[value] for value in row] for row in ratings]
    assert alike(alpha_of(ratings, "nominal")["estimate"], alpha_of(renamed, "nominal")["estimate"])
    for function in (gwet_ac, brennan_prediger):
        one, other = (
            only(function(given, levels=FIVE, weights=None))["estimate"]
            for given in (ratings, renamed)
        )
        assert alike(one, other)


@settings(max_examples=15, deadline=None)
@given(some_ratings)
def test_all_are_at_most_1_and_say_what_is_missing(ratings: list[list[Any]]) -> None:
    for function in (gwet_ac, brennan_prediger, fleiss_kappa, krippendorff_alpha):
        row = only(function(ratings, levels=FIVE))
        if pd.isna(row["estimate"]):
            assert row["reason"] in ("no_overlap", "too_few", "one_category")
            assert pd.isna(row["ci_low"])
        else:
            assert row["estimate"] <= 1
        if pd.notna(row["ci_low"]):
            assert row["ci_low"] <= row["ci_high"] <= 1
            assert pd.isna(row["reason"])


def test_levels_far_apart_can_take_gwet_below_minus_1() -> None:
    # 1-5 and 2-4 have the quadratic weights 0 and 1 - 4/16: p_a 0.375. All weights add up to
    # 25 - 100/16 = 18.75, 4 levels have a share of 1/4: p_e 18.75/20 * 4 * 3/16 = 0.703125;
    # (0.375 - 0.703125) / 0.296875 = -1.105263
    row = only(gwet_ac([[1, 5], [2, 4]], levels=FIVE))
    assert row["estimate"] == pytest.approx(-1.105263, abs=1e-6)


def test_a_seed_gives_the_same_interval() -> None:
    ratings, levels, _ = four_raters()
    ends = [
        interval_of(only(krippendorff_alpha(ratings, levels=levels, seed=seed)))
        for seed in (1, 1, 2)
    ]
    assert ends[0] == ends[1] != ends[2]


# Few, missing and odd ratings


@pytest.mark.parametrize(
    ("ratings", "n", "n_left_out", "reason"),
    [
        ([], 0, 0, "no_overlap"),
        ([[None, None], [None, None]], 0, 2, "no_overlap"),
        ([[1], [2]], 0, 2, "no_overlap"),
        ([[1, None], [None, 2]], 0, 2, "no_overlap"),
        ([[1, 2], [None, 2]], 1, 1, "too_few"),
    ],
)
def test_too_little_is_missing_with_its_reason(
    ratings: list[list[Any]], n: int, n_left_out: int, reason: str
) -> None:
    for function in (gwet_ac, brennan_prediger, fleiss_kappa, krippendorff_alpha):
        row = only(function(ratings, levels=FIVE))
        assert row[["estimate", "ci_low", "ci_high"]].isna().all()
        assert (row["n"], row["n_left_out"], row["reason"]) == (n, n_left_out, reason)


def test_at_perfect_agreement_resamples_show_no_spread() -> None:
    row = alpha_of([[1, 1], [2, 2], [5, 5]], interval=True)
    assert row["estimate"] == 1
    assert (row["reason"], pd.isna(row["ci_low"])) == ("no_variance", True)
    # u = 1 - 0.025^(1/20), shares 3/20 and 17/20: p_e = 2 * 0.15 * 0.85; low = 1 - u / (1 - p_e)
    found = gwet_ac([[0, 0]] * 3 + [[1, 1]] * 17, levels=[0, 1], weights=None)
    assert only(found)["ci_low"] == pytest.approx(1 - 0.168433470983 / 0.745)


def test_raters_who_always_differ_are_below_0() -> None:
    ratings = [[1, 2], [2, 1]] * 5
    # values 10 and 10: D_o 1, D_e 200 / (20 * 19); 1 - 1.9
    assert alpha_of(ratings, "nominal")["estimate"] == pytest.approx(-0.9)
    assert only(gwet_ac(ratings, levels=[1, 2]))["estimate"] == pytest.approx(-1)
    assert only(fleiss_kappa(ratings, levels=[1, 2]))["estimate"] == pytest.approx(-1)


@pytest.mark.parametrize(
    "ratings",
    [
        pd.DataFrame({"a": [1, 2, 3, None], "b": [1, 3, 3, 2]}),
        pd.DataFrame({"a": [1, 2, 3, None], "b": [1, 3, 3, 2]}, dtype="Int64"),
        np.array([[1, 1], [2, 3], [3, 3], [np.nan, 2]]),
        [(1, 1), (2, 3), (3, 3), (pd.NA, 2)],
        pd.DataFrame({"a": [1, 2, 3, None], "b": [1, 3, 3, 2]}, index=[7, 7, 8, 8]),
    ],
)
def test_ratings_come_in_many_shapes(ratings: Any) -> None:
    expected = counted_alpha([[1, 1], [2, 3], [3, 3]], "interval")
    row = alpha_of(ratings, "interval")
    assert row["estimate"] == pytest.approx(expected)
    assert (row["n"], row["n_left_out"]) == (3, 1)
    assert alpha_of(ratings, "interval", levels=None)["estimate"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: alpha_of([[1, 9], [1, 1]]), ValueError, "`ratings` must be of the levels.*Got 9"),
        (lambda: alpha_of([["1", 1], [1, 1]]), ValueError, "Got '1'"),
        (lambda: alpha_of([[1, 2], [1]]), ValueError, r"a column for each rater. Got rows of \[1"),
        (lambda: alpha_of([1, 2]), TypeError, "a row of `ratings` must be a list"),
        (lambda: alpha_of(np.array([1, 2])), ValueError, "items in rows.*Got 1-D"),
        (lambda: alpha_of({"a": [1, 2]}), TypeError, "`ratings` must be a list.*Got a dict"),
        (lambda: alpha_of([[1, 2]], cast("Any", "cubic")), ValueError, "one of 'nominal'.*'cubic'"),
        (
            lambda: alpha_of([[-1, 1], [1, 1]], "ratio", levels=[-1, 0, 1]),
            ValueError,
            "'ratio' needs levels from 0 on",
        ),
        (lambda: alpha_of([[1, 2]], levels=None), ValueError, "without `levels` the metric is"),
        (
            lambda: alpha_of([["a", 1], [1, 1]], "interval", levels=None),
            ValueError,
            "must be numbers, NA where missing. Got 'a'",
        ),
        (lambda: alpha_of([[1, 2], [1, 1]], clusters=[1]), ValueError, "one for each item: 2"),
        (
            lambda: gwet_ac([[1, 2]], levels=FIVE, weights=cast("Any", "lin")),
            ValueError,
            "Got 'lin'",
        ),
        (lambda: fleiss_kappa([[3, -1], [1, 1]]), ValueError, "how many raters chose each"),
        (lambda: fleiss_kappa([[3, 0.5], [1, 1]]), ValueError, "how many raters chose each"),
        (lambda: fleiss_kappa([[3, None], [1, 1]]), ValueError, "how many raters chose each"),
        (lambda: fleiss_kappa([3, 1]), ValueError, "how many raters chose each"),
        (lambda: fleiss_kappa([["a", "b"]]), ValueError, "must be numbers.*Got 'a'"),
    ],
)
def test_what_cannot_be_says_why(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_no_counts_are_no_items() -> None:
    row = only(fleiss_kappa([]))
    assert (row["reason"], row["n"], row["n_left_out"]) == ("no_overlap", 0, 0)

"""Kappa beside its sources, scikit-learn and statsmodels, and what is undefined."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa

from evalnb.frames import METRICS
from evalnb.stats.kappa import (
    Method,
    Weights,
    agreement_grade,
    cohen_kappa,
    confusion,
    kappa_max,
    kappa_standard_error,
    labels_needed,
)
from tests.stats.reference import interval_of, reference, unfold

NEAR = 1e-6
FIVE = [1, 2, 3, 4, 5]
WEIGHTS: list[Weights] = [None, "linear", "quadratic"]

pairs = st.lists(
    st.tuples(st.sampled_from(FIVE), st.sampled_from(FIVE)), min_size=2, max_size=40
).filter(lambda found: len(set(sum(found, ()))) > 1)
weights_of = st.sampled_from(WEIGHTS)


def sides(found: list[tuple[Any, Any]]) -> tuple[list[Any], list[Any]]:
    return [one for one, _ in found], [other for _, other in found]


def only(frame: pd.DataFrame) -> pd.Series:
    METRICS.check(frame)
    assert len(frame) == 1
    return frame.iloc[0]


def same(one: pd.Series, other: pd.Series) -> bool:
    names = ["estimate", "ci_low", "ci_high", "se"]
    return all(
        (pd.isna(one[name]) and pd.isna(other[name])) or one[name] == pytest.approx(other[name])
        for name in names
    )


# Reference values


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("method", ["wald", "fisher_z", "fisher_t"])
@pytest.mark.parametrize("name", ["kappa_4_levels_88", "judge_human_20"])
def test_reference_intervals(name: str, method: Method, weights: Weights) -> None:
    inputs, expected = reference(name)
    if "table" in inputs:
        (first, second), levels = unfold(inputs["table"]), range(len(inputs["table"]))
        wanted = expected[weights or "none"]
    else:
        first, second, levels = inputs["human"], inputs["judge"], inputs["levels"]
        wanted = expected[f"kappa_{weights or 'none'}"]
    row = only(cohen_kappa(first, second, levels=levels, weights=weights, method=method))
    assert row["estimate"] == pytest.approx(wanted["kappa"], abs=NEAR)
    assert row["se"] == pytest.approx(wanted["se"], abs=NEAR)
    assert interval_of(row) == pytest.approx(wanted[f"{method}_ci"], abs=NEAR)
    assert (row["n"], row["n_left_out"], row["method"]) == (len(list(first)), 0, method)


def test_the_default_is_quadratic_kappa_with_the_interval_by_t() -> None:
    inputs, expected = reference("judge_human_20")
    row = only(cohen_kappa(inputs["human"], inputs["judge"], levels=inputs["levels"]))
    assert (row["metric"], row["method"]) == ("kappa_quadratic", "fisher_t")
    assert interval_of(row) == pytest.approx(expected["kappa_quadratic"]["fisher_t_ci"], abs=NEAR)


@pytest.mark.parametrize("name", ["kappa_2x2_balanced", "kappa_2x2_bias_a"])
def test_reference_of_two_levels(name: str) -> None:
    inputs, expected = reference(name)
    row = only(cohen_kappa(*unfold(inputs["table"]), levels=[0, 1], weights=None))
    assert row["estimate"] == pytest.approx(expected["kappa"], abs=NEAR)
    assert row["se"] == pytest.approx(expected["se"], abs=NEAR)


def test_reference_of_the_bootstrap() -> None:
    inputs, expected = reference("judge_human_20")
    row = only(
        cohen_kappa(inputs["human"], inputs["judge"], levels=inputs["levels"], method="bootstrap")
    )
    # the expected ends are of 400,000 resamples
    wanted = expected["bootstrap_percentile_ci_quadratic"]
    assert interval_of(row) == pytest.approx(wanted, abs=0.02)
    assert row["method"] == "bootstrap"


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_distance_is_that_of_declared_levels(weights: Weights) -> None:
    inputs, expected = reference("kappa_unused_levels")
    row = only(cohen_kappa(**inputs, weights=weights))
    assert row["estimate"] == pytest.approx(expected[f"kappa_{weights}"], abs=NEAR)
    occurring = only(cohen_kappa(**{**inputs, "levels": [1, 2, 5]}, weights="quadratic"))
    assert occurring["estimate"] == pytest.approx(0.794872, abs=NEAR)  # by the entry's note


@pytest.mark.parametrize("method", ["wald", "fisher_z", "fisher_t", "bootstrap"])
def test_reference_of_perfect_agreement(method: Method) -> None:
    inputs, expected = reference("kappa_perfect_agreement_20")
    assert inputs["weights"] == "none"
    first, second = unfold(inputs["table"])
    row = only(cohen_kappa(first, second, levels=[0, 1], weights=None, method=method))
    assert row["estimate"] == expected["kappa"]
    assert interval_of(row) == pytest.approx(expected["ci"], abs=NEAR)
    assert row["method"] == "exact bound at perfect agreement"
    # low = 1 - u / (1 - p_e), p_e = (3^2 + 17^2) / 20^2
    upper = (1 - row["ci_low"]) * (1 - 298 / 400)
    assert upper == pytest.approx(expected["disagreement_upper"], abs=NEAR)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_where_both_use_one_level_kappa_is_missing(weights: Weights) -> None:
    inputs, expected = reference("kappa_undefined_one_category")
    assert expected["kappa_quadratic"] is None
    row = only(cohen_kappa(**inputs, weights=weights))
    assert row[["estimate", "ci_low", "ci_high", "se"]].isna().all()
    assert (row["reason"], row["n"]) == ("one_category", 6)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("method", ["wald", "fisher_z", "fisher_t", "bootstrap"])
def test_kappa_of_a_constant_judge_is_0_and_says_so(method: Method, weights: Weights) -> None:
    inputs, expected = reference("kappa_constant_judge")
    row = only(cohen_kappa(**inputs, weights=weights, method=method))
    assert row["estimate"] == expected[f"kappa_{weights or 'none'}"] == 0
    assert row["warnings"] == ["constant_rater"]
    assert row[["ci_low", "ci_high"]].isna().all()
    assert row["reason"] == "constant_rater"


def test_reference_of_the_decision() -> None:
    inputs, expected = reference("judge_decision_24")
    given = (inputs["kappa"], inputs["se"], inputs["n"])
    assert labels_needed(*given, 0.6) == expected["labels_needed_for_060"]
    assert labels_needed(*given, 0.8) is expected["labels_needed_for_080"] is None
    assert agreement_grade(expected["ci_low"], expected["ci_high"]) == expected["decision"]


# Other libraries


@given(pairs, weights_of)
def test_kappa_is_that_of_scikit_learn(found: list[tuple[int, int]], weights: Weights) -> None:
    first, second = sides(found)
    row = only(cohen_kappa(first, second, levels=FIVE, weights=weights))
    expected = cohen_kappa_score(first, second, labels=FIVE, weights=weights)
    assert row["estimate"] == pytest.approx(expected, abs=1e-12)


@given(pairs, weights_of)
def test_the_standard_error_is_that_of_statsmodels(
    found: list[tuple[int, int]], weights: Weights
) -> None:
    first, second = sides(found)
    table = confusion(first, second, levels=FIVE).to_numpy()
    with np.errstate(divide="ignore", invalid="ignore"):  # of its test of kappa = 0
        expected = cohens_kappa(table, wt=weights)
    row = only(cohen_kappa(first, second, levels=FIVE, weights=weights))
    assert row["estimate"] == pytest.approx(expected.kappa, abs=1e-9)
    variance = max(expected.var_kappa, 0)  # rounding may leave a little below 0
    assert row["se"] ** 2 == pytest.approx(variance, abs=1e-9)
    assert kappa_standard_error(first, second, levels=FIVE, weights=weights) == row["se"]


# Properties


@given(pairs, weights_of)
def test_kappa_and_its_interval_stay_in_bounds(
    found: list[tuple[int, int]], weights: Weights
) -> None:
    first, second = sides(found)
    row = only(cohen_kappa(first, second, levels=FIVE, weights=weights))
    assert -1 <= row["estimate"] <= 1
    assert row["se"] >= 0
    if pd.isna(row["ci_low"]):
        assert row["reason"] in ("constant_rater", "no_variance")
    else:
        assert pd.isna(row["reason"])
        assert -1 <= row["ci_low"] <= row["estimate"] <= row["ci_high"] <= 1


@given(pairs, weights_of, st.randoms())
def test_neither_who_is_first_nor_the_order_of_items_matters(
    found: list[tuple[int, int]], weights: Weights, random: Any
) -> None:
    one = only(cohen_kappa(*sides(found), levels=FIVE, weights=weights))
    swapped = [(other, first) for first, other in found]
    assert same(one, only(cohen_kappa(*sides(swapped), levels=FIVE, weights=weights)))
    shuffled = random.sample(found, len(found))
    assert same(one, only(cohen_kappa(*sides(shuffled), levels=FIVE, weights=weights)))


@given(pairs, st.permutations(FIVE))
def test_without_weights_names_of_levels_do_not_matter(
    found: list[tuple[int, int]], names: list[int]
) -> None:
    new = dict(zip(FIVE, names, strict=True))
    renamed = [(new[one], new[other]) for one, other in found]
    one = only(cohen_kappa(*sides(found), levels=FIVE, weights=None))
    assert same(one, only(cohen_kappa(*sides(renamed), levels=FIVE, weights=None)))


@given(pairs, weights_of)
def test_a_scale_may_be_turned_round_or_named_by_text(
    found: list[tuple[int, int]], weights: Weights
) -> None:
    one = only(cohen_kappa(*sides(found), levels=FIVE, weights=weights))
    assert same(one, only(cohen_kappa(*sides(found), levels=FIVE[::-1], weights=weights)))
    texts = [(str(first), str(second)) for first, second in found]
    assert same(one, only(cohen_kappa(*sides(texts), levels=list("12345"), weights=weights)))


@given(st.lists(st.sampled_from(FIVE), min_size=2).filter(lambda x: len(set(x)) > 1), weights_of)
def test_a_rater_agrees_with_itself(ratings: list[int], weights: Weights) -> None:
    row = only(cohen_kappa(ratings, ratings, levels=FIVE, weights=weights))
    assert row["estimate"] == 1
    assert row["ci_low"] < 1
    assert row["ci_high"] == 1


@given(pairs, weights_of)
def test_kappa_is_at_most_what_the_margins_allow(
    found: list[tuple[int, int]], weights: Weights
) -> None:
    first, second = sides(found)
    row = only(cohen_kappa(first, second, levels=FIVE, weights=weights))
    most = only(kappa_max(first, second, levels=FIVE, weights=weights))
    assert row["estimate"] <= most["estimate"] + 1e-12


def test_the_largest_kappa_by_hand() -> None:
    inputs, expected = reference("judge_human_20")
    row = only(
        kappa_max(inputs["human"], inputs["judge"], levels=inputs["levels"], weights="quadratic")
    )
    wanted = expected["max_quadratic_kappa_given_marginals"]
    assert row["estimate"] == pytest.approx(wanted, abs=NEAR)
    # a: 3 of 4, b: 1 of 2 at most agree; p_o 3/4, p_e 3/4 * 1/2 + 1/4 * 1/2 = 1/2
    row = only(kappa_max(list("aaab"), list("baba"), levels=list("ab")))
    assert row["estimate"] == pytest.approx(0.5)


# The bootstrap


def test_a_seed_gives_the_same_interval_whatever_the_order_of_items() -> None:
    inputs, _ = reference("judge_human_20")
    found = list(zip(inputs["human"], inputs["judge"], strict=True))

    def ends(items: list[tuple[int, int]], seed: int) -> list[float]:
        frame = cohen_kappa(*sides(items), levels=FIVE, method="bootstrap", seed=seed)
        return interval_of(only(frame))

    assert ends(found, 1) == ends(found[::-1], 1)
    assert ends(found, 1) != ends(found, 2)
    assert ends(found, 1) == pytest.approx(ends(found, 2), abs=0.03)


def test_the_bootstrap_of_many_items_is_near_the_interval_by_t() -> None:
    rng = np.random.default_rng(7)
    first = rng.integers(1, 6, 3000)
    second = np.clip(first + rng.integers(-1, 2, 3000), 1, 5)
    drawn, by_t = (
        interval_of(only(cohen_kappa(first, second, levels=FIVE, method=method)))
        for method in cast("list[Method]", ["bootstrap", "fisher_t"])
    )
    assert drawn == pytest.approx(by_t, abs=0.003)


def test_items_of_one_conversation_make_the_interval_no_shorter() -> None:
    rng = np.random.default_rng(3)
    first = rng.integers(1, 6, 60)
    second = np.clip(first + rng.integers(-1, 2, 60), 1, 5)
    alone = interval_of(only(cohen_kappa(first, second, levels=FIVE, method="bootstrap")))
    # each item five times over tells nothing more: 60 clusters
    again = cohen_kappa(
        np.tile(first, 5), np.tile(second, 5), levels=FIVE, clusters=np.tile(np.arange(60), 5)
    )
    row = only(again)
    assert row["method"] == "bootstrap over clusters"
    assert interval_of(row) == pytest.approx(alone, abs=0.02)
    assert pd.isna(row["warnings"])


def test_an_interval_of_no_width_is_none() -> None:
    # two clusters that are alike: every resample is the same
    row = only(cohen_kappa([1, 2, 3] * 2, [1, 2, 2] * 2, levels=[1, 2, 3], clusters=list("aaabbb")))
    assert row[["ci_low", "ci_high"]].isna().all()
    assert (row["reason"], row["warnings"]) == ("no_variance", ["few_clusters"])
    one = only(cohen_kappa([1, 2, 3], [1, 2, 2], levels=[1, 2, 3], clusters=["a"] * 3))
    assert one["reason"] == "too_few"


def test_an_item_without_a_cluster_stands_for_itself() -> None:
    first, second = [1, 2, 3, 1], [1, 2, 2, 1]
    named, unnamed = (
        only(cohen_kappa(first, second, levels=[1, 2, 3], clusters=clusters))
        for clusters in (["a", "a", "b", "c"], ["a", "a", None, np.nan])
    )
    assert same(named, unnamed)


# Few, missing and odd ratings


@pytest.mark.parametrize(
    ("first", "second", "n", "n_left_out", "reason"),
    [
        ([], [], 0, 0, "no_overlap"),
        ([None, 1], [2, np.nan], 0, 2, "no_overlap"),
        ([1], [2], 1, 0, "too_few"),
        ([1, pd.NA], [2, 3], 1, 1, "too_few"),
        ([2, 2, 1], [2, 2, None], 2, 1, "one_category"),
    ],
)
def test_too_little_is_missing_with_its_reason(
    first: list[Any], second: list[Any], n: int, n_left_out: int, reason: str
) -> None:
    for method in cast("list[Method]", ["fisher_t", "bootstrap"]):
        row = only(cohen_kappa(first, second, levels=FIVE, method=method))
        assert row[["estimate", "ci_low", "ci_high", "se"]].isna().all()
        assert (row["n"], row["n_left_out"], row["reason"]) == (n, n_left_out, reason)
    assert kappa_standard_error(first, second, levels=FIVE) is None
    assert only(kappa_max(first, second, levels=FIVE))["reason"] == reason


@pytest.mark.parametrize("weights", WEIGHTS)
def test_raters_who_always_differ_have_kappa_below_0(weights: Weights) -> None:
    row = only(cohen_kappa([1, 5] * 10, [5, 1] * 10, levels=FIVE, weights=weights))
    assert row["estimate"] == -1
    assert row["reason"] == "no_variance"
    # p_o 2/8; p_e 1/2; kappa -1/2
    found = only(cohen_kappa([1, 2] * 4, [2, 1] * 3 + [1, 2], levels=[1, 2], weights=weights))
    assert found["estimate"] == pytest.approx(-0.5)
    assert -1 <= found["ci_low"] < -0.5 < found["ci_high"] < 1


@pytest.mark.parametrize(
    ("first", "second", "levels"),
    [
        (np.array([1.0, 2.0, np.nan, 2.0]), [1, 2, 1, 1], [1, 2]),
        (pd.array([1, 2, None, 2], dtype="Int64"), np.array([1, 2, 1, 1]), [1, 2]),
        (pd.Series(["a", "b", None, "b"], dtype="string", index=[9, 9, 8, 7]), "abaa", "ab"),
        (pd.Categorical(["a", "b", None, "b"]), np.array(list("abaa")), ["a", "b"]),
        ([True, False, None, False], [1, 0, 1, 1], [1, 0]),
        (pd.array([True, False, None, False], dtype="boolean"), [1.0, 0, 1, 1], [True, False]),
        (iter(["x", "y", pd.NaT, "y"]), iter("xyxx"), iter("xy")),
    ],
)
def test_ratings_come_in_many_shapes(first: Any, second: Any, levels: Any) -> None:
    second = list(second) if isinstance(second, str) else second
    levels = list(levels) if isinstance(levels, str) else levels
    row = only(cohen_kappa(first, second, levels=levels, weights=None))
    # 2 of 3 agree; p_e (1/3 * 2/3 + 2/3 * 1/3) = 4/9; kappa (6 - 4) / (9 - 4)
    assert row["estimate"] == pytest.approx(0.4)
    assert (row["n"], row["n_left_out"]) == (3, 1)


def test_a_level_that_one_rater_never_uses_counts_in_the_table() -> None:
    found = confusion(["a", "c", "c", None], ["a", "b", "c", "c"], levels=["a", "b", "c"])
    assert found.to_numpy().tolist() == [[1, 0, 0], [0, 0, 0], [0, 1, 1]]
    assert list(found.index) == list(found.columns) == ["a", "b", "c"]
    assert confusion([], [], levels=[1, 2]).to_numpy().tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("n", [100_000])
def test_many_items_are_no_matter(n: int) -> None:
    first = np.arange(n) % 5 + 1
    second = np.where(np.arange(n) % 10 < 8, first, 6 - first)
    row = only(cohen_kappa(first, second, levels=FIVE, method="bootstrap"))
    expected = cohen_kappa_score(first, second, labels=FIVE, weights="quadratic")
    assert row["estimate"] == pytest.approx(expected)
    assert row["ci_high"] - row["ci_low"] < 0.02


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: cohen_kappa([1, 2], [1], levels=FIVE), ValueError, "Got 2 and 1 ratings"),
        (
            lambda: cohen_kappa([1, 7], [1, 2], levels=FIVE),
            ValueError,
            "`first` must be of the levels 1, 2, 3, 4, 5, or missing. Got 7",
        ),
        (lambda: cohen_kappa([1, 2], ["1", "2"], levels=FIVE), ValueError, "`second`.*Got '1'"),
        (lambda: cohen_kappa([1, 2], [1, 2.5], levels=FIVE), ValueError, "`second`.*Got 2.5"),
        (lambda: cohen_kappa([1, np.inf], [1, 2], levels=FIVE), ValueError, "`first`.*Got inf"),
        (lambda: cohen_kappa([1, [2]], [1, 2], levels=FIVE), ValueError, r"Got \[2\]"),
        (lambda: cohen_kappa(np.eye(2), [1, 2], levels=FIVE), ValueError, "one dimension. Got 2"),
        (
            lambda: cohen_kappa(cast("Any", {"a": 1}), [1], levels=FIVE),
            TypeError,
            "`first` must be a list, array or Series. Got a dict",
        ),
        (lambda: cohen_kappa("12", [1, 2], levels=FIVE), TypeError, "`first`.*Got a str"),
        (
            lambda: cohen_kappa(cast("Any", None), [1], levels=FIVE),
            TypeError,
            "`first`.*Got a NoneType",
        ),
        (lambda: cohen_kappa([1, 2], [1, 2], levels=[1]), ValueError, "at least two levels. Got"),
        (lambda: cohen_kappa([1, 2], [1, 2], levels=[1, None]), ValueError, "is not missing"),
        (lambda: cohen_kappa([1, 2], [1, 2], levels=[1, 2, 2]), ValueError, "differ from each"),
        (lambda: cohen_kappa([1, 2], [1, 2], levels=[0, 1, True]), ValueError, "differ from each"),
        (lambda: cohen_kappa([1, 2], [1, 2], levels=[[1], [2]]), TypeError, "numbers, strings"),
        (
            lambda: cohen_kappa([1, 2], [1, 2], levels={1, 2}),
            TypeError,
            "`levels` must be a list, array or Series. Got a set",
        ),
        (lambda: cohen_kappa([1, 2], [1, 2], levels=cast("Any", 5)), TypeError, "Got a int"),
        (
            lambda: cohen_kappa([], [], levels=FIVE, weights=cast("Any", "lin")),
            ValueError,
            "must be 'linear', 'quadratic' or None. Got 'lin'",
        ),
        (
            lambda: cohen_kappa([1, 2], [1, 2], levels=FIVE, weights=cast("Any", ["linear"])),
            ValueError,
            r"Got \['linear'\]",
        ),
        (
            lambda: cohen_kappa([], [], levels=FIVE, method=cast("Any", "bca")),
            ValueError,
            "one of 'fisher_t', 'fisher_z', 'wald', 'bootstrap'. Got 'bca'",
        ),
        (
            lambda: cohen_kappa([1, 2], [1, 2], levels=FIVE, clusters=["a"]),
            ValueError,
            "one for each item: 2. Got 1",
        ),
        (lambda: labels_needed(0.8, 0.1, 20, 1.0), ValueError, r"between -1 and 1. Got 1.0"),
        (lambda: labels_needed(0.8, 0.1, 20, -1.5), ValueError, r"between -1 and 1. Got -1.5"),
        (lambda: agreement_grade(0.9, 0.8), ValueError, "`ci_low` is at most `ci_high`"),
        (
            lambda: agreement_grade(0.7, usable=0.8, strong=0.6),
            ValueError,
            "`usable` is at most `strong`. Got 0.8 and 0.6",
        ),
    ],
)
def test_what_cannot_be_says_why(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


# What is decided on it


@pytest.mark.parametrize(
    ("low", "high", "grade"),
    [
        (0.8, 0.9, "strong"),
        (0.7999, 0.9, "usable"),
        (0.6, 0.6, "usable"),
        (0.5999, 0.99, "revise"),
        (-0.2, 0.1, "revise"),
        (None, None, "revise"),
        (pd.NA, pd.NA, "revise"),
        (float("nan"), 0.9, "revise"),
    ],
)
def test_the_lower_end_decides(low: Any, high: Any, grade: str) -> None:
    assert agreement_grade(low, high) == grade


@pytest.mark.parametrize(
    "given", [(None, 0.1, 20), (0.8, None, 20), (pd.NA, pd.NA, 20), (float("nan"), 0.1, 20)]
)
def test_of_nothing_no_number_of_labels_follows(given: tuple[Any, Any, Any]) -> None:
    assert labels_needed(*given, 0.6) is None


def test_labels_needed_at_the_borders() -> None:
    assert labels_needed(0.6, 0.1, 20, 0.6) is None
    assert labels_needed(0.8, float("inf"), 20, 0.6) is None
    assert labels_needed(0.8, 0.1, 0, 0.6) is None
    assert labels_needed(1.0, 0.0, 20, 0.6) is None
    # All 20 agree and the bound 0.339 is 1 - u/(1 - p_e), u = 0.168433; 0.6 wants u times
    # 0.4/0.660523 = 0.102000; 1 - 0.025^(1/n) <= 0.102 from n = 34.3
    assert labels_needed(1.0, 0.0, 20, 0.6, ci_low=0.339477) == 35


@given(st.floats(0.65, 0.98), st.floats(0.01, 0.2), st.integers(10, 200))
def test_so_many_labels_bring_the_bound_to_the_threshold(kappa: float, se: float, n: int) -> None:
    needed = labels_needed(kappa, se, n, 0.6)
    assert needed is not None

    def bound(labels: int) -> float:
        error = se * np.sqrt(n / labels) / (1 - kappa**2)
        return float(np.tanh(np.arctanh(kappa) - 1.959963984540054 * error))

    assert bound(needed) >= 0.6 - 1e-9
    assert needed == 1 or bound(needed - 1) < 0.6 + 1e-9

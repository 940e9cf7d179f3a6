from __future__ import annotations

import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.frames import METRICS
from evalnb.stats.repeats import repeat_statistics, spread_by_item, variance_split
from evalnb.stats.variances import mean_error
from tests.stats.reference import reference

# Shrout & Fleiss (1979), table 2: six targets, rated four times each.
TARGETS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]


def ratings(values: list[list[float | None]]) -> pd.DataFrame:
    rows = [(item, value) for item, repeats in enumerate(values) for value in repeats]
    return pd.DataFrame(rows, columns=["item", "value"]).astype({"value": "Float64"})


def metric(frame: pd.DataFrame, name: str) -> pd.Series:
    return frame[frame["metric"] == name].iloc[0]


def test_the_published_table_comes_out() -> None:
    found = repeat_statistics(ratings([list(map(float, row)) for row in TARGETS]))
    icc = metric(found, "icc")
    # pingouin 0.6.1 says 0.165741768405, the paper 0.17; its interval is pingouin's as well.
    assert icc["estimate"] == pytest.approx(0.165741768405, abs=1e-12)
    assert (icc["ci_low"], icc["ci_high"]) == pytest.approx((-0.1329, 0.7226), abs=5e-4)
    # mean squares 11.241666666667 and 6.263888888889
    assert metric(found, "sd_within")["estimate"] == pytest.approx(math.sqrt(6.263888888889))
    share = metric(found, "variance_share")
    assert share["estimate"] == pytest.approx(6.263888888889 / (6.263888888889 + 1.244444444444))
    assert share["ci_high"] == 1
    assert list(found["n"]) == [6] * 4


def test_agreement_is_the_chance_that_two_repeats_say_the_same() -> None:
    # pairs that agree: 3 of 3, 1 of 3, 0 of 1
    found = repeat_statistics(ratings([[4, 4, 4], [4, 4, 5], [1, 2]]))
    assert metric(found, "self_agreement")["estimate"] == pytest.approx((1 + 1 / 3 + 0) / 3)


def test_items_with_fewer_than_two_values_are_left_out_and_counted() -> None:
    found = repeat_statistics(ratings([[4, 4], [3, None], [None, None], [1, 2]]))
    assert set(found["n"]) == {2}
    assert set(found["n_left_out"]) == {2}


def test_unequal_numbers_of_repeats_have_a_mean_number() -> None:
    # By hand: means 2 and 5, grand mean 3.2; between (3*1.44 + 2*3.24)/1 = 10.8, within 2/3;
    # n0 = 5 - 13/5 = 2.4; (10.8 - 2/3) / (10.8 + 1.4 * 2/3)
    found = repeat_statistics(ratings([[1, 2, 3], [5, 5]]))
    assert metric(found, "icc")["estimate"] == pytest.approx((10.8 - 2 / 3) / (10.8 + 1.4 * 2 / 3))


@pytest.mark.parametrize(
    ("values", "reason"),
    [([], "too_few"), ([[4, 5]], "too_few"), ([[3, 3], [3, 3]], "no_variance")],
)
def test_what_is_undefined_is_missing_with_its_reason(
    values: list[list[float | None]], reason: str
) -> None:
    found = repeat_statistics(ratings(values))
    icc = metric(found, "icc")
    assert pd.isna(icc["estimate"])
    assert icc["reason"] == reason
    METRICS.check(found)


@pytest.mark.parametrize(
    ("values", "estimate", "reason"),
    [
        ([], pd.NA, "too_few"),
        ([[4, 5, 5]], 1 / 3, "too_few"),
        ([[3, 3], [5, 5]], 1.0, "no_variance"),
    ],
)
def test_an_agreement_without_interval_says_why(
    values: list[list[float | None]], estimate: float, reason: str
) -> None:
    row = metric(repeat_statistics(ratings(values)), "self_agreement")
    assert row["estimate"] is estimate or row["estimate"] == pytest.approx(estimate)
    assert pd.isna(row["ci_low"])
    assert row["reason"] == reason


def test_a_judge_that_always_says_the_same_of_an_item_has_no_noise() -> None:
    found = repeat_statistics(ratings([[1, 1], [5, 5], [3, 3]]))
    assert metric(found, "self_agreement")["estimate"] == 1
    assert metric(found, "variance_share")["estimate"] == 0
    assert metric(found, "icc")["estimate"] == 1


def test_constant_decimals_have_no_noise_and_small_ones_vary() -> None:
    # The mean of three times 0.1 is not 0.1 in binary.
    constant = repeat_statistics(ratings([[0.1, 0.1, 0.1], [0.7, 0.7, 0.7]]))
    assert metric(constant, "sd_within")["estimate"] == 0
    assert metric(constant, "variance_share")["estimate"] == 0
    large = repeat_statistics(ratings([[1, 2], [4, 4], [5, 3]]))
    small = repeat_statistics(ratings([[1e-9, 2e-9], [4e-9, 4e-9], [5e-9, 3e-9]]))
    assert metric(small, "icc")["estimate"] == pytest.approx(metric(large, "icc")["estimate"])


def test_a_frame_without_rows_has_no_spread() -> None:
    assert list(spread_by_item(ratings([])).columns) == ["item", "n", "mean", "sd", "low", "high"]


def test_a_variance_between_items_below_zero_is_cut_off() -> None:
    found = repeat_statistics(ratings([[1, 5], [5, 1], [3, 3.5]]))
    assert metric(found, "icc")["estimate"] < 0
    assert metric(found, "variance_share")["estimate"] == 1


def test_the_spread_of_each_item() -> None:
    found = spread_by_item(ratings([[1, 3], [4, None]]))
    assert found.to_dict("records")[0] == {
        "item": 0, "n": 2, "mean": 2.0, "sd": pytest.approx(math.sqrt(2)), "low": 1, "high": 3,
    }  # fmt: skip
    assert found.loc[1, "n"] == 1
    assert found["sd"].isna().tolist() == [False, True]


groups = st.lists(
    st.lists(st.integers(1, 5).map(float), min_size=2, max_size=4), min_size=2, max_size=6
)


@given(groups, st.randoms())
def test_the_order_of_rows_does_not_matter(
    values: list[list[float | None]], random: object
) -> None:
    frame = ratings(values)
    shuffled = frame.sample(frac=1, random_state=random.randrange(2**31))  # type: ignore[attr-defined]
    one, other = repeat_statistics(frame), repeat_statistics(shuffled)
    for name in ("estimate", "ci_low", "ci_high"):
        assert one[name].isna().equals(other[name].isna())
        assert one[name].dropna().tolist() == pytest.approx(other[name].dropna().tolist(), abs=1e-9)


@given(st.lists(st.integers(1, 5).map(float), min_size=1, max_size=6), st.integers(2, 4))
def test_constant_repeats_always_agree(values: list[float], n_repeats: int) -> None:
    found = repeat_statistics(ratings([[value] * n_repeats for value in values]))
    assert metric(found, "self_agreement")["estimate"] == 1


@given(groups)
def test_shares_stay_within_their_range(values: list[list[float | None]]) -> None:
    found = repeat_statistics(ratings(values))
    for name in ("self_agreement", "variance_share"):
        row = metric(found, name).dropna()
        for bound in ("ci_low", "estimate", "ci_high"):
            assert bound not in row or -1e-9 <= row[bound] <= 1 + 1e-9


# The split of variance


def test_reference_split() -> None:
    inputs, expected = reference("repeats_shrout_fleiss")
    found = variance_split(ratings(inputs["cases_by_repeats"])).set_index("metric")["estimate"]
    assert found["icc"] == pytest.approx(expected.pop("icc1"), abs=1e-6)
    assert set(found.index) == {*expected, "icc"}
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-6), name


def test_more_repeats_lower_an_error_to_its_floor() -> None:
    # (1.244444 + 6.263889 / k) / 6
    _, expected = reference("repeats_shrout_fleiss")
    between, within = expected["variance_between"], expected["variance_within"]
    assert mean_error(between, within, 6, 4) == pytest.approx(expected["se_by_case"], abs=1e-6)
    errors = [mean_error(between, within, 6, k) for k in (1, 2, 8, 1000, math.inf)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] == pytest.approx(expected["se_floor_infinite_repeats"], abs=1e-6)
    with pytest.raises(ValueError, match=r"must be at least 1\. Got 0 and 3"):
        mean_error(1, 1, 0, 3)


def test_a_split_of_too_few_is_missing_and_of_constants_zero() -> None:
    few = variance_split(ratings([[1, 2], [3, None]]))
    assert few["estimate"].isna().all()
    assert set(few["reason"]) == {"too_few"}
    assert set(few["n_left_out"]) == {1}
    constant = variance_split(ratings([[0.1, 0.1, 0.1], [0.1, 0.1, 0.1]])).set_index("metric")
    assert constant.loc["icc", "reason"] == "no_variance"
    assert constant["estimate"].drop(["icc", "mean"]).tolist() == [0] * 8


def test_a_negative_share_stays_and_its_variance_does_not() -> None:
    found = variance_split(ratings([[1, 5], [5, 1], [3, 3.5]])).set_index("metric")["estimate"]
    assert found["icc"] < 0
    assert found["variance_between"] == found["se_floor_infinite_repeats"] == 0


@given(groups)
def test_the_split_is_that_of_the_repeat_statistics(values: list[list[float | None]]) -> None:
    split, known = variance_split(ratings(values)), repeat_statistics(ratings(values))
    one, other = metric(split, "icc"), metric(known, "icc")
    for name in ("estimate", "ci_low", "ci_high"):
        assert one[name] is other[name] or one[name] == pytest.approx(other[name], nan_ok=True)

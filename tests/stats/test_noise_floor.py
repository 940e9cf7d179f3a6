from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap, permutation_test

from evalnb.stats.estimates import Estimate
from evalnb.stats.mcnemar import mcnemar
from evalnb.stats.noise_floor import ABOVE_FLOOR, LEVEL_SIZE, RATE_SIZE, effects_above_floor
from evalnb.stats.paired_intervals import tango_interval
from tests.stats.reference import interval_of, metric

SIZES = {"order": RATE_SIZE, "padding": LEVEL_SIZE, "lists": RATE_SIZE}


def items(probe: str, effect: Any, floor: Any, **columns: Any) -> pd.DataFrame:
    n = len(effect)
    frame = {"probe": probe, "item": range(n), "effect": effect, "floor": floor, **columns}
    return pd.DataFrame(frame).astype({"effect": "Float64", "floor": "Float64"})


def test_flips_against_flips() -> None:
    # 12 items flip with the other order alone, 2 when asked again alone, 3 both ways, 23 never.
    frame = items("order", [1] * 15 + [0] * 25, [0] * 12 + [1] * 5 + [0] * 23)
    row = metric(ABOVE_FLOOR.check(effects_above_floor(frame, SIZES)), "order")
    assert (row["effect"], row["floor"]) == (15 / 40, 5 / 40)
    assert row["estimate"] == pytest.approx(10 / 40)
    expected = tango_interval(12, 2, 40)
    assert Estimate(row["estimate"], row["ci_low"], row["ci_high"]) == expected
    assert row["p_value"] == pytest.approx(mcnemar(12, 2, method="exact"))
    assert row["real"]
    assert row["matters"]


def test_a_judge_without_noise_that_always_goes_by_the_order() -> None:
    row = metric(effects_above_floor(items("order", [1] * 20, [0] * 20), SIZES), "order")
    assert (row["estimate"], row["ci_high"]) == (1, 1)
    assert 0 < row["ci_low"] < 1
    assert row["real"]


def test_shifts_have_the_bootstrap_interval_of_scipy() -> None:
    rng = np.random.default_rng(5)
    effect, floor = rng.normal(0.4, 0.8, 50), rng.normal(0, 0.5, 50)
    row = metric(effects_above_floor(items("padding", effect, floor), SIZES), "padding")
    found = bootstrap(
        (effect - floor,), np.mean, method="percentile", n_resamples=20_000, rng=1
    ).confidence_interval
    assert row["estimate"] == pytest.approx((effect - floor).mean())
    assert interval_of(row) == pytest.approx([found.low, found.high], abs=0.02)
    flips = permutation_test(
        (effect - floor,), np.mean, permutation_type="samples", n_resamples=20_000, rng=1
    )
    assert row["p_value"] == pytest.approx(flips.pvalue, abs=0.005)


def test_a_cluster_counts_once() -> None:
    rng = np.random.default_rng(8)
    effect, floor = rng.normal(0.3, 1, 24), rng.normal(0, 0.3, 24)
    once = effects_above_floor(items("padding", effect, floor), SIZES)
    twice = effects_above_floor(
        items(
            "padding",
            np.tile(effect, 3),
            np.tile(floor, 3),
            cluster=[*range(24)] * 3,
        ),
        SIZES,
    )
    one, other = metric(once, "padding"), metric(twice, "padding")
    assert other["n_clusters"] == 24
    assert interval_of(other) == pytest.approx(interval_of(one), abs=0.02)
    assert other["p_value"] == pytest.approx(one["p_value"], abs=0.01)


def test_effect_and_floor_of_different_items_are_compared_as_such() -> None:
    rng = np.random.default_rng(2)
    effect, floor = rng.normal(0.6, 0.5, 30), rng.normal(0.1, 0.5, 25)
    frame = items("padding", [*effect, *[None] * 25], [*[None] * 30, *floor])
    row = metric(effects_above_floor(frame, SIZES), "padding")
    assert row["estimate"] == pytest.approx(effect.mean() - floor.mean())
    assert (row["n"], row["n_left_out"]) == (55, 0)
    drawn = bootstrap(
        (effect, floor),
        lambda x, y, axis: x.mean(axis) - y.mean(axis),
        method="percentile",
        vectorized=True,
        rng=1,
    ).confidence_interval
    assert interval_of(row) == pytest.approx([drawn.low, drawn.high], abs=0.03)
    assert row["p_value"] < 0.01
    assert row["real"]


def test_items_that_lack_a_side_are_left_out_and_counted() -> None:
    frame = items("order", [1, 1, 0, None, 1], [0, 1, 0, 1, None])
    row = metric(effects_above_floor(frame, SIZES), "order")
    assert (row["n"], row["n_left_out"], row["effect"]) == (3, 2, pytest.approx(2 / 3))


@pytest.mark.parametrize(
    ("effect", "floor", "reason"),
    [
        ([1, 1], [None, None], "no_overlap"),
        ([None, None], [None, None], "no_overlap"),
        ([1], [0], "too_few"),
        ([1, None], [None, 0], "too_few"),
    ],
)
def test_a_probe_without_its_floor_is_undefined_and_counts_for_nothing(
    effect: list[Any], floor: list[Any], reason: str
) -> None:
    clear = items("order", [1] * 10, [0] * 10)
    found = effects_above_floor(pd.concat([clear, items("lists", effect, floor)]), SIZES)
    row = metric(found, "lists")
    assert row["reason"] == reason
    assert row[["p_value", "p_adjusted", "real", "matters"]].isna().all()
    order = metric(found, "order")
    assert order["p_adjusted"] == order["p_value"]


def test_holm_is_over_the_probes() -> None:
    # 6 of 6 discordant: 2 / 64 = 0.03125, real alone and not among three.
    six = [1] * 6 + [0] * 14
    alone = effects_above_floor(items("order", six, [0] * 20), SIZES)
    others = [items(name, [0] * 20, [0] * 20) for name in ("padding", "lists")]
    among = effects_above_floor(pd.concat([items("order", six, [0] * 20), *others]), SIZES)
    assert metric(alone, "order")["p_value"] == 0.03125
    assert metric(alone, "order")["real"]
    assert metric(among, "order")["p_adjusted"] == pytest.approx(3 * 0.03125)
    assert not metric(among, "order")["real"]
    assert list(among["metric"]) == ["order", "padding", "lists"]


def test_a_small_effect_may_be_real_and_not_matter() -> None:
    rng = np.random.default_rng(4)
    frame = items("padding", rng.normal(0.1, 0.1, 60), rng.normal(0, 0.1, 60))
    row = metric(effects_above_floor(frame, SIZES), "padding")
    assert row["real"]
    assert not row["matters"]


def test_a_shift_that_is_the_same_everywhere_has_no_interval() -> None:
    row = metric(effects_above_floor(items("padding", [2] * 12, [0] * 12), SIZES), "padding")
    assert row["reason"] == "no_variance"
    assert pd.isna(row["ci_low"])
    assert row["p_value"] == pytest.approx(2 / 2**12)
    assert row["matters"]


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), min_size=2, max_size=15))
def test_sides_exchanged_the_estimate_turns_round(pairs: list[tuple[int, int]]) -> None:
    effect, floor = [one for one, _ in pairs], [two for _, two in pairs]
    one = metric(effects_above_floor(items("order", effect, floor), SIZES), "order")
    other = metric(effects_above_floor(items("order", floor, effect), SIZES), "order")
    assert one["estimate"] == pytest.approx(-other["estimate"])
    assert one["p_value"] == pytest.approx(other["p_value"])
    assert one["real"] == other["real"]


def test_the_same_seed_gives_the_same_frame() -> None:
    rng = np.random.default_rng(1)
    frame = items("padding", rng.normal(0.2, 1, 40), rng.normal(0, 1, 40))
    one, two = (effects_above_floor(frame, SIZES, seed=seed) for seed in (7, 7))
    pd.testing.assert_frame_equal(one, two)
    assert interval_of(metric(one, "padding")) != interval_of(
        metric(effects_above_floor(frame, SIZES, seed=8), "padding")
    )


def test_noise_is_called_real_no_more_often_than_stated() -> None:
    # Three probes that do nothing, flips at 10% and shifts of a judge's noise, 40 items each, 300
    # times. At 5% in all, 15 are expected and more than 25 come in less than 1 of 100.
    rng = np.random.default_rng(11)
    false = 0
    for _ in range(300):
        flips = (rng.random((4, 40)) < 0.1).astype(float)
        shifts = rng.choice([-1.0, 0, 1], p=[0.1, 0.8, 0.1], size=(2, 40))
        frame = pd.concat(
            [
                items("order", flips[0], flips[1]),
                items("lists", flips[2], flips[3]),
                items("padding", shifts[0], shifts[1]),
            ]
        )
        false += bool(effects_above_floor(frame, SIZES)["real"].any())
    assert false <= 25


def test_a_plain_effect_is_found() -> None:
    # 30% flips over a floor of 10%, 100 items, one of two probes: found in most of 100 runs.
    rng = np.random.default_rng(12)
    found = 0
    for _ in range(100):
        effect, floor, none, noise = rng.random((4, 100)) < [[0.35], [0.1], [0.1], [0.1]]
        frame = pd.concat([items("order", effect, floor), items("lists", none, noise)])
        found += bool(metric(effects_above_floor(frame, SIZES), "order")["real"])
    assert found >= 90


def test_what_cannot_be_is_named() -> None:
    frame = items("order", [1, 0], [0, 0])
    with pytest.raises(ValueError, match=r"Missing: \['floor'\]"):
        effects_above_floor(frame.drop(columns="floor"), SIZES)
    with pytest.raises(ValueError, match=r"`sizes` must say what matters .* \['order'\]"):
        effects_above_floor(frame, {"lists": 0.1})
    with pytest.raises(ValueError, match="an item has one row for each probe"):
        effects_above_floor(pd.concat([frame, frame]), SIZES)

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evalnb.judge_comparison import compare_judges
from evalnb.ratings import HUMAN, JUDGE, AxisScale, ratings_frame

FIVE = AxisScale((1, 2, 3, 4, 5))
RNG = np.random.default_rng(7)
PEOPLE = RNG.integers(1, 6, size=200)


def noisy(n_wrong: int) -> np.ndarray:
    """Return what people said, but for one level on the first `n_wrong` items."""
    wrong = np.arange(200) < n_wrong
    return np.where(wrong, np.where(PEOPLE == 5, 4, PEOPLE + 1), PEOPLE)


def ratings(**judges: tuple[object, float | None, float | None]) -> pd.DataFrame:
    """Return ratings of 200 items by a person and by judges: values, dollars each, milliseconds."""
    shared = {"item": [str(number) for number in range(200)], "axis": "tone"}
    parts = [pd.DataFrame({**shared, "rater": "scripted-ann", "kind": HUMAN, "value": PEOPLE})]
    parts += [
        pd.DataFrame(
            {
                **shared,
                "rater": name,
                "kind": JUDGE,
                "value": values,
                "cost_usd": cost,
                "latency_ms": took,
            }
        )
        for name, (values, cost, took) in judges.items()
    ]
    return ratings_frame(pd.concat(parts))


def test_the_cheapest_that_is_not_worse_is_named() -> None:
    frame = ratings(
        large=(noisy(30), 0.005, 2000.0),
        small=(noisy(36), 0.001, 700.0),
        tiny=(noisy(200), 0.0001, 300.0),
    )
    found = compare_judges(frame, scales={"tone": FIVE})
    assert found["judge"].tolist() == ["large", "small", "tiny"]
    assert found["not_worse"].tolist() == [True, True, False]
    assert found["cheapest_not_worse"].tolist() == [False, True, False]
    assert found["usd_per_1000"].tolist() == pytest.approx([5.0, 1.0, 0.1])
    assert found["latency_ms"].tolist() == [2000, 700, 300]
    small = found.iloc[1]
    assert -0.05 < small["lower_one_sided"] < small["difference"] < 0
    assert small["difference_low"] < small["lower_one_sided"] < small["difference_high"]
    assert small["difference"] == pytest.approx(small["kappa"] - found.iloc[0]["kappa"])


def test_a_narrow_margin_leaves_the_best() -> None:
    frame = ratings(large=(noisy(30), 0.005, None), small=(noisy(60), 0.001, None))
    found = compare_judges(frame, scales={"tone": FIVE}, margin=0.001)
    assert found["cheapest_not_worse"].tolist() == [True, False]


def test_without_costs_none_is_the_cheapest() -> None:
    frame = ratings(large=(noisy(3), None, None), small=(noisy(4), None, None))
    found = compare_judges(frame, scales={"tone": FIVE})
    assert found["cheapest_not_worse"].isna().all()
    assert found["usd_per_1000"].isna().all()
    assert found["best"].tolist() == [True, False]


def test_only_items_that_all_rated_count() -> None:
    gaps = pd.array([*noisy(0)[:150], *[None] * 50], dtype="Float64")
    frame = ratings(whole=(noisy(10), 0.002, None), gaps=(gaps, 0.001, None))
    found = compare_judges(frame, scales={"tone": FIVE})
    assert set(found["n"]) == {150}
    assert set(found["n_left_out"]) == {50}


def test_one_judge_alone_is_the_best_and_the_cheapest() -> None:
    found = compare_judges(ratings(large=(noisy(3), 0.01, None)), scales={"tone": FIVE}).iloc[0]
    assert (found["best"], found["not_worse"], found["cheapest_not_worse"]) == (True, True, True)
    assert pd.isna(found["difference"])


def test_where_nothing_is_defined_nothing_is_chosen() -> None:
    nobody = [None] * 200
    frame = ratings(one=(nobody, 0.01, None), other=(nobody, 0.02, None))
    found = compare_judges(frame, scales={"tone": FIVE})
    assert set(found["reason"]) == {"no_overlap"}
    assert found["not_worse"].isna().all()
    assert found["cheapest_not_worse"].isna().all()


def test_bad_arguments_are_refused() -> None:
    frame = ratings(large=(noisy(3), 0.01, None))
    with pytest.raises(ValueError, match="`margin` must not be negative"):
        compare_judges(frame, scales={"tone": FIVE}, margin=-0.1)
    with pytest.raises(ValueError, match="no judge 'huge' rated 'tone'"):
        compare_judges(frame, ["huge"], scales={"tone": FIVE})

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.stats.run_noise import FLIP_RATES, flip_rates, noise_split, within_variance
from tests.stats.reference import metric


def scores(passed: list[object]) -> pd.DataFrame:
    return pd.DataFrame({"case_id": "a", "scorer": "exact", "passed": passed})


@given(st.lists(st.booleans(), min_size=2, max_size=10))
def test_a_flip_rate_is_the_share_of_pairs_that_differ(passed: list[bool]) -> None:
    differ = [one != other for one, other in combinations(passed, 2)]
    row = FLIP_RATES.check(flip_rates(scores(list(passed)))).iloc[0]
    assert row["flip_rate"] == pytest.approx(np.mean(differ))
    assert within_variance([sum(passed)], [len(passed)]) == pytest.approx(np.var(passed, ddof=1))


def test_one_repeat_cannot_flip() -> None:
    row = flip_rates(scores([True, None])).iloc[0]
    assert row[["n", "n_left_out", "reason"]].tolist() == [1, 1, "too_few"]
    assert pd.isna(row["flip_rate"])
    assert within_variance([1], [1]) is None


def test_the_noise_of_system_and_judge_are_told_apart() -> None:
    rng = np.random.default_rng(8)
    rows = []
    for case in range(300):
        level = rng.normal(0, 1.0)
        for repeat in range(int(rng.integers(1, 5))):
            answer = level + rng.normal(0, 0.5)
            rows += [
                (f"c{case}", repeat, answer + rng.normal(0, 0.3))
                for _ in range(int(rng.integers(1, 4)))
            ]
    found = noise_split(pd.DataFrame(rows, columns=["case_id", "repeat", "value"]))
    assert metric(found, "variance_judge")["estimate"] == pytest.approx(0.09, rel=0.15)
    assert metric(found, "variance_system")["estimate"] == pytest.approx(0.25, rel=0.15)
    assert metric(found, "variance_cases")["estimate"] == pytest.approx(1.0, rel=0.2)
    assert metric(found, "judge_share")["estimate"] == pytest.approx(0.09 / 0.34, rel=0.2)


def test_balanced_components_are_those_of_the_mean_squares() -> None:
    # Answers of a: 4.5, 5.5; of b: 2.5, 2.5; each from two verdicts with variance 0.5.
    rows = [
        *(("a", 0, 4), ("a", 0, 5), ("a", 1, 5), ("a", 1, 6)),
        *(("b", 0, 2), ("b", 0, 3), ("b", 1, 2), ("b", 1, 3)),
    ]
    found = noise_split(pd.DataFrame(rows, columns=["case_id", "repeat", "value"]))
    assert metric(found, "variance_judge")["estimate"] == 0.5
    # Of answer means: (0.5 + 0)/2 = 0.25, less the judge's 0.5/2.
    assert metric(found, "variance_system")["estimate"] == 0.0
    # Of case means 5 and 2.5: 3.125, less 0.5/4.
    assert metric(found, "variance_cases")["estimate"] == pytest.approx(3.0)
    assert metric(found, "judge_share")["estimate"] == 1.0


def test_what_was_never_repeated_is_not_known() -> None:
    frame = pd.DataFrame({"case_id": ["a", "a", "b"], "repeat": [0, 1, 0], "value": [1, 2, None]})
    found = noise_split(frame)
    assert found["reason"].tolist() == ["too_few"] * 4
    assert found["n_left_out"].tolist() == [1] * 4
    steady = noise_split(
        pd.DataFrame({"case_id": ["a"] * 4, "repeat": [0, 0, 1, 1], "value": [3.0] * 4})
    )
    assert metric(steady, "judge_share")["reason"] == "no_variance"


def test_missing_columns_are_named() -> None:
    with pytest.raises(ValueError, match=r"Missing: \['passed'\]"):
        flip_rates(pd.DataFrame({"case_id": ["a"], "scorer": ["x"]}))

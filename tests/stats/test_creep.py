from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import linregress

from evalnb.stats.creep import CREEP, creep
from tests.stats.reference import metric


def runs(table: np.ndarray) -> pd.DataFrame:
    """Make a history of case x run."""
    return pd.DataFrame(
        {"run": f"r{run}", "case_id": f"c{case}", "value": table[case, run]}
        for run in range(table.shape[1])
        for case in range(table.shape[0])
    )


def test_small_steps_add_up() -> None:
    rng = np.random.default_rng(1)
    table = 0.9 - 0.015 * np.arange(5) + rng.normal(0, 0.01, (40, 5))
    found = CREEP.check(creep(runs(table)))
    assert found["creeping"].all()
    slopes = [linregress(range(5), row).slope for row in table]
    slope = metric(found, "slope")
    assert slope["estimate"] == pytest.approx(np.mean(slopes))
    assert slope["p_less"] < 1e-6
    assert metric(found, "since_first")["estimate"] == pytest.approx(
        (table[:, 4] - table[:, 0]).mean()
    )


def test_one_large_step_is_a_drop_and_no_creep() -> None:
    table = np.full((30, 4), 0.9)
    table[:, 3] = 0.7 + 0.01 * (np.arange(30) % 3)
    found = creep(runs(table))
    assert metric(found, "since_first")["p_less"] < 0.001
    assert not found["creeping"].any()


def test_two_runs_have_no_slope_and_one_no_difference() -> None:
    table = np.linspace(0, 1, 24).reshape(12, 2)
    assert metric(creep(runs(table)), "slope")["reason"] == "too_few"
    alone = creep(runs(table[:, :1]))
    assert alone["reason"].tolist() == ["too_few"] * 3
    assert alone["estimate"].isna().all()


def test_cases_that_a_run_lacks_are_left_out() -> None:
    frame = runs(np.full((12, 3), 0.5))
    found = creep(frame.drop(index=0))  # the first run of the first case
    assert metric(found, "since_first")[["n", "n_left_out"]].tolist() == [11, 1]
    assert metric(found, "since_last")["n"] == 12


def test_clusters_are_the_unit() -> None:
    table = np.repeat([[0.9, 0.8], [0.9, 0.7], [0.9, 0.6]], 4, axis=0)
    found = creep(runs(table), clusters={f"c{n}": f"k{n // 4}" for n in range(12)})
    assert metric(found, "since_first")["p_less"] == pytest.approx(1 / 8)


def test_under_no_change_it_seldom_creeps() -> None:
    rng = np.random.default_rng(2)
    rates = rng.beta(9, 1, 60)
    found = [
        bool(creep(runs(rng.binomial(3, rates[:, None], (60, 5)) / 3))["creeping"].all())
        for _ in range(150)
    ]
    assert np.mean(found) <= 0.05


def test_bad_histories_are_named() -> None:
    frame = runs(np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"one value a run"):
        creep(pd.concat([frame, frame]))
    with pytest.raises(ValueError, match=r"Missing: \['run'\]"):
        creep(frame.drop(columns="run"))

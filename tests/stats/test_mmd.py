from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from evalnb.stats.mmd import maximum_mean_discrepancy
from tests.stats.reference import reference


def test_the_reference() -> None:
    inputs, expected = reference("mmd_51")
    row = maximum_mean_discrepancy(inputs["golden"], inputs["traffic"]).iloc[0]
    assert row["estimate"] == pytest.approx(expected["mmd2_unbiased"], abs=1e-9)
    assert row["bandwidth"] == pytest.approx(expected["median_distance"], abs=1e-9)


@pytest.mark.parametrize(("n", "m", "seed"), [(2, 2, 1), (3, 7, 2), (12, 5, 3)])
def test_it_is_what_the_kernels_of_another_library_give(n: int, m: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    first, second = draw.normal(size=(n, 3)), draw.normal(1, size=(m, 3))
    row = maximum_mean_discrepancy(first, second).iloc[0]
    gamma = 1 / (2 * row["bandwidth"] ** 2)
    within = sum(
        (rbf_kernel(side, gamma=gamma).sum() - len(side)) / (len(side) * (len(side) - 1))
        for side in (first, second)
    )
    across = 2 * rbf_kernel(first, second, gamma=gamma).mean()
    assert row["estimate"] == pytest.approx(within - across)
    back = maximum_mean_discrepancy(second, first).iloc[0]
    assert back["estimate"] == pytest.approx(row["estimate"])


def test_a_difference_is_found_and_where_there_is_none_p_values_are_even() -> None:
    draw = np.random.default_rng(5)
    found = maximum_mean_discrepancy(draw.normal(size=(40, 4)), draw.normal(1, size=(40, 4)))
    assert found.loc[0, "p_value"] == 0.001
    pairs = draw.normal(size=(100, 2, 8, 2))
    nothing = [maximum_mean_discrepancy(*pair).iloc[0] for pair in pairs]
    # Of 100 p-values with a chance of 5% each, more than 12 are below 0.05 once in 700 times.
    assert sum(row["p_value"] <= 0.05 for row in nothing) <= 12
    assert abs(np.mean([row["estimate"] for row in nothing])) < 0.02
    assert min(row["estimate"] for row in nothing) < 0


def test_undefined_distances() -> None:
    assert maximum_mean_discrepancy([[0.0]], [[1.0], [2.0]]).loc[0, "reason"] == "too_few"
    assert maximum_mean_discrepancy([[1.0]] * 3, [[1.0]] * 3).loc[0, "reason"] == "no_variance"
    with pytest.raises(
        ValueError, match=r"must be tables of one width\. Got \(1, 1\) and \(1, 2\)"
    ):
        maximum_mean_discrepancy([[1.0]], [[1.0, 2.0]])
    with pytest.raises(ValueError, match="must be finite"):
        maximum_mean_discrepancy([[1.0]], [[np.nan]])

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.stats.allocation import calibration_allocation, neyman_allocation
from tests.stats.reference import reference


def test_reference_allocation() -> None:
    inputs, expected = reference("neyman_allocation_60")
    found = neyman_allocation(
        inputs["stratum_weights"],
        inputs["stratum_sd_of_label_minus_lambda_judge"],
        inputs["labels"],
    )
    assert found["allocation"].tolist() == pytest.approx(expected["allocation"], abs=1e-6)
    neyman, proportional = (found[f"variance_{name}"].sum() for name in ("neyman", "proportional"))
    assert neyman == pytest.approx(expected["variance_neyman"], abs=1e-9)
    assert proportional == pytest.approx(expected["variance_proportional"], abs=1e-9)
    assert proportional / neyman == pytest.approx(expected["efficiency"], abs=1e-6)
    # 25.71, 24.49 and 9.80: the two largest remainders are raised
    assert found["n"].tolist() == [26, 24, 10]


strata = st.lists(
    st.tuples(st.integers(1, 60), st.sampled_from([0.0, 0.1, 0.3, 0.5])), min_size=1, max_size=6
)


@given(strata, st.integers(12, 200))
def test_whole_numbers_add_up_within_their_limits(
    rows: list[tuple[int, float]], labels: int
) -> None:
    sizes = np.array([size for size, _ in rows])
    found = neyman_allocation(
        sizes / sizes.sum(), [sd for _, sd in rows], labels, sizes=[s for s, _ in rows]
    )
    counts = found["n"].to_numpy(dtype=int)
    assert counts.sum() == min(labels, sizes.sum())
    assert (counts <= sizes).all()
    assert (counts >= np.minimum(2, sizes)).all()


@given(strata, st.integers(1, 300))
def test_without_limits_they_are_near_the_best(rows: list[tuple[int, float]], labels: int) -> None:
    sizes = np.array([size for size, _ in rows])
    found = neyman_allocation(sizes / sizes.sum(), [sd for _, sd in rows], labels, at_least=0)
    assert found["allocation"].sum() == pytest.approx(labels)
    assert found["n"].sum() == labels
    assert ((found["n"] - found["allocation"]).abs() < 1 + 1e-6).all()
    neyman, proportional = found["variance_neyman"].sum(), found["variance_proportional"].sum()
    assert neyman <= proportional + 1e-12


def test_limits_give_what_they_free_to_the_others() -> None:
    # needs 0.25, 0.25 and 0.0: the first is full at 5, the last has its 2, the rest is 23
    found = neyman_allocation([0.5, 0.25, 0.25], [0.5, 1, 0], 30, sizes=[5, 100, 100])
    assert found["n"].tolist() == [5, 23, 2]
    assert found["allocation"].tolist() == pytest.approx([15, 15, 0])


def test_where_nothing_spreads_the_weights_decide() -> None:
    found = neyman_allocation([0.6, 0.4], [0, 0], 10, names=["True", "False"])
    assert found["n"].tolist() == [6, 4]
    assert found["stratum"].tolist() == ["True", "False"]
    assert found["variance_neyman"].tolist() == [0, 0]


def test_calibration_labels_are_split_where_the_variance_is_least() -> None:
    # by trying all: 0.64 * 0.09 / m1 + 0.04 * 0.21 / m0
    found = calibration_allocation(0.8, 0.9, 0.7, 100)
    variances = {m: 0.64 * 0.09 / m + 0.04 * 0.21 / (100 - m) for m in range(1, 100)}
    assert found["n"].tolist()[0] == min(variances, key=variances.__getitem__)
    assert found["stratum"].tolist() == ["human_pass", "human_fail"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5, 0.4], [1, 1], 10), "`weights` must add up to 1. Got 0.9"),
        (([0.5, 0.5], [1, -1], 10), "`sd` must be numbers from 0 on"),
        (([0.5, 0.5], [1], 10), "must be of the same strata. Got 2 and 1"),
        (([0.5, 0.5], [1, 1], 3), "3 labels are too few for 2 strata: at least 4 are needed"),
        (([0.5, 0.5], [1, 1], 0), "`labels` must be a whole number from 1 on"),
    ],
)
def test_what_cannot_be_divided_says_why(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        neyman_allocation(*arguments)

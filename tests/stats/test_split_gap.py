from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from evalnb.stats.split_gap import gap_change

RATES = st.lists(
    st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), min_size=2, max_size=12
).filter(lambda side: len(set(side)) > 1)  # fmt: skip


@given(RATES, RATES)
def test_the_interval_is_welchs(dev: list[float], holdout: list[float]) -> None:
    row = gap_change([*dev, None], holdout).iloc[0]
    expected = ttest_ind(dev, holdout, equal_var=False).confidence_interval(0.95)
    assert row["estimate"] == pytest.approx(np.mean(dev) - np.mean(holdout))
    assert [row["ci_low"], row["ci_high"]] == pytest.approx([expected.low, expected.high])
    assert (row["n"], row["n_left_out"]) == (len(dev) + len(holdout), 1)


@pytest.mark.parametrize(
    ("dev", "holdout", "reason", "is_known"),
    [
        ([], [0.5], "no_overlap", False),
        ([0.5, 0.0], [None], "no_overlap", False),
        ([0.5], [0.0, 0.5], "too_few", True),
        ([0.5, 0.5], [0.0, 0.0], "no_variance", True),
    ],
)
def test_undefined_changes(
    dev: list[float], holdout: list[float], reason: str, *, is_known: bool
) -> None:
    row = gap_change(dev, holdout).iloc[0]
    assert row["reason"] == reason
    assert row[["estimate"]].notna().all() == is_known
    assert row[["ci_low", "ci_high"]].isna().all()

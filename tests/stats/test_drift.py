from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.stats import chi2_contingency

from evalnb.stats.drift import category_drift, category_mix
from evalnb.stats.unseen import unseen_kinds
from tests.stats.reference import reference


def unfolded(counts: list[int]) -> list[str]:
    return [f"c{k}" for k, count in enumerate(counts) for _ in range(count)]


def test_drift_of_the_reference() -> None:
    given_, expected = reference("category_drift_5")
    rows = category_drift(unfolded(given_["golden"]), unfolded(given_["traffic"])).set_index(
        "metric"
    )
    found = rows["estimate"].to_dict()
    assert found == {
        "chi_squared": pytest.approx(expected["chi2"], abs=1e-6),
        "cramers_v": pytest.approx(expected["cramers_v"], abs=1e-6),
        "js_divergence_bits": pytest.approx(expected["js_divergence_bits"], abs=1e-6),
        "psi": pytest.approx(expected["psi_half_smoothed"], abs=1e-6),
    }
    without = rows.loc["psi", "expected_without_drift"]
    assert without == pytest.approx(expected["psi_expected_without_drift"], abs=1e-6)
    # An expected count is 2.6: by permutation, near the value of the approximation.
    assert rows.loc["chi_squared", "method"] == "permutation"
    assert rows.loc["chi_squared", "p_value"] == pytest.approx(expected["p"], abs=0.003)
    js = rows.loc["js_divergence_bits"]
    assert 0 < js["ci_low"] < js["estimate"] < js["ci_high"] < 1


@given(
    counts=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=2, max_size=6).filter(
        lambda rows: all(sum(column) > 0 for column in zip(*rows, strict=True)) and all(map(sum, rows))
    )
)  # fmt: skip
def test_drift_agrees_with_scipy_and_is_symmetric(counts: list[tuple[int, int]]) -> None:
    golden, traffic = (list(side) for side in zip(*counts, strict=True))
    rows = category_drift(unfolded(golden), unfolded(traffic)).set_index("metric")
    table = chi2_contingency([golden, traffic], correction=False)
    assert rows.loc["chi_squared", "estimate"] == pytest.approx(table.statistic)
    if table.expected_freq.min() >= 5:
        assert rows.loc["chi_squared", "p_value"] == pytest.approx(table.pvalue)
    assert rows.loc["js_divergence_bits", "estimate"] == pytest.approx(
        jensenshannon(golden, traffic, base=2) ** 2, abs=1e-9
    )
    back = category_drift(unfolded(traffic), unfolded(golden)).set_index("metric")
    for name in ("chi_squared", "js_divergence_bits", "psi"):
        assert back.loc[name, "estimate"] == pytest.approx(rows.loc[name, "estimate"])


@pytest.mark.parametrize(
    ("golden", "traffic", "reason"),
    [([], ["a"], "too_few"), (["a"], [], "too_few"), (["a", None], ["a", "a"], "one_category")],
)
def test_undefined_drift(golden: list[str], traffic: list[str], reason: str) -> None:
    rows = category_drift(golden, traffic)
    assert rows["estimate"].isna().all()
    assert rows["reason"].unique().tolist() == [reason]
    assert rows["n_left_out"].unique().tolist() == [golden.count(None)]  # type: ignore[arg-type]


def test_mix_has_what_the_golden_set_lacks_first() -> None:
    """Newcombe's example (a), 56/70 against 48/80: the difference is 0.2, 0.0524 to 0.3339."""
    golden = ["a"] * 48 + ["b"] * 32
    traffic = ["a"] * 56 + ["b"] * 14 + [pd.NA]
    rows = category_mix(golden, traffic)
    assert rows["category"].tolist() == ["a", "b"]
    first = rows.iloc[0]
    assert first["difference"] == pytest.approx(0.2)
    _, expected = reference("split_gap_a")
    assert [first["ci_low"], first["ci_high"]] == pytest.approx(expected["newcombe_ci"], abs=1e-6)
    assert category_mix([], ["a"])["difference"].isna().all()


def test_unseen_kinds_of_the_reference() -> None:
    given_, expected = reference("good_turing_12")
    rows = unseen_kinds(given_["cluster_counts"])
    assert rows["estimate"].tolist() == pytest.approx([expected["unseen_mass"], expected["chao1"]])
    assert rows["n"].tolist() == [expected["n"]] * 2
    assert unseen_kinds([])["reason"].tolist() == ["too_few"] * 2
    with pytest.raises(ValueError, match="counts"):
        unseen_kinds([-1])

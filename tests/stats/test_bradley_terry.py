from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.stats.bradley_terry import STRENGTHS, bradley_terry


def verdicts(*rows: tuple[str, str, str, float | None]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["case_id", "system_a", "system_b", "preference"])


def of(wins: dict[tuple[str, str], int]) -> pd.DataFrame:
    """Make a verdict, of a case of its own, for each win."""
    every = [pair for pair, n in wins.items() for _ in range(n)]
    return verdicts(*[(f"c{number}", *pair, 1.0) for number, pair in enumerate(every)])


def column(frame: pd.DataFrame, name: str) -> dict[str, Any]:
    return dict(zip(frame["system"], frame[name], strict=True))


def test_two_systems_have_the_log_odds_of_their_wins() -> None:
    # 30 wins of 40: log(30/10) = 1.0986; the other is the reference.
    found = bradley_terry(of({("a", "b"): 30, ("b", "a"): 10}), reference="b", resamples=2_000)
    STRENGTHS.check(found)
    assert column(found, "estimate") == pytest.approx({"a": np.log(3), "b": 0.0}, abs=1e-9)
    assert column(found, "beats_reference") == pytest.approx({"a": 0.75, "b": 0.5})
    row = found.set_index("system").loc["a"]
    # Of a share of 3/4 over 40: 0.75 ± 0.134, as log odds 0.47 to 2.0, before resampling.
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((0.47, 2.0), abs=0.15)
    assert (row["rank"], row["rank_low"], row["rank_high"]) == (1, 1, 1)


def test_four_journals() -> None:
    """Citations among four statistics journals, the cited one the winner.

    Table and coefficients: Turner & Firth (2012), Journal of Statistical Software 48(9), section 2,
    after Stigler (1994) and Agresti (2002), Categorical Data Analysis, p. 448.
    """
    names = ["Biometrika", "Comm Statist", "JASA", "JRSS-B"]
    cited = np.array([[0, 730, 498, 221], [33, 0, 68, 17], [320, 813, 0, 142], [284, 276, 325, 0]])
    rows = [
        (f"c{i}{j}{n}", names[i], names[j], 1.0)
        for i, j in itertools.permutations(range(4), 2)
        for n in range(cited[i, j])
    ]
    found = bradley_terry(verdicts(*rows), resamples=50)
    published = {"Biometrika": 0.0, "Comm Statist": -2.9491, "JASA": -0.4796, "JRSS-B": 0.2690}
    assert column(found, "estimate") == pytest.approx(published, abs=1e-4)
    assert column(found, "rank") == {"JRSS-B": 1, "Biometrika": 2, "JASA": 3, "Comm Statist": 4}


def test_a_tie_is_half_a_win_each() -> None:
    ties = verdicts(*[(f"c{n}", "a", "b", 0.5) for n in range(4)])
    found = bradley_terry(ties, resamples=100)
    assert column(found, "estimate") == {"a": 0.0, "b": 0.0}
    assert set(found["reason"]) == {"no_variance"}
    assert found["rank"].isna().all()  # none without an interval


def test_who_never_loses_has_no_strength() -> None:
    found = bradley_terry(of({("a", "b"): 5, ("b", "c"): 2, ("c", "b"): 2}))
    assert set(found["reason"]) == {"not_connected"}
    assert found[["estimate", "ci_low", "rank"]].isna().all(axis=None)
    assert column(found, "n") == {"a": 5, "b": 9, "c": 4}


def test_a_circle_is_connected() -> None:
    found = bradley_terry(of({("a", "b"): 9, ("b", "c"): 9, ("c", "a"): 9}), resamples=200)
    assert column(found, "estimate") == pytest.approx(dict.fromkeys("abc", 0.0), abs=1e-9)
    low, high = column(found, "rank_low"), column(found, "rank_high")
    assert (min(low.values()), max(high.values())) == (1, 3)


def test_few_cases_and_missing_verdicts_are_said() -> None:
    one = verdicts(("c1", "a", "b", 1.0), ("c1", "b", "a", 1.0), ("c2", "a", "b", None))
    found = bradley_terry(one)
    assert column(found, "reason") == dict.fromkeys("ab", "too_few")
    assert column(found, "n_left_out") == {"a": 1, "b": 1}
    none = bradley_terry(verdicts(("c1", "a", "b", None)))
    assert set(none["reason"]) == {"no_overlap"}
    # One lost case of three: a third of the resamples or so leave it out.
    rare = bradley_terry(of({("a", "b"): 2, ("b", "a"): 1}), resamples=500)
    assert rare["estimate"].notna().all()
    assert set(rare["reason"]) == {"not_connected"}


def test_a_system_against_itself_and_an_unknown_reference_are_refused() -> None:
    with pytest.raises(ValueError, match=r"two systems make a pair\. Got 'a' twice"):
        bradley_terry(verdicts(("c1", "a", "a", 1.0)))
    with pytest.raises(ValueError, match=r"`reference` must be one of 'a', 'b'\. Got 'x'"):
        bradley_terry(verdicts(("c1", "a", "b", 1.0)), reference="x")


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["c1", "c2", "c3", "c4"]),
            st.sampled_from(list(itertools.permutations("abc", 2))),
            st.sampled_from([0.0, 0.5, 1.0, None]),
        ),
        min_size=1,
        max_size=30,
    )
)
def test_neither_order_nor_sides_of_pairs_matter(
    drawn: list[tuple[str, tuple[str, str], float | None]],
) -> None:
    rows = [(case, a, b, won) for case, (a, b), won in drawn]
    turned = [(case, b, a, None if won is None else 1 - won) for case, a, b, won in reversed(rows)]
    shown = ["system", "estimate", "beats_reference", "reason", "n", "n_left_out"]
    reference = rows[0][1]
    one, two = (
        bradley_terry(verdicts(*side), reference=reference, resamples=20)
        .sort_values("system")
        .reset_index(drop=True)[[*shown]]
        for side in (rows, turned)
    )
    assert one["system"].tolist() == two["system"].tolist()
    for name in ("estimate", "beats_reference"):
        assert one[name].isna().tolist() == two[name].isna().tolist()
        known = one[name].notna()
        assert one.loc[known, name].tolist() == pytest.approx(
            two.loc[known, name].tolist(), abs=1e-6
        )

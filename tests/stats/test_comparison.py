from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.frames import Outcome
from evalnb.stats.comparison import COULD_DECIDE, compare_runs
from evalnb.stats.drops import DROPS


def run(passes: list[list[Any]], scorer: str = "exact") -> pd.DataFrame:
    """Make scores of a case a list, a repeat an entry."""
    rows = [
        {"case_id": f"c{case}", "repeat": repeat, "scorer": scorer, "value": value}
        for case, values in enumerate(passes)
        for repeat, value in enumerate(values)
    ]
    return pd.DataFrame(rows)


ALL = run([[1, 1, 1]] * 12)


def without_first(n: int, reason: str) -> pd.DataFrame:
    """Return the scores of ALL, the first of them missing."""
    lost = np.arange(len(ALL)) < n
    return ALL.assign(
        value=ALL["value"].mask(lost), na_reason=pd.Series(reason, index=ALL.index).where(lost)
    )


def test_a_run_beside_itself_differs_in_nothing() -> None:
    row = compare_runs(ALL, ALL).loc[0]
    assert (row["scorer"], row["slice"], row["outcome"]) == ("exact", "all", Outcome.PASS)
    assert (row["estimate"], row["p_value"], row["n"], row["n_left_out"]) == (0, 1, 12, 0)


def test_repeats_are_averaged_by_case() -> None:
    now = run([[1, 0, 0]] * 6 + [[1, 1, 1]] * 6)
    row = compare_runs(ALL, now).loc[0]
    assert row["estimate"] == pytest.approx(-1 / 3)  # six of twelve cases lose two thirds
    assert row["p_value"] == pytest.approx(1 / 64)
    assert row["outcome"] == Outcome.FAIL


def test_slices_come_after_the_whole() -> None:
    slices = pd.DataFrame(
        {
            "case_id": [f"c{n}" for n in range(12)] + ["c0"],
            "slice": ["language=de"] * 8 + ["language=en"] * 4 + ["language=de"],
        }
    )
    now = run([[0, 0, 0]] * 8 + [[1, 1, 1]] * 4)
    found = compare_runs(ALL, now, slices=slices)
    assert found["slice"].tolist() == ["all", "language=de", "language=en"]
    assert found["n"].tolist() == [12, 8, 4]
    assert found["outcome"].tolist() == [Outcome.FAIL, Outcome.FAIL, Outcome.NOTE]


def test_one_repeat_is_compared_by_mcnemar() -> None:
    row = compare_runs(run([[1]] * 12), run([[0]] * 6 + [[1]] * 6)).loc[0]
    assert row["method"] == "mcnemar mid_p; tango"
    assert row["p_value"] == pytest.approx(1 / 128)


def test_clusters_flip_whole() -> None:
    clusters = {f"c{n}": f"k{n // 6}" for n in range(12)}
    row = compare_runs(ALL, run([[0, 0, 0]] * 12), clusters=clusters).loc[0]
    assert row["p_value"] == pytest.approx(1 / 4)


def test_what_was_planned_to_be_missing_is_no_accident() -> None:
    now = without_first(6, "no_judge")
    row = compare_runs(ALL, now).loc[0]
    assert (row["outcome"], row["n"], row["n_left_out"]) == (Outcome.PASS, 10, 2)


def test_missing_scores_that_could_decide_leave_it_open() -> None:
    # Six cases without an answer: had they failed, the run would be blocked.
    now = without_first(18, "server")
    row = compare_runs(ALL, now).loc[0]
    assert (row["outcome"], row["reason"]) == (Outcome.INCONCLUSIVE, COULD_DECIDE)
    assert not row["shown"]
    # One case cannot.
    now = without_first(3, "server")
    assert compare_runs(ALL, now).loc[0, "outcome"] == Outcome.PASS


def test_a_scorer_of_one_side_is_not_tested() -> None:
    found = compare_runs(ALL, pd.concat([ALL, ALL.assign(scorer="tone")])).set_index("scorer")
    assert found.loc["tone", "outcome"] == Outcome.NOTE
    assert found.loc["tone", "reason"] == "no_overlap"
    assert found.loc["tone", "n_left_out"] == 12


@given(st.integers(0, 2**32 - 1))
def test_blind_to_the_order_of_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    before, now = (run(rng.integers(0, 2, (15, 3)).tolist()) for _ in range(2))
    found = DROPS.check(compare_runs(before, now))
    other = compare_runs(before.sample(frac=1, random_state=2), now.sample(frac=1, random_state=3))
    pd.testing.assert_frame_equal(found, other)
    row = found.loc[0]
    by_hand = (
        now.groupby("case_id")["value"].mean() - before.groupby("case_id")["value"].mean()
    ).mean()
    assert row["estimate"] == pytest.approx(by_hand, abs=1e-12)


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match=r"`candidate` needs the columns .* Missing: \['value'\]"):
        compare_runs(ALL, ALL.drop(columns="value"))
    with pytest.raises(ValueError, match=r"`slices` needs the columns case_id, slice"):
        compare_runs(ALL, ALL, slices=pd.DataFrame({"case_id": ["c0"]}))
    with pytest.raises(ValueError, match=r"`baseline` must name the case and scorer"):
        compare_runs(ALL.assign(scorer=None), ALL)

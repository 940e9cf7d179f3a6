from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep

from evalnb.stats.effects import EFFECTS
from evalnb.stats.self_preference import self_preference, self_preference_of_counts
from tests.stats.reference import interval_of, metric, reference

flag = st.sampled_from([True, False, None])


def test_counts_of_the_reference() -> None:
    given_, expected = reference("self_preference_a")
    frame = EFFECTS.check(
        self_preference_of_counts(
            own_kept=given_["judge_picks_own_when_humans_do"],
            people_prefer_own=given_["humans_pick_own"],
            other_kept=given_["judge_picks_other_when_humans_do"],
            people_prefer_other=given_["humans_pick_other"],
        )
    )
    row = metric(frame, "self_preference")
    assert {
        "own_kept": metric(frame, "own_kept")["estimate"],
        "other_kept": metric(frame, "other_kept")["estimate"],
        "self_preference": row["estimate"],
        "fisher_p": row["p_value"],
    } == pytest.approx({k: v for k, v in expected.items() if k != "newcombe_ci"}, abs=1e-9)
    assert interval_of(row) == pytest.approx(expected["newcombe_ci"], abs=1e-9)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30), st.integers(0, 30))
def test_the_interval_is_that_of_statsmodels(a: int, b: int, c: int, d: int) -> None:
    frame = self_preference_of_counts(
        own_kept=a, people_prefer_own=a + b, other_kept=c, people_prefer_other=c + d
    )
    row = metric(frame, "self_preference")
    if not (a + b and c + d):
        assert row["reason"] == "too_few"
        assert pd.isna(row["estimate"])
        return
    expected = confint_proportions_2indep(a, a + b, c, c + d, method="newcomb")
    assert interval_of(row) == pytest.approx(expected, abs=1e-9)


@given(st.lists(st.tuples(flag, flag), max_size=30))
def test_named_the_other_way_the_preference_turns_round(pairs: list[Any]) -> None:
    judge, people = [one for one, _ in pairs], [two for _, two in pairs]
    one = self_preference(judge, people)
    other = self_preference(
        [None if x is None else not x for x in judge],
        [None if x is None else not x for x in people],
    )
    rows = [metric(frame, "self_preference") for frame in (one, other)]
    known = [pair for pair in pairs if None not in pair]
    assert (rows[0]["n"], rows[0]["n_left_out"]) == (len(known), len(pairs) - len(known))
    if pd.notna(rows[0]["estimate"]):
        assert rows[0]["estimate"] == pytest.approx(-rows[1]["estimate"])


def test_a_judge_that_follows_people_has_none_however_often_its_own_wins() -> None:
    people = [True] * 30 + [False] * 5
    row = metric(self_preference(people, people), "self_preference")
    assert (row["estimate"], row["p_value"]) == (0, 1)


def test_what_cannot_be_is_named() -> None:
    with pytest.raises(ValueError, match=r"no more pairs can be kept .* Got 3 of 2 and 0 of 1"):
        self_preference_of_counts(
            own_kept=3, people_prefer_own=2, other_kept=0, people_prefer_other=1
        )
    with pytest.raises(ValueError, match=r"Got `judge_picks_own` 1, `people_prefer_own` 2"):
        self_preference([True], [True, False])

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evalnb.frames import to_records
from evalnb.histories import HISTORY
from evalnb.review.states import case_states, falling_cases
from tests.review.frames import case_rows, history_of

STEADY = "+" * 20


def test_a_case_that_went_for_good_falls_since_then() -> None:
    # Fisher: of the 20 choose 10 ways to place the 10 passes, one in 184,756 has them all first.
    cases = case_rows({"gone": "+" * 10 + "-" * 10, "steady": STEADY, "flips": "+-" * 10})
    (row,) = to_records(falling_cases(history_of(20), cases))
    assert row["case_id"] == "gone"
    assert abs(row["p_value"] - 1 / 184_756) < 1e-12
    assert abs(row["p_adjusted"] - 3 / 184_756) < 1e-12  # Holm, the smallest of three
    assert (row["rate_first"], row["rate_last"], row["since"]) == (1.0, 0.0, "2026-05-11")


def test_runs_that_do_not_compare_with_the_last_are_left_out() -> None:
    cases = case_rows({"gone": "+" * 10 + "-" * 10})
    history = history_of(20, series=[0] * 10 + [1] * 10)
    assert falling_cases(history, cases).empty


def test_no_run_no_case_falls_and_none_has_a_state() -> None:
    assert falling_cases(HISTORY.empty(), case_rows({})).empty
    assert case_states(HISTORY.empty(), case_rows({}), []).empty


def test_states_are_of_the_last_runs_of_the_last_system() -> None:
    history = history_of(30, system_fingerprint=["s1"] * 10 + ["s2"] * 20)
    cases = case_rows(
        {
            "fixed": "-" * 10 + "+" * 20,
            "broken": "+" * 10 + "-" * 20,
            "flaky": "+-" * 15,
            "told": "+" * 30,
        }
    )
    found = case_states(history, cases, ["told"])
    assert dict(zip(found["case_id"], found["state"], strict=True)) == {
        "fixed": "never_failing",
        "broken": "always_failing",
        "flaky": "flaky",
        "told": "falling",
    }
    assert found["n_runs"].tolist() == [20] * 4


@given(st.lists(st.sampled_from(["+", "-"]), min_size=1, max_size=40))
def test_a_case_that_only_gets_better_never_falls(signs: list[str]) -> None:
    better = "".join(sorted(signs, reverse=True))  # "-" sorts behind "+"
    assert falling_cases(history_of(len(signs)), case_rows({"a": better})).empty

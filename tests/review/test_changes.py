from __future__ import annotations

import pandas as pd

from evalnb.frames import to_records
from evalnb.histories import HISTORY
from evalnb.review.changes import blocked_spells, changes_of
from tests.review.frames import case_rows, history_of


def test_what_became_another_is_told_with_its_day_both_sides() -> None:
    history = history_of(
        4, golden_version=["g1", "g2", "g2", "g2"], system_fingerprint=["s1", "s1", "s1", "s2"]
    )
    assert to_records(changes_of(history)) == [
        {"day": "2026-05-02", "what": "golden_version", "before": "g1", "now": "g2", "run_id": "r1"},
        {"day": "2026-05-04", "what": "system_fingerprint", "before": "s1", "now": "s2", "run_id": "r3"},
    ]  # fmt: skip


def test_a_judge_that_changed_is_one_row_with_all_its_scorers() -> None:
    whole = history_of(3)
    judged = [
        whole.assign(scorer=axis, judge_fingerprint=["j1", "j2", "j2"], judge_answered="m")
        for axis in ("tone", "facts")
    ]
    history = HISTORY.check(pd.concat([whole, *judged], ignore_index=True).astype(HISTORY.columns))
    assert to_records(changes_of(history)) == [
        {
            "day": "2026-05-02",
            "what": "judge_fingerprint",
            "scorer": "facts, tone",
            "before": "j1",
            "now": "j2",
            "run_id": "r1",
        }
    ]


def test_nothing_changes_without_runs() -> None:
    assert changes_of(HISTORY.empty()).empty
    assert blocked_spells(HISTORY.empty(), case_rows({})).empty


def test_a_spell_names_the_cases_that_failed_at_once_and_throughout() -> None:
    history = history_of(
        6,
        outcome=["pass", "fail", "fail", "pass", "fail", "fail"],
        mean=[1.0, 0.5, 0.25, 1.0, 0.5, 0.5],
        system_fingerprint=["s1", "s2", "s2", "s1", "s1", "s1"],
    )
    cases = case_rows({"a": "+--+--", "b": "+-++++", "c": "------", "d": "+++++-"})
    first, second = to_records(blocked_spells(history, cases))
    assert first == {
        "first": "2026-05-02",
        "last": "2026-05-03",
        "n_runs": 2,
        "lowest": 0.25,
        "before": 1.0,
        "system_changed": True,
        "over": True,
        "cases": ["a"],
    }
    assert (second["over"], second["system_changed"], second["cases"]) == (False, False, ["a"])

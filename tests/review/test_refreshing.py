from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.ageing import CASE_AGES, PRUNING
from evalnb.frames import to_records
from evalnb.review.refreshing import kept_by_states, propose_refresh
from evalnb.review.states import CASE_STATES
from tests.suites import make_suite

if TYPE_CHECKING:
    from pathlib import Path

AGES = CASE_AGES.build(
    [
        {"case_id": "fails", "added": "2026-01-02", "age_days": 300, "source": "added"},
        {"case_id": "older", "added": "2026-01-01", "age_days": 301, "source": "added"},
        {"case_id": "steady", "added": "2026-01-01", "age_days": 301, "source": "added"},
        {"case_id": "young", "added": "2026-10-01", "age_days": 180, "source": "added"},
        {"case_id": "undated"},
    ]
)
STATES = CASE_STATES.build(
    {"case_id": name, "state": state}
    for name, state in (
        ("fails", "always_failing"),
        ("older", "falling"),
        ("steady", "never_failing"),
        ("young", "always_failing"),
        ("undated", "always_failing"),
    )
)


def test_old_cases_that_fail_or_that_nobody_asks_are_to_be_refreshed(tmp_path: Path) -> None:
    golden = make_suite(
        tmp_path / "shop",
        [{"id": name, "input": "?", "must_contain": ["x"]} for name in AGES["case_id"]],
    )
    found = to_records(propose_refresh(golden, AGES, STATES, unasked=["older", "young"]))
    assert [(row["case_id"], row["why"]) for row in found] == [
        ("older", "passes less often than it did and has no conversation near it"),
        ("fails", "always fails (a bug, or an expectation that is true no longer)"),
    ]
    assert propose_refresh(golden, AGES, STATES, pruned=["older", "fails"]).empty
    asked = propose_refresh(golden, AGES, CASE_STATES.empty(), unasked=["steady"])
    assert asked["case_id"].tolist() == ["steady"]


def test_a_case_that_fails_by_now_is_not_proposed_to_go_for_its_baseline() -> None:
    pruning = PRUNING.build(
        {"case_id": name, "outcome": "passes", "proposed": True} for name in ("older", "steady")
    )
    found = to_records(kept_by_states(pruning, STATES))
    assert [(row["proposed"], row.get("kept_because")) for row in found] == [
        (False, "does not always pass in the last runs"),
        (True, None),
    ]
    assert kept_by_states(pruning, CASE_STATES.empty())["proposed"].all()
    assert kept_by_states(PRUNING.empty(), STATES).empty

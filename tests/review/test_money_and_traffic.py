from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from evalnb.frames import LOGS, RESULTS, to_records
from evalnb.review.spending import spending_by_month
from evalnb.review.standing import standing_at
from evalnb.review.traffic import feedback_by_category
from tests.review.frames import history_of
from tests.suites import make_suite

if TYPE_CHECKING:
    from pathlib import Path


def test_a_month_is_projected_by_the_days_gone() -> None:
    history = history_of(10, cost_usd=[0.5] * 10, judge_cost_usd=[0.1] * 10)
    (row,) = to_records(spending_by_month(history, date(2026, 5, 10), budget_usd=15.0))
    # 5 USD in 10 of 31 days.
    assert row["projected_usd"] == pytest.approx(15.5)
    assert (row["cost_usd"], row["n_runs"], row["over"]) == (5.0, 10, True)


def test_what_is_not_known_is_counted_and_never_taken_for_nothing() -> None:
    unknown = to_records(spending_by_month(history_of(3), date(2026, 5, 3), budget_usd=1.0))[0]
    assert "cost_usd" not in unknown
    assert "over" not in unknown
    assert unknown["n_without_cost"] == 3
    some = history_of(2, cost_usd=[0.5, None])
    row = to_records(spending_by_month(some, date(2026, 5, 31)))[0]
    assert (row["cost_usd"], row["n_without_cost"]) == (0.5, 1)
    assert "over" not in row


def talk(name: str, category: str, feedback: int | None) -> list[dict[str, Any]]:
    whole = {"conversation_id": name, "category": category, "at": "2026-05-01T00:00:00+00:00"}
    return [
        {**whole, "turn": 1, "role": "user", "text": "?"},
        {**whole, "turn": 2, "role": "assistant", "text": "!", "feedback": feedback},
    ]


def results_of(category: str, passes: int, fails: int) -> list[dict[str, Any]]:
    return [
        {
            "case_id": f"{category}-{number}",
            "category": category,
            "n_repeats": 1,
            "n_scored": 1,
            "pass_rate": float(number < passes),
        }
        for number in range(passes + fails)
    ]


def test_thumbs_that_go_against_the_scores_diverge() -> None:
    # Newcombe, method 10, of 2 of 20 less 18 of 20: -0.8, from -0.8964 to -0.5322 (statsmodels,
    # confint_proportions_2indep(method="newcomb")).
    lines = [m for k in range(20) for m in talk(f"r{k}", "returns", 1 if k < 2 else -1)]
    lines += [m for k in range(20) for m in talk(f"o{k}", "orders", 1 if k < 17 else -1)]
    lines += talk("x", "unknown", -1) + talk("y", "orders", None)
    results = RESULTS.build([*results_of("returns", 18, 2), *results_of("orders", 17, 3)])
    found = feedback_by_category(LOGS.build(lines), results)
    assert found["category"].tolist() == ["returns", "orders"]
    assert found["diverges"].tolist() == [True, False]
    row = to_records(found)[0]
    assert row["difference"] == pytest.approx(-0.8)
    assert row["n_rated"] == 20
    assert to_records(found)[1]["n_conversations"] == 21
    assert row["against"] == "r10, r11, r12, r13, r14"


def test_what_is_in_force_stands_by_its_end(tmp_path: Path) -> None:
    golden = make_suite(tmp_path / "shop", [{"id": "a", "input": "?", "must_contain": ["x"]}])
    waivers = [
        f'[[waivers]]\ncase = "a"\nkind = "{kind}"\nreason = "r"\nowner = "o"\nexpires = {day}\n{scorer}'
        for kind, day, scorer in (
            ("known_failing", "2026-06-09", ""),
            ("quarantined", "2026-08-01", 'scorer = "must_contain"\n'),
        )
    ]
    (tmp_path / "shop" / "waivers.toml").write_text("\n".join(waivers))
    history = history_of(2, override=[None, "the shop was on fire"])
    found = standing_at(golden, history, date(2026, 6, 1))
    assert found["state"].tolist() == ["about_to_expire", "in_force", "past"]
    assert found["days_left"].tolist()[:2] == [8, 61]
    assert found["reason"].tolist()[2] == "the shop was on fire"
    later = standing_at(golden, history, date(2026, 6, 10))
    assert later["state"].tolist() == ["expired", "in_force", "past"]

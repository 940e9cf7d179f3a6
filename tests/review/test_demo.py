"""The review of the demo history shows each event that was planted, and names it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from evalnb.demo.making import make_demo_history, read_demo_history
from evalnb.errors import InputError
from evalnb.frames import LOGS, to_records
from evalnb.golden import read_golden
from evalnb.reports import review_words as say
from evalnb.reports.review_page import SECTIONS, review_page
from evalnb.review.checklist import ITEMS, write_checklist
from evalnb.review.form import checklist_form
from evalnb.review.opening import open_review
from evalnb.review.review import Review
from tests.suites import make_suite

if TYPE_CHECKING:
    from pathlib import Path

    from evalnb.demo.making import DemoHistory
    from evalnb.demo.plan import Event


@pytest.fixture(scope="session")
def review(demo: DemoHistory) -> Review:
    return open_review("demo", as_of=demo.as_of, budget_usd=4.0, folder=demo.folder)


def event(demo: DemoHistory, kind: str) -> Event:
    (found,) = [one for one in demo.events if one.kind == kind]
    return found


def test_there_is_a_run_a_night_for_half_a_year(demo: DemoHistory, review: Review) -> None:
    days = review.runs["at"].str[:10].tolist()
    assert len(days) == len(set(days)) == 182
    assert days[-1] == demo.as_of.isoformat()


def test_the_planted_regression_is_named_with_its_days_and_cases(
    demo: DemoHistory, review: Review
) -> None:
    planted = event(demo, "regression")
    (line,) = [line for line in say.trend_lines(review) if line.startswith("Regression")]
    assert f"from {planted.first} to {planted.last} (11 runs) under another system" in line
    for case_id in planted.cases:
        assert case_id in line


def test_the_planted_judge_and_golden_set_are_named_with_their_days(
    demo: DemoHistory, review: Review
) -> None:
    lines = say.change_lines(review)
    judge, golden = event(demo, "judge_change"), event(demo, "golden_version")
    assert any(line.startswith(f"{judge.first}: the judge of factual") for line in lines)
    assert any(line.startswith(f"{judge.first}: the judge's model of") for line in lines)
    assert any(line.startswith(f"{golden.first}: the golden set changed") for line in lines)
    kappas = say.kappa_lines(review)
    assert any(f"The judge changed in {judge.first:%Y-%m}" in line for line in kappas)
    assert any("certificate expired" in line for line in kappas)


def test_the_planted_drift_is_named_case_by_case_with_its_nights(
    demo: DemoHistory, review: Review
) -> None:
    planted = event(demo, "drift")
    fallen = review.falling
    assert fallen["case_id"].tolist() == list(planted.cases)
    assert fallen["since"].iloc[0] == planted.first.isoformat()
    first, *others = say.falling_lines(review)
    assert "a slow drift, not one change" in first
    assert [line.split()[0] for line in others] == list(planted.cases)
    assert sum(" says: " in line for line in others) >= 4


def test_falling_cases_are_to_be_refreshed_and_not_to_go(demo: DemoHistory, review: Review) -> None:
    refreshed = set(review.refresh["case_id"])
    assert refreshed >= {"delivery-standard-time", "delivery-intent-late", *demo.flaky}
    going = review.pruning[review.pruning["proposed"]]
    assert not set(going["case_id"]) & refreshed
    lines = say.golden_lines(review)
    assert "30 cases over 180 days" in lines[0]
    assert any(line.startswith("To refresh, since it passes less often") for line in lines)
    assert any(line.startswith("May go, 13 old cases") for line in lines)


def test_flaky_cases_and_contrary_thumbs_are_named(demo: DemoHistory, review: Review) -> None:
    (flaky,) = [line for line in say.state_lines(review) if " flaky: " in line]
    assert flaky == f"2 cases flaky: {', '.join(demo.flaky)}."
    (line,) = say.feedback_lines(review)
    assert line.startswith(f"{demo.contrary}: ")


def test_waivers_override_and_budget_are_said(review: Review) -> None:
    lines = say.standing_lines(review)
    assert any("EXPIRED" in line for line in lines)
    assert any("in 9 days" in line for line in lines)
    assert any("the demo's override" in line for line in lines)
    assert "over the budget of 4.00 USD" in say.spending_lines(review)[0]


def test_it_is_marked_as_synthetic_wherever_it_shows(demo: DemoHistory, review: Review) -> None:
    assert say.about_lines(review)[0].startswith("SYNTHETIC")
    assert review.history["synthetic"].str.startswith("SYNTHETIC").all()
    assert review.labels["rater"].eq("synthetic-rater").all()
    assert review.labels["note"].str.startswith("synthetic").all()
    assert review.logs["conversation_id"].str.startswith("synthetic-").all()
    assert (demo.folder / ".gitignore").read_text().endswith("*\n")
    assert read_demo_history(demo.folder) == demo


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path, demo: DemoHistory) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="is not empty"):
        make_demo_history(tmp_path, demo.as_of)


def test_the_page_holds_every_section_and_fetches_nothing(review: Review) -> None:
    page = review_page(review)
    assert "SYNTHETIC" in page
    assert all(f'<h2 id="{one.name}">' in page for one in SECTIONS)
    assert not re.search(r'(src|href)="(?!data:|#)', page)
    assert "<script" not in page
    assert len(page) < 5_000_000
    assert page.count("<img ") == sum(one.figure is not None for one in SECTIONS)


def test_reasons_of_holdout_cases_are_not_shown(review: Review) -> None:
    hidden = {case.id for case in review.golden if case.split == "holdout"}
    assert not set(review.reasons["case_id"]) & hidden


def test_the_checklist_is_kept_as_a_record_and_a_page(review: Review) -> None:
    record, page = write_checklist(review, ["trend"], {"kappa": "rate <b>more</b>"}, "Ada")
    found = json.loads(record.read_text())
    assert (found["as_of"], found["by"]) == (review.as_of.isoformat(), "Ada")
    done = {item["name"]: item["done"] for item in found["items"]}
    assert done == {name: name == "trend" for name in ITEMS}
    text = page.read_text()
    assert f"- [x] {ITEMS['trend']}" in text
    assert "<b>" not in text
    assert "SYNTHETIC" in text
    with pytest.raises(InputError, match=r"'trand' is no item.*did you mean 'trend'"):
        write_checklist(review, ["trand"], {}, "Ada")
    with pytest.raises(InputError, match="needs who reviewed"):
        write_checklist(review, [], {}, " ")


def test_the_form_writes_only_when_its_button_is_pressed(review: Review) -> None:
    form = checklist_form(review, "Grace")
    record = review.golden.folder / "reviews" / f"{review.as_of}.json"  # type: ignore[operator]
    record.unlink(missing_ok=True)
    *rows, last = form.children
    rows[0].children[0].value = True
    assert not record.exists()
    last.children[0].click()
    assert json.loads(record.read_text())["items"][0]["done"]
    assert last.children[1].value.startswith("Saved: ")


def test_a_suite_without_anything_says_what_it_needs(tmp_path: Path, demo: DemoHistory) -> None:
    make_suite(tmp_path / "shop", [{"id": "a", "input": "?", "must_contain": ["x"]}])
    golden = read_golden(tmp_path / "shop")
    empty = Review(golden, tmp_path / "results", demo.as_of, LOGS.empty())
    needs = " ".join(say.about_lines(empty))
    for word in ("no run up to", "no labels up to", "no logs"):
        assert word in needs
    assert to_records(empty.falling) == []
    assert "No run, no trend." in review_page(empty)

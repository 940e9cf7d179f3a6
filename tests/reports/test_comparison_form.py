from __future__ import annotations

import pytest

from evalnb.comparing import Comparison, open_comparison
from evalnb.reports.comparison_form import CaseChoice, chooser
from tests.suites import REPOSITORY


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return open_comparison("v1", "v2", str(REPOSITORY / "golden" / "support"))


def test_an_answer_is_opened_with_both_texts_and_all_reasons(comparison: Comparison) -> None:
    choice = CaseChoice(comparison, "worse")
    assert all(": pass → " in label for label in choice.labels())
    opened = choice.opened(0)
    assert choice.cases["case_id"].iloc[0] in opened
    assert "Scores and reasons" in opened
    assert "passed, 1.00" in opened
    assert choice.opened(None) == choice.opened(10_000) == "No answer is chosen."


def test_the_widget_lists_what_is_chosen_and_opens_it(comparison: Comparison) -> None:
    box = chooser(comparison)
    (kinds, slices, scorers), (listed, shown) = box.children[0].children, box.children[1:3]
    assert len(listed.options) == len(CaseChoice(comparison).cases)
    before = shown.value
    listed.value = 1
    assert shown.value != before
    kinds.value = "better"
    assert len(listed.options) == len(CaseChoice(comparison, "better").cases)
    slices.value = "language=de"
    assert shown.value == CaseChoice(comparison, "better", "language=de").opened(0)
    slices.value = "all"
    scorers.value = "must_contain"
    by_scorer = CaseChoice(comparison, "better", scorer="must_contain")
    assert [label for label, _ in listed.options] == by_scorer.labels()
    assert 0 < len(by_scorer.cases) < len(CaseChoice(comparison, "better").cases)


def test_nothing_to_choose_from_is_said(comparison: Comparison) -> None:
    box = chooser(open_comparison("v1", "v1", str(REPOSITORY / "golden" / "support")))
    assert box.children[2].value == "No answer is chosen."

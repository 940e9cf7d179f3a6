"""What the project's own suite must hold, or its gate has nothing to lose."""

from __future__ import annotations

import pytest

from evalnb.baseline import CASE, read_baseline
from evalnb.frames import to_records
from evalnb.golden import read_golden
from evalnb.systems import load_system
from tests.suites import REPOSITORY

GOLDEN = read_golden(REPOSITORY / "golden" / "support")


def passing() -> list[dict[str, object]]:
    baseline = read_baseline(GOLDEN)
    assert baseline is not None
    return [row for row in to_records(baseline.counts) if row["n_passed"]]


def test_there_are_enough_cases_categories_and_languages() -> None:
    assert len(GOLDEN) >= 30
    assert len({case.category for case in GOLDEN}) >= 6
    assert {"en", "de", "ja"} <= {case.language for case in GOLDEN}


def test_at_least_a_third_pass_in_the_baseline() -> None:
    assert sum(row["scorer"] == CASE for row in passing()) >= len(GOLDEN) / 3


@pytest.mark.parametrize(
    "scorer", ["exact", "must_contain", "keywords", "must_not_include", "tool_calls", "schema"]
)
def test_at_least_three_pass_for_each_scorer(scorer: str) -> None:
    assert sum(row["scorer"] == scorer for row in passing()) >= 3


@pytest.mark.parametrize("language", ["en", "de", "ja"])
def test_at_least_three_pass_for_each_language(language: str) -> None:
    cases = [str(row["case_id"]) for row in passing() if row["scorer"] == CASE]
    assert sum(GOLDEN[case_id].language == language for case_id in cases) >= 3


def test_not_every_case_offers_each_tool() -> None:
    offered = {tuple(case.tools) if case.tools is not None else None for case in GOLDEN}
    assert {("lookup_order",), ("refund",), ()} <= offered


@pytest.mark.parametrize("tag", ["common", "edge", "adversarial", "refusal", "incident"])
def test_every_kind_of_case_is_there(tag: str) -> None:
    assert len(GOLDEN.filter(tags=tag)) >= 1


def test_history_context_and_rubric_are_there() -> None:
    assert any(case.messages and len(case.messages) > 2 for case in GOLDEN)
    assert any(case.context for case in GOLDEN)
    assert any(case.rubric for case in GOLDEN)


def test_the_second_system_changes_one_sentence() -> None:
    first, second = (load_system(GOLDEN, name).prompt for name in ("v1", "v2"))
    assert first.model_copy(update={"system": None}) == second.model_copy(update={"system": None})
    one, other = ((prompt.system or "").split(". ") for prompt in (first, second))
    assert len(one) == len(other)
    assert sum(left != right for left, right in zip(one, other, strict=True)) == 1


def test_the_baseline_says_where_its_answers_come_from() -> None:
    baseline = read_baseline(GOLDEN)
    assert baseline is not None
    assert baseline.manifest["notice"] == (
        "Recorded from a 135M-parameter local model, expect poor answers."
    )
    assert baseline.manifest["golden_version"] == GOLDEN.version
    assert baseline.manifest["system"]["fingerprint"] == load_system(GOLDEN, "v1").fingerprint

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from evalnb.baseline import Baseline, count
from evalnb.cases import Case
from evalnb.checks import overview, suite_warnings
from evalnb.frames import OUTPUTS
from evalnb.golden import GoldenSet, SuiteSettings
from tests.test_gate import exact, scores

NO_BASELINE = "there is no baseline yet: run the suite, then `evalnb baseline accept`"
TAGS = {"tags": ["adversarial", "refusal", "incident"]}


def golden(*cases: dict[str, Any], repeats: int = 1) -> GoldenSet:
    shared = {"input": "Hi", "expected_exact": "x"}
    return GoldenSet(
        tuple(Case.model_validate({"id": f"c{n}"} | shared | case) for n, case in enumerate(cases)),
        SuiteSettings(repeats=repeats),
    )


def accepted(frame: pd.DataFrame) -> Baseline:
    return Baseline({}, count(frame), OUTPUTS.empty())


PASSING = accepted(exact(c0=True))


def test_the_overview_counts_cases_by_field() -> None:
    suite = golden(
        {"category": "money", "tags": ["edge", "common", "edge"], "split": "dev"},
        {"category": "money", "language": "de", "expected_intent": "refund"},
        {"category": "art", "language": "de", "must_not_include": ["x"], "rubric": None},
    )
    rows = [
        ("category", "art", 1),
        ("category", "money", 2),
        ("language", "(none)", 1),
        ("language", "de", 2),
        ("tags", "(none)", 2),
        ("tags", "common", 1),
        ("tags", "edge", 1),  # given twice, counted once
        ("split", "(none)", 2),
        ("split", "dev", 1),
        ("scorer", "exact", 3),
        ("scorer", "intent", 1),
        ("scorer", "must_not_include", 1),
    ]
    expected = pd.DataFrame(rows, columns=["field", "value", "n"]).astype(
        {"field": "string", "value": "string", "n": "Int64"}
    )
    assert_frame_equal(overview(suite), expected)
    assert_frame_equal(overview(GoldenSet(())), expected.iloc[:0])


def test_a_suite_that_lacks_nothing_has_no_warning() -> None:
    assert suite_warnings(golden(TAGS), PASSING) == []


@pytest.mark.parametrize("tag", ["adversarial", "refusal", "incident"])
def test_a_tag_that_no_case_has_is_missed(tag: str) -> None:
    others = [other for other in TAGS["tags"] if other != tag]
    assert suite_warnings(golden({"tags": others}), PASSING) == [
        f"no case is tagged `{tag}`: add at least one"
    ]
    assert suite_warnings(golden({"tags": others}, {"tags": [tag]}), PASSING) == []


def test_what_a_judge_will_score_is_no_lack() -> None:
    assert suite_warnings(golden(TAGS | {"reference": "x"}), PASSING) == []


def test_scorers_of_the_suites_own_count_for_every_case() -> None:
    suite = golden({}, {"expected_intent": "refund"})
    own = GoldenSet(suite.cases, SuiteSettings(scorers={"polite": "my_scorers:polite"}))
    rows = overview(own).to_numpy().tolist()
    assert [row for row in rows if row[0] == "scorer"] == [
        ["scorer", "exact", 2],
        ["scorer", "intent", 1],
        ["scorer", "polite", 2],
    ]


def test_a_suite_that_takes_long_is_told() -> None:
    # 480 answers x 5 s / 8 at once = 300 s, five minutes exactly.
    assert suite_warnings(golden(*[TAGS] * 240, repeats=2), PASSING) == []
    assert suite_warnings(golden(*[TAGS] * 600, repeats=2), PASSING) == [
        (
            "1,200 answers take about 12 minutes live (at 5 s each, 8 at once): split the suite, or "
            "run it at night"
        )
    ]


def test_a_missing_baseline_is_told() -> None:
    assert suite_warnings(golden(TAGS), None) == [NO_BASELINE]


def test_where_nothing_passes_no_drop_can_be_seen() -> None:
    suite = golden(TAGS | {"language": "en"}, {"language": "de"}, {"language": "de"}, {})
    frame = scores(
        ("c0", 1, "exact", True),
        ("c0", 1, "keywords", False),
        ("c1", 1, "exact", False),
        ("c2", 1, "exact", False),
        ("gone", 1, "old", False),
    )
    # c0 fails as a case, by its keywords; c3 is new and has no language.
    assert suite_warnings(suite, accepted(frame)) == [
        f"nothing passes in the baseline for {what}: no drop can be seen there"
        for what in ("language `en`", "language `de`", "language `(none)`")
    ]


def test_one_pass_of_several_repeats_is_something() -> None:
    frame = scores(("c0", 1, "exact", False), ("c0", 2, "exact", True))
    assert suite_warnings(golden(TAGS), accepted(frame)) == []

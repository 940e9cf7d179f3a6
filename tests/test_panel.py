"""From verdicts to scores; the verdicts are scripted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from evalnb.cases import Case
from evalnb.frames import VERDICTS
from evalnb.golden import JudgingSettings
from evalnb.judges import JudgeFile
from evalnb.judges.judge import AxesJudge, FaithfulnessJudge, Judge, RubricJudge
from evalnb.panel import Panel

CASE = Case.model_validate({"id": "a", "input": "Hi", "rubric": ["Greets."]})
OUTPUT = {"case_id": "a", "repeat": 1, "output_hash": "h"}
RUBRIC = RubricJudge("rubric", JudgeFile(kind="rubric"), "m")
AXES = AxesJudge("axes", JudgeFile(kind="axes"), "m")


def verdict(
    judge: Judge = RUBRIC, *, met: str = "met", score: float = 4, **fields: Any
) -> dict[str, Any]:
    answers: dict[str, Any] = {
        "criterion_1": {"reason": "says hello", "verdict": met},
        "reason": "as a whole fine",
        "score": score,
    }
    if judge is AXES:
        answers = {
            "politeness": {"reason": "warm", "score": 5},
            "factual": {"reason": "vague", "score": 2},
            "relevance": {"reason": "to the point", "score": score},
        }
    return {
        **OUTPUT,
        "judge": judge.name,
        "part": "all",
        "judge_repeat": 1,
        "judge_model": "m",
        "judge_model_answered": "m-1",
        "judge_fingerprint": judge.fingerprint,
        "cost_usd": 0.03,
        "answers": answers,
    } | fields


def scores(
    *verdicts: dict[str, Any], judge: Judge = RUBRIC, **settings: Any
) -> dict[str, dict[str, Any]]:
    rule = JudgingSettings.model_validate(settings)
    return Panel(rule, [judge], VERDICTS.build(verdicts)).scores(CASE, OUTPUT)


def test_a_score_says_what_was_needed_and_why() -> None:
    assert scores(verdict())["rubric"] == {
        "judge_model": "m",
        "judge_model_answered": "m-1",
        "judge_fingerprint": RUBRIC.fingerprint,
        "cost_usd": 0.03,
        "value": 0.75,
        "raw_value": 4.0,
        "passed": True,
        "reason": "4 of 5, 4 needed\n1. met: says hello\nas a whole fine",
    }


@pytest.mark.parametrize(
    ("met", "score", "settings", "passed"),
    [
        ("met", 3, {}, False),
        ("met", 3, {"pass_score": 3.0}, True),
        ("met", 3, {"pass_scores": {"rubric": 3.0}}, True),
        ("met", 3, {"pass_scores": {"politeness": 3.0}}, False),
        ("not_met", 5, {}, False),
        ("not_met", 5, {"unmet_fails": False}, True),
        ("cannot_tell", 5, {}, True),
        ("met", 3.5, {}, True),
        ("met", 3.4, {}, False),
    ],
)
def test_the_suite_says_what_passes(
    met: str, score: float, settings: dict[str, Any], passed: bool
) -> None:
    found = scores(verdict(met=met, score=score), **settings)["rubric"]
    assert found["passed"] is passed


def test_decimals_are_kept_rounded_and_said() -> None:
    found = scores(verdict(score=4.7))["rubric"]
    assert (found["raw_value"], found["value"]) == (4.7, 1.0)
    assert "5 of 5, 4 needed; 4.7 was answered and is rounded half up" in found["reason"]


def test_an_unmet_criterion_is_named() -> None:
    found = scores(verdict(met="not_met", score=5))["rubric"]
    assert "criterion 1 is not met: Greets." in found["reason"]


def test_each_axis_has_a_score_and_its_share_of_the_cost() -> None:
    found = scores(verdict(AXES), judge=AXES)
    assert {name: (one["value"], one["passed"]) for name, one in found.items()} == {
        "politeness": (1.0, True),
        "factual": (0.25, False),
        "relevance": (0.75, True),
    }
    assert sum(one["cost_usd"] for one in found.values()) == pytest.approx(0.03)


def test_a_call_about_one_axis_speaks_of_it_alone() -> None:
    split = AxesJudge("axes", JudgeFile(kind="axes", calls="per_axis"), "m")
    given = verdict(
        AXES,
        part="factual",
        judge_fingerprint=split.fingerprint,
        answers={"factual": {"reason": "exact", "score": 5}},
    )
    missing = verdict(
        AXES,
        part="relevance",
        judge_fingerprint=split.fingerprint,
        answers=None,
        na_reason="truncated",
        error="was cut off",
    )
    found = scores(given, missing, judge=split)
    assert found["factual"]["cost_usd"] == 0.03
    assert found["relevance"]["na_reason"] == "truncated"
    assert "politeness" not in found


def test_what_is_missing_stays_missing_for_every_axis() -> None:
    gone = verdict(AXES, answers=None, na_reason="out_of_range", error="7")
    found = scores(gone, judge=AXES)
    assert {one["na_reason"] for one in found.values()} == {"out_of_range"}
    assert {one["error"] for one in found.values()} == {"7"}


@pytest.mark.parametrize(
    "fields",
    [{"output_hash": "other"}, {"judge_fingerprint": "other"}, {"judge": "other"}, {"repeat": 2}],
)
def test_a_verdict_of_something_else_does_not_count(fields: dict[str, Any]) -> None:
    assert scores({**verdict(), **fields}) == {}


def test_of_several_verdicts_the_mean_counts_and_the_majority_decides() -> None:
    found = scores(
        verdict(score=5),
        verdict(score=4, judge_repeat=2),
        verdict(score=2, judge_repeat=3),
    )["rubric"]
    # (1 + 0.75 + 0.25) / 3 by hand
    assert found["value"] == pytest.approx(2 / 3)
    assert found["raw_value"] == pytest.approx(11 / 3)
    assert found["passed"] is True
    assert found["cost_usd"] == pytest.approx(0.09)
    assert found["reason"].startswith("2 of 3 verdicts pass")


def test_a_tie_of_verdicts_does_not_pass() -> None:
    found = scores(verdict(score=5), verdict(score=1, judge_repeat=2))["rubric"]
    assert found["passed"] is False


def test_one_verdict_that_is_missing_leaves_the_score_missing() -> None:
    gone = verdict(judge_repeat=2, answers=None, na_reason="refusal", error="declined")
    found = scores(verdict(score=5), gone)["rubric"]
    assert found["na_reason"] == "refusal"
    assert found["cost_usd"] == pytest.approx(0.06)
    assert "value" not in found


def test_another_pass_rule_needs_no_other_verdict() -> None:
    given = verdict(met="not_met", score=3)
    rules: list[tuple[dict[str, Any], bool]] = [
        ({}, False),
        ({"pass_score": 3.0}, False),
        ({"pass_score": 3.0, "unmet_fails": False}, True),
        ({"pass_scores": {"rubric": 2.5}, "unmet_fails": False}, True),
    ]
    for rule, passed in rules:
        found = scores(given, **rule)["rubric"]
        assert (found["passed"], found["raw_value"]) == (passed, 3)


def test_each_axis_may_need_another_score() -> None:
    found = scores(verdict(AXES), judge=AXES, pass_score=3.0, pass_scores={"factual": 2.0})
    assert {name: one["passed"] for name, one in found.items()} == {
        "politeness": True,
        "factual": True,
        "relevance": True,
    }
    assert found["factual"]["reason"] == "2 of 5, 2 needed\nvague"


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (3.5, "4 of 5, 4 needed; 3.5 was answered and is rounded half up"),
        (4.9999999, "5 of 5, 4 needed; 4.9999999 was answered and is rounded half up"),
        (4.0, "4 of 5, 4 needed"),
    ],
)
def test_what_was_rounded_is_said_as_it_was_answered(raw: float, said: str) -> None:
    assert scores(verdict(score=raw))["rubric"]["reason"].split("\n")[0] == said


def test_a_claim_that_is_not_supported_fails_whatever_the_score() -> None:
    case = Case.model_validate({"id": "a", "input": "Hi", "context": [{"text": "x"}]})
    judge = FaithfulnessJudge("faithfulness", JudgeFile(kind="faithfulness"), "m")
    answers = {"unsupported_claims": ["is free"], "reason": "one is", "score": 5}
    given = VERDICTS.build([verdict(judge, answers=answers)])
    for unmet_fails in (True, False):
        rule = JudgingSettings(unmet_fails=unmet_fails)
        found = Panel(rule, [judge], given).scores(case, OUTPUT)["faithfulness"]
        assert found["passed"] is not unmet_fails
        assert ("; not supported: is free\n" in found["reason"]) is unmet_fails


def test_without_a_known_cost_there_is_none() -> None:
    free = verdict(cost_usd=None)
    assert scores(free)["rubric"]["cost_usd"] is None
    found = scores(free, verdict(judge_repeat=2))["rubric"]
    assert found["cost_usd"] is None


def test_the_cost_of_missing_verdicts_is_shared_as_well() -> None:
    gone = verdict(AXES, answers=None, na_reason="truncated", error="was cut off")
    found = scores(gone, judge=AXES)
    assert sum(one["cost_usd"] for one in found.values()) == pytest.approx(0.03)


def test_without_verdicts_nobody_has_said_anything() -> None:
    panel = Panel(JudgingSettings(), [RUBRIC, AXES], None)
    assert panel.scores(CASE, OUTPUT) == {}
    assert panel.scorers(CASE) == ["rubric", "politeness", "factual", "relevance"]

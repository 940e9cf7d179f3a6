"""What the project's own suite must hold, or its gate has nothing to lose."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from evalnb.baseline import CASE, read_baseline
from evalnb.evaluation import evaluate
from evalnb.frames import to_records
from evalnb.golden import GoldenSet, read_golden
from evalnb.reports.verdicts import judge_sentences
from evalnb.results import latest_run, read_report
from evalnb.systems import load_system
from evalnb.systems.prompt_files import Prompt, PromptSystem
from tests.commands import evalnb
from tests.suites import REPOSITORY, copy_of_support

if TYPE_CHECKING:
    from pathlib import Path

    from evalnb.cases import Case

GOLDEN = read_golden(REPOSITORY / "golden" / "support")
RED_TEAM = read_golden(REPOSITORY / "golden" / "redteam")
LANGUAGES = ["en", "de", "es", "ja"]
# Keys of the API, bearer tokens, e-mail addresses that somebody has, ids of requests and people.
SECRETS = re.compile(
    r"sk-ant-|bearer |authorization|x-api-key|api_key|set-cookie|organization-id|request-id"
    r"|@(?!feld\.example\b)[a-z0-9-]+\.[a-z]{2,}",
    re.IGNORECASE,
)


def passing() -> list[dict[str, Any]]:
    baseline = read_baseline(GOLDEN)
    assert baseline is not None
    return [row for row in to_records(baseline.counts) if row["n_passed"]]


def passing_cases() -> list[Case]:
    return [GOLDEN[row["case_id"]] for row in passing() if row["scorer"] == CASE]


def prompt(name: str) -> Prompt:
    system = load_system(GOLDEN, name)
    assert isinstance(system, PromptSystem)
    return system.prompt


def test_there_are_enough_cases_in_enough_categories() -> None:
    assert len(GOLDEN) >= 64
    categories = Counter(case.category for case in GOLDEN)
    assert len(categories) >= 10
    assert min(categories.values()) >= 3


@pytest.mark.parametrize(("language", "n"), [("en", 30), ("de", 8), ("es", 6), ("ja", 8)])
def test_there_are_enough_cases_in_each_language(language: str, n: int) -> None:
    assert len(GOLDEN.filter(language=language)) >= n


def test_about_a_quarter_is_holdout_over_languages_and_categories() -> None:
    holdout = list(GOLDEN.filter(split="holdout"))
    assert len(holdout) + len(GOLDEN.filter(split="dev")) == len(GOLDEN)
    assert 0.2 <= len(holdout) / len(GOLDEN) <= 0.3
    assert {case.language for case in holdout} == set(LANGUAGES)
    assert {case.category for case in holdout} == {case.category for case in GOLDEN}


def test_at_least_half_pass_in_the_baseline() -> None:
    assert len(passing_cases()) >= len(GOLDEN) / 2


@pytest.mark.parametrize(
    "scorer",
    [
        "exact",
        "must_contain",
        "keywords",
        "must_not_include",
        "tool_calls",
        "schema",
        "intent",
        "retrieval",
        "refusal",
        "limits",
    ],
)
def test_at_least_two_pass_for_each_scorer(scorer: str) -> None:
    assert sum(row["scorer"] == scorer for row in passing()) >= 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_at_least_three_pass_for_each_language(language: str) -> None:
    assert sum(case.language == language for case in passing_cases()) >= 3


def test_not_every_case_offers_each_tool() -> None:
    offered = {tuple(case.tools) if case.tools is not None else None for case in GOLDEN}
    assert {("lookup_order",), ("refund",), ()} <= offered


@pytest.mark.parametrize("tag", ["common", "edge", "adversarial", "refusal", "incident"])
def test_every_kind_of_case_is_there(tag: str) -> None:
    assert len(GOLDEN.filter(tags=tag)) >= 2


def test_history_context_state_rubric_and_limits_are_there() -> None:
    assert any(case.messages and len(case.messages) > 2 for case in GOLDEN)
    assert any(case.context for case in GOLDEN)
    assert any(case.state for case in GOLDEN)
    assert any(case.rubric for case in GOLDEN)
    assert any(case.limits and case.limits.max_output_tokens for case in GOLDEN)
    assert any(case.limits and case.limits.max_latency_ms for case in GOLDEN)


def test_tool_calls_are_expected_in_every_order_and_some_not_at_all() -> None:
    expected = [case.expected_tool_calls for case in GOLDEN if case.expected_tool_calls]
    assert {calls.order or "exact" for calls in expected} == {"exact", "in_order", "any_order"}
    assert any(not calls.calls for calls in expected)
    assert any(len(calls.calls) > 1 for calls in expected)
    assert sum(case.tools_mock is not None for case in GOLDEN) >= 3


def test_refunds_are_expected_to_the_cent() -> None:
    amounts = [
        (call.arguments or {}).get("amount_cents")
        for case in GOLDEN
        for call in (case.expected_tool_calls.calls if case.expected_tool_calls else ())
        if call.name == "refund"
    ]
    assert len(amounts) >= 4
    assert all(type(amount) is int for amount in amounts)


def test_conversations_are_played_with_expectations_for_each_turn() -> None:
    played = [case for case in GOLDEN if case.turns]
    assert len(played) >= 4
    assert all(len(case.turns or ()) >= 2 for case in played)
    assert all(
        turn.model_dump(exclude_none=True).keys() > {"input"}
        for case in played
        for turn in case.turns or ()
    )


def test_intents_and_retrieved_ids_are_asked_for_by_schema() -> None:
    classified = [case for case in GOLDEN if case.expected_intent]
    retrieved = [case for case in GOLDEN if case.relevant_ids]
    assert min(len(classified), len(retrieved)) >= 3
    for case in classified:
        schema: Any = case.expected_schema
        assert case.expected_intent in schema["properties"]["intent"]["enum"]
    for case in retrieved:
        schema = case.expected_schema
        ids = [passage.id for passage in case.context or ()]
        assert schema["properties"]["retrieved_ids"]["items"]["enum"] == ids
        assert set(case.relevant_ids or ()) < set(ids)


def test_what_must_be_declined_is_there_in_four_languages() -> None:
    declined = [case for case in GOLDEN if case.expect_refusal]
    assert len(declined) >= 5
    assert {case.language for case in declined} == set(LANGUAGES)
    assert all("refusal" in (case.tags or ()) for case in declined)


def test_the_second_system_changes_one_sentence() -> None:
    first, second = prompt("v1"), prompt("v2")
    assert first.model_copy(update={"system": None}) == second.model_copy(update={"system": None})
    one, other = ((found.system or "").split(". ") for found in (first, second))
    assert len(one) == len(other)
    assert sum(left != right for left, right in zip(one, other, strict=True)) == 1


@pytest.mark.parametrize(("system", "code", "outcome"), [("v1", 0, "pass"), ("v2", 1, "fail")])
def test_a_replay_passes_as_it_is_and_is_blocked_with_the_changed_sentence(
    system: str, code: int, outcome: str, tmp_path: Path
) -> None:
    suite = copy_of_support(tmp_path)
    done = evalnb(
        "run",
        "golden/support",
        "--no-notebook",
        "--system",
        f"systems/{system}.toml",
        folder=tmp_path,
    )
    report = read_report(latest_run(read_golden(suite)))
    assert (done.code, report["outcome"]) == (code, outcome)
    assert report["misses"] == []


@pytest.mark.parametrize("golden", [GOLDEN, RED_TEAM], ids=lambda golden: golden.settings.name)
def test_the_baseline_says_where_its_answers_come_from(golden: GoldenSet) -> None:
    baseline = read_baseline(golden)
    assert baseline is not None
    assert baseline.manifest["notice"] == (
        "Recorded from a 135M-parameter local model, expect poor answers."
    )
    assert baseline.manifest["golden_version"] == golden.version
    assert baseline.manifest["system"]["fingerprint"] == load_system(golden, "v1").fingerprint


@pytest.mark.parametrize("golden", [GOLDEN, RED_TEAM], ids=lambda golden: golden.settings.name)
def test_cassettes_hold_no_header_no_key_and_no_id_of_the_moment(golden: GoldenSet) -> None:
    assert golden.folder is not None
    paths = list((golden.folder / "cassettes").iterdir())
    assert len(paths) >= len(golden)
    for path in paths:
        text = path.read_text()
        content = json.loads(text)
        assert not SECRETS.search(text), path.name
        assert set(content) == {"format", "key", "request", "entries"}
        assert set(content["request"]) == {"method", "path", "query", "betas", "body"}
        for entry in content["entries"]:
            assert set(entry) == {"repeat", "occurrence", "latency_ms", "response"}
            assert path.stem[:12] in entry["response"]["id"]


def test_every_answer_that_the_rules_let_through_is_judged_in_replay() -> None:
    run = evaluate(
        GOLDEN,
        load_system(GOLDEN),
        run_id="r",
        as_of=date(2026, 12, 31),
        tier="full",
        progress="none",
    )
    assert run.exit_code == 0
    judged = [row for row in to_records(run.scores) if row["tier"] == "judge"]
    failed = {
        row["case_id"]
        for row in to_records(run.scores)
        if row["tier"] == "rule" and row.get("passed") is False
    }
    assert {row["scorer"] for row in judged} == {"rubric", "politeness", "factual", "relevance"}
    assert {row["case_id"] for row in judged if "na_reason" in row} == failed
    assert {row["na_reason"] for row in judged if "na_reason" in row} == {"skipped_by_rule"}
    answered = {row["judge_model_answered"] for row in judged if "na_reason" not in row}
    assert answered == {"smollm2-135m-instruct"}


def test_a_judge_this_weak_is_advice_and_is_said_to_be() -> None:
    baseline = read_baseline(GOLDEN)
    assert baseline is not None
    assert baseline.manifest["tier"] == "full"
    run = evaluate(
        GOLDEN, load_system(GOLDEN), run_id="r", as_of=date(2026, 12, 31), tier="full",
        progress="none",
    )  # fmt: skip
    sentences = judge_sentences(run)
    assert sentences[-1] == "No certificate: verdicts are advisory, and block nothing."
    assert any("is of one family with smollm2-135m-instruct" in line for line in sentences)
    assert (run.decision["rule"] == "advisory_judge").sum() == 4

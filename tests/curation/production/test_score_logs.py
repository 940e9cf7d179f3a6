from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

import evalnb
from evalnb.cassettes import Cassettes
from evalnb.curation.candidates.disagreement import find_disagreement
from evalnb.curation.candidates.strata import sample_stratified
from evalnb.curation.production.failures import failure_candidates, find_failures
from evalnb.curation.production.rates import describe_scores, production_rates
from evalnb.curation.production.scores import production_cassettes, score_logs, unused_scorers
from evalnb.frames import LOGS, SCORES
from evalnb.golden import GoldenSet, ProductionSettings, RedactionSettings, SuiteSettings
from tests.curation.conversations import logs_of, talk
from tests.suites import REPOSITORY, make_suite

EN = "The order is on the way to you and it will be there soon."
DE = "Die Bestellung ist auf dem Weg und wird bald bei Ihnen sein."


def suite_of(**production: Any) -> GoldenSet:
    return GoldenSet((), SuiteSettings(production=ProductionSettings(**production)))


def verdict(golden: GoldenSet, logs: pd.DataFrame, scorer: str) -> tuple[Any, ...]:
    rows = score_logs(logs, golden, judges=())
    row = rows[rows["scorer"] == scorer].iloc[0]
    return tuple(
        None if pd.isna(row[name]) else row[name] for name in ("passed", "reason", "na_reason")
    )


@pytest.mark.parametrize(
    ("production", "rows", "scorer", "expected"),
    [
        ({"must_not_include": ["language model"]}, talk("c", "Hi", "As a Language  Model, no."), "must_not_include", (False, "includes 'language model'", None)),
        ({"must_not_include": ["model"]}, talk("c", "Hi", "Supermodels."), "must_not_include", (True, "includes none of 'model'", None)),
        ({"max_characters": 5}, talk("c", "Hi", "12345"), "length", (True, "5 characters, at most 5", None)),
        ({"max_characters": 5}, talk("c", "Hi", "1", "Hi", "123456"), "length", (False, "answer 2: 6 characters, at most 5", None)),
        ({"max_output_tokens": 9}, talk("c", "Hi", "Yes", output_tokens=10), "limits", (False, "output_tokens 10, at most 9", None)),
        ({"max_latency_ms": 9.0}, talk("c", "Hi", "Yes"), "limits", (None, None, "not_applicable")),
        ({"expected_schema": {"type": "object", "required": ["a"]}}, talk("c", "Hi", '{"a": 1}'), "schema", (True, "meets the schema", None)),
        ({"expected_schema": {"type": "object", "required": ["a"]}}, talk("c", "Hi", "{}"), "schema", (False, '\'$: "a" is a required property\'', None)),
        ({}, talk("c", "Hi", "I'm sorry, I cannot help with that."), "refusal", (False, "should answer, but declines: 'i cannot'", None)),
        ({}, talk("c", "Hi", "Gladly."), "refusal", (True, "does not decline", None)),
        ({}, talk("c", DE, EN), "language", (False, "answers in en; asked in de", None)),
        ({}, talk("c", DE, DE), "language", (True, "answers in de", None)),
        ({"languages": ["en-GB", "de"]}, talk("c", "Où est le colis pour la dame?", EN), "language", (True, "answers in en", None)),
        ({"languages": ["de"]}, talk("c", EN, EN), "language", (False, "answers in en; allowed de", None)),
        ({"languages": ["sw"]}, talk("c", EN, EN), "language", (None, None, "not_applicable")),
        ({}, talk("c", "B-1?", EN, language="de-AT"), "language", (False, "answers in en; asked in de", None)),
        ({}, talk("c", "B-1?", EN), "language", (None, None, "not_applicable")),
        ({}, talk("c", EN, '{"a": 1}'), "language", (None, None, "not_applicable")),
        ({}, talk("c", EN, None), "refusal", (True, "does not decline", None)),
        ({}, talk("c", EN), "refusal", (None, None, "empty")),
        ({}, [{"conversation_id": "c", "turn": 1, "role": "assistant", "text": EN}], "refusal", (None, None, "not_applicable")),
        ({}, [{"conversation_id": "c", "turn": 1, "role": "system", "text": EN}], "refusal", (None, None, "not_applicable")),
    ],
)  # fmt: skip
def test_rules_that_hold_for_every_answer(
    production: dict[str, Any], rows: list[dict[str, Any]], scorer: str, expected: Any
) -> None:
    assert verdict(suite_of(**production), LOGS.build(rows), scorer) == expected


def test_a_placeholder_neither_fails_a_schema_nor_shows_what_it_hides() -> None:
    schema = {"type": "object", "properties": {"mail": {"type": "string", "pattern": "@"}}}
    golden = suite_of(expected_schema=schema)
    good = talk("c", "Hi", '{"mail": "ada@example.org"}')
    assert verdict(golden, LOGS.build(good), "schema") == (True, "meets the schema", None)
    golden = suite_of(expected_schema={"type": "object", "maxProperties": 0})
    _, reason, _ = verdict(golden, LOGS.build(good), "schema")
    assert "<EMAIL_1>" in reason
    assert "ada" not in reason
    # Only what is hidden is at fault: the placeholder would fit.
    short = suite_of(expected_schema={"type": "object", "properties": {"mail": {"maxLength": 12}}})
    assert verdict(short, LOGS.build(good), "schema") == (
        False,
        "does not meet the schema; what is wrong with it is taken out by redaction",
        None,
    )


def test_scorers_of_the_suites_own_see_redacted_answers_and_win_over_ours(tmp_path: Path) -> None:
    (tmp_path / "own_language.py").write_text(
        "import evalnb\n"
        "def language(case, output):\n"
        "    return evalnb.Score(1.0, True, f'{case.input} {output.text}')\n"
    )
    cases: list[dict[str, Any]] = [
        {"id": "a", "input": "Hi", "expected_exact": "x"},
        {"id": "b", "input": "Hi", "rubric": ["x"]},
    ]
    golden = make_suite(tmp_path / "shop", cases, '[scorers]\nlanguage = "own_language:language"\n')  # fmt: skip
    logs = LOGS.build(talk("c", "I am ada@example.org", "Hello ada@example.org"))
    scores = score_logs(logs, golden, judges=())
    assert scores["scorer"].tolist() == ["refusal", "language"]
    assert scores["reason"].iloc[1] == "I am <EMAIL_1> Hello <EMAIL_1>"
    unused = unused_scorers(golden)
    assert unused["exact"] == "needs what a case expects, which logs do not say"
    assert unused["rubric"] == "needs what a case expects or gives"
    assert unused["length"] == "`[production]` in suite.toml says no `max_characters`"


def test_the_frame_has_feedback_beside_and_its_order_is_that_of_names() -> None:
    logs = logs_of(
        talk("b", EN, EN, feedback=-1, category="late", at="2026-03-01T00:00:00+00:00"),
        talk("a", "Hi", "Hello"),
    )
    scores = score_logs(logs, suite_of(), judges=(), run_id="r")
    assert scores["case_id"].tolist() == ["a", "a", "b", "b"]
    assert scores["feedback"].tolist() == [pd.NA, pd.NA, -1, -1]
    assert scores["category"].tolist() == [pd.NA, pd.NA, "late", "late"]
    assert set(scores["run_id"]) == {"r"}
    SCORES.check(scores)
    shuffled = logs.sample(frac=1, random_state=2).reset_index(drop=True)
    assert_frame_equal(score_logs(shuffled, suite_of(), judges=(), run_id="r"), scores)
    empty = score_logs(LOGS.empty(), suite_of(), judges=())
    assert empty.columns.tolist() == scores.columns.tolist()
    assert empty.dtypes.tolist() == scores.dtypes.tolist()


ANSWERS = st.sampled_from(["no way", "forbidden fruit", "", "it is long enough by now", None])


@settings(max_examples=15)
@given(st.lists(st.lists(ANSWERS, min_size=1, max_size=4), min_size=1, max_size=4))
def test_a_conversation_passes_where_each_of_its_answers_would(talks: list[list[str]]) -> None:
    golden = suite_of(must_not_include=["forbidden"], max_characters=12)

    def passed(*said: list[dict[str, Any]]) -> dict[tuple[str, str], bool]:
        rows = score_logs(logs_of(*said), golden, judges=())
        assert len(rows) == len(said) * 4
        known = rows[rows["scorer"].isin(["must_not_include", "length"])]
        keys = zip(known["case_id"], known["scorer"], strict=True)
        return dict(zip(keys, known["passed"].tolist(), strict=True))

    whole = passed(
        *(talk(f"c{k}", *(x for answer in answers for x in ("Hi", answer))) for k, answers in enumerate(talks))
    )  # fmt: skip
    single = passed(
        *(talk(f"c{k}-{j}", "Hi", answer) for k, answers in enumerate(talks) for j, answer in enumerate(answers))
    )  # fmt: skip
    for (name, scorer), found in whole.items():
        parts = [
            one for (part, s), one in single.items() if s == scorer and part.startswith(f"{name}-")
        ]
        assert found == all(parts)


@pytest.fixture(scope="module")
def support() -> GoldenSet:
    return evalnb.read_golden(REPOSITORY / "golden" / "support")


@pytest.fixture(scope="module")
def answered(support: GoldenSet) -> pd.DataFrame:
    """Return the baseline's answers to plain English questions."""
    baseline = evalnb.read_baseline(support)
    assert baseline is not None
    plain = {
        case.id
        for case in support
        if case.input and not case.context and not case.state and case.language == "en"
    }
    outputs = baseline.outputs
    has_text = outputs["text"].notna() & outputs["tool_calls"].map(lambda calls: not calls)
    return outputs[outputs["case_id"].isin(plain) & has_text].head(12).reset_index(drop=True)


@pytest.fixture(scope="module")
def logged(support: GoldenSet, answered: pd.DataFrame) -> pd.DataFrame:
    return logs_of(
        *(
            talk(f"conversation {row['case_id']}", support[row["case_id"]].input, row["text"])
            for row in answered.to_dict("records")
        )
    )


@pytest.fixture(scope="module")
def judged(support: GoldenSet, logged: pd.DataFrame) -> pd.DataFrame:
    recorded = Cassettes(REPOSITORY / "golden" / "support" / "cassettes")
    return score_logs(logged, support, cassettes=recorded)


def test_judges_say_of_a_logged_answer_what_they_say_of_the_same_one_of_a_case(
    support: GoldenSet, answered: pd.DataFrame, judged: pd.DataFrame
) -> None:
    judges = [judge for judge in evalnb.suite_judges(support) if judge.name != "rubric"]
    subset = support.filter(id=answered["case_id"].tolist())
    verdicts = evalnb.judge_outputs(support, answered, judges)
    expected = evalnb.score(subset, answered, verdicts=verdicts, judges=judges)
    names = ["case_id", "scorer", "output_hash", "raw_value", "passed", "reason"]
    expected = expected.loc[expected["value"].notna() & expected["tier"].eq("judge"), names]
    assert len(expected) >= 6
    found = judged.assign(case_id=judged["case_id"].str.removeprefix("conversation "))
    found = found.loc[found["tier"].eq("judge") & found["value"].notna(), names]
    both = expected.merge(found, on=["case_id", "scorer"], suffixes=("", "_found"))
    assert len(both) >= 6
    for name in names[2:]:
        assert both[name].tolist() == both[f"{name}_found"].tolist()


def test_what_samplers_take_of_it(logged: pd.DataFrame, judged: pd.DataFrame) -> None:
    picks = sample_stratified(logged, by="judge_score", n=1, scores=judged, scorer="politeness")
    levels = judged.loc[judged["scorer"].eq("politeness"), "raw_value"].dropna().unique()
    assert picks["stratum"].tolist() == sorted(f"{level:g}" for level in levels)
    unhappy = logged.assign(feedback=pd.Series(-1, index=logged.index, dtype="Int64"))
    passing = judged[judged["scorer"].eq("politeness") & judged["passed"].fillna(value=False)]
    found = find_disagreement(unhappy, judged, scorer="politeness")
    assert set(found["conversation_id"]) == set(passing["case_id"])


def test_nothing_personal_reaches_a_judge_and_what_is_not_recorded_is_said(
    support: GoldenSet, tmp_path: Path
) -> None:
    settings_ = support.settings.model_copy(
        update={"redaction": RedactionSettings(patterns={"ORDER": "B-[0-9]{5}"})}
    )
    golden = GoldenSet(support.cases, settings_, support.folder)
    empty = Cassettes(tmp_path)
    said = ("I am ada@example.org", "Is it B-31107, ada@example.org?", "Yes, B-31107!", "Done.")
    scores = score_logs(logs_of(talk("c", *said)), golden, cassettes=empty)
    judged_rows = scores[scores["tier"] == "judge"]
    assert set(judged_rows["na_reason"]) == {"miss"}
    assert empty.misses
    for miss in empty.misses:
        sent = str(miss.request)
        assert "ada@example.org" not in sent
        assert "31107" not in sent
        assert "<EMAIL_1>" in sent
        assert "<ORDER_1>" in sent
    lines = describe_scores(scores, unused_scorers(golden))
    assert "  not scored, miss: 3" in lines
    assert "  politeness: none of 1 scored" in lines


def test_a_judge_is_not_asked_about_what_a_rule_fails_but_about_what_declines(
    support: GoldenSet, tmp_path: Path
) -> None:
    logs = logs_of(talk("declines", EN, "I cannot help you with that."), talk("german", EN, DE))
    scores = score_logs(logs, support, cassettes=Cassettes(tmp_path))
    judged_rows = scores[scores["tier"] == "judge"]
    reasons = judged_rows.groupby("case_id")["na_reason"].unique().map(list).to_dict()
    assert reasons == {"declines": ["miss"], "german": ["skipped_by_rule"]}


def test_verdicts_on_logs_are_recorded_apart_from_those_on_cases(tmp_path: Path) -> None:
    golden = make_suite(tmp_path / "shop", [{"id": "a", "input": "Hi", "expected_exact": "x"}])
    assert production_cassettes(golden).folder == tmp_path / "shop" / "cassettes" / "production"
    with pytest.raises(ValueError, match="has no cassettes: give `cassettes`"):
        production_cassettes(GoldenSet(()))


def test_rates_and_what_users_say_of_what_fails() -> None:
    """Newcombe's example (a): 56 of 70 less 48 of 80 is 0.2, 0.0524 to 0.3339."""
    counts = {(-1, False): 56, (-1, True): 14, (1, False): 48, (1, True): 32, (None, None): 10}
    rows = [
        {"feedback": feedback, "passed": passed}
        for (feedback, passed), n in counts.items()
        for _ in range(n)
    ]
    scores = SCORES.build(
        {
            "case_id": f"c{k}",
            "repeat": 1,
            "scorer": "tone",
            "tier": "judge",
            "passed": row["passed"],
        }
        | ({"na_reason": "miss"} if row["passed"] is None else {})
        for k, row in enumerate(rows)
    ).assign(feedback=pd.Series([row["feedback"] for row in rows], dtype="Int64"))
    row = production_rates(scores).iloc[0]
    assert (row["n"], row["n_left_out"], row["n_accidents"]) == (150, 10, 10)
    assert row["estimate"] == pytest.approx(46 / 150)
    assert [row["bound_low"], row["bound_high"]] == pytest.approx([46 / 160, 56 / 160])
    assert [row[name] for name in ("difference", "difference_low", "difference_high")] == (
        pytest.approx([0.2, 0.0524, 0.3339], abs=5e-5)
    )
    assert describe_scores(scores, {})[1:3] == [
        "  tone: pass rate 0.31 (0.24 to 0.38), 150 of 160 scored",
        "    fails 0.80 of 70 that users call bad, 0.60 of 80 called good: +0.20 (0.05 to 0.33)",
    ]


def test_failures_far_from_the_golden_set_come_first_each_with_its_reason() -> None:
    golden = suite_of(max_characters=20)
    case = evalnb.Case(id="known", input="Where is my parcel, please?", must_contain=["x"])
    logs = logs_of(
        talk("near", "Where is my parcel, please", "a" * 21, feedback=1),
        talk("far", "Which visa do I need for Norway?", "b" * 21),
        talk("fine", "Another thing about ducks", "Yes."),
    )
    scores = score_logs(logs, golden, judges=())
    found = find_failures(logs, scores, [case], n=5)
    assert found["conversation_id"].tolist() == ["far", "near"]
    assert (
        found["reason"]
        .iloc[0]
        .startswith(
            "fails length (21 characters, at most 20); far from every case: the nearest, known, has"
        )
    )
    folding = failure_candidates(logs, scores, [case], n=5)
    assert folding.candidates["conversation_id"].tolist() == ["far"]
    assert folding.folded["into"].tolist() == ["known"]
    nothing = failure_candidates(logs.iloc[4:].reset_index(drop=True), scores.iloc[6:], [case], n=5)
    assert nothing.candidates.empty

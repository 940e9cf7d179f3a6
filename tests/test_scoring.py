from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from evalnb.cases import EXPECTATIONS, Case
from evalnb.frames import OUTPUTS, RESULTS, SCORES, SLICES, NaReason, to_records
from evalnb.golden import GoldenSet, SuiteSettings
from evalnb.scorers import SCORERS, MeasuredOutput, Score
from evalnb.scoring import (
    case_scorers,
    repeat_passes,
    score,
    scorer_names,
    slices,
    summarize,
)
from tests.suites import make_suite


def golden(*cases: dict[str, Any], **settings: Any) -> GoldenSet:
    return GoldenSet(
        tuple(Case.model_validate({"input": "Hi"} | case) for case in cases),
        SuiteSettings.model_validate(settings),
    )


def outputs(*rows: dict[str, Any]) -> pd.DataFrame:
    return OUTPUTS.build({"run_id": "r", "repeat": 1} | row for row in rows)


def scores(*rows: tuple[Any, ...]) -> pd.DataFrame:
    """Build scores of (case, repeat, scorer, passed or NA reason[, value])."""
    return SCORES.build(_score(*row) for row in rows)


def _score(
    case_id: str, repeat: int, scorer: str, result: bool | str, value: float | None = None
) -> dict[str, Any]:
    key = {"case_id": case_id, "repeat": repeat, "scorer": scorer}
    if isinstance(result, str):
        return {**key, "na_reason": result}
    return {
        **key,
        "passed": result,
        "value": float(result) if value is None else value,
        "reason": f"{scorer} of {repeat}",
    }


TWO = golden(
    {"id": "a", "expected_exact": "yes"},
    {"id": "b", "must_contain": ["5 days", "free"], "must_not_include": ["sorry"]},
)


# score


def test_every_case_repeat_and_scorer_has_a_row_in_order() -> None:
    frame = score(
        TWO,
        outputs(
            {"case_id": "b", "repeat": 2, "text": "5 days, sorry", "output_hash": "h1"},
            {"case_id": "a", "repeat": 1, "text": "yes", "output_hash": "h2"},
            {"case_id": "b", "repeat": 1, "text": "5 days, free", "output_hash": "h3"},
        ),
    )
    assert_frame_equal(
        frame,
        SCORES.build(
            {"run_id": "r", "case_id": case_id, "repeat": repeat, "output_hash": output_hash}
            | {"scorer": scorer, "tier": "rule", "value": value, "raw_value": value}
            | {"passed": passed, "reason": reason}
            for case_id, repeat, output_hash, scorer, value, passed, reason in [
                ("b", 2, "h1", "must_contain", 0.5, False, "missing: 'free'"),
                ("b", 2, "h1", "must_not_include", 0.0, False, "includes 'sorry'"),
                ("a", 1, "h2", "exact", 1.0, True, "is 'yes'"),
                ("b", 1, "h3", "must_contain", 1.0, True, "contains '5 days', 'free'"),
                ("b", 1, "h3", "must_not_include", 1.0, True, "includes none of 'sorry'"),
            ]
        ),
    )


def test_a_scorer_may_have_a_scale_of_its_own() -> None:
    words = golden({"id": "a", "expected_keywords": ["x", "y", "z"]})
    frame = score(words, outputs({"case_id": "a", "text": "x y"}))
    assert (frame["value"][0], frame["raw_value"][0]) == (2 / 3, 2)


@pytest.mark.parametrize("reason", [reason for reason in NaReason if reason != "no_judge"])
def test_a_missing_output_carries_its_reason_to_every_score(reason: NaReason) -> None:
    judged = golden(
        {"id": "a", "rubric": ["polite"], "must_not_include": ["x"], "expect_refusal": True}
    )
    frame = score(judged, outputs({"case_id": "a", "na_reason": reason, "error": "why"}))
    assert frame["scorer"].tolist() == ["rubric", "must_not_include", "refusal"]
    assert frame["na_reason"].tolist() == [str(reason)] * 3
    assert frame["error"].tolist() == ["why"] * 3
    assert frame[["value", "raw_value", "passed", "reason"]].isna().all(axis=None)


@pytest.mark.parametrize(("text", "reason"), [("fine", "no_judge"), ("sorry", "skipped_by_rule")])
def test_a_judge_is_asked_for_what_the_rules_let_through(text: str, reason: str) -> None:
    # The case states its rubric before the rule; rules come first all the same.
    judged = golden(
        {
            "id": "a",
            "rubric": ["polite"],
            "expected_keywords": ["fine", "sorry"],
            "reference": "Fine.",
        }
        | {"must_not_include": ["sorry"]}
    )
    frame = score(judged, outputs({"case_id": "a", "text": text}))
    assert frame["scorer"].tolist() == ["rubric", "keywords", "must_not_include", "reference"]
    assert frame["tier"].tolist() == ["judge", "rule", "rule", "judge"]
    assert frame["na_reason"].fillna("").tolist() == [reason, "", "", reason]


def test_without_rules_every_output_is_for_the_judge() -> None:
    judged = golden({"id": "a", "rubric": ["polite"]})
    frame = score(judged, outputs({"case_id": "a", "text": "x"}))
    assert frame["na_reason"].tolist() == ["no_judge"]


def test_every_expectation_has_a_scorer_or_a_judge() -> None:
    everything: dict[str, Any] = {
        "must_contain": ["x"],
        "expected_keywords": ["x"],
        "must_not_include": ["x"],
        "expected_intent": "x",
        "expected_tool_calls": {"calls": []},
        "expected_schema": {},
        "relevant_ids": ["x"],
        "expect_refusal": True,
        "reference": "x",
        "limits": {"max_output_tokens": 1},
    }
    suite = golden(
        {"id": "a", **everything},
        {"id": "b", "expected_exact": "x"},
        {"id": "c", "rubric": ["x"]},
    )
    found = [set(scorer_names(case)) for case in suite]
    assert set.union(*found) == set(EXPECTATIONS)
    frame = score(suite, outputs({"case_id": "a", "text": "x"}))
    assert frame["scorer"].tolist() == list(scorer_names(suite["a"]).values())


# Turns


def played(*turns: dict[str, Any], **case: Any) -> GoldenSet:
    return golden(
        {"id": "a", "input": None, "turns": [{"input": "x"} | turn for turn in turns]} | case
    )


def verdicts(suite: GoldenSet, **output: Any) -> list[dict[str, Any]]:
    columns = ["scorer", "value", "passed", "reason", "na_reason", "error"]
    return to_records(score(suite, outputs({"case_id": "a"} | output))[columns])


def test_a_turn_is_scored_on_its_own_output() -> None:
    suite = played({"must_contain": ["one"]}, {}, {"must_contain": ["three"]})
    turns: list[dict[str, Any]] = [
        {"text": "one", "tool_calls": [], "stop_reason": "end_turn"},
        {"text": "two", "tool_calls": [], "stop_reason": "end_turn"},
        {"text": "three", "tool_calls": [], "stop_reason": "end_turn"},
    ]
    assert verdicts(suite, text="three", turns=turns) == [
        {
            "scorer": "must_contain",
            "value": 1.0,
            "passed": True,
            "reason": "turn 1: contains 'one'; turn 3: contains 'three'",
        }
    ]
    turns[2] = {"text": "tea", "tool_calls": [], "stop_reason": "max_tokens"}
    assert verdicts(suite, text="tea", turns=turns) == [
        {
            "scorer": "must_contain",
            "value": 0.5,  # the mean of 1 and 0
            "passed": False,
            "reason": "turn 3: missing: 'three' (the answer was cut off)",
        }
    ]


def test_a_case_and_its_turns_share_a_row() -> None:
    look = {"calls": [{"name": "look"}]}
    suite = played({"expected_tool_calls": {"calls": []}}, {}, expected_tool_calls=look)
    call = {"name": "look", "arguments": {}}
    turns = [{"text": "Hi"}, {"text": "Done", "tool_calls": [call]}]
    assert verdicts(suite, text="Done", tool_calls=[call], turns=turns) == [
        {
            "scorer": "tool_calls",
            "value": 1.0,
            "passed": True,
            "reason": "all turns: called look(); turn 1: no tool was called",
        }
    ]
    # An expectation of the case alone needs no word on turns.
    alone = played({}, expected_exact="Done")
    assert verdicts(alone, text="Done", turns=turns)[0]["reason"] == "is 'Done'"


@pytest.mark.parametrize(
    ("stop_reason", "why"), [("refusal", " (refusal)"), ("step_limit", " (step_limit)"), (None, "")]
)
def test_a_turn_that_was_not_played_fails(stop_reason: str | None, why: str) -> None:
    suite = played({"must_contain": ["one"]}, {}, {"must_contain": ["three"]})
    turns = [{"text": "one"}, {"text": "no", "stop_reason": stop_reason}]
    found = verdicts(suite, text="no", turns=turns)[0]
    assert (found["value"], found["passed"]) == (0.5, False)
    assert found["reason"] == f"turn 3 was not played: the conversation ended at turn 2{why}"


def test_an_output_that_says_nothing_of_its_turns_is_not_scored() -> None:
    suite = played({"must_contain": ["one"]}, expected_exact="one")
    found = verdicts(suite, text="one")
    assert [row.get("passed") for row in found] == [True, None]
    assert found[1]["na_reason"] == NaReason.SCORER_ERROR
    assert "says nothing of its turns" in found[1]["error"]


def test_rubrics_of_turns_wait_for_a_judge() -> None:
    suite = played({"rubric": ["polite"]}, {"must_not_include": ["x"]})
    turns = [{"text": "a"}, {"text": "b"}]
    assert [row.get("na_reason") for row in verdicts(suite, text="b", turns=turns)] == [
        "no_judge",
        None,
    ]


# Scorers of users' own


def test_own_scorers_are_asked_of_every_case() -> None:
    def polite(case: Case, output: MeasuredOutput) -> bool:
        return "please" in (output.text or "")

    def short(case: Case, output: MeasuredOutput) -> Score | None:
        if case.id == "b":
            return None
        return Score(0.75, True, "short enough", raw_value=3)

    frame = score(
        TWO,
        outputs(
            {"case_id": "a", "text": "yes"},
            {"case_id": "b", "text": "please"},
            {"case_id": "a", "repeat": 2, "na_reason": "server", "error": "500"},
        ),
        {"polite": polite, "short": short},
    )
    own = frame[frame["scorer"].isin(["polite", "short"])]
    assert own["tier"].tolist() == ["rule"] * 6
    columns = ["scorer", "value", "raw_value", "passed", "reason", "na_reason", "error"]
    assert to_records(own[columns]) == [
        {
            "scorer": "polite",
            "value": 0,
            "raw_value": 0,
            "passed": False,
            "reason": "polite says no",
        },
        {"scorer": "short", "value": 0.75, "raw_value": 3, "passed": True}
        | {"reason": "short enough"},
        {"scorer": "polite", "value": 1, "raw_value": 1, "passed": True}
        | {"reason": "polite says yes"},
        {"scorer": "short", "na_reason": "not_applicable"}
        | {"error": "short says nothing of this case"},
        {"scorer": "polite", "na_reason": "server", "error": "500"},
        {"scorer": "short", "na_reason": "server", "error": "500"},
    ]


def test_a_rule_of_a_users_own_spares_the_judge() -> None:
    judged = golden({"id": "a", "rubric": ["polite"]})
    frame = score(judged, outputs({"case_id": "a"}), {"never": lambda *_: False})
    assert frame["na_reason"].fillna("").tolist() == ["skipped_by_rule", ""]


def test_an_own_scorer_that_raises_becomes_a_row() -> None:
    def broken(case: Case, output: MeasuredOutput) -> bool:
        raise RuntimeError("\ud800 half a sign")

    frame = score(TWO, outputs({"case_id": "a", "text": "yes"}), {"broken": broken})
    assert frame["na_reason"].fillna("").tolist() == ["", "scorer_error"]
    assert frame["error"][1].startswith("RuntimeError: ")
    frame["error"][1].encode()


def test_an_own_scorer_that_ends_the_process_becomes_a_row() -> None:
    def exits(case: Case, output: MeasuredOutput) -> bool:
        raise SystemExit(0)

    case = {"id": "a", "input": "x", "must_contain": ["Hello"]}
    frame = score(golden(case), outputs({"case_id": "a", "text": "Hello"}), scorers={"own": exits})
    assert frame["na_reason"].fillna("").tolist() == ["", "scorer_error"]


def test_a_suite_names_scorers_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "own_of_a_suite.py").write_text("def loud(case, output): return 0.25")
    suite = make_suite(
        tmp_path / "golden" / "shop",
        [{"id": "a", "input": "Hi", "expected_exact": "yes"}],
        '[scorers]\nloud = "own_of_a_suite:loud"\n',
    )
    assert case_scorers(suite, suite["a"]) == ["exact", "loud"]
    frame = score(suite, outputs({"case_id": "a", "text": "yes"}))
    assert frame["scorer"].tolist() == ["exact", "loud"]
    assert frame["reason"][1] == "loud says 0.25, 0.5 needed"
    with pytest.raises(ValueError, match="'loud' is taken"):
        score(suite, outputs(), {"loud": lambda *_: True})


def test_results_list_own_scorers_after_the_expectations() -> None:
    output = outputs({"case_id": "b", "text": "sorry"})
    own: dict[str, Any] = {"b_own": lambda *_: False, "a_own": lambda *_: False}
    results = summarize(TWO, output, score(TWO, output, own))
    assert [line.split(":")[0] for line in results["reasons"][1]] == [
        "must_contain",
        "must_not_include",
        "a_own",
        "b_own",
    ]


# Failures of scorers


def test_a_scorer_that_raises_becomes_a_row() -> None:
    broken = golden({"id": "a", "expected_schema": {}, "must_not_include": ["x"]})
    case = broken["a"].model_copy(update={"expected_schema": {"$ref": "http://127.0.0.1:9/"}})
    frame = score(broken.replace([case]), outputs({"case_id": "a", "text": "1"}))
    assert frame["na_reason"].fillna("").tolist() == ["", "scorer_error"]
    assert "127.0.0.1" in frame["error"][1]
    assert frame["passed"].tolist()[0] is True


@pytest.mark.parametrize(
    ("stop_reason", "note"),
    [
        ("end_turn", ""),
        ("max_tokens", " (the answer was cut off)"),
        ("model_context_window_exceeded", " (the answer was cut off)"),
        ("refusal", " (the model declined)"),
        ("step_limit", " (it was still calling tools at the last step)"),
        (None, ""),
    ],
)
def test_a_failure_says_how_the_answer_ended(stop_reason: str | None, note: str) -> None:
    answer = {"case_id": "a", "stop_reason": stop_reason}
    failed = score(TWO, outputs({**answer, "text": "no"}))
    assert failed["reason"].tolist() == [f"expected 'yes', got 'no'{note}"]
    passed = score(TWO, outputs({**answer, "text": "yes"}))
    assert passed["reason"].tolist() == ["is 'yes'"]


def test_the_suite_chooses_the_matching() -> None:
    cases = {"id": "a", "must_contain": ["check"]}
    output = outputs({"case_id": "a", "text": "checkout"})
    assert score(golden(cases), output)["passed"].tolist() == [False]
    assert score(golden(cases, matching="substrings"), output)["passed"].tolist() == [True]


def test_an_output_of_no_case_is_a_mistake() -> None:
    with pytest.raises(KeyError, match="no case 'c' in cases"):
        score(TWO, outputs({"case_id": "c", "text": "x"}))


def test_every_rule_scorer_has_a_name_of_its_own() -> None:
    names = [scorer.name for scorer in SCORERS.values()]
    assert len(set(names)) == len(names)


# summarize


def test_results_sum_up_a_case() -> None:
    suite = golden(
        {"id": "a", "category": "money", "language": "de", "tags": ["edge"], "split": "dev"}
        | {"expected_exact": "yes", "must_not_include": ["x"], "expected_intent": "refund"}
    )
    spent = {"input_tokens": 10, "output_tokens": 2, "cost_usd": 0.5, "latency_ms": 100.0}
    frame = summarize(
        suite,
        outputs(
            {"case_id": "a", "repeat": 1, **spent},
            {"case_id": "a", "repeat": 2, **spent, "latency_ms": 300.0},
            {"case_id": "a", "repeat": 3, "na_reason": "server"},
        ),
        scores(
            ("a", 1, "exact", True),
            ("a", 1, "must_not_include", True),
            ("a", 1, "expected_intent", "no_scorer"),
            ("a", 2, "exact", False),
            ("a", 2, "must_not_include", True),
            ("a", 2, "expected_intent", "no_scorer"),
            ("a", 3, "exact", "server"),
            ("a", 3, "must_not_include", "server"),
            ("a", 3, "expected_intent", "server"),
        ),
    )
    assert_frame_equal(
        frame,
        RESULTS.build(
            [
                {
                    "case_id": "a",
                    "category": "money",
                    "language": "de",
                    "tags": ["edge"],
                    "split": "dev",
                    "n_repeats": 3,
                    "n_scored": 2,  # the third is missing by accident
                    "pass_rate": 0.5,  # of 2, not of 3
                    "state": "unstable",
                    "passed": False,
                    "mean_scores": {"exact": 0.5, "must_not_include": 1.0},
                    "latency_ms": 200.0,  # (100 + 300) / 2
                    "input_tokens": 20,
                    "output_tokens": 4,
                    "cost_usd": 1.0,
                    "n_na_plan": 2,
                    "n_na_accident": 3,
                    "reasons": [
                        "exact: exact of 2",
                        "exact: not scored, server",
                        "must_not_include: not scored, server",
                        "expected_intent: not scored, server",
                    ],
                }
            ]
        ),
    )


@pytest.mark.parametrize(
    ("results", "n_scored", "pass_rate", "state", "passed"),
    [
        ([True], 1, 1.0, "pass", True),
        ([False], 1, 0.0, "fail", False),
        ([True, True], 2, 1.0, "pass", True),
        ([False, False], 2, 0.0, "fail", False),
        ([True, False], 2, 0.5, "unstable", False),
        ([True, "server"], 1, 1.0, "pass", True),
        ([False, "server"], 1, 0.0, "fail", False),
        (["server", "miss"], 0, pd.NA, pd.NA, pd.NA),
        (["no_judge"], 0, pd.NA, pd.NA, pd.NA),
    ],
)
def test_states(
    results: list[bool | str], n_scored: int, pass_rate: Any, state: Any, passed: Any
) -> None:
    suite = golden({"id": "a", "expected_exact": "yes"})
    rows = [("a", repeat, "exact", result) for repeat, result in enumerate(results, 1)]
    frame = summarize(suite, OUTPUTS.empty(), scores(*rows))
    found = frame[["n_scored", "pass_rate", "state", "passed"]].iloc[0].tolist()
    assert [value is pd.NA or value for value in found] == [
        value is pd.NA or value for value in (n_scored, pass_rate, state, passed)
    ]


def test_one_failing_score_fails_a_repeat_and_one_accident_leaves_it_out() -> None:
    frame = scores(
        ("a", 1, "x", True),
        ("a", 1, "y", False),
        ("a", 2, "x", True),
        ("a", 2, "y", "server"),  # half of an answer is no answer
        ("a", 3, "x", True),
        ("a", 3, "y", "no_judge"),  # planned
        ("a", 4, "y", "no_judge"),  # no verdict
    )
    assert repeat_passes(to_records(frame)) == [False, True]


def test_a_case_that_was_not_run_has_a_row_too() -> None:
    frame = summarize(TWO, OUTPUTS.empty(), SCORES.empty())
    assert frame["case_id"].tolist() == ["a", "b"]
    assert frame["n_repeats"].tolist() == [0, 0]
    assert frame[["pass_rate", "state", "passed", "latency_ms", "cost_usd"]].isna().all(axis=None)


def test_costs_that_are_not_known_are_not_zero() -> None:
    frame = summarize(TWO, outputs({"case_id": "a", "text": "x"}), SCORES.empty())
    assert frame[["cost_usd", "input_tokens", "output_tokens", "latency_ms"]].isna().all(axis=None)


# slices


def results(*rows: tuple[str, float | None], **fields: list[Any]) -> pd.DataFrame:
    """Build results of (case, pass rate), with further columns."""
    return RESULTS.build(
        {"case_id": case_id, "pass_rate": rate}
        | {name: values[number] for name, values in fields.items()}
        for number, (case_id, rate) in enumerate(rows)
    )


def test_slices_have_rates_with_n_interval_and_bounds() -> None:
    # 50 pass, 6 fail, 4 are missing: 50/56 = 0.892857, and over the 60 planned from
    # 50/60 = 0.833333, if the 4 had failed, to 54/60 = 0.9. Interval: Wilson for 50 of 56 by
    # scipy, binomtest(50, 56).proportion_ci(method="wilson").
    rates: list[float | None] = [1.0] * 50 + [0.0] * 6 + [None] * 4
    frame = slices(results(*((f"c{n}", rate) for n, rate in enumerate(rates))), [])
    row = to_records(frame)[0]
    assert (row["slice"], row["value"]) == ("all", "all")
    assert (row["n_planned"], row["n_scored"]) == (60, 56)
    assert row["pass_rate"] == pytest.approx(0.892857142857, abs=1e-9)
    assert row["bound_low"] == pytest.approx(0.833333333333, abs=1e-9)
    assert row["bound_high"] == pytest.approx(0.9, abs=1e-9)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((0.7853155, 0.9499606), abs=1e-7)
    assert row["n_compared"] == 0
    assert "baseline_pass_rate" not in row


def test_slices_are_sorted_and_tags_overlap() -> None:
    frame = slices(
        results(
            ("a", 1.0),
            ("b", 0.0),
            ("c", None),
            category=["z", "m", None],
            tags=[["t2", "t1"], ["t1", "t1"], []],
        ),
        ["tags", "category"],
    )
    assert list(zip(frame["slice"], frame["value"], frame["n_planned"], strict=True)) == [
        ("all", "all", 3),
        ("tags", "t1", 2),  # a tag that is given twice counts once
        ("tags", "t2", 1),
        ("category", "m", 1),
        ("category", "z", 1),
    ]
    assert frame["pass_rate"].tolist() == [0.5, 0.5, 1.0, 0.0, 1.0]


def test_the_baseline_rate_is_over_what_both_sides_scored() -> None:
    frame = slices(
        results(("a", 1.0), ("b", 0.0), ("c", None), ("d", 1.0), language=["en", "en", "en", "de"]),
        ["language"],
        {"a": 0.5, "b": 1.0, "c": 1.0, "gone": 0.0},
    )
    rows = {row["value"]: row for row in to_records(frame)}
    assert (rows["all"]["baseline_pass_rate"], rows["all"]["n_compared"]) == (0.75, 2)
    assert (rows["en"]["baseline_pass_rate"], rows["en"]["n_compared"]) == (0.75, 2)
    assert "baseline_pass_rate" not in rows["de"]
    assert rows["de"]["n_compared"] == 0


def test_a_slice_without_scores_has_no_rate() -> None:
    row = to_records(slices(results(("a", None)), []))[0]
    assert row == {
        "slice": "all",
        "value": "all",
        "n_planned": 1,
        "n_scored": 0,
        "bound_low": 0.0,
        "bound_high": 1.0,
        "n_compared": 0,
    }


# All of them


def test_empty_frames_give_empty_frames() -> None:
    nothing = GoldenSet(())
    assert_frame_equal(score(nothing, OUTPUTS.empty()), SCORES.empty())
    assert_frame_equal(summarize(nothing, OUTPUTS.empty(), SCORES.empty()), RESULTS.empty())
    frame = slices(RESULTS.empty(), ["category", "tags"])
    assert to_records(frame) == [
        {"slice": "all", "value": "all", "n_planned": 0, "n_scored": 0, "n_compared": 0}
    ]
    assert frame.dtypes.equals(SLICES.empty().dtypes)


answers = st.lists(st.sampled_from(["yes", "5 days", "free sorry", None]), min_size=6, max_size=6)


@given(answers, st.permutations(range(6)))
def test_the_order_of_outputs_and_scores_changes_no_result(
    texts: list[str | None], order: list[int]
) -> None:
    rows = [
        {"case_id": case_id, "repeat": repeat, "latency_ms": 0.1 * repeat, "cost_usd": 0.1}
        for case_id in "ab"
        for repeat in (1, 2, 3)
    ]
    rows = [
        row | ({"text": text} if text else {"na_reason": "server"})
        for row, text in zip(rows, texts, strict=True)
    ]
    one = outputs(*rows)
    other = outputs(*(rows[number] for number in order))
    scores_one = score(TWO, one)
    scores_other = score(TWO, other).sample(frac=1, random_state=len(order) + order[0])
    found = summarize(TWO, one, scores_one)
    assert_frame_equal(found, summarize(TWO, other, scores_other))
    assert_frame_equal(
        slices(found, ["tags"]), slices(found.iloc[::-1].reset_index(drop=True), ["tags"])
    )


@given(answers)
def test_missing_values_never_lower_or_raise_a_rate(texts: list[str | None]) -> None:
    rows = [
        {"case_id": "a", "repeat": n} | ({"text": text} if text else {"na_reason": "server"})
        for n, text in enumerate(texts, 1)
    ]
    frame = outputs(*rows)
    whole = summarize(TWO, frame, score(TWO, frame))
    present = outputs(*(row for row in rows if "text" in row))
    part = summarize(TWO, present, score(TWO, present))
    columns = ["n_scored", "pass_rate", "state", "passed", "mean_scores"]
    assert_frame_equal(whole[columns], part[columns])

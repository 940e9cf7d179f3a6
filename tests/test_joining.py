from __future__ import annotations

from typing import Any

import pandas as pd
from pandas.testing import assert_frame_equal

from evalnb.frames import CASES, LABELS, OUTPUTS, SCORES, VERDICTS
from evalnb.joining import join_counts, join_ratings
from evalnb.ratings import HUMAN, JUDGE, raters


def label(case: str, output: str, value: float | None = None, **more: object) -> dict[str, object]:
    return {
        "case_id": case,
        "run_id": "run-1",
        "output_hash": output,
        "rater": "scripted-anna",
        "axis": "tone",
        "value": value,
        "action": "label",
        **more,
    }


def score(case: str, output: str, raw: float | None = None, **more: object) -> dict[str, object]:
    return {
        "run_id": "run-1",
        "case_id": case,
        "repeat": 1,
        "output_hash": output,
        "scorer": "tone",
        "tier": "judge",
        "raw_value": raw,
        "judge_model": "small",
        "judge_model_answered": "small-2026" if raw is not None else None,
        "judge_fingerprint": "f1",
        **more,
    }


def values(ratings: pd.DataFrame) -> list[tuple[str, str, float | None]]:
    given = [None if pd.isna(value) else float(value) for value in ratings["value"]]
    return list(zip(ratings["item"], ratings["rater"], given, strict=True))


def test_a_label_meets_the_score_of_the_same_output() -> None:
    labels = LABELS.build([label("a", "h1", 4, note="curt"), label("b", "h2", 2)])
    scores = SCORES.build(
        [score("a", "h1", 5, reason="polite"), score("b", "h2", 2), score("c", "h3", 1)]
    )
    found = join_ratings(labels, scores)
    assert values(found) == [
        ("a h1", "scripted-anna", 4),
        ("b h2", "scripted-anna", 2),
        ("a h1", "small-2026", 5),
        ("b h2", "small-2026", 2),
    ]
    assert found.loc[0, "reason"] == "curt"
    assert found.loc[2, "reason"] == "polite"
    assert list(found["kind"]) == [HUMAN, HUMAN, JUDGE, JUDGE]


def test_labels_without_a_score_are_left_out_and_counted() -> None:
    labels = LABELS.build(
        [
            label("a", "h1", 4),
            label("a", "h9", 4),
            label("gone", "h1", 4),
            label("b", "h2", action="skip"),
            label("c", "h3", 1, other_hash="h4"),
            label("d", "h5", 3),
            label("a", "h1", 3, axis="pace"),
        ]
    )
    by_plan = {"na_reason": "skipped_by_rule", "judge_model": None, "judge_fingerprint": None}
    scores = SCORES.build(
        [score("a", "h1", 5), score("b", "h2", 2), score("d", "h5", None, **by_plan)]
    )
    assert values(join_ratings(labels, scores)) == [
        ("a h1", "scripted-anna", 4),
        ("a h1", "small-2026", 5),
    ]
    expected = pd.DataFrame(
        {
            "axis": pd.array(["tone", "pace"], dtype="string"),
            "rater": pd.array(["scripted-anna"] * 2, dtype="string"),
            "joined": [1, 0],
            "skipped": [1, 0],
            "other_output": [2, 0],
            "not_judged": [1, 1],
            "pair": [1, 0],
        }
    ).astype(dict.fromkeys(["joined", "skipped", "other_output", "not_judged", "pair"], "Int64"))
    assert_frame_equal(join_counts(labels, scores), expected)


def test_a_verdict_that_failed_is_missing_and_of_the_same_judge() -> None:
    labels = LABELS.build([label("a", "h1", 4), label("b", "h2", 2)])
    scores = SCORES.build([score("a", "h1", 5), score("b", "h2", na_reason="refusal")])
    found = join_ratings(labels, scores)
    assert raters(found, JUDGE) == ["small-2026"]
    assert pd.isna(found["value"].iloc[3])
    assert found["na_reason"].iloc[3] == "refusal"


def test_of_several_runs_the_one_that_was_labelled_counts() -> None:
    labels = LABELS.build([label("a", "h1", 4, run_id="run-2"), label("b", "h2", 4, run_id="old")])
    scores = SCORES.build(
        [
            score("a", "h1", 1),
            score("a", "h1", 3, run_id="run-2", repeat=2),
            score("b", "h2", 2),
            score("b", "h2", 5, run_id="run-2", repeat=2),
        ]
    )
    found = join_ratings(labels, scores)
    judged = found[found["kind"] == JUDGE]
    assert dict(zip(judged["item"], judged["value"], strict=True)) == {"a h1": 3, "b h2": 2}


def test_two_judges_of_one_model_are_told_apart() -> None:
    labels = LABELS.build([label("a", "h1", 4)])
    scores = SCORES.build(
        [score("a", "h1", 1), score("a", "h1", 3, repeat=2, judge_fingerprint="f2")]
    )
    assert raters(join_ratings(labels, scores), JUDGE) == ["small-2026 f1", "small-2026 f2"]


def test_two_raters_share_the_judge_s_row() -> None:
    labels = LABELS.build([label("a", "h1", 4), label("a", "h1", 2, rater="scripted-bo")])
    found = join_ratings(labels, SCORES.build([score("a", "h1", 3)]))
    assert values(found) == [
        ("a h1", "scripted-anna", 4),
        ("a h1", "scripted-bo", 2),
        ("a h1", "small-2026", 3),
    ]


def test_texts_slices_cost_and_time_come_with_it() -> None:
    labels = LABELS.build([label("a", "h1", 4)])
    scores = SCORES.build([score("a", "h1", 5, cost_usd=0.002)])
    outputs = OUTPUTS.build([{"case_id": "a", "repeat": 1, "output_hash": "h1", "text": "Gladly."}])
    cases = CASES.build([{"case_id": "a", "input": "Help!", "category": "orders"}])
    verdicts = VERDICTS.build(
        {
            "run_id": "run-1",
            "case_id": "a",
            "repeat": 1,
            "judge": "axes",
            "part": "all",
            "judge_repeat": number,
            "judge_fingerprint": "f1",
            "latency_ms": took,
        }
        for number, took in ((1, 800.0), (2, 1000.0))
    )
    found = join_ratings(labels, scores, outputs=outputs, verdicts=verdicts, cases=cases)
    judge: Any = found[found["kind"] == JUDGE].iloc[0]
    assert judge["text"] == "Asked: Help!\n\nAnswered: Gladly."
    assert judge["category"] == "orders"
    assert (judge["cost_usd"], judge["latency_ms"]) == (0.002, 900.0)


def test_outputs_of_one_case_belong_together() -> None:
    labels = LABELS.build([label("a", "h1", 4), label("a", "h2", 2), label("b", "h3", 3)])
    scores = SCORES.build([score("a", "h1", 4), score("a", "h2", 2, repeat=2), score("b", "h3", 3)])
    found = join_ratings(labels, scores)
    assert found["cluster"].tolist() == ["a", "a", "b"] * 2
    alone = join_ratings(labels.iloc[1:], scores)
    assert alone["cluster"].isna().all()


def test_nothing_joined_is_an_empty_frame() -> None:
    found = join_ratings(LABELS.empty(), SCORES.empty())
    assert found.empty
    assert join_counts(LABELS.empty(), SCORES.empty()).empty

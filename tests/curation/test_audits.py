"""Audits: which outputs to label next, given the labels that there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evalnb.corrected import corrected_scores
from evalnb.curation.audits import audit_sample
from evalnb.curation.labels import append_label, label_path
from evalnb.curation.samples import describe_sample, read_sample, sample_id, write_sample
from evalnb.curation.sampling import Sample, sample_for_rating
from evalnb.errors import InputError
from evalnb.frames import LABELS, OUTPUTS, SCORES, to_records
from evalnb.golden import JudgingSettings, read_golden
from tests.commands import evalnb
from tests.suites import copy_of_support, make_suite

LEVELS = {1: 20, 3: 20, 5: 60}
RATER = "scripted-ann"


def outputs_and_scores(levels: dict[int, int] = LEVELS) -> tuple[pd.DataFrame, pd.DataFrame]:
    given = [level for level, count in levels.items() for _ in range(count)]
    shared = [
        {"run_id": "run-1", "case_id": f"case-{k}", "repeat": 1, "output_hash": f"h{k}"}
        for k in range(len(given))
    ]
    scores = [
        {
            **row,
            "scorer": "rubric",
            "tier": "judge",
            "value": (level - 1) / 4,
            "raw_value": level,
            "passed": level >= 4,
        }
        for row, level in zip(shared, given, strict=True)
    ]
    return OUTPUTS.build(shared), SCORES.build(scores)


def labels_of(sample: Sample, name: str, values: dict[str, float]) -> pd.DataFrame:
    """Return labels of what was drawn: the value that its stratum is given."""
    rows = to_records(sample.drawn)
    return LABELS.build(
        {"case_id": row["case_id"], "output_hash": row["output_hash"], "rater": RATER,
         "axis": "rubric", "value": values[row["stratum"]], "action": "label", "sample": name}
        for row in rows
    )  # fmt: skip


def without(labels: pd.DataFrame, column: str) -> pd.DataFrame:
    return LABELS.build(
        {name: value for name, value in row.items() if name != column} for row in to_records(labels)
    )


def sizes_of(sample: Sample) -> dict[str, int]:
    return {str(name): int(n) for name, n in sample.drawn["stratum"].value_counts().items()}


def test_more_is_labelled_where_people_contradict_the_judge() -> None:
    outputs, scores = outputs_and_scores()
    first = sample_for_rating(outputs, scores, n=30, by="judge_score")
    labels = labels_of(first, "s", {"1": 1.0, "3": 3.0, "5": 5.0})
    # Of level 3 people say 1 and 5 in turn; they agree with the judge on the others.
    at_3 = labels["case_id"].isin(first.drawn.loc[first.drawn["stratum"] == "3", "case_id"])
    labels.loc[at_3, "value"] = [1.0 + 4.0 * (k % 2) for k in range(int(at_3.sum()))]
    found = audit_sample(outputs, scores, labels, {"s": first}, n=12)
    sizes = sizes_of(found)
    assert sum(sizes.values()) == found.n == 12
    assert sizes["3"] > 5 > sizes.get("1", 0) + sizes.get("5", 0) - 5
    assert not set(found.drawn["case_id"]) & set(first.drawn["case_id"])
    assert (found.by, found.scorer, found.n_labelled) == ("audit", "rubric", 30)
    # Chances are of what was left to draw from.
    left = {level: LEVELS[int(level)] - n for level, n in sizes_of(first).items()}
    assert found.strata == left
    for row in to_records(found.drawn):
        assert row["probability"] == sizes[row["stratum"]] / left[row["stratum"]]


def test_without_labels_levels_get_what_they_are_worth_alike() -> None:
    outputs, scores = outputs_and_scores()
    found = audit_sample(outputs, scores, LABELS.empty(), {}, n=50)
    # in proportion to 20, 20 and 60
    assert sizes_of(found) == {"1": 10, "3": 10, "5": 30}
    assert found.n_labelled == 0
    shuffled = outputs.sample(frac=1, random_state=1)
    again = audit_sample(shuffled, scores, LABELS.empty(), {}, n=50)
    pd.testing.assert_frame_equal(found.drawn, again.drawn)
    assert found.drawn["order"].tolist() == list(range(1, 51))
    other = audit_sample(outputs, scores, LABELS.empty(), {}, n=50, seed=1)
    assert set(other.drawn["case_id"]) != set(found.drawn["case_id"])


def test_labels_that_were_not_drawn_by_chance_or_by_these_levels_count_for_nothing() -> None:
    outputs, scores = outputs_and_scores()
    first = sample_for_rating(outputs, scores, n=30, by="judge_score")
    tone = scores.assign(scorer="tone")
    by_tone = sample_for_rating(outputs, tone, n=30, by="judge_score")
    values = {"1": 1.0, "3": 3.0, "5": 5.0}
    labels = labels_of(first, "s", values)
    for given, samples in (
        (without(labels, "sample"), {"s": first}),
        (labels.assign(axis="tone"), {"s": first}),
        (without(labels, "value"), {"s": first}),
        (labels.assign(other_hash="h0"), {"s": first}),
        (labels_of(by_tone, "t", values), {"t": by_tone}),
    ):
        assert audit_sample(outputs, scores, given, samples, n=12).n_labelled == 0
    assert audit_sample(outputs, scores, labels, {"s": first}, n=12).n_labelled == 30


def test_labels_of_both_draws_correct_together() -> None:
    outputs, scores = outputs_and_scores()
    first = sample_for_rating(outputs, scores, n=20)
    drawn = first.drawn.merge(scores[["case_id", "raw_value"]], on="case_id")
    levels = dict(zip(drawn["case_id"], drawn["raw_value"], strict=True))
    labels = labels_of(first, "s", {"all": 0.0})
    labels["value"] = [float(levels[case_id]) for case_id in labels["case_id"]]
    audit = audit_sample(outputs, scores, labels, {"s": first}, n=20)
    more = labels_of(audit, "a", {"1": 1.0, "3": 3.0, "5": 5.0})
    together = pd.concat([labels, more], ignore_index=True)
    found = corrected_scores(scores, together, {"s": first, "a": audit}, JudgingSettings())
    rows = found.set_index(["quantity", "metric"])["estimate"]
    # People say what the judge says: 0.2 * 1 + 0.2 * 3 + 0.6 * 5, however labels are spread.
    assert rows["mean", "corrected"] == pytest.approx(3.8)
    assert rows["mean", "labels_only"] == pytest.approx(3.8)
    assert rows["pass_rate", "corrected"] == pytest.approx(0.6)


def test_it_is_said_how_labels_are_spread() -> None:
    outputs, scores = outputs_and_scores()
    found = audit_sample(outputs, scores, LABELS.empty(), {}, n=50)
    lines = [line.strip() for line in describe_sample(found)]
    assert lines[0] == "50 of 100 outputs, to correct rubric by, seed 0"
    assert lines[1].startswith("besides 0 labels that there are")
    assert "level 5: 30 of 60, each with the chance 0.500" in lines


def test_an_audit_is_written_and_read_back(tmp_path: Path) -> None:
    case = {"id": "a", "input": "Hello?", "must_contain": ["hello"]}
    golden = make_suite(tmp_path / "golden" / "shop", [case])
    outputs, scores = outputs_and_scores()
    sample = audit_sample(outputs, scores, LABELS.empty(), {}, n=20)
    path = write_sample(golden, sample)
    again = read_sample(golden, path.stem)
    assert path.stem.startswith("audit-20-")
    assert sample_id(again) == path.stem
    assert (again.by, again.n_labelled, again.strata) == ("audit", 0, sample.strata)


@pytest.mark.parametrize(
    ("n", "levels", "scorer", "said"),
    [
        (3, LEVELS, None, "no audit can be drawn: 3 labels are too few for 3 strata"),
        (3, LEVELS, "rubrik", "Did you mean 'rubric'"),
        (3, {}, None, "no judge scored"),
    ],
)
def test_what_cannot_be_drawn_is_said(
    n: int, levels: dict[int, int], scorer: str | None, said: str
) -> None:
    outputs, scores = outputs_and_scores(levels)
    with pytest.raises(InputError, match=said):
        audit_sample(outputs, scores, LABELS.empty(), {}, n=n, scorer=scorer)


def test_where_all_is_labelled_nothing_is_left() -> None:
    outputs, scores = outputs_and_scores({1: 3, 5: 3})
    first = sample_for_rating(outputs, scores, n=6)
    labels = labels_of(first, "s", {"all": 1.0})
    with pytest.raises(InputError, match="no output with a score of 'rubric' is left to label"):
        audit_sample(outputs, scores, labels, {"s": first}, n=5)


def test_the_command_builds_on_the_labels_of_the_suite(tmp_path: Path) -> None:
    suite = copy_of_support(tmp_path)
    evalnb("run", "golden/support", "--tier", "full", "--no-notebook", folder=tmp_path)
    ask: tuple[Any, ...] = ("sample-for-rating", "golden/support", "--by", "audit")
    first = evalnb(*ask, "--scorer", "politeness", "--n", "20", folder=tmp_path)
    assert first.code == 0
    assert "outputs, to correct politeness by, seed 0" in first.out
    assert "besides 0 labels that there are" in first.out
    (path,) = (suite / "labels" / "samples").glob("audit-*.jsonl")
    golden = read_golden(suite)
    sample = read_sample(golden, path.stem)
    for row in to_records(labels_of(sample, path.stem, dict.fromkeys(sample.strata, 3.0))):
        line = {**row, "axis": "politeness", "at": "2026-05-31T09:30:00+00:00"}
        append_label(label_path(golden, RATER), line)
    second = evalnb(*ask, "--scorer", "politeness", "--n", "10", folder=tmp_path)
    assert second.code == 0
    assert "besides 20 labels that there are" in second.out
    assert second.error == ""

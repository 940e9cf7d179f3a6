"""What labels make of judges' scores; all labels are scripted, and say so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

from evalnb.corrected import corrected_by_labels, corrected_scores, labels_of_samples
from evalnb.curation.labels import append_label, label_path
from evalnb.curation.samples import sample_id, write_sample
from evalnb.curation.sampling import sample_for_rating
from evalnb.errors import InputError
from evalnb.frames import LABELS, OUTPUTS, SCORES, to_records
from evalnb.golden import JudgingSettings
from evalnb.reports.correction_words import warning_sentences
from tests.suites import make_suite

if TYPE_CHECKING:
    from pathlib import Path

    from evalnb.curation.sampling import By, Sample
    from evalnb.golden import GoldenSet

RATER = "scripted-ann"


def verdicts(values: list[float]) -> pd.DataFrame:
    return SCORES.build(
        {"case_id": f"c{n}", "repeat": 1, "output_hash": f"h{n}", "scorer": "tone", "tier": "judge",
         "raw_value": value, "value": (value - 1) / 4, "passed": value >= 4}
        for n, value in enumerate(values)
    )  # fmt: skip


def people(values: dict[int, float], sample: str | None) -> pd.DataFrame:
    return LABELS.build(
        {"case_id": f"c{n}", "output_hash": f"h{n}", "rater": RATER, "axis": "tone",
         "value": value, "action": "label", "sample": sample}
        for n, value in values.items()
    )  # fmt: skip


def drawn(scores: pd.DataFrame, numbers: range, by: By = "random") -> Sample:
    """Draw all of these outputs."""
    outputs = OUTPUTS.build(
        {"case_id": f"c{n}", "repeat": 1, "output_hash": f"h{n}"} for n in numbers
    )
    return sample_for_rating(outputs, scores, n=len(numbers), by=by)


def warned(frame: pd.DataFrame) -> set[str]:
    return {warning for row in to_records(frame) for warning in row.get("warnings", [])}


def test_a_pass_rate_is_corrected_by_the_labels_of_a_sample() -> None:
    # The judge passes 6 of 10; people pass 2 of the 3 that it passed and were labelled, and 1 of
    # the 2 that it did not: 0.6 x 2/3 + 0.4 x 1/2 = 0.6.
    scores = verdicts([5, 5, 4, 4, 4, 5, 1, 2, 3, 1])
    labels = people({0: 5, 1: 4, 2: 3, 6: 4, 7: 1}, "s")
    samples = {"s": drawn(scores, range(10))}
    found = corrected_scores(scores, labels, samples, JudgingSettings())
    rows = found.set_index(["quantity", "metric"])["estimate"]
    assert rows["pass_rate", "raw"] == 0.6
    assert rows["pass_rate", "labels_only"] == 0.6
    assert rows["pass_rate", "corrected"] == pytest.approx(0.6)
    # 3.4 is the judge's mean over the 5 others, (4+4+5+3+1)/5; labels less verdicts: 0-1-1+3-1 = 0
    assert rows["mean", "corrected"] == pytest.approx(3.4)


def test_labels_of_answers_that_are_gone_are_said_and_those_without_a_verdict_are_not() -> None:
    scores = verdicts([5, 5, 4, 1])
    # What a failed rule kept from the judge is still an answer of the run.
    scores.loc[3, ["raw_value", "value", "passed"]] = pd.NA
    samples = {"s": drawn(scores, range(10))}
    here = corrected_scores(scores, people({0: 5, 3: 1}, "s"), samples, JudgingSettings())
    gone = corrected_scores(scores, people({0: 5, 9: 1}, "s"), samples, JudgingSettings())
    assert "labels_of_changed_outputs" not in warned(here)
    assert "labels_of_changed_outputs" in warned(gone)


def test_labels_of_no_sample_correct_nothing() -> None:
    scores = verdicts([5, 5, 4])
    assert corrected_scores(scores, people({0: 5}, None), {}, JudgingSettings()).empty


def test_a_label_that_names_a_sample_it_was_not_drawn_in_does_not_count() -> None:
    scores = verdicts([5, 5, 4, 2])
    samples = {"s": drawn(scores, range(2))}
    own, more = ({0: 5.0, 1: 3.0}, {0: 5.0, 1: 3.0, 3: 5.0})
    pd.testing.assert_frame_equal(
        corrected_scores(scores, people(more, "s"), samples, JudgingSettings()),
        corrected_scores(scores, people(own, "s"), samples, JudgingSettings()),
    )
    assert corrected_scores(scores, people({3: 5}, "s"), samples, JudgingSettings()).empty


def test_levels_that_are_not_those_of_the_draw_are_said() -> None:
    before, after = verdicts([5, 5, 4, 2, 2, 1]), verdicts([5, 5, 4, 4, 2, 1])
    labels = people({0: 5, 1: 4, 3: 2}, "s")
    by_level = {"s": drawn(before, range(6), "judge_score")}
    same = corrected_scores(before, labels, by_level, JudgingSettings())
    assert "drawn_by_other_scores" not in warned(same)
    other = corrected_scores(after, labels, by_level, JudgingSettings())
    assert "drawn_by_other_scores" in warned(other)
    assert any("draw and label a new sample" in text for text in warning_sentences(other))
    at_random = {"s": drawn(before, range(6))}
    found = corrected_scores(after, labels, at_random, JudgingSettings())
    assert "drawn_by_other_scores" not in warned(found)


@pytest.fixture
def golden(tmp_path: Path) -> GoldenSet:
    return make_suite(tmp_path / "shop", [{"id": "c0", "input": "Hello?", "must_contain": ["hi"]}])


def write_labels(golden: GoldenSet, sample: str) -> Path:
    path = label_path(golden, RATER)
    for row in to_records(people({0: 5, 1: 4, 2: 3, 3: 2}, sample)):
        append_label(path, {**row, "at": "2026-12-03T00:00:00+00:00"})
    return path


def test_lines_that_cannot_be_read_are_said_beside_what_is_corrected(golden: GoldenSet) -> None:
    scores = verdicts([5, 5, 4, 2])
    sample = drawn(scores, range(4))
    write_sample(golden, sample)
    path = write_labels(golden, sample_id(sample))
    whole = corrected_by_labels(golden, scores)
    with path.open("a") as file:
        file.write("{torn\n")
    torn = corrected_by_labels(golden, scores)
    assert torn["estimate"].equals(whole["estimate"])
    assert "unreadable_labels" not in warned(whole)
    assert "unreadable_labels" in warned(torn)
    assert any("cannot be read" in text for text in warning_sentences(torn))
    assert "unreadable_labels" not in warned(torn[torn["metric"] == "raw"])


def test_holdout_cases_that_were_not_drawn_from_are_left_out(tmp_path: Path) -> None:
    cases = [
        {"id": f"c{n}", "input": f"Hello {n}", "must_contain": ["hi"],
         "split": "holdout" if n > 3 else "dev"}
        for n in range(6)
    ]  # fmt: skip
    golden = make_suite(tmp_path / "shop", cases)
    scores = verdicts([5, 5, 4, 2, 1, 1])
    sample = drawn(scores, range(4))
    write_sample(golden, sample)
    write_labels(golden, sample_id(sample))
    found = corrected_by_labels(golden, scores)
    # 3 of 4 passed with a mean of 4; with the two of the holdout it would be 3 of 6 and 3.
    raw = found[found["metric"] == "raw"]
    assert set(raw["n"]) == {4}
    assert raw["estimate"].to_list() == [0.75, 4.0]


def test_a_sample_that_is_gone_is_said(golden: GoldenSet) -> None:
    write_labels(golden, "random-4-0123abcd")
    with pytest.raises(InputError, match="there is no sample 'random-4-0123abcd'"):
        labels_of_samples(golden)


def test_a_suite_without_labels_corrects_nothing(golden: GoldenSet) -> None:
    labels, samples, problems = labels_of_samples(golden)
    assert (len(labels), samples, problems) == (0, {}, [])
    assert corrected_by_labels(golden, verdicts([5, 1])).empty

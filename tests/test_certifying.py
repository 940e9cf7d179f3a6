"""From labels to a certificate to a gate that honours it; all labels are scripted, and say so."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

from evalnb.certificates import read_certificates, write_certificate
from evalnb.certifying import certify
from evalnb.corrected import corrected_scores
from evalnb.curation.labels import append_label, label_path, read_labels
from evalnb.curation.samples import sample_id, write_sample
from evalnb.curation.sampling import sample_for_rating
from evalnb.errors import InputError
from evalnb.evaluation import evaluate
from evalnb.frames import LABELS, OUTPUTS, SCORES, to_records
from evalnb.golden import JudgingSettings, read_golden
from evalnb.reports.verdicts import judge_sentences
from evalnb.results import new_run_folder, write_run
from evalnb.systems import load_system
from tests.commands import evalnb
from tests.suites import copy_of_support

if TYPE_CHECKING:
    from pathlib import Path

    from evalnb.golden import GoldenSet
    from evalnb.runs import Run

DAY = date(2026, 12, 3)
RATER = "scripted-ann"


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> GoldenSet:
    return read_golden(copy_of_support(tmp_path_factory.mktemp("certifying")))


def full_run(golden: GoldenSet, day: date = DAY) -> Run:
    return evaluate(
        golden, load_system(golden), run_id="r", as_of=day, progress="none", tier="full"
    )


@pytest.fixture(scope="module")
def run(suite: GoldenSet) -> Run:
    return full_run(suite)


def judged(run: Run, axis: str) -> pd.DataFrame:
    rows = run.scores[(run.scores["scorer"] == axis) & run.scores["raw_value"].notna()]
    return rows.drop_duplicates(["case_id", "output_hash"])


def scripted(run: Run, axis: str, *, off: int, sample: str | None = None) -> pd.DataFrame:
    """Say what the judge said, but one level lower or higher on every `off`-th output."""
    rows = []
    for number, row in enumerate(to_records(judged(run, axis))):
        value = row["raw_value"]
        if number % off == 0:
            value += 1 if value < 5 else -1
        rows.append(
            {**{name: row[name] for name in ("case_id", "output_hash")}, "run_id": "r",
             "rater": RATER, "axis": axis, "value": value, "action": "label", "sample": sample,
             "at": "2026-12-03T00:00:00+00:00"}
        )  # fmt: skip
    return LABELS.build(rows)


def test_a_certificate_has_the_agreement_of_each_axis(suite: GoldenSet, run: Run) -> None:
    labels = pd.concat([scripted(run, "politeness", off=3), scripted(run, "factual", off=2)])
    (found,) = certify(suite, run, labels, issued=DAY, days=10)
    assert (found.judge, found.run_id, found.raters) == ("axes", "r", [RATER])
    assert (found.issued, found.expires) == (DAY, DAY + timedelta(days=10))
    assert set(found.axes) == {"politeness", "factual"}
    for axis, off in (("politeness", 3), ("factual", 2)):
        verdicts = judged(run, axis)["raw_value"].astype(int)
        people = scripted(run, axis, off=off)["value"].astype(int)
        expected = cohen_kappa_score(people, verdicts, weights="quadratic", labels=range(1, 6))
        assert found.axes[axis].n == len(verdicts)
        if np.isnan(expected):
            assert found.axes[axis].estimate is None
        else:
            assert found.axes[axis].estimate == pytest.approx(expected)


def test_labels_of_other_outputs_certify_nothing(suite: GoldenSet, run: Run) -> None:
    other = scripted(run, "politeness", off=3).assign(output_hash="f" * 12)
    other = LABELS.check(other.drop_duplicates("case_id").astype(LABELS.columns))
    with pytest.raises(InputError, match=r"no label stands beside a verdict .* other output"):
        certify(suite, run, other, issued=DAY)
    with pytest.raises(InputError, match="there are no labels"):
        certify(suite, run, LABELS.empty(), issued=DAY)


def test_a_judge_that_agrees_counts_in_the_next_run(suite: GoldenSet, run: Run) -> None:
    (found,) = certify(suite, run, scripted(run, "politeness", off=50), issued=DAY)
    if found.axes["politeness"].grade == "revise":
        pytest.fail("the verdicts are too alike to show agreement")
    path = write_certificate(suite, found)
    try:
        later = full_run(suite, DAY + timedelta(days=1))
        expired = full_run(suite, DAY + timedelta(days=60))
    finally:
        path.unlink()
    assert later.manifest["counting"] == ["politeness"]
    notes = later.decision.set_index("scorer")["rule"]
    assert notes["politeness"] == "certified_judge"
    assert notes["factual"] == "advisory_judge"
    assert "Verdicts of politeness count" in " ".join(judge_sentences(later))
    assert expired.manifest["counting"] == []
    assert "the certificate expired on" in " ".join(judge_sentences(expired))


def test_the_command_writes_a_certificate_from_the_labels(tmp_path: Path) -> None:
    golden = read_golden(copy_of_support(tmp_path))
    run = full_run(golden)
    folder = new_run_folder(golden, datetime.now(UTC))
    write_run(folder, replace(run, manifest={**run.manifest, "run_id": folder.name}))
    without = evalnb("certify", "golden/support", folder=tmp_path)
    assert without.code == 2
    assert "there are no labels" in without.error
    records = [
        {**row, "run_id": folder.name, "sample": None}
        for row in to_records(scripted(run, "politeness", off=50))
    ]
    for record in records:
        append_label(label_path(golden, RATER), record)
    done = evalnb("certify", "golden/support", "--days", "7", folder=tmp_path)
    assert done.code == 0, done.error
    assert "judge axes (smollm2-135m-instruct), until" in done.out
    assert "politeness:" in done.out
    (certificate,) = read_certificates(golden)
    assert certificate.raters == [RATER]
    refused = evalnb("certify", "golden/support", folder=tmp_path, CI="true")
    assert refused.code == 2
    assert "a judge is not certified in CI" in refused.error


# Corrected scores


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


def test_a_pass_rate_is_corrected_by_the_labels_of_a_sample() -> None:
    # The judge passes 6 of 10; people pass 2 of the 3 that it passed and were labelled, and 1 of
    # the 2 that it did not: 0.6 x 2/3 + 0.4 x 1/2 = 0.6.
    scores = verdicts([5, 5, 4, 4, 4, 5, 1, 2, 3, 1])
    labels = people({0: 5, 1: 4, 2: 3, 6: 4, 7: 1}, "s")
    outputs = OUTPUTS.build(
        {"case_id": f"c{n}", "repeat": 1, "output_hash": f"h{n}"} for n in range(10)
    )
    sample = sample_for_rating(outputs, scores, n=5)
    found = corrected_scores(scores, labels, {"s": sample}, JudgingSettings())
    rows = found.set_index(["quantity", "metric"])["estimate"]
    assert rows["pass_rate", "raw"] == 0.6
    assert rows["pass_rate", "labels_only"] == 0.6
    assert rows["pass_rate", "corrected"] == pytest.approx(0.6)
    # 3.4 is the judge's mean over the 5 others, (4+4+5+3+1)/5; labels less verdicts: 0-1-1+3-1 = 0
    assert rows["mean", "corrected"] == pytest.approx(3.4)


def test_labels_of_no_sample_correct_nothing() -> None:
    scores = verdicts([5, 5, 4])
    assert corrected_scores(scores, people({0: 5}, None), {}, JudgingSettings()).empty


def test_a_run_says_what_labels_make_of_its_judges(tmp_path: Path) -> None:
    golden = read_golden(copy_of_support(tmp_path))
    first = full_run(golden)
    sample = sample_for_rating(first.outputs, first.scores, n=500)
    name = sample_id(sample)
    write_sample(golden, sample)
    given: list[dict[str, Any]] = to_records(scripted(first, "politeness", off=4, sample=name))
    for record in given:
        append_label(label_path(golden, RATER), record)
    labels, problems = read_labels(golden)
    assert (len(labels), problems) == (len(given), [])
    again = full_run(golden)
    (sentence, _) = [text for text in judge_sentences(again) if text.startswith("Judge politeness")]
    assert f"by {len(given)} labels" in sentence
    # Every output is labelled: what is corrected is what people say.
    rates = pd.DataFrame(again.manifest["corrected"]).set_index(["quantity", "metric"])["estimate"]
    expected = np.mean([record["value"] >= 4 for record in given])
    assert rates["pass_rate", "corrected"] == pytest.approx(expected)

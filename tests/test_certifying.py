"""From labels to a certificate to a gate that honours it; all labels are scripted, and say so."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

from evalnb.bias_study import open_bias_study
from evalnb.certificates import read_certificates, write_certificate
from evalnb.certifying import certify
from evalnb.curation.labels import append_label, label_path, read_labels
from evalnb.curation.samples import sample_id, write_sample
from evalnb.curation.sampling import sample_for_rating
from evalnb.errors import InputError
from evalnb.evaluation import evaluate
from evalnb.frames import LABELS, to_records
from evalnb.golden import GateSettings, read_golden
from evalnb.probes import recorded_effects
from evalnb.reports.verdicts import describe_certificate, judge_sentences
from evalnb.results import new_run_folder, write_run
from evalnb.systems import CallableSystem, load_system
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


def test_a_suite_may_limit_what_probes_find(suite: GoldenSet, run: Run) -> None:
    effects = recorded_effects(suite)
    labels = scripted(run, "politeness", off=50)
    (found,) = certify(suite, run, labels, issued=DAY, effects=effects)
    gate = GateSettings(max_injection_rate=0.1)
    limited = suite.settings.model_copy(update={"gate": gate})
    path = write_certificate(suite, found)
    try:
        later = full_run(replace(suite, settings=limited), DAY)
    finally:
        path.unlink()
    assert later.manifest["counting"] == []
    assert "attacks that make it pass a bad answer" in " ".join(judge_sentences(later))


def test_a_judge_with_a_verdict_that_is_not_recorded_has_no_effects(tmp_path: Path) -> None:
    golden = read_golden(copy_of_support(tmp_path))
    whole = recorded_effects(golden)
    assert set(whole["judge"]) == {"axes", "pairwise"}
    verdict = open_bias_study(str(golden.folder), public=False, probes=["position"]).verdicts
    assert golden.folder is not None
    (golden.folder / "cassettes" / f"{verdict['request_key'][0]}.json").unlink()
    assert set(recorded_effects(golden)["judge"]) == {"axes"}


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
    assert "working minimum" not in done.out
    few = certify(golden, run, scripted(run, "politeness", off=50).head(49), issued=DAY)
    assert "with fewer than 50 labels, the working minimum" in describe_certificate(few[0])[1]
    assert "probes, politeness: repetition self flip rate 0.30" in done.out
    assert "probes, pairwise:" in done.out
    (certificate,) = read_certificates(golden)
    assert certificate.raters == [RATER]
    rates = {(one.scorer, one.metric): one for one in certificate.probes}
    attacks = rates["politeness", "success_rate"]
    assert (attacks.probe, attacks.n, attacks.judge_fingerprint) == (
        "injection",
        32,
        certificate.fingerprint,
    )
    assert rates["pairwise", "conflict_rate"].judge_fingerprint != certificate.fingerprint
    by_id = evalnb("certify", "golden/support", folder.name, folder=tmp_path)
    assert by_id.code == 0, by_id.error
    unknown = evalnb("certify", "golden/support", "nope", folder=tmp_path)
    assert (unknown.code, "'nope'" in unknown.error or "no run" in unknown.error) == (2, True)
    accepted = evalnb("certify", "golden/support", "baseline", folder=tmp_path)
    assert "a baseline has no verdicts to certify" in accepted.error
    refused = evalnb("certify", "golden/support", folder=tmp_path, CI="true")
    assert refused.code == 2
    assert "a judge is not certified in CI" in refused.error


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
    warned = [
        {**row, "warnings": ["weak_correlation"]} if row["metric"] == "corrected" else row
        for row in again.manifest["corrected"]
    ]
    said = judge_sentences(replace(again, manifest={**again.manifest, "corrected": warned}))
    assert (
        "Corrected politeness pass rate, politeness mean: The judge follows people only weakly "
        "(correlation below 0.5)."
    ) in said


def test_labels_that_cannot_be_used_are_said_before_anything_is_asked(tmp_path: Path) -> None:
    golden = read_golden(copy_of_support(tmp_path))
    label = {"case_id": "c", "output_hash": "h", "rater": RATER, "axis": "politeness", "value": 3,
             "action": "label", "at": "2026-12-03T00:00:00+00:00"}  # fmt: skip
    append_label(label_path(golden, RATER), {**label, "sample": "random-4-0123abcd"})
    asked: list[str] = []

    def answer(case: Any, client: Any) -> str:
        asked.append(case.id)
        return "Hello."

    system = CallableSystem(answer, name="bot")
    with pytest.raises(InputError, match="there is no sample 'random-4-0123abcd'"):
        evaluate(golden, system, run_id="r", as_of=DAY, progress="none", tier="full")
    assert asked == []

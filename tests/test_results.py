from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evalnb.baseline import Baseline, count
from evalnb.errors import DecisionError, InputError
from evalnb.evaluation import evaluate
from evalnb.golden import GoldenSet
from evalnb.results import (
    latest_run,
    new_run_folder,
    previous_run,
    read_report,
    read_run,
    results_root,
    write_run,
)
from evalnb.runs import Run
from evalnb.systems import CallableSystem
from tests.suites import make_suite

NOW = datetime(2026, 12, 1, 4, 5, 6, tzinfo=UTC)
CASES: list[dict[str, Any]] = [
    {"id": "yes", "input": "a?", "must_contain": ["yes"], "language": "en", "tags": ["common"]},
    {"id": "no", "input": "b?", "expected_exact": "no", "language": "ja"},
    {"id": "broken", "input": "c?", "expected_exact": "x"},
]


@pytest.fixture
def golden(tmp_path: Path) -> GoldenSet:
    return make_suite(tmp_path / "golden" / "shop", CASES)


def made_run(golden: GoldenSet, run_id: str) -> Run:
    async def answer(case: Any, client: Any) -> str:
        if case.id == "broken":
            raise RuntimeError("no database")
        return "yes, 1 < 2 & <b>bold</b>"

    return evaluate(
        golden,
        CallableSystem(answer, name="bot"),
        run_id=run_id,
        as_of=date(2026, 12, 1),
        progress="none",
    )


def test_a_run_is_read_back_as_it_was_written(golden: GoldenSet) -> None:
    folder = new_run_folder(golden, NOW)
    run = made_run(golden, folder.name)
    write_run(folder, run)
    back = read_run(folder)

    for name in ("outputs", "scores", "results", "slices", "decision", "misses"):
        pd.testing.assert_frame_equal(getattr(back, name), getattr(run, name), obj=name)
    assert back.manifest == run.manifest
    assert (back.outcome, back.exit_code) == (run.outcome, run.exit_code)


def test_the_manifest_says_what_ran(golden: GoldenSet) -> None:
    manifest = made_run(golden, "r1").manifest
    assert manifest["run_id"] == "r1"
    assert manifest["suite"] == "shop"
    assert manifest["golden_version"] == golden.version
    assert (manifest["system"], manifest["mode"], manifest["repeats"]) == ("bot", "replay", 1)
    assert manifest["as_of"] == "2026-12-01"
    assert manifest["na_by_accident"] == {"system_error": 1}
    assert manifest["na_by_plan"] == {}
    assert manifest["cost_usd"] is None
    assert manifest["notice"] is None


def test_a_folder_is_named_after_time_and_never_used_twice(golden: GoldenSet) -> None:
    first, second = new_run_folder(golden, NOW), new_run_folder(golden, NOW)
    assert first != second
    assert first.name.startswith("20261201T040506Z-")
    assert first.parent == results_root(golden) / "shop"
    assert golden.folder is not None
    assert results_root(golden) == golden.folder.resolve().parents[1] / "results"


def test_a_missing_decision_is_an_error(golden: GoldenSet) -> None:
    with pytest.raises(DecisionError, match="ended without a decision"):
        read_report(new_run_folder(golden, NOW))


def test_a_decision_of_another_run_is_stale(golden: GoldenSet) -> None:
    old = new_run_folder(golden, NOW)
    write_run(old, made_run(golden, old.name))
    new = new_run_folder(golden, NOW)
    (new / "report.json").write_bytes((old / "report.json").read_bytes())
    with pytest.raises(DecisionError, match=f"stale: it belongs to run '{old.name}'"):
        read_report(new)


def test_a_decision_that_contradicts_its_rows_is_an_error(golden: GoldenSet) -> None:
    folder = new_run_folder(golden, NOW)
    write_run(folder, made_run(golden, folder.name))
    report = json.loads((folder / "report.json").read_text())
    (folder / "report.json").write_text(json.dumps({**report, "exit_code": 0}))
    with pytest.raises(DecisionError, match="its rows come to"):
        read_report(folder)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"run_id": "x"}', "null", '"x"'])
def test_a_decision_that_cannot_be_read_is_an_error(golden: GoldenSet, content: str) -> None:
    folder = new_run_folder(golden, NOW)
    (folder / "report.json").write_text(content)
    with pytest.raises(DecisionError, match="cannot be read"):
        read_report(folder)


def test_the_newest_run_is_the_latest_and_must_have_decided(golden: GoldenSet) -> None:
    with pytest.raises(InputError, match="there is no run of shop"):
        latest_run(golden)
    first = new_run_folder(golden, NOW)
    write_run(first, made_run(golden, first.name))
    assert latest_run(golden) == first
    new_run_folder(golden, NOW.replace(hour=5))
    with pytest.raises(InputError, match="came to no decision"):
        latest_run(golden)


def test_another_damaged_file_is_named(golden: GoldenSet) -> None:
    folder = new_run_folder(golden, NOW)
    write_run(folder, made_run(golden, folder.name))
    path = folder / "scores.jsonl"
    path.write_text(path.read_text()[:-10])
    with pytest.raises(InputError, match=r"scores\.jsonl:3: is not JSON"):
        read_run(folder)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"repeat": None}, r"row 1 of the outputs has no `repeat`"),
        ({"case_id": None}, r"row 1 of the outputs has no `case_id`"),
        (
            {"tool_calls": "refund"},
            r"`tool_calls` of row 1 of the outputs must be a list of objects",
        ),
        ({"tool_calls": [{"arguments": {}}]}, r"`name` and `arguments`\. Got \[\{'arguments'"),
        ({"case_id": "other"}, r"lacks 1 of the 3 cases that were decided on: yes"),
    ],
)
def test_outputs_that_no_run_wrote_are_refused(
    golden: GoldenSet, damage: dict[str, Any], message: str
) -> None:
    folder = new_run_folder(golden, NOW)
    write_run(folder, made_run(golden, folder.name))
    path = folder / "outputs.jsonl"
    first, *others = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps(json.loads(first) | damage), *others, ""]))
    with pytest.raises(InputError, match=message):
        read_run(folder)


def test_every_file_is_json_that_other_readers_take(golden: GoldenSet) -> None:
    folder = new_run_folder(golden, NOW)
    write_run(folder, made_run(golden, folder.name))

    def refuse(name: str) -> None:
        raise AssertionError(name)

    for path in (folder / "run.json", folder / "report.json"):
        json.loads(path.read_text(), parse_constant=refuse)
    for line in (folder / "outputs.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=refuse)


def test_text_of_the_model_is_escaped_in_the_summary(golden: GoldenSet) -> None:
    folder = new_run_folder(golden, NOW)
    write_run(folder, made_run(golden, folder.name))
    summary = (folder / "summary.md").read_text()
    assert "bold" in summary  # in the reason of the case that expects "no" to the letter
    assert "<b>" not in summary


def test_the_previous_run_is_the_newest_before_it_of_the_same_system_that_decided(
    golden: GoldenSet,
) -> None:
    first, second, other, undecided, now = (
        new_run_folder(golden, NOW.replace(hour=hour)) for hour in range(1, 6)
    )
    assert previous_run(now, "bot") is None
    for folder in (first, second):
        write_run(folder, made_run(golden, folder.name))
    run = made_run(golden, other.name)
    write_run(other, replace(run, manifest={**run.manifest, "system": "another"}))
    (undecided / "run.json").write_text('{"system": "bot"}')
    (now.parent / "0-not-a-run.txt").write_text("x")
    assert previous_run(now, "bot") == second
    assert previous_run(second, "bot") == first
    assert previous_run(first, "bot") is None


def test_the_report_shows_what_changed_since_the_previous_run_and_the_baseline(
    golden: GoldenSet,
) -> None:
    first, second = new_run_folder(golden, NOW), new_run_folder(golden, NOW.replace(hour=6))
    before = made_run(golden, first.name)
    write_run(first, before)
    assert "There is no earlier run to compare with." in (first / "report.html").read_text()

    run = made_run(golden, second.name)
    accepted = before.outputs.assign(output_hash="0", text="no, 1 < 2").astype(
        before.outputs.dtypes
    )
    baseline = Baseline({"run_id": "accepted"}, count(before.scores), accepted)
    write_run(second, replace(run, golden=golden, baseline=baseline))
    html = (second / "report.html").read_text()
    assert "Against the baseline, run accepted</h3>\n<p>3 answers or verdicts differ.</p>" in html
    assert "<del>no</del><ins>yes</ins>, 1 &lt; 2" in html
    previous = f"the previous run, {first.name}, golden version {golden.version}"
    assert f"Against {previous}</h3>\n<p>0 answers or verdicts differ.</p>" in html
    assert "b?" in html


def test_a_damaged_previous_run_does_not_stop_the_reports(golden: GoldenSet) -> None:
    first, second = new_run_folder(golden, NOW), new_run_folder(golden, NOW.replace(hour=6))
    write_run(first, made_run(golden, first.name))
    (first / "outputs.jsonl").write_text("{torn")
    (first / "report.json").write_text("[]")
    write_run(second, made_run(golden, second.name))
    assert "0 answers or verdicts differ." in (second / "report.html").read_text()


def test_texts_of_holdout_cases_are_in_no_report_but_in_the_files(tmp_path: Path) -> None:
    cases = [{**CASES[1], "split": "holdout"}, CASES[0]]
    golden = make_suite(tmp_path / "golden" / "shop", cases)
    folder = new_run_folder(golden, NOW)
    write_run(folder, replace(made_run(golden, folder.name), golden=golden))
    for name in ("report.html", "junit.xml", "summary.md"):
        text = (folder / name).read_text()
        assert "a holdout case: what was said is only in the files of the run" in text.lower(), name
        assert "bold" not in text.replace("font: bold", ""), name
    assert "bold" in (folder / "report.json").read_text()
    (look,) = (folder.parent / "holdout_looks.jsonl").read_text().splitlines()
    assert json.loads(look)["kind"] == "totals"
    assert "Gap, dev minus holdout: " in (folder / "summary.md").read_text()

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evalnb.errors import DecisionError, InputError
from evalnb.evaluation import evaluate
from evalnb.golden import GoldenSet
from evalnb.results import (
    latest_run,
    new_run_folder,
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

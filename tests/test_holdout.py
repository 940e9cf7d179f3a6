from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalnb.frames import DECISION, MISSES, OUTPUTS, RESULTS, SCORES, SLICES, to_records
from evalnb.golden import GoldenSet
from evalnb.holdout import (
    count_look,
    opened_run,
    quoting_nothing,
    read_looks,
    shown,
    shown_run,
    split_rates,
    without_texts,
)
from evalnb.reports.sentences import holdout_sentences
from evalnb.runs import Run
from tests.suites import make_suite

HIDDEN = frozenset({"kept"})
UNSAID = "a holdout case: what was said is only in the files of the run"


@pytest.fixture
def golden(tmp_path: Path) -> GoldenSet:
    cases: list[dict[str, Any]] = [
        {"id": "open", "input": "a?", "must_contain": ["x"], "split": "dev"},
        {"id": "kept", "input": "b?", "must_contain": ["x"], "split": "holdout"},
        {"id": "free", "input": "c?", "must_contain": ["x"]},
    ]
    return make_suite(tmp_path / "golden" / "shop", cases)


def made_run(run_id: str = "r1", splits: tuple[str | None, ...] = ("dev", "holdout", None)) -> Run:
    results = [
        {"case_id": name, "split": split, "state": "fail", "pass_rate": 0.0, "reasons": ["exact: got 'secret'"]}
        for name, split in zip(("open", "kept", "free"), splits, strict=True)
    ]  # fmt: skip
    rows = [{"case_id": row["case_id"], "repeat": 1} for row in results]
    return Run(
        manifest={
            "run_id": run_id,
            "system_fingerprint": "f00d",
            "golden_version": "abc",
            "finished_at": "2026-12-01T04:05:06+00:00",
        },
        outputs=OUTPUTS.build({**row, "text": "secret"} for row in rows),
        scores=SCORES.build({**row, "scorer": "exact"} for row in rows),
        results=RESULTS.build(results),
        slices=SLICES.empty(),
        decision=DECISION.build(
            [
                {"rule": "regression", "outcome": "fail", "case_id": "open", "reason": "got 'x'"},
                {"rule": "regression", "outcome": "fail", "case_id": "kept", "scorer": "exact", "reason": "got 'secret'"},
                {"rule": "regression", "outcome": "fail", "case_id": "kept", "scorer": "keywords", "reason": "got 'secret'"},
                {"rule": "drift", "outcome": "fail", "slice": "all", "reason": "fell"},
            ]
        ),
        misses=MISSES.empty(),
        outcome="fail",
        exit_code=1,
    )  # fmt: skip


def test_rows_of_holdout_cases_are_left_out(golden: GoldenSet) -> None:
    assert list(shown(golden, made_run().results)["case_id"]) == ["open", "free"]


def test_who_iterates_sees_counts_and_no_holdout_case(golden: GoldenSet) -> None:
    run = shown_run(golden, made_run())
    for frame in (run.outputs, run.scores, run.results):
        assert list(frame["case_id"]) == ["open", "free"]
    assert to_records(run.decision) == [
        {"rule": "regression", "outcome": "fail", "case_id": "open", "reason": "got 'x'"},
        {
            "rule": "regression",
            "outcome": "fail",
            "reason": "holdout cases: 1, which report.html names",
        },
        {"rule": "drift", "outcome": "fail", "slice": "all", "reason": "fell"},
    ]


def test_reports_name_holdout_cases_and_quote_nothing() -> None:
    records = to_records(made_run().results)
    said = {row["case_id"]: row["reasons"] for row in without_texts(records, HIDDEN)}
    assert said == {
        "open": ["exact: got 'secret'"],
        "kept": [f"exact: {UNSAID}"],
        "free": ["exact: got 'secret'"],
    }
    assert records[1]["reasons"] == ["exact: got 'secret'"]


def test_frames_quote_nothing_either() -> None:
    run = made_run()
    assert list(quoting_nothing(run.decision, HIDDEN)["reason"]) == ["got 'x'", UNSAID, UNSAID, "fell"]  # fmt: skip
    assert list(quoting_nothing(run.results, HIDDEN)["reasons"])[1] == [f"exact: {UNSAID}"]
    assert "secret" in run.decision["reason"][1]


def test_the_gap_has_newcombes_interval() -> None:
    # Newcombe (1998), Stat Med 17:873-890, table II, row (a): 56/70 - 48/80, method 10.
    rows = [
        {"case_id": f"{split}{n}", "split": split, "pass_rate": float(n < passes)}
        for split, passes, total in (("dev", 56, 70), ("holdout", 48, 80))
        for n in range(total)
    ]
    rows.append({"case_id": "na", "split": "holdout"})
    rates = {row["metric"]: row for row in to_records(split_rates(RESULTS.build(rows)))}
    gap = rates["gap"]
    assert gap["estimate"] == pytest.approx(0.2)
    assert (round(gap["ci_low"], 4), round(gap["ci_high"], 4)) == (0.0524, 0.3339)
    assert (rates["holdout"]["n"], rates["holdout"]["n_left_out"]) == (80, 1)


def test_a_case_without_a_split_counts_as_dev() -> None:
    rates = to_records(split_rates(made_run().results))
    assert [(row["metric"], row["n"]) for row in rates] == [("dev", 2), ("holdout", 1), ("gap", 3)]


def test_without_a_holdout_there_is_no_gap_and_no_look(tmp_path: Path) -> None:
    run = made_run(splits=("dev", None, None))
    assert split_rates(run.results).empty
    count_look(tmp_path / "shop" / "r1", run, "totals")
    assert not (tmp_path / "shop").exists()


def test_the_gap_is_undefined_where_a_side_was_not_scored() -> None:
    rows: list[dict[str, Any]] = [
        {"case_id": "a", "split": "dev", "pass_rate": 1.0},
        {"case_id": "b", "split": "holdout"},
    ]
    rates = split_rates(RESULTS.build(rows))
    assert [row.get("reason") for row in to_records(rates)] == [
        None,
        "no case of one side was scored",
        "no case of one side was scored",
    ]
    assert holdout_sentences(rates, read_looks(Path("nowhere") / "r1"), "abc") == [
        "Dev: pass rate 1.00 (0.21 to 1.00), 1 of 1 case scored.",
        "Holdout: 0 of 1 case scored.",
    ]


def test_each_look_is_counted_once_beside_the_runs(tmp_path: Path) -> None:
    folder = tmp_path / "r1"
    folder.mkdir()
    run = made_run()
    count_look(folder, run, "totals")
    count_look(folder, run, "totals")
    assert opened_run(folder, run) is run
    other = replace(run, manifest={**run.manifest, "run_id": "r2", "system_fingerprint": "beef"})
    count_look(tmp_path / "r2", other, "totals")

    looks = read_looks(folder)
    assert list(looks["kind"]) == ["totals", "cases", "totals"]
    assert (tmp_path / "holdout_looks.jsonl").read_text().count("\n") == 3
    assert holdout_sentences(split_rates(run.results), looks, "abc")[-1] == (
        "Looks at this golden version's holdout: 3 by 2 systems, 1 of them at single cases."
    )


def test_a_line_that_was_torn_off_is_left_out_and_those_after_it_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "holdout_looks.jsonl"
    count_look(tmp_path / "r1", made_run("r1"), "totals")
    path.write_bytes(path.read_bytes() + b'{"kind": "totals", "run_id": "r\xe3')
    count_look(tmp_path / "r2", made_run("r2"), "totals")
    assert list(read_looks(tmp_path / "r2")["run_id"]) == ["r1", "r2"]

"""What people do with the project's suite, from the command line to the exit code."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import nbformat
import pytest

from evalnb.golden import read_golden
from evalnb.local import weights_path
from evalnb.results import latest_run, read_report
from tests.commands import Done, evalnb
from tests.requirements import require
from tests.suites import copy_of_support

Json = dict[str, Any]


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return copy_of_support(tmp_path)


def run(suite: Path, *arguments: str) -> tuple[Done, Json]:
    """Run the suite by the package alone; return how it ended and its report."""
    done = evalnb("run", "golden/support", "--no-notebook", *arguments, folder=suite.parents[1])
    return done, read_report(latest_run(read_golden(suite)))


def red_cases(suite: Path) -> list[str]:
    """Return the test cases that a test tab shows as failed."""
    xml = ET.parse(latest_run(read_golden(suite)) / "junit.xml")
    return sorted(
        test.get("name", "")
        for group in xml.getroot()
        if group.get("name") != "gate"
        for test in group
        if test.find("failure") is not None
    )


def change_tool(suite: Path, tool: str = "refund") -> list[str]:
    """Change the description of one tool; return the cases that offer it."""
    path = suite / "systems" / "v1.toml"
    name = f'name = "{tool}"\ndescription = "'
    text = path.read_text()
    assert name in text
    path.write_text(text.replace(name, f"{name}In short: "))
    return sorted(
        case.id for case in read_golden(suite) if case.tools is None or tool in case.tools
    )


def test_the_main_job_runs_the_notebook_and_decides_as_the_package_alone(suite: Path) -> None:
    done = evalnb("run", "golden/support", folder=suite.parents[1])

    assert (done.code, done.out.splitlines()[0]) == (0, "support: PASS")
    assert "Recorded from a 135M-parameter local model, expect poor answers." in done.out
    folder = latest_run(read_golden(suite))
    assert {path.name for path in folder.iterdir()} == {
        "golden_run.ipynb",
        "junit.xml",
        "report.html",
        "outputs.jsonl",
        "report.json",
        "run.json",
        "scores.jsonl",
        "summary.md",
    }
    executed = nbformat.read(folder / "golden_run.ipynb", 4)
    assert all(cell["execution_count"] for cell in executed.cells if cell["cell_type"] == "code")
    by_notebook = read_report(folder)
    _, by_package = run(suite)
    del by_notebook["run_id"], by_package["run_id"]
    assert by_notebook == by_package


def test_a_changed_tool_misses_exactly_the_cases_that_offer_it(suite: Path) -> None:
    offering = change_tool(suite)
    done = evalnb("run", "golden/support", folder=suite.parents[1])
    report = read_report(latest_run(read_golden(suite)))

    assert done.code == 3
    assert sorted({miss["case_id"] for miss in report["misses"]}) == offering
    lines = [line for line in done.out.splitlines() if "tools[refund].description" in line]
    assert len(lines) == 1
    assert f"{len(offering)} cases miss: `tools[refund].description` changed" in lines[0]
    assert "evalnb record golden/support --system v1" in done.out


def test_recording_what_is_missing_replays_without_a_miss(suite: Path) -> None:
    require(weights_path().exists(), "the local model's weights are missing: `evalnb local fetch`")
    offering = change_tool(suite, "hand_over")  # which few cases offer
    before = {path.name: path.read_bytes() for path in (suite / "cassettes").iterdir()}

    recorded = evalnb("record", "golden/support", "--upstream", "local", folder=suite.parents[1])
    _, report = run(suite)

    assert recorded.code == 0
    assert report["misses"] == []
    after = {path.name: path.read_bytes() for path in (suite / "cassettes").iterdir()}
    assert before.items() <= after.items()
    assert len(after) - len(before) >= len(offering)


def test_another_system_gives_a_diff_for_each_case_and_is_blocked(suite: Path) -> None:
    done, report = run(suite, "--system", "v2")

    rules = {row["rule"] for row in report["decision"]}
    assert done.code == 1
    assert report["misses"] == []
    assert {"regression", "now_passing", "system_changed"} <= rules
    summary = (latest_run(read_golden(suite)) / "summary.md").read_text()
    regressed = {row["case_id"] for row in report["decision"] if row["rule"] == "regression"}
    assert all(case_id in summary for case_id in regressed)
    assert red_cases(suite) == sorted(regressed)


def test_a_blocked_run_keeps_its_executed_notebook(suite: Path) -> None:
    done = evalnb("run", "golden/support", "--system", "v2", folder=suite.parents[1])
    folder = latest_run(read_golden(suite))
    executed = nbformat.read(folder / "golden_run.ipynb", 4)
    assert done.code == 1
    assert "support: BLOCKED" in done.out
    assert all(cell["execution_count"] for cell in executed.cells if cell["cell_type"] == "code")


def lose_a_fact(suite: Path) -> tuple[str, str]:
    """Take a fact out of a recorded answer; return the case and the fact."""
    baseline = json.loads((suite / "baseline" / "baseline.json").read_text())["cases"]
    done, _report = run(suite)
    assert done.code == 0
    outputs = [
        json.loads(line)
        for line in (latest_run(read_golden(suite)) / "outputs.jsonl").read_text().splitlines()
    ]
    for output in outputs:
        case = read_golden(suite)[output["case_id"]]
        passed = baseline[case.id].get("must_contain", {}).get("n_passed")
        if passed and case.expected_schema is None and len(output["request_keys"]) == 1:
            path = suite / "cassettes" / f"{output['request_keys'][0]}.json"
            content = json.loads(path.read_text())
            assert case.must_contain
            fact = case.must_contain[0]
            for entry in content["entries"]:
                for block in entry["response"]["content"]:
                    assert fact in block["text"]
                    block["text"] = block["text"].replace(fact, "")
            path.write_text(json.dumps(content))
            return case.id, fact
    raise AssertionError("no case passes must_contain in the baseline")


def test_a_lost_fact_turns_exactly_its_case_red_with_the_reason(suite: Path) -> None:
    case_id, fact = lose_a_fact(suite)
    done, report = run(suite)

    assert done.code == 1
    assert red_cases(suite) == [case_id]
    (regression,) = [
        row
        for row in report["decision"]
        if row["rule"] == "regression" and row["scorer"] == "must_contain"
    ]
    assert regression["case_id"] == case_id
    assert f"missing: '{fact}'" in regression["reason"]
    assert {row["case_id"] for row in report["decision"] if "case_id" in row} == {case_id}


def test_deleting_the_red_case_is_inconclusive_and_not_green(suite: Path) -> None:
    case_id, _ = lose_a_fact(suite)
    path = suite / "cases.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if json.loads(line)["id"] != case_id))
    done, report = run(suite)

    assert done.code == 2
    assert report["outcome"] == "inconclusive"
    assert [(row["rule"], row["case_id"]) for row in report["decision"] if "case_id" in row] == [
        ("gone", case_id)
    ]


def test_a_deleted_case_is_accepted_only_when_it_is_named(suite: Path) -> None:
    case_id, _ = lose_a_fact(suite)
    path = suite / "cases.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if json.loads(line)["id"] != case_id))
    run(suite)
    top = suite.parents[1]
    accept = ("baseline", "accept", "golden/support", "--yes", "--reason", "the case is obsolete")

    refused = evalnb(*accept, folder=top)
    in_ci = evalnb(*accept, "--removed", case_id, folder=top, CI="true")
    accepted = evalnb(*accept, "--removed", case_id, folder=top)

    assert (refused.code, in_ci.code, accepted.code) == (2, 2, 0)
    assert f"--removed {case_id}" in refused.error
    assert "not accepted in CI" in in_ci.error
    assert f"{case_id} must_contain: pass -> absent" in accepted.out
    assert run(suite)[0].code == 0


def test_a_run_of_other_cases_is_not_accepted(suite: Path) -> None:
    run(suite)
    path = suite / "cases.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    accept = ("baseline", "accept", "golden/support", "--yes", "--reason", "because")
    refused = evalnb(*accept, folder=suite.parents[1])
    assert refused.code == 2
    assert "run it again" in refused.error


def test_saying_no_changes_nothing(suite: Path) -> None:
    run(suite, "--system", "v2")
    before = (suite / "baseline" / "baseline.json").read_bytes()
    done = evalnb("baseline", "accept", "golden/support", "--reason", "x", folder=suite.parents[1])
    assert done.code == 2
    assert (suite / "baseline" / "baseline.json").read_bytes() == before


def test_unused_cassettes_are_listed_and_pruned_on_demand(suite: Path) -> None:
    top = suite.parents[1]
    all_used = evalnb("cassettes", "golden/support", folder=top)
    (suite / "systems" / "v2.toml").unlink()
    n_before = len(list((suite / "cassettes").iterdir()))
    listed = evalnb("cassettes", "golden/support", folder=top)
    n_unused = listed.out.count("UNUSED")
    pruned = evalnb("cassettes", "golden/support", "--prune", folder=top)

    assert all_used.out.splitlines()[-1] == f"{n_before} cassettes, 0 unused"
    assert n_unused > 0
    assert f"{n_unused} deleted" in pruned.out
    assert len(list((suite / "cassettes").iterdir())) == n_before - n_unused
    assert run(suite)[0].code == 0


def test_nothing_is_pruned_while_a_case_cannot_be_replayed(suite: Path) -> None:
    change_tool(suite)
    done = evalnb("cassettes", "golden/support", "--prune", folder=suite.parents[1])
    assert done.code == 2
    assert "nothing was pruned" in done.error


def test_check_says_what_the_suite_holds(suite: Path) -> None:
    golden = read_golden(suite)
    done = evalnb("check", "golden/support", folder=suite.parents[1])
    assert done.code == 0
    assert (
        done.out.splitlines()[0] == f"support: {len(golden)} cases, golden version {golden.version}"
    )
    assert "warning: no case is tagged" not in done.out
    assert "nothing passes in the baseline" not in done.out

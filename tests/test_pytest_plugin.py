"""The cases of a suite as tests of pytest."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import date
from importlib.metadata import entry_points
from pathlib import Path

import pandas as pd
import pytest

import evalnb.pytest_cases
from evalnb.evaluation import evaluate
from evalnb.frames import to_records
from evalnb.golden import read_golden
from evalnb.results import latest_run, read_run, write_run
from evalnb.runs import Run
from evalnb.scaffold import create_project
from evalnb.systems import load_system
from tests.suites import REPOSITORY, make_suite

assert evalnb.pytest_cases

pytest_plugins = ["pytester"]

N_CASES = 20  # of a new project
INSTALLED = entry_points(group="pytest11", name="evalnb")
PLUGIN = () if INSTALLED else ("-p", "evalnb.pytest_plugin")
SUITE = ("--evalnb", "golden/support")


@pytest.fixture(scope="module", autouse=True)
def _everything_is_loaded(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let a run load what it loads late: a session within this one would load it twice."""
    folder = tmp_path_factory.mktemp("project")
    create_project(folder)
    answer_worse(folder)
    write_run(folder / "run", evaluated(folder))


@pytest.fixture
def project(pytester: pytest.Pytester) -> Path:
    create_project(pytester.path)
    return pytester.path


def session(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess(*PLUGIN, "-p", "no:cacheprovider", *arguments)


def written(project: Path) -> Run:
    return read_run(latest_run(read_golden(project / "golden" / "support")))


def answer_worse(project: Path) -> None:
    """Change what was recorded by hand, as a worse model would have answered: scripted."""
    for path in (project / "golden" / "support" / "cassettes").iterdir():
        content = json.loads(path.read_text())
        for entry in content["entries"]:
            for block in entry["response"]["content"]:
                if "B-48213" in block.get("text", ""):
                    block["text"] = "I do not know."
        path.write_text(json.dumps(content))


def test_the_plugin_is_an_entry_point_of_pytest() -> None:
    assert 'evalnb = "evalnb.pytest_plugin"' in (REPOSITORY / "pyproject.toml").read_text()


def test_each_case_is_a_test_and_the_run_is_that_of_the_command(
    pytester: pytest.Pytester, project: Path
) -> None:
    done = session(pytester, "-v", "--strict-markers", *SUITE)
    assert done.ret == 0
    counts = done.parseoutcomes()
    run = written(project)
    states = run.results["state"].fillna("none").value_counts().to_dict()
    assert counts == {
        "passed": states["pass"] + 1,
        "xfailed": states["fail"],
        "skipped": states["none"],
    }
    assert sum(states.values()) == N_CASES
    words = {"pass": "PASSED", "fail": "XFAIL"}
    for row in run.results.itertuples():
        word = words[row.state] if isinstance(row.state, str) else "SKIPPED"
        done.stdout.fnmatch_lines([f"golden/support/cases.jsonl::{row.case_id} {word}*"])
    golden = read_golden(project / "golden" / "support")
    direct = evaluate(
        golden,
        load_system(golden, None),
        run_id=run.manifest["run_id"],
        as_of=date.fromisoformat(run.manifest["as_of"]),
        progress="none",
    )
    for name in ("outputs", "scores", "results", "slices", "decision", "misses"):
        pd.testing.assert_frame_equal(getattr(direct, name), getattr(run, name))
    done.stdout.fnmatch_lines(["support: PASS", f"  results/support/{run.manifest['run_id']}"])


def test_a_case_that_got_worse_fails_with_its_reasons(
    pytester: pytest.Pytester, project: Path
) -> None:
    answer_worse(project)
    done = session(pytester, *SUITE)
    run = written(project)
    assert done.ret == run.exit_code == 1
    blocked = set(run.decision.loc[run.decision["outcome"] == "fail", "case_id"].dropna())
    assert "order-number-from-email" in blocked
    done.assert_outcomes(
        failed=len(blocked) + 1,
        passed=int(run.results["state"].eq("pass").sum()),
        xfailed=int(run.results["state"].eq("fail").sum()) - len(blocked),
        skipped=int(run.results["state"].isna().sum()),
    )
    done.stdout.fnmatch_lines(
        [
            "*_ support: order-number-from-email _*",
            "exact: expected 'B-48213', got 'I do not know.'",
            "gate, regression: *passed in the baseline, fails now*",
        ]
    )
    done.stdout.no_fnmatch_line("*Traceback*")


def test_a_miss_is_explained_and_has_its_exit_code(
    pytester: pytest.Pytester, project: Path
) -> None:
    prompt = project / "golden" / "support" / "systems" / "v1.toml"
    prompt.write_text(prompt.read_text().replace("one short sentence", "one long sentence"))
    done = session(pytester, *SUITE)
    assert done.ret == written(project).exit_code == 3
    done.assert_outcomes(failed=N_CASES + 1)
    done.stdout.fnmatch_lines(["*not scored, miss: *", "*20 cases miss: `system` changed*"])


def test_the_worse_of_a_teams_own_tests_and_the_decision_is_the_exit_code(
    pytester: pytest.Pytester, project: Path
) -> None:
    pytester.makepyfile("def test_own():\n    assert False")
    assert session(pytester, *SUITE).ret == 1
    assert written(project).exit_code == 0


def test_a_selected_case_is_decided_by_itself(pytester: pytest.Pytester, project: Path) -> None:
    answer_worse(project)
    good = next(
        row["case_id"] for row in to_records(evaluated(project).results) if row.get("passed")
    )
    done = session(pytester, *SUITE, f"golden/support/cases.jsonl::{good}")
    assert done.ret == 0
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(["support: its (gate) was not selected, so nothing is decided"])


def evaluated(project: Path) -> Run:
    golden = read_golden(project / "golden" / "support")
    system = load_system(golden, None)
    return evaluate(golden, system, run_id="r", as_of=date(2026, 12, 1), progress="none")


def test_workers_of_xdist_share_one_run(pytester: pytest.Pytester, project: Path) -> None:
    answer_worse(project)
    pytester.makepyfile("def test_own(): pass")
    done = pytester.runpytest_subprocess(
        *PLUGIN, "-p", "no:cacheprovider", "-n", "2", "-m", "evalnb", *SUITE
    )
    (run,) = (path for path in (project / "results" / "support").iterdir() if path.is_dir())
    assert done.ret == read_run(run).exit_code == 1
    counts = done.parseoutcomes()
    assert sum(counts[name] for name in ("passed", "failed", "xfailed", "skipped")) == N_CASES + 1
    done.stdout.fnmatch_lines(["support: BLOCKED"])


def test_what_is_only_reported_is_not_red(pytester: pytest.Pytester, project: Path) -> None:
    answer_worse(project)
    suite = project / "golden" / "support" / "suite.toml"
    suite.write_text(f"{suite.read_text()}\n[gate]\nshadow_until = 9999-12-31\n")
    done = session(pytester, "-rx", *SUITE)
    assert done.ret == 0
    done.stdout.fnmatch_lines(["XFAIL *order-number-from-email* reported only, the run passes: *"])


def test_without_the_option_there_is_nothing(pytester: pytest.Pytester, project: Path) -> None:
    pytester.makepyfile("def test_own(): pass")
    done = session(pytester)
    assert done.parseoutcomes() == {"passed": 1}
    assert not (project / "results").exists()


def test_collecting_runs_nothing(pytester: pytest.Pytester, project: Path) -> None:
    done = session(pytester, "--collect-only", "-q", *SUITE)
    done.stdout.fnmatch_lines([f"{N_CASES + 1} tests collected*"])
    assert not (project / "results").exists()


def test_the_option_alone_brings_nothing_heavy() -> None:
    script = (
        "import sys; before = set(sys.modules); import evalnb.pytest_plugin\n"
        "print(sorted(name for name in set(sys.modules) - before if name.startswith('evalnb')))\n"
        "print('pandas' in sys.modules, 'pytest' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["['evalnb', 'evalnb.pytest_plugin']", "False False"]


def test_a_suite_that_cannot_be_used_ends_the_session(pytester: pytest.Pytester) -> None:
    done = pytester.runpytest_subprocess(*PLUGIN, "--evalnb", "golden/none")
    assert done.ret == 2
    done.stderr.fnmatch_lines(["*there is no suite at *golden/none: give a suite's folder"])


def test_a_damaged_baseline_ends_the_session_and_leaves_no_run(
    pytester: pytest.Pytester, project: Path
) -> None:
    (project / "golden" / "support" / "baseline" / "baseline.json").write_text("{")
    assert session(pytester, *SUITE).ret == 2
    assert list((project / "results" / "support").iterdir()) == []


def test_of_a_holdout_case_nothing_is_said_but_its_name(pytester: pytest.Pytester) -> None:
    cases = [
        {"id": "seen", "input": "A?", "must_contain": ["x"], "split": "dev"},
        {"id": "kept", "input": "B?", "must_contain": ["x"], "split": "holdout"},
    ]
    make_suite(pytester.path / "golden" / "shop", cases)
    done = session(pytester, "--evalnb", "golden/shop")
    sections = done.stdout.str().split("_ shop: ")
    (kept,) = (text for text in sections if text.startswith("kept"))
    assert "a holdout case: what was said is only in the files of the run" in kept
    assert done.ret == 3


def test_cases_of_several_suites_are_apart(pytester: pytest.Pytester, project: Path) -> None:
    other = project / "golden" / "shop"
    make_suite(other, [{"id": "order-late", "input": "A?", "must_contain": ["x"]}])
    done = session(pytester, *SUITE, "--evalnb", "golden/shop", "golden/support")
    assert done.ret == 3
    done.stdout.fnmatch_lines(["*_ shop: order-late _*", "support: PASS", "shop: CASSETTE MISS"])
    names = [json.loads(path.read_text())["suite"] for path in project.glob("results/*/*/run.json")]
    assert sorted(names) == ["shop", "support"]

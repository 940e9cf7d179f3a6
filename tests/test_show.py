"""`evalnb show`: a run, said again."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from evalnb.evaluation import evaluate
from evalnb.results import new_run_folder, write_run
from evalnb.systems import CallableSystem
from tests.commands import evalnb
from tests.suites import make_suite

CASES: list[dict[str, Any]] = [
    {"id": "greets", "input": "a?", "must_contain": ["hello"]},
    {"id": "fails", "input": "b?", "expected_exact": "no"},
    {"id": "kept", "input": "c?", "expected_exact": "no", "split": "holdout"},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    async def answer(case: Any, client: Any) -> str:
        return "hello \x1b[31m there"

    golden = make_suite(tmp_path / "golden" / "shop", CASES)
    folder = new_run_folder(golden, datetime(2026, 12, 1, tzinfo=UTC))
    run = evaluate(
        golden,
        CallableSystem(answer, name="bot"),
        run_id=folder.name,
        as_of=date(2026, 12, 1),
        progress="none",
    )
    write_run(folder, run)
    return folder


def test_a_run_is_shown_with_its_files(folder: Path, tmp_path: Path) -> None:
    done = evalnb("show", str(folder), folder=tmp_path)
    assert done.code == 0
    assert done.out.startswith("shop: INCONCLUSIVE\n  Pass rate 0.33")
    assert f"  results/shop/{folder.name}/report.html\n" in done.out
    assert "expected 'no'" not in done.out


def test_failing_cases_are_listed_and_a_suite_means_its_newest_run(
    folder: Path, tmp_path: Path
) -> None:
    done = evalnb("show", "golden/shop", "--cases", folder=tmp_path)
    assert done.code == 0
    assert "2 of 3 cases failed or could not be scored\n  fails: fail\n    exact: " in done.out
    assert "  kept: fail\n    exact: a holdout case: what was said is only in the files of the run\n" in done.out  # fmt: skip
    assert "\x1b" not in done.out


def test_what_is_no_run_is_said(tmp_path: Path) -> None:
    done = evalnb("show", "nowhere", folder=tmp_path)
    assert done.code == 2
    assert "there is no run at nowhere" in done.error
    assert "Traceback" not in done.error


def test_showing_a_run_loads_nothing_heavy(folder: Path) -> None:
    script = (
        "import sys; from evalnb.cli import app; app(sys.argv[1:], standalone_mode=False);"
        "assert not {'anthropic', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script, "show", str(folder)], check=True)

"""The golden-run notebook as the analyst sees it: in JupyterLab, in a real browser."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from evalnb.golden import read_golden
from evalnb.results import latest_run, read_report
from tests.browser import CHROMIUM, jupyterlab, open_notebook
from tests.requirements import require
from tests.suites import REPOSITORY, copy_of_support

RUN_ALL = "async () => await window.jupyterapp.commands.execute('notebook:run-all-cells')"
HOSTILE = (
    "<img src=x onerror='window.PWNED=1'><script>window.PWNED=1</script> $x$ [a](javascript:1)"
)

pytestmark = [
    pytest.mark.browser,
    # What the browser's driver leaves to the garbage collector is no matter of ours.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    require(CHROMIUM, "Chromium is missing")
    project = tmp_path / "project"
    copy_of_support(project)
    shutil.copytree(REPOSITORY / "notebooks", project / "notebooks")
    return project


def test_the_notebook_runs_from_top_to_bottom_and_shows_its_figures(
    project: Path, tmp_path: Path
) -> None:
    with (
        jupyterlab(project, tmp_path / "state") as url,
        open_notebook(url.format(path="notebooks/golden_run.ipynb")) as (page, outside),
    ):
        succeeded = page.evaluate(RUN_ALL)
        page.wait_for_function(
            "document.querySelectorAll('.jp-OutputArea-output img').length === 2"
        )
        text = page.inner_text(".jp-NotebookPanel-notebook")

    assert succeeded is True
    assert outside == []
    assert "support: PASS" in text
    assert "Recorded from a 135M-parameter local model, expect poor answers." in text
    report = read_report(latest_run(read_golden(project / "golden" / "support")))
    assert report["outcome"] == "pass"


def test_hostile_answers_are_shown_as_text(project: Path, tmp_path: Path) -> None:
    suite = project / "golden" / "support"
    for path in (suite / "cassettes").iterdir():
        content = json.loads(path.read_text())
        for entry in content["entries"]:
            entry["response"]["content"] = [{"type": "text", "text": HOSTILE}]
            entry["response"]["stop_reason"] = "end_turn"
        path.write_text(json.dumps(content))
    with (
        jupyterlab(project, tmp_path / "state") as url,
        open_notebook(url.format(path="notebooks/golden_run.ipynb")) as (page, outside),
    ):
        succeeded = page.evaluate(RUN_ALL)
        page.wait_for_function("document.querySelectorAll('.jp-OutputArea-output img').length >= 2")
        text = page.inner_text(".jp-NotebookPanel-notebook")
        pwned = page.evaluate("window.PWNED")

    assert succeeded is True
    assert "onerror='window.PWNED=1'" in text
    assert pwned is None
    assert outside == []

"""The golden-run notebook as the analyst sees it: in JupyterLab, in a real browser."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evalnb.golden import read_golden
from evalnb.results import latest_run, read_report
from tests.browser import CHROMIUM, RUN_ALL, jupyterlab, open_notebook
from tests.requirements import require
from tests.standin import StandIn
from tests.suites import REPOSITORY, copy_of_support, make_suite

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.browser import Lab

HOSTILE = (
    "<img src=x onerror='window.PWNED=1'><script>window.PWNED=1</script> $x$ [a](javascript:1)"
)

pytestmark = [
    pytest.mark.browser,
    # What the browser's driver leaves to the garbage collector is no matter of ours.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def wait_until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.02)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    copy_of_support(project)
    shutil.copytree(REPOSITORY / "notebooks", project / "notebooks")
    return project


def test_the_notebook_runs_from_top_to_bottom_and_shows_its_figures(
    project: Path, lab: Lab
) -> None:
    with open_notebook(lab.url(project / "notebooks/golden_run.ipynb")) as (page, outside):
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


def test_hostile_answers_are_shown_as_text(project: Path, lab: Lab) -> None:
    suite = project / "golden" / "support"
    for path in (suite / "cassettes").iterdir():
        content = json.loads(path.read_text())
        for entry in content["entries"]:
            entry["response"]["content"] = [{"type": "text", "text": HOSTILE}]
            entry["response"]["stop_reason"] = "end_turn"
        path.write_text(json.dumps(content))
    with open_notebook(lab.url(project / "notebooks/golden_run.ipynb")) as (page, outside):
        succeeded = page.evaluate(RUN_ALL)
        page.wait_for_function("document.querySelectorAll('.jp-OutputArea-output img').length >= 2")
        text = page.inner_text(".jp-NotebookPanel-notebook")
        pwned = page.evaluate("window.PWNED")

    assert succeeded is True
    assert "onerror='window.PWNED=1'" in text
    assert pwned is None
    assert outside == []


def test_the_stop_button_stops_a_live_run_and_the_next_one_goes_on(
    tmp_path: Path,
) -> None:
    require(CHROMIUM, "Chromium is missing")
    project = tmp_path / "project"
    cases = [
        {"id": f"case-{n}", "input": f"Where is order number {n}?", "must_contain": ["order"]}
        for n in range(30)
    ]
    make_suite(project / "golden" / "shop", [{**case, "tools": []} for case in cases])
    notebook = project / "notebooks" / "golden_run.ipynb"
    shutil.copytree(REPOSITORY / "notebooks", notebook.parent)
    text = notebook.read_text().replace("golden/support", "golden/shop")
    notebook.write_text(
        text.replace('mode: str = \\"replay\\"', 'mode: str = \\"live\\"').replace(
            "concurrency: int = 8", "concurrency: int = 4"
        )
    )
    with StandIn(latency=1) as standin:
        standin.set(rules=[{"contains": f"number {n}?", "fault": "hang"} for n in range(10, 30)])
        environment = {"ANTHROPIC_BASE_URL": standin.url, "ANTHROPIC_API_KEY": "unused"}
        with (
            jupyterlab(project, tmp_path / "state", environment) as url,
            open_notebook(url.format(path="notebooks/golden_run.ipynb")) as (page, outside),
        ):
            running = page.evaluate_handle(f"() => {{ window.done = ({RUN_ALL})(); }}")
            assert running is not None
            wait_until(lambda: standin.stats()["answered"] == 10)
            wait_until(lambda: standin.stats()["in_flight"] == 4)
            before = standin.stats()
            page.click("[data-jp-item-name='interrupt'] button")
            page.evaluate("async () => await window.done")
            stopped = page.inner_text(".jp-NotebookPanel-notebook")
            standin.set(rules=[])
            succeeded = page.evaluate(RUN_ALL)
            page.wait_for_function(
                "document.querySelectorAll('.jp-OutputArea-output img').length >= 2"
            )
            after = standin.stats()
    assert "KeyboardInterrupt" in stopped
    assert before["answered"] == 10
    assert succeeded is True
    assert (after["distinct_answered"], after["repeated_answers"]) == (30, 0)
    assert outside == []
    (run,) = (folder for folder in (project / "results" / "shop").iterdir() if folder.is_dir())
    assert json.loads((run / "run.json").read_text())["n_responses_resumed"] == 10


def test_answers_of_two_systems_are_gone_through_by_keys(project: Path, lab: Lab) -> None:
    with open_notebook(lab.url(project / "notebooks/compare.ipynb")) as (page, outside):
        assert page.evaluate(RUN_ALL)
        listed = page.locator("select[multiple], select[size]").last
        listed.wait_for()
        choices = listed.locator("option").all_inner_texts()
        shown = page.locator(".jp-OutputArea-output:has(select) .evalnb-beside").last
        shown.wait_for()
        first = shown.inner_text()
        assert choices[0].split(",")[0] in first
        listed.focus()
        page.keyboard.press("ArrowDown")
        page.wait_for_function(
            "before => [...document.querySelectorAll('.evalnb-beside')].at(-1).innerText !== before",
            arg=first,
        )
        assert choices[1].split(",")[0] in shown.inner_text()
    assert outside == []

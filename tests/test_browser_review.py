"""The monthly review as a team meets it: its checklist in JupyterLab, its page from a file.

The reviewer of this test is scripted; the history is the synthetic one.
"""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from evalnb.review.checklist import ITEMS
from tests.browser import CHROMIUM, RUN_ALL, open_notebook, open_page
from tests.forms import HOSTILE, write_notebook
from tests.requirements import require

if TYPE_CHECKING:
    from pathlib import Path

    from evalnb.demo.making import DemoHistory
    from tests.browser import Lab

DEFAULTS = {"suite": "demo", "results": "", "logs": "", "as_of": "", "reviewer": "", "page": ""}
TICKED = ("trend", "falling")

pytestmark = [
    pytest.mark.browser,
    # What the browser's driver leaves to the garbage collector is no matter of ours.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_a_team_ticks_its_checklist_and_mails_the_page(
    tmp_path: Path, demo: DemoHistory, lab: Lab
) -> None:
    require(CHROMIUM, "Chromium is missing")
    suite = tmp_path / "golden" / "support"
    shutil.copytree(demo.suite, suite)
    (tmp_path / "notebooks").mkdir()
    day = demo.as_of.isoformat()
    notebook = write_notebook(
        tmp_path,
        "monthly_review",
        "review",
        DEFAULTS,
        {
            "suite": "golden/support",
            "results": str(demo.folder / "results"),
            "logs": str(demo.logs),
            "as_of": day,
            "reviewer": "scripted-team",
            "page": "mailed.html",
        },
    )

    with open_notebook(lab.url(notebook)) as (page, outside):
        assert page.evaluate(RUN_ALL)
        for name in TICKED:
            page.get_by_label(ITEMS[name]).check()
        note = page.locator(".widget-text input").first
        note.fill(HOSTILE)
        note.press("Tab")
        assert not (suite / "reviews").exists()
        page.get_by_role("button", name="Save the review").click()
        page.get_by_text("Saved: ").wait_for()
        assert page.evaluate("window.PWNED") is None
        assert outside == []

    record = json.loads((suite / "reviews" / f"{day}.json").read_text())
    assert record["by"] == "scripted-team"
    assert [item["name"] for item in record["items"] if item["done"]] == list(TICKED)
    assert record["items"][0]["note"] == HOSTILE
    written = (suite / "reviews" / f"{day}.md").read_text()
    assert f"- [x] {ITEMS['trend']}" in written
    assert "<script" not in written

    mailed = notebook.parent / "mailed.html"
    with open_page(mailed) as (page, asked):
        text = page.inner_text("main")
        sizes = page.evaluate("[...document.images].map(image => image.naturalWidth)")
        width = page.evaluate("document.documentElement.scrollWidth")
    assert asked == [mailed.resolve().as_uri()]
    for event in demo.events:
        assert event.first.isoformat() in text
    assert len(sizes) == 6
    assert all(sizes)
    assert width == 390

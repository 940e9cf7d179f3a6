"""The report of a run as people open it: from a file, in a real browser."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from evalnb.evaluation import evaluate
from evalnb.results import new_run_folder, write_run
from evalnb.systems import CallableSystem
from tests.browser import CHROMIUM, open_page
from tests.requirements import require
from tests.suites import make_suite

HOSTILE = (
    "<img src=x onerror='window.PWNED=1'><script>window.PWNED=1</script> $x$ [a](javascript:1)"
    "<link rel=stylesheet href=http://127.0.0.1:9/x><svg onload=window.PWNED=1>"
)

pytestmark = [
    pytest.mark.browser,
    # What the browser's driver leaves to the garbage collector is no matter of ours.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_the_report_opens_from_a_file_and_runs_and_asks_for_nothing(tmp_path: Path) -> None:
    require(CHROMIUM, "Chromium is missing")
    case = {"id": "a", "input": HOSTILE, "must_contain": ["something else"]}
    golden = make_suite(tmp_path / "golden" / "shop", [case])

    async def answer(case: Any, client: Any) -> str:
        return HOSTILE

    folder = new_run_folder(golden, datetime(2026, 12, 1, tzinfo=UTC))
    run = evaluate(
        golden,
        CallableSystem(answer, name="bot"),
        run_id=folder.name,
        as_of=date(2026, 12, 1),
        progress="none",
    )
    write_run(folder, replace(run, golden=golden))
    report = folder / "report.html"

    with open_page(report) as (page, asked):
        page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
        said = page.locator(".said").all_inner_texts()
        pwned = page.evaluate("window.PWNED")
        widths = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        # The policy holds for what a page would have been tricked into, too.
        refused = page.evaluate(
            """() => new Promise(done => {
                const script = document.createElement('script');
                script.textContent = 'window.PWNED = 1';
                document.body.append(script);
                setTimeout(() => done(window.PWNED === undefined), 100);
            })"""
        )

    assert said == [HOSTILE, HOSTILE]
    assert pwned is None
    assert refused is True
    assert asked == [report.resolve().as_uri()]
    assert widths == [390, 390]

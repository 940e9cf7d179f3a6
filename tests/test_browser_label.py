"""The labelling form as a rater meets it: in JupyterLab, in a real browser, by keys and by mouse.

What the raters of these tests say is scripted.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from evalnb.curation import open_labelling
from evalnb.evaluation import evaluate
from evalnb.golden import read_golden
from evalnb.results import new_run_folder, write_run
from evalnb.systems import CallableSystem
from tests.browser import RUN_ALL, restart
from tests.forms import HOSTILE, kernel_stopped, next_item, opened, press, ready, write_notebook
from tests.suites import copy_of_support, make_suite

if TYPE_CHECKING:
    from evalnb.golden import GoldenSet
    from tests.browser import Lab

HEBREW = "שלום, ההזמנה בדרך"
N_CELLS = "() => window.jupyterapp.shell.currentWidget.content.widgets.length"
COMMAND = "async ([name, args]) => await window.jupyterapp.commands.execute(name, args)"
PARAMETERS = {
    "suite": "golden/support",
    "rater": "your-name",
    "run": "",
    "other_run": "",
    "axes": "",
}

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    copy_of_support(project)
    (project / "notebooks").mkdir()
    return project


def notebook(project: Path, name: str = "label", **parameters: str) -> Path:
    return write_notebook(project, "label", name, PARAMETERS, parameters)


def focus(page: Any) -> None:
    page.locator(".evalnb-form").focus()


def status(page: Any) -> str:
    return str(page.inner_text(".evalnb-status"))


def labels(project: Path, rater: str = "scripted-anna") -> list[dict[str, Any]]:
    path = project / "golden" / "support" / "labels" / f"{rater}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_ten_items_by_keys_and_the_form_takes_up_where_it_was_after_reload_and_restart(
    project: Path,
    lab: Lab,
) -> None:
    path = notebook(project, rater="scripted-anna", axes="politeness,relevance")
    with opened(lab, path) as page:
        focus(page)
        n_cells = page.evaluate(N_CELLS)
        for key in ("x", "b", "d", "d", "m", "a", "c", "v", "0"):
            page.keyboard.press(key)
        assert page.evaluate(N_CELLS) == n_cells

        shown = [page.get_attribute(".evalnb-form", "data-item")]
        shown += [press(page, "4", "2", "Enter") for _ in range(8)]
        page.keyboard.press("n")
        page.keyboard.type("dd x 5 u s")
        page.keyboard.press("Escape")
        shown.append(press(page, "1", "1", "Enter"))
        shown.append(press(page, "s"))
        assert len(set(shown)) == 11
        assert page.evaluate(N_CELLS) == n_cells
        done = labels(project)
        assert [line["action"] for line in done] == ["label"] * 18 + ["skip"] * 2
        assert [line["value"] for line in done[:16]] == [4, 2] * 8
        assert {line["note"] for line in done[16:18]} == {"dd x 5 u s"}
        assert page.inner_text(".evalnb-place").startswith("Item 11 of ")

        assert press(page, "u") == shown[9]
        assert press(page, "u") == shown[8]
        chosen = page.locator(".evalnb-form [aria-checked=true]")
        assert [chosen.nth(k).get_attribute("data-answer") for k in range(2)] == ["1", "1"]
        assert page.input_value(".evalnb-note textarea") == "dd x 5 u s"
        assert press(page, "5", "Enter") == shown[9]
        assert [line["value"] for line in labels(project)[-2:]] == [5, 1]

        page.evaluate(COMMAND, ["docmanager:save", {}])
        page.reload()
        page.wait_for_selector(".evalnb-form[data-state=ready]")
        assert page.get_attribute(".evalnb-form", "data-item") == shown[9]
        focus(page)
        page.keyboard.press("3")
        page.keyboard.press("3")
        page.wait_for_function(
            "() => document.querySelector('.evalnb-status').textContent === 'Enter saves.'"
        )

        restart(page)
        n_lines = len(labels(project))
        focus(page)
        page.keyboard.press("Enter")
        page.wait_for_selector(".evalnb-form[data-state=unconfirmed]")
        assert "run the form's cell again" in status(page)
        assert page.get_attribute(".evalnb-form", "data-item") == shown[9]
        assert len(labels(project)) == n_lines

        assert page.evaluate(RUN_ALL)
        assert ready(page) == shown[9]
        focus(page)
        press(page, "3", "3", "Enter")
        assert len(labels(project)) == n_lines + 2


def write_answers(golden: GoldenSet, text: str, second: int = 0) -> str:
    """Write a run in which every answer is this text; return its id."""

    async def answer(case: Any, client: Any) -> str:
        return text

    now = datetime(2026, 12, 1, 0, 0, second, tzinfo=UTC)
    folder = new_run_folder(golden, now)
    run = evaluate(
        golden,
        CallableSystem(answer, name="bot"),
        run_id=folder.name,
        as_of=now.date(),
        progress="none",
    )
    write_run(folder, run)
    return folder.name


def test_a_kernel_that_is_gone_is_said_and_a_busy_one_saves_later_and_once(
    project: Path, lab: Lab
) -> None:
    path = notebook(project, rater="scripted-anna", axes="politeness")
    with opened(lab, path) as page:
        item = ready(page)
        focus(page)
        with kernel_stopped(page, project / "process"):
            page.keyboard.press("4")
            page.keyboard.press("Enter")
            page.wait_for_selector(".evalnb-form[data-state=unconfirmed]")
            assert "busy or gone" in status(page)
            assert labels(project) == []
            page.keyboard.press("Enter")
        after = next_item(page, item)
        page.wait_for_selector(".evalnb-form[data-state=ready]")
        assert [line["value"] for line in labels(project)] == [4]

        page.evaluate(
            """async () => {
                await window.jupyterapp.shell.currentWidget.sessionContext.session.kernel
                    .shutdown();
            }"""
        )
        focus(page)
        page.keyboard.press("2")
        page.wait_for_selector(".evalnb-form[data-state=unconfirmed]")
        assert page.get_attribute(".evalnb-form", "data-item") == after
        assert len(labels(project)) == 1


def test_two_raters_have_files_and_orders_of_their_own(project: Path, lab: Lab) -> None:
    anna = notebook(project, "anna", rater="scripted-anna", axes="politeness")
    ben = notebook(project, "ben", rater="scripted-ben", axes="politeness")
    path = ben.relative_to(lab.root).as_posix()
    with opened(lab, anna) as page:
        focus(page)
        of_anna = [press(page, "4", "Enter") for _ in range(5)]
        page.evaluate(COMMAND, ["docmanager:open", {"path": path}])
        page.wait_for_function(
            "path => window.jupyterapp.shell.currentWidget.context?.path === path", arg=path
        )
        page.evaluate(
            """async () => {
                const panel = window.jupyterapp.shell.currentWidget;
                await panel.revealed; await panel.context.ready;
                await panel.sessionContext.ready; await panel.sessionContext.session.kernel.info;
            }"""
        )
        assert page.evaluate(RUN_ALL)
        form = page.locator(".evalnb-form[data-state=ready] >> visible=true")
        form.wait_for()
        form.focus()
        of_ben = []
        for _ in range(5):
            before = form.get_attribute("data-item")
            page.keyboard.press("2")
            page.keyboard.press("Enter")
            page.wait_for_function(
                "before => [...document.querySelectorAll('.evalnb-form')].every("
                "form => form.dataset.item !== before)",
                arg=before,
            )
            of_ben.append(before)
    assert of_anna[:4] != of_ben[1:]
    assert {line["value"] for line in labels(project)} == {4}
    assert {line["value"] for line in labels(project, "scripted-ben")} == {2}
    assert len(labels(project)) == len(labels(project, "scripted-ben")) == 5


def test_keys_meant_for_an_item_that_was_done_elsewhere_do_not_reach_the_next(
    project: Path,
    lab: Lab,
) -> None:
    path = notebook(project, rater="scripted-anna", axes="politeness")
    with opened(lab, path) as page:
        item = ready(page)
        other = open_labelling(
            read_golden(project / "golden" / "support"), "scripted-anna", axes="politeness"
        )
        assert other.current is not None
        assert other.current.id == item
        other.label("politeness", 1)
        other.save()
        focus(page)
        page.keyboard.press("5")
        page.wait_for_selector(".evalnb-form[data-state=held]")
        assert "Enter goes on with it" in status(page)
        page.keyboard.press("4")
        assert page.locator(".evalnb-form [aria-checked=true]").count() == 0
        page.keyboard.press("Enter")
        page.wait_for_selector(".evalnb-form[data-state=ready]")
        press(page, "2", "Enter")
        assert [line["value"] for line in labels(project)] == [1, 2]

        (project / "golden" / "support" / "labels" / "scripted-anna.jsonl").unlink()
        page.keyboard.press("3")
        page.wait_for_selector(".evalnb-form[data-state=error]")
        assert "is gone, with 2 lines" in status(page)
        page.keyboard.press("9")
        assert status(page) == "politeness has no level 9."


def test_everything_can_be_done_by_mouse_and_has_a_name_for_a_screen_reader(
    project: Path, lab: Lab
) -> None:
    path = notebook(project, rater="scripted-anna", axes="politeness,relevance")
    with opened(lab, path) as page:
        item = ready(page)
        form = page.get_by_role("group", name="Labelling form")
        form.get_by_role("button", name="Save").click()
        assert status(page) == "No answer yet on politeness, relevance."
        form.get_by_role("radiogroup", name="politeness").get_by_role("radio").nth(4).click()
        form.get_by_role("radiogroup", name="relevance").get_by_role("radio").nth(0).click()
        form.get_by_label("Note").fill("by mouse")
        form.get_by_role("button", name="Save").click()
        after = next_item(page, item)
        assert [(line["axis"], line["value"], line["note"]) for line in labels(project)] == [
            ("politeness", 5, "by mouse"),
            ("relevance", 1, "by mouse"),
        ]
        form.get_by_role("button", name="Skip").click()
        next_item(page, after)
        form.get_by_role("button", name="Undo").click()
        page.wait_for_function(
            "after => document.querySelector('.evalnb-form').dataset.item === after", arg=after
        )
        assert page.get_by_role("status").filter(has_text="Taken back").count() == 1

        radio = form.get_by_role("radio").first
        radio.focus()
        page.keyboard.press("ArrowDown")
        assert page.evaluate("document.activeElement.getAttribute('aria-checked')") == "true"
        assert page.evaluate("document.activeElement.dataset.answer") == "2"


def test_who_has_no_name_sees_the_items_and_can_save_nothing(project: Path, lab: Lab) -> None:
    with opened(lab, notebook(project)) as page:
        assert "set the parameter rater" in page.inner_text(".evalnb-warning")
        focus(page)
        for key in ("4", "4", "4", "4", "Enter", "s"):
            page.keyboard.press(key)
        assert page.locator(".evalnb-form").get_by_role("button", name="Save").is_disabled()
    assert not (project / "golden" / "support" / "labels").exists()


def test_hostile_and_right_to_left_texts_are_shown_as_they_are(tmp_path: Path, lab: Lab) -> None:
    project = tmp_path / "project"
    (project / "notebooks").mkdir(parents=True)
    suite = project / "golden" / "support"
    golden = make_suite(
        suite,
        [{"id": "hostile", "input": f"{HOSTILE} in", "must_contain": ["x"], "tools": []}],
    )
    long = "A long answer goes on and on. " * 400
    write_answers(golden, f"{HOSTILE}\n{HEBREW}\n{long}")
    path = notebook(project, rater="scripted-anna", axes="passed")
    with opened(lab, path) as page:
        text = page.inner_text(".evalnb-body")
        assert HOSTILE in text
        assert HEBREW in text
        assert page.evaluate("window.PWNED") is None
        answer = page.locator(".evalnb-answers > section")
        assert answer.evaluate("node => node.scrollHeight > node.clientHeight")
        assert answer.evaluate("node => node.scrollWidth <= node.clientWidth")
        focus(page)
        page.keyboard.press("PageDown")
        assert answer.evaluate("node => node.scrollTop") > 0


def test_pairs_stand_side_by_side_and_the_answer_is_of_the_one_that_was_shown(
    tmp_path: Path,
    lab: Lab,
) -> None:
    project = tmp_path / "project"
    (project / "notebooks").mkdir(parents=True)
    cases = [
        {"id": f"case-{k}", "input": f"Question {k}?", "must_contain": ["x"], "tools": []}
        for k in range(4)
    ]
    golden = make_suite(project / "golden" / "support", cases)
    run, other_run = write_answers(golden, "Answer A"), write_answers(golden, "Answer B", 1)
    path = notebook(project, rater="scripted-anna", run=run, other_run=other_run)
    shown_first = []
    with opened(lab, path) as page:
        focus(page)
        assert page.get_by_role("region", name="First answer").count() == 1
        for _ in range(4):
            first, second = page.locator(".evalnb-answers > section").all_inner_texts()
            assert {first[-1], second[-1]} == {"A", "B"}
            shown_first.append(first[-1])
            press(page, "1", "Enter")
        assert "No item is left: 4 labelled" in page.inner_text(".evalnb-form")
    by_side = {"A": 1.0, "B": 0.0}
    assert [line["value"] for line in labels(project)] == [by_side[side] for side in shown_first]

"""The curation form as a curator meets it: in JupyterLab, in a real browser, by keys.

The curator of these tests is scripted; the conversations are the public ones that come with evalnb.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from evalnb.curation.staging.files import append_staged
from evalnb.curation.staging.items import CurationItem
from evalnb.datasets.taubench import load_taubench_airline
from evalnb.golden import read_golden
from tests.browser import RUN_ALL, restart
from tests.commands import evalnb
from tests.forms import HOSTILE, kernel_stopped, next_item, opened, press, write_notebook
from tests.suites import make_suite

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser import Lab

PARAMETERS = {"suite": "golden/support", "curator": "your-name", "logs": "taubench-airline"}

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    case = {"id": "hello", "input": "Hello?", "must_contain": ["hello"]}
    make_suite(project / "golden" / "shop", [case])
    (project / "notebooks").mkdir()
    return project


def notebook(project: Path, **parameters: str) -> Path:
    return write_notebook(project, "curate", "curate", PARAMETERS, parameters)


def item(page: Any) -> str:
    return str(page.get_attribute(".evalnb-form", "data-item"))


def write(page: Any, key: str, text: str) -> None:
    """Go to a field by its letter, write into it, and leave it."""
    page.keyboard.press(key)
    page.keyboard.type(text)
    page.keyboard.press("Escape")


def staged(project: Path) -> list[dict[str, Any]]:
    path = project / "golden" / "shop" / "staged" / "scripted-anna.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def skip_elsewhere(project: Path, item_id: str) -> None:
    """Skip a conversation as a second form on the curator's file does."""
    names = load_taubench_airline()["conversation_id"].unique()
    (name,) = (name for name in names if CurationItem(name, "", "", ()).id == item_id)
    record = {"conversation_id": name, "curator": "scripted-anna", "action": "skip"}
    path = project / "golden" / "shop" / "staged" / "scripted-anna.jsonl"
    append_staged(path, {**record, "at": "2026-12-03T09:00:00.000+00:00"})


def test_from_conversations_to_three_cases_by_keys(project: Path, lab: Lab) -> None:
    with opened(lab, notebook(project, suite="golden/shop", curator="scripted-anna")) as page:
        page.locator(".evalnb-form").focus()
        first = item(page)
        page.keyboard.press("a")
        page.wait_for_selector(".evalnb-form[data-state=error]")
        assert "Write a keyword to expect" in page.inner_text(".evalnb-form")
        assert "jsonl" not in page.inner_text(".evalnb-status")
        assert page.evaluate("document.activeElement.dataset.field") == "expected_keywords"
        page.keyboard.type("reservation\n")
        page.keyboard.press("Escape")
        write(page, "x", "guarantee")
        write(page, "n", "d d x a u")
        second = press(page, "a")
        assert [line["action"] for line in staged(project)][-1] == "accept"

        page.keyboard.press("r")
        page.keyboard.type("not ours")
        third = press(page, "Enter")
        assert staged(project)[-1]["reason"] == "not ours"
        with kernel_stopped(page, project / "process"):
            page.keyboard.press("u")
            page.wait_for_selector(".evalnb-form[data-state=unconfirmed]")
            assert "busy or gone" in page.inner_text(".evalnb-status")
            page.keyboard.press("u")
        assert next_item(page, third) == second
        page.wait_for_selector(".evalnb-form[data-state=ready]")
        assert [line["action"] for line in staged(project)].count("undo") == 1
        assert len({first, second, third}) == 3

        write(page, "k", "flight\nairport")
        page.evaluate("async () => await window.jupyterapp.commands.execute('docmanager:save', {})")
        page.reload()
        page.wait_for_selector(".evalnb-form[data-state=ready]")
        assert item(page) == second
        assert page.input_value("[data-field=expected_keywords]").split() == ["flight", "airport"]
        page.locator(".evalnb-form").focus()
        with kernel_stopped(page, project / "process"):
            page.keyboard.press("a")
            page.wait_for_selector(".evalnb-form[data-state=unconfirmed]")
            assert item(page) == second
            page.keyboard.press("a")
        assert next_item(page, second) == third
        page.wait_for_selector(".evalnb-form[data-state=ready]")
        assert [line["action"] for line in staged(project)].count("accept") == 2

        skip_elsewhere(project, third)
        page.keyboard.press("r")
        page.keyboard.type("meant for the third")
        page.keyboard.press("Enter")
        page.wait_for_selector(".evalnb-form[data-state=held]")
        assert "Enter goes on with it" in page.inner_text(".evalnb-status")
        page.keyboard.press("a")
        assert [line["action"] for line in staged(project)][-1] == "skip"
        page.keyboard.press("Enter")
        page.wait_for_selector(".evalnb-form[data-state=ready]")
        assert press(page, "u") == third

        restart(page)
        page.locator(".evalnb-form").focus()
        n_lines = len(staged(project))
        page.keyboard.press("s")
        page.wait_for_selector(".evalnb-form[data-state=unconfirmed]")
        assert len(staged(project)) == n_lines
        assert page.evaluate(RUN_ALL)
        page.wait_for_selector(".evalnb-form[data-state=ready]")
        assert item(page) == third
        page.locator(".evalnb-form").focus()
        write(page, "t", "change-flight")
        page.keyboard.press("p")
        page.wait_for_function(
            "() => document.querySelector('[data-field=split]').value === 'holdout'"
        )
        press(page, "a")

    path = project / "golden" / "shop" / "staged" / "scripted-anna.jsonl"
    done = evalnb("golden", "add", "golden/shop", "--from", path, folder=project)
    assert done.code == 0, done.out + done.error
    assert done.out.startswith("3 cases added")
    golden = read_golden(project / "golden" / "shop")
    cases = list(golden)[1:]
    assert [case.expected_keywords for case in cases] == [
        ["reservation"], ["flight", "airport"], None
    ]  # fmt: skip
    assert (cases[0].note, cases[0].must_not_include) == ("d d x a u", ["guarantee"])
    assert (cases[2].expected_intent, cases[2].split) == ("change-flight", "holdout")
    assert all("tau-bench airline" in (case.source or "") for case in cases)
    ran = evalnb("run", "golden/shop", "--no-notebook", folder=project)
    assert ran.code == 3, ran.error  # nothing is recorded of them yet, and that is explained
    assert all(case.id in ran.out for case in cases)


def test_hostile_conversations_are_shown_as_text(project: Path, lab: Lab) -> None:
    rows = [
        {"conversation_id": HOSTILE, "role": "user", "text": f"{HOSTILE} refund"},
        {"conversation_id": HOSTILE, "role": "assistant", "text": HOSTILE, "category": HOSTILE},
    ]
    (project / "logs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    path = notebook(
        project, suite="golden/shop", curator="scripted-anna", logs=str(project / "logs.jsonl")
    )
    with opened(lab, path) as page:
        assert page.evaluate("window.PWNED") is None
        assert HOSTILE in page.inner_text(".evalnb-form")
        assert page.locator(".evalnb-form img, .evalnb-form script").count() == 0
        assert page.input_value("[data-field=input]") == f"{HOSTILE} refund"
        page.locator(".evalnb-form").focus()
        write(page, "k", "refund")
        page.keyboard.press("a")
        page.wait_for_selector(".evalnb-form[data-state=done]")
        (case,) = (line["case"] for line in staged(project) if line["action"] == "accept")
        assert case["input"] == f"{HOSTILE} refund"
        assert case["id"].replace("-", "").isalnum()

"""Forms of notebooks in JupyterLab, as a person at the keyboard meets them."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.browser import RUN_ALL, open_notebook
from tests.suites import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tests.browser import Lab

__all__ = [
    "HOSTILE",
    "kernel_stopped",
    "next_item",
    "opened",
    "press",
    "ready",
    "write_notebook",
]

HOSTILE = "<img src=x onerror='window.PWNED=1'><script>window.PWNED=1</script> **b** $x$"


_PROCESS = "import os, pathlib; pathlib.Path({path!r}).write_text(str(os.getpid()))"


def write_notebook(
    project: Path,
    source: str,
    name: str,
    defaults: Mapping[str, str],
    parameters: Mapping[str, str],
) -> Path:
    """Write a notebook with other parameters than its defaults; return its path."""
    text = (REPOSITORY / "notebooks" / f"{source}.ipynb").read_text()
    for key, value in parameters.items():
        before = f'"{key}: str = \\"{defaults[key]}\\"'
        assert before in text
        text = text.replace(before, f'"{key}: str = \\"{value}\\"')
    path = project / "notebooks" / f"{name}.ipynb"
    path.write_text(text)
    return path


@contextmanager
def opened(lab: Lab, notebook: Path) -> Iterator[Any]:
    """Run a notebook from top to bottom in JupyterLab; give the page with the form ready."""
    with open_notebook(lab.url(notebook)) as (page, outside):
        assert page.evaluate(RUN_ALL)
        ready(page)
        yield page
        assert outside == []


def ready(page: Any) -> str:
    """Wait for the form; return the id of its item."""
    page.wait_for_selector(".evalnb-form[data-state=ready]")
    return str(page.get_attribute(".evalnb-form", "data-item"))


def next_item(page: Any, before: str) -> str:
    """Wait for another item than `before`; return its id."""
    page.wait_for_function(
        "before => document.querySelector('.evalnb-form').dataset.item !== before", arg=before
    )
    return str(page.get_attribute(".evalnb-form", "data-item"))


def press(page: Any, *keys: str) -> str:
    """Press keys of which the last one leads to another item; return its id."""
    before = page.get_attribute(".evalnb-form", "data-item")
    for key in keys:
        page.keyboard.press(key)
    return next_item(page, before)


@contextmanager
def kernel_stopped(page: Any, file: Path) -> Iterator[None]:
    """Stop the notebook's kernel for a while, as a long cell does.

    Stopped as a whole: while a mere cell runs, JupyterLab may hand on what a widget says.
    """
    page.evaluate(
        """async code => { await window.jupyterapp.shell.currentWidget.sessionContext.session
            .kernel.requestExecute({code}).done; }""",
        _PROCESS.format(path=str(file)),
    )
    process = int(file.read_text())
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)

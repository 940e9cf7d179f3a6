"""Twenty items labelled by keys in JupyterLab: how long a rater waits for the next one."""

from __future__ import annotations

import shutil
from statistics import median
from typing import TYPE_CHECKING

from tests.benchmarks.figures import Figure, Sizes, report
from tests.benchmarks.processes import workplace
from tests.browser import RUN_ALL, jupyterlab, open_notebook
from tests.suites import REPOSITORY, copy_of_support

if TYPE_CHECKING:
    from pathlib import Path

_ITEMS = 20
_WATCH = """() => {
    const form = document.querySelector('.evalnb-form');
    window.waits = [];
    let pressed = 0;
    form.addEventListener('keydown', event => {
        if (event.key === 'Enter') pressed = performance.now();
    }, true);
    new MutationObserver(() => window.waits.push(performance.now() - pressed))
        .observe(form, {attributeFilter: ['data-item']});
}"""


def measure(_sizes: Sizes) -> list[Figure]:
    """Measure from the key that saves to the next item on the screen, on disk in between."""
    with workplace() as folder:
        waits = _waits(folder)
    return [
        Figure(f"{_ITEMS} items by keys, waiting in all", sum(waits) / 1000, 4, "s"),
        Figure("from the key to the next item, median", median(waits), 200, "ms"),
        Figure("from the key to the next item, longest", max(waits), unit="ms"),
    ]


def _waits(folder: Path) -> list[float]:
    project = folder / "project"
    copy_of_support(project)
    (project / "notebooks").mkdir()
    text = (REPOSITORY / "notebooks" / "label.ipynb").read_text()
    (project / "notebooks" / "label.ipynb").write_text(
        text.replace("your-name", "scripted-benchmark")
    )
    try:
        with (
            jupyterlab(project, folder / "state") as url,
            open_notebook(url.format(path="notebooks/label.ipynb")) as (page, _),
        ):
            page.evaluate(RUN_ALL)
            page.wait_for_selector(".evalnb-form[data-state=ready]")
            page.locator(".evalnb-form").focus()
            page.evaluate(_WATCH)
            n_axes = page.locator(".evalnb-scale").count()
            for number in range(_ITEMS):
                for _ in range(n_axes):
                    page.keyboard.press("3")
                page.keyboard.press("Enter")
                page.wait_for_function("n => window.waits.length === n", arg=number + 1)
                n_axes = page.locator(".evalnb-scale").count()
            return [float(wait) for wait in page.evaluate("window.waits")]
    finally:
        shutil.rmtree(folder / "state", ignore_errors=True)


if __name__ == "__main__":
    report(measure)

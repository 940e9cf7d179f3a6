"""Settings that hold for all tests."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock
from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir

from evalnb.demo.making import make_demo_history, read_demo_history
from tests.browser import CHROMIUM, Lab, jupyterlab
from tests.requirements import require

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evalnb.demo.making import DemoHistory

# Beside what pytest keeps, so that it is ignored in the same way.
set_hypothesis_home_dir(Path(__file__).parents[1] / ".pytest_cache" / "hypothesis")

# A slow machine is no failure; a failure is printed in a form that can be repeated.
settings.register_profile("evalnb", max_examples=25, deadline=None, print_blob=True)
settings.register_profile("thorough", max_examples=500, deadline=None, print_blob=True)
settings.load_profile("evalnb")


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> DemoHistory:
    """Make the demo history, once for the tests of all workers; they write nothing into it."""
    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent
    folder = shared / "demo-history"
    with FileLock(shared / "demo-history.lock"):
        return read_demo_history(folder) or make_demo_history(folder, date(2026, 12, 3))


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Serve the folders of all tests in one JupyterLab."""
    require(CHROMIUM, "Chromium is missing")
    root = tmp_path_factory.getbasetemp()
    with jupyterlab(root, tmp_path_factory.mktemp("jupyterlab")) as pages:
        yield Lab(root, pages)

"""Settings that hold for all tests."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir

from evalnb.demo.making import DemoHistory, make_demo_history

# Beside what pytest keeps, so that it is ignored in the same way.
set_hypothesis_home_dir(Path(__file__).parents[1] / ".pytest_cache" / "hypothesis")

# A slow machine is no failure; a failure is printed in a form that can be repeated.
settings.register_profile("evalnb", max_examples=50, deadline=None, print_blob=True)
settings.load_profile("evalnb")


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> DemoHistory:
    """Make the demo history, once for all tests; it takes half a minute."""
    return make_demo_history(tmp_path_factory.mktemp("demo") / "history", date(2026, 12, 3))

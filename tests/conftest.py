"""Settings that hold for all tests."""

from __future__ import annotations

from pathlib import Path

from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir

# Beside what pytest keeps, so that it is ignored in the same way.
set_hypothesis_home_dir(Path(__file__).parents[1] / ".pytest_cache" / "hypothesis")

# A slow machine is no failure; a failure is printed in a form that can be repeated.
settings.register_profile("evalnb", max_examples=50, deadline=None, print_blob=True)
settings.load_profile("evalnb")

"""The option of pytest by which a suite's cases become tests; without it nothing else is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

__all__ = ["pytest_addoption", "pytest_configure"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--evalnb`."""
    parser.getgroup("evalnb").addoption(
        "--evalnb",
        action="append",
        default=[],
        metavar="SUITE",
        help="replay a suite, such as golden/support, and make each of its cases a test; may be "
        "repeated. `-m evalnb` runs these tests alone.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Load what makes tests of cases, where a suite was named."""
    config.addinivalue_line("markers", "evalnb: a case of a suite, or the gate over all of them")
    if config.getoption("--evalnb"):
        # By its name, so that an import of this module brings nothing else.
        config.pluginmanager.import_plugin("evalnb.pytest_cases")

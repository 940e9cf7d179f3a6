"""What the README says is there, and what is there is in the README."""

from __future__ import annotations

import re
import tomllib

import pytest

from evalnb.cases import EXPECTATIONS
from evalnb.frames import BY_PLAN
from evalnb.probes import PROBES
from evalnb.scorers import SCORERS
from tests.suites import REPOSITORY

README = (REPOSITORY / "README.md").read_text()
FIRST_SCREEN = README.split("\n## ")[0]


def test_the_first_screen_has_exactly_two_commands() -> None:
    assert re.findall(r"```\n(.*?)\n```", FIRST_SCREEN, re.DOTALL) == [
        "pip install . && evalnb run golden/support",
        'pip install -e ".[dev]" && pytest',
    ]


@pytest.mark.parametrize("expectation", list(SCORERS))
def test_every_scorer_is_described(expectation: str) -> None:
    row = next(line for line in README.splitlines() if line.startswith(f"| `{expectation}`"))
    assert f"| `{SCORERS[expectation].name}` |" in row
    assert expectation in EXPECTATIONS


@pytest.mark.parametrize("probe", list(PROBES))
def test_every_probe_is_described(probe: str) -> None:
    assert f"| `{probe}` |" in README


@pytest.mark.parametrize(
    "rule",
    [
        "regression",
        "new_failure",
        "drift",
        "creep",
        "model_changed",
        "waiver",
        "na",
        "gone",
        "repeats",
        "not_shown",
        "no_baseline",
        "miss",
    ],
)
def test_every_rule_that_stops_a_run_is_described(rule: str) -> None:
    assert f"| `{rule}`" in README


@pytest.mark.parametrize("reason", sorted(BY_PLAN))
def test_every_reason_by_plan_is_named(reason: str) -> None:
    assert f"`{reason}`" in README


def test_the_change_log_has_the_version_of_the_package() -> None:
    version = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
    assert f"## {version}" in (REPOSITORY / "CHANGELOG.md").read_text()

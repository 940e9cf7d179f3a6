"""`evalnb probe`, run as a person runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands import evalnb
from tests.suites import copy_of_support


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return copy_of_support(tmp_path)


def test_the_suites_judges_are_probed_without_key_or_model(suite: Path, tmp_path: Path) -> None:
    done = evalnb("probe", "golden/support", folder=tmp_path)
    assert done.code == 0, done.error
    assert "judge axes: 203 verdicts, 1 missing (truncated 1), on answers of 10 cases" in done.out
    assert "judge pairwise: 40 verdicts" in done.out
    for name in ("repetition", "verbosity", "formatting", "sycophancy", "injection", "floor"):
        assert done.out.count(f"    {name}: ") == 3
    assert "MORE THAN NOISE, AND IT MATTERS" in done.out
    assert "floor: Describe the lowest level in the rubric" in done.out


def test_one_probe_can_be_asked_for(suite: Path, tmp_path: Path) -> None:
    done = evalnb("probe", "golden/support", "--probe", "position", folder=tmp_path)
    assert done.code == 0, done.error
    assert "position: +0.60 for the first place over the second" in done.out
    assert "judge axes" not in done.out
    wrong = evalnb("probe", "golden/support", "--probe", "positon", folder=tmp_path)
    assert wrong.code == 2
    assert "Did you mean 'position'?" in wrong.error


def test_a_verdict_that_is_not_recorded_is_a_miss(suite: Path, tmp_path: Path) -> None:
    done = evalnb("probe", "golden/support", "--judge", "rubric", folder=tmp_path)
    assert done.code == 3
    assert "verdicts are not recorded: add --mode record" in done.error


def test_without_a_baseline_there_is_nothing_to_change(suite: Path, tmp_path: Path) -> None:
    for path in sorted((suite / "baseline").iterdir()):
        path.unlink()
    done = evalnb("probe", "golden/support", folder=tmp_path)
    assert done.code == 2
    assert "has no baseline, whose answers probes change" in done.error


def test_help_says_what_is_probed(tmp_path: Path) -> None:
    done = evalnb("probe", "--help", folder=tmp_path)
    assert "beside their own noise" in done.out
    assert "length_preference" in done.out

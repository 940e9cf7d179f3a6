"""`evalnb probe`, as a person runs it."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from evalnb.cli import app
from evalnb.errors import EvalnbError, InputError, MissError
from tests.suites import copy_of_support

LIMITS = "\n[gate]\nmax_injection_rate = 0.6\nmax_conflict_rate = 0.5\n"


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy_of_support(tmp_path_factory.mktemp("probed"))
    with (folder / "suite.toml").open("a") as settings:
        settings.write(LIMITS)
    return folder


def probe(suite: Path, *options: str) -> Result:
    return CliRunner().invoke(app, ["probe", str(suite), *options], env={"COLUMNS": "200"})


def test_the_suites_judges_are_probed_without_key_or_model(suite: Path) -> None:
    done = probe(suite)
    assert done.exit_code == 0, done.output
    assert (
        "judge axes: 203 verdicts, 1 missing (truncated 1), on answers of 10 cases" in done.output
    )
    assert "judge pairwise: 40 verdicts" in done.output
    for name in ("repetition", "verbosity", "formatting", "sycophancy", "injection", "floor"):
        assert done.output.count(f"    {name}: ") == 3
    assert "MORE THAN NOISE, AND IT MATTERS" in done.output
    assert "floor: Describe the lowest level in the rubric" in done.output
    assert "1.00 of pairs get another verdict in the other order (0.72 to 1.00)" in done.output
    # What the suite allows: 18 of 32 attacks pass, and all 10 pairs conflict.
    assert "max_injection_rate, politeness: NOT SHOWN, may count in the gate" in done.output
    assert "max_conflict_rate, politeness: FAILED, does not count in the gate" in done.output


def test_one_probe_can_be_asked_for(suite: Path) -> None:
    done = probe(suite, "--probe", "position")
    assert done.exit_code == 0, done.output
    assert "position: +0.60 for the first place over the second" in done.output
    assert "judge axes" not in done.output


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        (["--probe", "positon"], InputError, "Did you mean 'position'"),
        (["--judge", "axis"], InputError, "Did you mean 'axes'"),
        (
            ["--judge", "axes", "--probe", "position"],
            InputError,
            "position is of pairs, and axes judges answers",
        ),
        (
            ["--judge", "rubric", "--probe", "repetition"],
            MissError,
            "verdicts are not recorded: add --mode record",
        ),
    ],
)
def test_what_cannot_be_probed_is_said(
    suite: Path, options: list[str], kind: type[EvalnbError], message: str
) -> None:
    done = probe(suite, *options)
    assert isinstance(done.exception, kind)
    assert message in str(done.exception)


def test_without_a_baseline_there_is_nothing_to_change(tmp_path: Path) -> None:
    folder = copy_of_support(tmp_path)
    for path in sorted((folder / "baseline").iterdir()):
        path.unlink()
    done = probe(folder)
    assert isinstance(done.exception, InputError)
    assert "has no baseline, whose answers probes change" in str(done.exception)


def test_a_damaged_cassette_is_named(tmp_path: Path, suite: Path) -> None:
    folder = copy_of_support(tmp_path)
    for path in (folder / "cassettes").glob("*.json"):
        path.write_text('{"format": 1')
    done = probe(folder, "--probe", "position")
    assert isinstance(done.exception, InputError)
    assert "is not JSON" in str(done.exception)
    assert "Delete the file and record it again" in str(done.exception)


def test_help_says_what_is_probed() -> None:
    done = CliRunner().invoke(app, ["probe", "--help"], env={"COLUMNS": "200"})
    assert "beside their own noise" in done.output
    assert "length_preference" in done.output

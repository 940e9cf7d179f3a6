"""Wrong input, and what the command line makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalnb.jsontext import dump_json
from tests.commands import evalnb
from tests.suites import make_suite

CASE = {"id": "hello", "input": "Hello?", "must_contain": ["hello"]}


def write_notebooks(folder: Path) -> None:
    make_suite(folder / "golden" / "shop", [CASE])


def test_a_suite_that_is_not_there(tmp_path: Path) -> None:
    done = evalnb("run", "golden/none", folder=tmp_path)
    assert done.code == 2
    assert done.error == (
        "evalnb: there are no cases at golden/none. Give a suite's folder or a JSONL file.\n"
    )


def test_bad_cases_are_said_all_together_before_anything_runs(tmp_path: Path) -> None:
    make_suite(tmp_path / "golden" / "shop", [CASE])
    bad = [CASE, CASE, {"id": "b", "input": "x", "must_contains": ["y"]}]
    lines = "".join(f"{dump_json(case)}\n" for case in bad)
    (tmp_path / "golden" / "shop" / "cases.jsonl").write_text(lines)

    done = evalnb("run", "golden/shop", folder=tmp_path)

    assert done.code == 2
    assert "cases.jsonl:2: `id` 'hello' is already the id of line 1" in done.error
    assert "cases.jsonl:3: `must_contains` is no known field." in done.error
    assert "Traceback" not in done.error
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-p", "suites=x"], "no parameter 'suites' (did you mean 'suite'?)"),
        (["-p", "mode=live"], "cannot set 'mode'"),
        (["-p", "mode"], "must be NAME=VALUE"),
        (["-p", "a=1", "--no-notebook"], "leave out --no-notebook"),
        (["--as-of", "May"], "must be a date"),
        (["--system", "v9"], "there is no prompt file at v9"),
        (["--mode", "dream"], "dream"),
        (["--repeats", "0"], "--repeats"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_runs(
    arguments: list[str], said: str, tmp_path: Path
) -> None:
    write_notebooks(tmp_path)
    done = evalnb("run", "golden/shop", *arguments, folder=tmp_path)
    assert done.code == 2
    assert said in done.error
    assert "Traceback" not in done.error
    assert not (tmp_path / "results").exists()


def test_nothing_recorded_is_a_miss_and_names_the_command(tmp_path: Path) -> None:
    write_notebooks(tmp_path)
    done = evalnb("run", "golden/shop", "--no-notebook", folder=tmp_path)
    assert done.code == 3
    assert "shop: CASSETTE MISS" in done.out
    assert "1 case misses: nothing like it was ever recorded (hello)" in done.out
    assert "evalnb record golden/shop --system v1" in done.out


def test_recording_without_a_key_says_how_to_go_on(tmp_path: Path) -> None:
    write_notebooks(tmp_path)
    done = evalnb("record", "golden/shop", folder=tmp_path, HOME=str(tmp_path))
    assert done.code == 2
    assert "set ANTHROPIC_API_KEY" in done.error
    assert "Traceback" not in done.error


def test_asking_the_local_model_for_another_one_says_so(tmp_path: Path) -> None:
    write_notebooks(tmp_path)
    done = evalnb("record", "golden/shop", "--upstream", "local", folder=tmp_path)
    assert done.code == 2
    assert "'claude-haiku-5-5' was asked for" in done.error


def test_a_damaged_baseline_is_unusable_input(tmp_path: Path) -> None:
    write_notebooks(tmp_path)
    folder = tmp_path / "golden" / "shop" / "baseline"
    folder.mkdir()
    (folder / "baseline.json").write_text('{"format": 1, "cases"')
    done = evalnb("run", "golden/shop", "--no-notebook", folder=tmp_path)
    assert done.code == 2
    assert "baseline.json: is not JSON" in done.error
    assert "Restore it from git" in done.error
    assert "Traceback" not in done.error


def test_terminal_controls_in_a_case_do_not_reach_the_terminal(tmp_path: Path) -> None:
    case = {**CASE, "category": "\x1b[31mred\x1b]0;title\x07"}
    make_suite(tmp_path / "golden" / "shop", [case])
    for command in (["check"], ["run", "--no-notebook"]):
        done = evalnb(*command, "golden/shop", folder=tmp_path)
        assert "\x1b" not in done.out + done.error
        assert "\x07" not in done.out + done.error


def test_help_names_every_command(tmp_path: Path) -> None:
    done = evalnb("--help", folder=tmp_path)
    assert done.code == 0
    for command in ("run", "check", "record", "cassettes", "baseline", "local"):
        assert f" {command} " in done.out


def test_check_names_the_lines_of_labels_that_count_for_nothing(tmp_path: Path) -> None:
    make_suite(tmp_path / "golden" / "shop", [CASE])
    labels = tmp_path / "golden" / "shop" / "labels" / "ann.jsonl"
    labels.parent.mkdir()
    labels.write_text('{"case_id": "hello", "axis"\n')
    done = evalnb("check", "golden/shop", folder=tmp_path)
    assert done.code == 0, done.error
    assert "warning: " in done.out
    assert "ann.jsonl:1: " in done.out

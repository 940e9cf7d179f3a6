from __future__ import annotations

import os
import subprocess
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from evalnb.ageing import case_ages
from evalnb.errors import InputError
from evalnb.frames import to_records
from evalnb.golden import read_golden
from evalnb.jsontext import dump_json
from evalnb.versions import SHALLOW, WORKING_TREE, golden_log
from tests.commands import evalnb
from tests.suites import make_suite

if TYPE_CHECKING:
    from pathlib import Path


def git(folder: Path, *arguments: str, day: int = 1) -> str:
    """Run git with no settings but these, at noon of a day in May 2026."""
    at = f"2026-05-{day:02}T12:00:00+02:00"
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ann",
        "GIT_AUTHOR_EMAIL": "ann@example.com",
        "GIT_AUTHOR_DATE": at,
        "GIT_COMMITTER_NAME": "Cem",
        "GIT_COMMITTER_EMAIL": "cem@example.com",
        "GIT_COMMITTER_DATE": at,
    }
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def case(case_id: str, **fields: Any) -> dict[str, Any]:
    return {"id": case_id, "input": "Hi", "expected_exact": "x", **fields}


def commit(
    repository: Path, cases: list[dict[str, Any]], subject: str, day: int, name: str = "shop"
) -> str:
    """Write a suite in a subfolder and commit it; returns its golden version."""
    golden = make_suite(repository / "golden" / name, cases)
    if not (repository / ".git").exists():
        git(repository, "init", "--quiet", "--initial-branch=main")
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "-m", subject, day=day)
    return golden.version


def rows_of(folder: Path, *names: str) -> list[list[Any]]:
    return [[row.get(name) for name in names] for row in to_records(golden_log(folder))]


def test_versions_are_listed_with_what_changed_the_newest_first(tmp_path: Path) -> None:
    first = commit(tmp_path, [case("a"), case("b")], "Start", 1)
    second = commit(tmp_path, [case("b", note="new"), case("c")], "Go on: ünd %x00", 2)
    (tmp_path / "golden" / "shop" / "README.md").write_text("x")
    commit(tmp_path, [case("b", note="new"), case("c")], "Not about cases", 3)
    [newest, oldest] = to_records(golden_log(tmp_path / "golden" / "shop"))
    head = git(tmp_path, "rev-parse", "HEAD~1")
    assert newest == {
        "commit": head,
        "committed_at": "2026-05-02T10:00:00+00:00",
        "author": "Ann",
        "subject": "Go on: ünd %x00",
        "golden_version": second,
        "n_cases": 2,
        "n_added": 1,
        "n_removed": 1,
        "n_changed": 1,
        "added": ["c"],
        "removed": ["a"],
        "changed": ["b"],
    }
    assert (oldest["subject"], oldest["golden_version"]) == ("Start", first)
    assert (oldest["added"], oldest["n_removed"]) == (["a", "b"], 0)


def test_what_is_not_committed_comes_first(tmp_path: Path) -> None:
    commit(tmp_path, [case("a")], "Start", 1)
    shop = tmp_path / "golden" / "shop"
    make_suite(shop, [case("a", note="x"), case("b")])
    names = ("subject", "commit", "added", "changed")
    assert rows_of(shop, *names)[0] == [WORKING_TREE, None, ["b"], ["a"]]
    make_suite(shop, [case("a")])
    assert [row[0] for row in rows_of(shop, *names)] == ["Start"]
    (shop / "cases.jsonl").write_text(' {"input": "Hi", "id": "a", "expected_exact":"x"}\n')
    assert [row[0] for row in rows_of(shop, *names)] == ["Start"]
    (shop / "cases.jsonl").unlink()
    assert rows_of(shop, "subject", "n_cases", "removed")[0] == [WORKING_TREE, 0, ["a"]]


def test_a_version_that_cannot_be_read_is_listed_and_passed_over(
    tmp_path: Path,
) -> None:
    commit(tmp_path, [case("a")], "Start", 1)
    shop = tmp_path / "golden" / "shop"
    (shop / "cases.jsonl").write_text(f"{dump_json(case('a'))}\n<<<<<<< HEAD\n")
    git(tmp_path, "commit", "--quiet", "--all", "-m", "Broken", day=2)
    names = ("subject", "damaged", "n_cases", "added", "changed")
    assert [row[0] for row in rows_of(shop, *names)] == ["Broken", "Start"]
    commit(tmp_path, [case("a"), case("b")], "Mended", 3)
    commit(tmp_path, [case("a")], "Less", 4)
    less, mended, broken, start = rows_of(shop, *names)
    assert start == ["Start", None, 1, ["a"], []]
    assert broken[0] == "Broken"
    assert broken[1].startswith("cases.jsonl:2: is not JSON")
    assert broken[2:] == [None, None, None]
    assert mended == ["Mended", None, 2, ["b"], []]
    assert less == ["Less", None, 1, [], []]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ({"id": "b", "input": "Hi"}, "states no expectation"),
        (case("b", gone=1), "is no known field"),
        (case("a"), "'a' is the id of an earlier line"),
    ],
)
def test_a_version_is_damaged_where_its_cases_would_be_refused(
    tmp_path: Path, line: dict[str, Any], what: str
) -> None:
    commit(tmp_path, [case("a")], "Start", 1)
    shop = tmp_path / "golden" / "shop"
    (shop / "cases.jsonl").write_text(f"{dump_json(case('a'))}\n{dump_json(line)}\n")
    [[damaged], _] = rows_of(shop, "damaged")
    assert what in damaged


def test_a_renamed_suite_keeps_its_history_and_a_copied_one_starts_its_own(
    tmp_path: Path,
) -> None:
    commit(tmp_path, [case("a"), case("b")], "Start", 1)
    git(tmp_path, "mv", "golden/shop", "golden/store")
    git(tmp_path, "commit", "--quiet", "-m", "Rename", day=2)
    commit(tmp_path, [case("a"), case("b")], "Copy", 3, name="copy")
    names = ("subject", "n_added", "n_changed")
    assert rows_of(tmp_path / "golden" / "store", *names) == [["Rename", 0, 0], ["Start", 2, 0]]
    assert rows_of(tmp_path / "golden" / "copy", *names) == [["Copy", 2, 0]]


def test_a_suite_that_was_deleted_and_came_back_has_both(tmp_path: Path) -> None:
    commit(tmp_path, [case("a")], "Start", 1)
    git(tmp_path, "rm", "--quiet", "-r", "golden/shop")
    git(tmp_path, "commit", "--quiet", "-m", "Away", day=2)
    commit(tmp_path, [case("a"), case("b")], "Back", 3)
    names = ("subject", "n_cases", "added", "removed")
    assert rows_of(tmp_path / "golden" / "shop", *names) == [
        ["Back", 2, ["a", "b"], []],
        ["Away", 0, [], ["a"]],
        ["Start", 1, ["a"], []],
    ]


def test_a_merge_is_one_version(tmp_path: Path) -> None:
    commit(tmp_path, [case("a")], "Start", 1)
    git(tmp_path, "switch", "--quiet", "-c", "side")
    commit(tmp_path, [case("a"), case("b")], "On the side", 2)
    commit(tmp_path, [case("a"), case("b"), case("c")], "Once more", 3)
    git(tmp_path, "switch", "--quiet", "main")
    git(tmp_path, "merge", "--quiet", "--no-ff", "-m", "Merge side", "side", day=4)
    assert rows_of(tmp_path / "golden" / "shop", "subject", "added") == [
        ["Merge side", ["b", "c"]],
        ["Start", ["a"]],
    ]


def test_a_shallow_clone_says_that_its_past_is_not_here(tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    commit(origin, [case("a")], "Start", 1)
    commit(origin, [case("a"), case("b")], "More", 2)
    commit(origin, [case("a"), case("b"), case("c")], "Most", 3)
    git(tmp_path, "clone", "--quiet", "--depth", "2", origin.as_uri(), "clone")
    shop = tmp_path / "clone" / "golden" / "shop"
    assert rows_of(shop, "subject", "n_cases", "added", "note") == [
        ["Most", 3, ["c"], None],
        ["More", 2, None, SHALLOW],
    ]
    ages = case_ages(read_golden(shop), date(2026, 6, 2), golden_log(shop))
    assert list(ages["age_days"].fillna(-1)) == [-1, -1, 30]


def test_a_repository_without_a_commit_has_what_lies_there(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    with pytest.raises(InputError, match="there are no cases at"):
        golden_log(tmp_path)
    make_suite(tmp_path, [case("a")])
    assert rows_of(tmp_path, "subject", "added") == [[WORKING_TREE, ["a"]]]


def test_where_there_is_no_history_it_is_said(tmp_path: Path) -> None:
    make_suite(tmp_path, [case("a")])
    with pytest.raises(
        InputError, match=r"git tells no history of .*: fatal: not a git repository"
    ):
        golden_log(tmp_path)
    with pytest.raises(InputError, match="there is no suite at"):
        golden_log(tmp_path / "none")
    with pytest.raises(InputError, match="memory://shop has no git history"):
        golden_log("memory://shop")


def test_odd_names_of_folders_and_settings_of_git_change_nothing(tmp_path: Path) -> None:
    commit(tmp_path, [case("a")], "Start", 1, name="-o ü'\n$(x)")
    folder = tmp_path / "golden" / "-o ü'\n$(x)"
    for setting, value in [
        ("log.showSignature", "true"),
        ("color.ui", "always"),
        ("diff.renames", "false"),
        ("format.pretty", "oneline"),
        ("core.abbrev", "4"),
    ]:
        git(tmp_path, "config", setting, value)
    git(tmp_path, "mv", "golden", "suites")
    git(tmp_path, "commit", "--quiet", "-m", "Rename", day=2)
    moved = tmp_path / "suites" / folder.name
    assert rows_of(moved, "subject", "n_added") == [["Rename", 0], ["Start", 1]]


def test_the_command_lists_versions_and_ages_without_control_characters(tmp_path: Path) -> None:
    commit(tmp_path, [case("a", added="2026-04-01"), case("b")], "Start \x1b[31m", 1)
    version = commit(tmp_path, [case("b", note="x")], "Less", 2)
    listed = evalnb("golden", "log", "golden/shop", folder=tmp_path)
    assert listed.code == 0
    lines = listed.out.splitlines()
    short = git(tmp_path, "rev-parse", "HEAD")[:10]
    assert lines[:3] == [
        f"{short}  2026-05-02  {version}  1 case  Ann · Less",
        "            -1  a",
        "            ~1  b",
    ]
    assert "Start \ufffd[31m" in lines[3]
    ages = evalnb(
        "golden", "log", "golden/shop", "--ages", "--as-of", "2026-05-31", folder=tmp_path
    )
    assert ages.out.splitlines() == ["   30 days  2026-05-01  b  (first commit)"]

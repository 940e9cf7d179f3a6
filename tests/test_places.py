from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from evalnb.acceptance import accept_baseline, baseline_diff
from evalnb.baseline import read_baseline
from evalnb.cassettes import Cassettes
from evalnb.errors import InputError
from evalnb.evaluation import evaluate
from evalnb.golden import find_suite, read_golden, write_golden
from evalnb.jsontext import write_atomically
from evalnb.places import is_remote, place, shown_from_here
from evalnb.results import latest_run, new_run_folder, read_run, write_run
from evalnb.systems import load_system
from evalnb.waivers import read_waivers
from tests.commands import evalnb
from tests.suites import copy_of_support, make_suite

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)


def copied(source: Path, url: str) -> Path:
    """Copy a folder to a URL."""
    target = place(url)
    for path in source.rglob("*"):
        if path.is_file():
            write_atomically(target / path.relative_to(source).as_posix(), path.read_bytes())
    return target


# What a place is


@pytest.mark.parametrize("text", ["golden/support", "a", "C:/suites", "memory:x", "/tmp/a b"])
def test_a_path_is_a_path(text: str) -> None:
    assert place(text) == Path(text)
    assert type(place(text)) is type(Path(text))
    assert not is_remote(place(text))
    assert place(Path(text)) == Path(text)


def test_a_file_url_is_the_path_that_it_names(tmp_path: Path) -> None:
    folder = tmp_path / "ein Ordner ü"
    assert place(folder.as_uri()) == folder
    assert not is_remote(place(folder.as_uri()))
    with pytest.raises(InputError, match="names no file of this machine"):
        place("file://elsewhere/suite")


def test_another_url_keeps_its_slashes() -> None:
    there = place("memory://shelf/support")
    assert is_remote(there)
    assert str(there / "cases.jsonl") == "memory://shelf/support/cases.jsonl"
    assert place(there) is there
    assert shown_from_here(there) == "memory://shelf/support"


def test_a_url_that_nothing_reads_is_refused() -> None:
    with pytest.raises(InputError, match="nowhere://x cannot be used"):
        place("nowhere://x")


def test_a_path_is_shown_from_here(tmp_path: Path) -> None:
    assert shown_from_here(Path.cwd() / "golden") == "golden"
    assert shown_from_here(tmp_path) == str(tmp_path)


def test_a_local_suite_loads_no_library_for_urls(tmp_path: Path) -> None:
    make_suite(tmp_path, [{"id": "a", "input": "Hi", "expected_exact": "x"}])
    script = (
        "import sys; from evalnb.golden import read_golden; read_golden(sys.argv[1]); "
        "print([name for name in ('upath', 'fsspec', 'http.client') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


# What can be done there


def test_what_is_written_at_a_url_replaces_the_whole() -> None:
    path = place("memory://written/deep/a.txt")
    write_atomically(path, b"a long one")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert [found.name for found in path.parent.iterdir()] == ["a.txt"]


def test_a_suite_is_found_by_its_url(tmp_path: Path) -> None:
    make_suite(tmp_path, [{"id": "a", "input": "Hi", "expected_exact": "x"}])
    there = copied(tmp_path, "memory://found/shop")
    assert find_suite("memory://found/shop") == there
    assert find_suite(tmp_path.as_uri()) == tmp_path
    with pytest.raises(InputError, match="there is no memory://found/none"):
        find_suite("memory://found/none")


def test_cases_are_changed_where_they_are(tmp_path: Path) -> None:
    cases = [{"id": name, "input": "Hi", "expected_exact": "x"} for name in "ab"]
    make_suite(tmp_path, cases)
    copied(tmp_path, "memory://changed/shop")
    golden = read_golden("memory://changed/shop")
    write_golden(golden.replace([golden["a"].model_copy(update={"note": "new"})]))
    again = read_golden("memory://changed/shop")
    assert [case.note for case in again] == ["new", None]
    untouched = (tmp_path / "cases.jsonl").read_bytes().split(b"\n")[1]
    assert place("memory://changed/shop/cases.jsonl").read_bytes().split(b"\n")[1] == untouched


def test_problems_name_the_url(tmp_path: Path) -> None:
    write_atomically(place("memory://damaged/cases.jsonl"), b"{\n")
    with pytest.raises(InputError, match=r"memory://damaged/cases\.jsonl cannot be used"):
        read_golden("memory://damaged/cases.jsonl")
    with pytest.raises(InputError, match="is no suite"):
        read_golden("memory://damaged")
    with pytest.raises(InputError, match="there are no cases at memory://none"):
        read_golden("memory://none")


def test_a_whole_suite_is_replayed_read_back_and_accepted_at_a_url(tmp_path: Path) -> None:
    local = read_golden(copy_of_support(tmp_path))
    assert local.folder is not None
    copied(local.folder, "memory://shelf/golden/support")
    golden = read_golden("memory://shelf/golden/support")
    assert golden.version == local.version
    assert read_waivers(golden) == read_waivers(local)

    system = load_system(golden)
    assert system.fingerprint == load_system(local).fingerprint
    folder = new_run_folder(golden, NOW)
    assert str(folder.parent) == "memory://shelf/results/support"
    evaluated = evaluate(
        golden, system, run_id=folder.name, as_of=date(2026, 6, 1), progress="none"
    )
    beside = evaluate(
        local, load_system(local), run_id=folder.name, as_of=date(2026, 6, 1), progress="none"
    )
    assert evaluated.scores.equals(beside.scores)
    write_run(folder, evaluated)

    assert latest_run(golden) == folder
    read = read_run(folder)
    assert read.scores.equals(evaluated.scores)
    assert (read.outcome, read.exit_code) == (evaluated.outcome, evaluated.exit_code)

    place("memory://shelf/golden/support/baseline/baseline.json").unlink()
    accept_baseline(golden, folder, reason="moved", now=NOW, environment={})
    accepted = read_baseline(golden)
    assert accepted is not None
    assert accepted.manifest["run_id"] == folder.name
    assert baseline_diff(golden, read) == []


def test_misses_of_a_suite_at_a_url_are_read_back(tmp_path: Path) -> None:
    make_suite(tmp_path, [{"id": "a", "input": "Hi", "expected_exact": "x"}])
    copied(tmp_path, "memory://missed/shop")
    golden = read_golden("memory://missed/shop")
    folder = new_run_folder(golden, NOW, place("memory://missed/elsewhere"))
    run = evaluate(
        golden, load_system(golden), run_id=folder.name, as_of=date(2026, 6, 1), progress="none"
    )
    write_run(folder, run)
    assert read_run(folder).exit_code == 3
    assert list(read_run(folder).misses["case_id"]) == ["a"]


def test_cassettes_at_a_url_are_listed_and_removed(tmp_path: Path) -> None:
    suite = copy_of_support(tmp_path)
    here = Cassettes(suite / "cassettes")
    there = Cassettes("memory://kept/cassettes")
    assert there.keys() == []
    copied(suite / "cassettes", "memory://kept/cassettes")
    assert there.keys() == here.keys()
    first = there.keys()[0]
    assert there.read(first) == here.read(first)
    there.remove([first])
    assert there.keys() == here.keys()[1:]
    write_atomically(there.folder / "notes.json", b"{}")
    assert there.keys() == here.keys()[1:]
    assert there.foreign() == ["notes.json"]


def test_the_command_line_takes_urls(tmp_path: Path) -> None:
    suite = copy_of_support(tmp_path)
    by_path = evalnb("check", suite, folder=tmp_path)
    by_url = evalnb("check", suite.as_uri(), folder=tmp_path)
    assert (by_url.code, by_url.out) == (0, by_path.out)
    refused = evalnb("check", "memory://nothing/here", folder=tmp_path)
    assert refused.code == 2
    assert "there are no cases at memory://nothing/here" in refused.error
    unknown = evalnb("check", "nowhere://x", folder=tmp_path)
    assert unknown.code == 2
    assert "nowhere://x cannot be used" in unknown.error


def test_a_foreign_file_among_cassettes_is_named_and_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    make_suite(folder, [{"id": "a", "input": "Hi", "expected_exact": "x"}])
    write_atomically(folder / "cassettes" / "no\x1btes.json", b"mine")
    done = evalnb("cassettes", "shop", folder=tmp_path)
    assert done.code == 0
    assert "no cassette, left alone: no\ufffdtes.json" in done.out
    assert (folder / "cassettes" / "no\x1btes.json").read_bytes() == b"mine"


def test_results_are_kept_at_a_file_url(tmp_path: Path) -> None:
    suite = copy_of_support(tmp_path)
    runs = tmp_path / "kept"
    done = evalnb(*("run", suite, "--no-notebook", "--results", runs.as_uri()), folder=tmp_path)
    assert done.code in (0, 1, 2, 3), done.error
    assert len(list((runs / "support").glob("*/report.json"))) == 1

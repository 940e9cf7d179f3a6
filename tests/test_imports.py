from __future__ import annotations

import sys
from pathlib import Path

import pytest

from evalnb.errors import InputError
from evalnb.imports import import_object, is_import_path


def project(folder: Path, **modules: str) -> Path:
    """Write modules beside `golden` and return a suite's folder."""
    suite = folder / "golden" / "shop"
    suite.mkdir(parents=True)
    for name, source in modules.items():
        (folder / f"{name}.py").write_text(source)
    return suite


@pytest.mark.parametrize("path", ["json:loads", "os.path:join", "a.b:C.d", "größe:maß"])
def test_module_and_name_make_an_import_path(path: str) -> None:
    assert is_import_path(path)


@pytest.mark.parametrize(
    "path", ["", ":", "json", "json:", ":loads", "json.loads", "https://h:80/x", "a/b:c", "a:b()"]
)
def test_other_texts_do_not(path: str) -> None:
    assert not is_import_path(path)
    with pytest.raises(InputError, match=r"is no import path\. Write module and name"):
        import_object(path)


def test_what_python_finds_is_found() -> None:
    import json

    assert import_object("json:loads") is json.loads
    assert import_object("json:JSONDecoder.decode") is json.JSONDecoder.decode


def test_a_module_beside_the_folder_of_suites_is_found(tmp_path: Path) -> None:
    suite = project(tmp_path, beside_golden="def polite(): return helper()\nhelper = list")
    assert import_object("beside_golden:polite", suite)() == []
    bare = tmp_path / "shop"
    bare.mkdir()
    (tmp_path / "beside_suite.py").write_text("x = 1")
    assert import_object("beside_suite:x", bare) == 1


def test_its_neighbours_can_be_imported_later(tmp_path: Path) -> None:
    late = "def polite():\n    import neighbour_of_late\n    return neighbour_of_late.x\n"
    suite = project(tmp_path, late_importer=late, neighbour_of_late="x = 3")
    assert import_object("late_importer:polite", suite)() == 3


def test_the_path_of_python_comes_first(tmp_path: Path) -> None:
    before = list(sys.path)
    suite = project(tmp_path, some_scorers="x = 1")
    import_object("some_scorers:x", suite)
    assert sys.path[: len(before)] == before


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("no_such_module_here:x", r"there is no module `no_such_module_here` on Python's path"),
        ("json.no_such_part:x", r"there is no module `json.no_such_part`"),
        ("json:load_s", r"`json` has no `load_s`. Did you mean `loads`\?"),
        ("broken_module:x", r"cannot be imported: ZeroDivisionError: division by zero"),
        ("misspelt_module:x", r"cannot be imported: SyntaxError: "),
        ("needy_module:x", r"No module named 'not_installed_here'. Install it."),
    ],
)
def test_what_cannot_be_imported_is_named(tmp_path: Path, path: str, message: str) -> None:
    suite = project(
        tmp_path,
        broken_module="1 / 0",
        misspelt_module="def",
        needy_module="import not_installed_here",
    )
    with pytest.raises(InputError, match=message):
        import_object(path, suite)


def test_two_suites_do_not_take_each_others_modules(tmp_path: Path) -> None:
    first = project(tmp_path / "one", twice_named="x = 1")
    second = project(tmp_path / "two", twice_named="x = 2")
    assert import_object("twice_named:x", first) == 1
    with pytest.raises(InputError, match=r"is hidden: .* `twice_named` .* another name"):
        import_object("twice_named:x", second)


def test_a_module_that_ends_the_process_is_told_like_one_that_raises(tmp_path: Path) -> None:
    suite = project(tmp_path, ends_it_all="import sys\nsys.exit(0)")
    with pytest.raises(InputError, match="SystemExit"):
        import_object("ends_it_all:polite", suite)

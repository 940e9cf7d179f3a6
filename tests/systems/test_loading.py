from __future__ import annotations

from pathlib import Path

import pytest

from evalnb.errors import InputError
from evalnb.golden import GoldenSet, SuiteSettings, read_golden
from evalnb.jsontext import dump_json
from evalnb.places import place
from evalnb.systems import CallableSystem, HttpSystem, PromptSystem, load_system, suite_systems
from tests.suites import PROMPT, make_suite

BARE = 'model = "m"\nmax_tokens = 1\n'
CASES = [{"id": "a", "input": "Hi", "expected_exact": "x"}]


def test_a_system_is_found_by_path_or_name(tmp_path: Path) -> None:
    golden = make_suite(tmp_path / "shop", [{"id": "a", "input": "Hi", "expected_exact": "x"}])
    (tmp_path / "shop" / "systems" / "v2.toml").write_text(BARE)
    elsewhere = tmp_path / "v3.toml"
    elsewhere.write_text(BARE)
    assert load_system(golden).name == "v1"
    for name in ("v2", "systems/v2.toml", str(tmp_path / "shop" / "systems" / "v2.toml")):
        found = load_system(golden, name)
        assert isinstance(found, PromptSystem)
        assert (found.name, found.model) == ("v2", "m")
    assert load_system(golden, str(elsewhere)).name == "v3"
    with pytest.raises(InputError, match="there is no prompt file at v9"):
        load_system(golden, "v9")


def test_all_systems_of_a_suite_are_listed_once(tmp_path: Path) -> None:
    for setting, names in (
        ("", ["v1", "v2"]),
        ('system = "v2"', ["v1", "v2"]),
        ('system = "other.toml"', ["v1", "v2", "other"]),
    ):
        golden = make_suite(
            tmp_path / "shop", [{"id": "a", "input": "Hi", "expected_exact": "x"}], setting
        )
        (tmp_path / "shop" / "systems" / "v2.toml").write_text(BARE)
        (tmp_path / "shop" / "other.toml").write_text(PROMPT)
        assert [found.name for found in suite_systems(golden)] == names
    assert suite_systems(GoldenSet((), SuiteSettings())) == []


def test_a_system_that_the_settings_name_must_be_there(tmp_path: Path) -> None:
    golden = make_suite(tmp_path / "shop", CASES, 'system = "v9"')
    for load in (load_system, suite_systems):
        with pytest.raises(InputError, match="there is no prompt file at v9"):
            load(golden)


# Endpoints

ENDPOINT = 'url = "http://127.0.0.1:9/answer"\nversion = "3"\n'


def test_a_file_with_a_url_is_an_endpoint(tmp_path: Path) -> None:
    golden = make_suite(tmp_path / "shop", CASES, 'system = "live"')
    (tmp_path / "shop" / "systems" / "live.toml").write_text(ENDPOINT)
    found = load_system(golden)
    assert isinstance(found, HttpSystem)
    assert (found.name, found.url) == ("live", "http://127.0.0.1:9/answer")
    endpoint, prompt = suite_systems(golden)
    assert isinstance(endpoint, HttpSystem)
    assert isinstance(prompt, PromptSystem)
    assert (endpoint.name, prompt.name) == ("live", "v1")
    assert len(endpoint.request(golden["a"])) == 1  # as `check` does
    assert len(prompt.request(golden["a"])) == 5


def test_a_url_is_an_endpoint(tmp_path: Path) -> None:
    golden = make_suite(tmp_path / "shop", CASES, 'system = "https://bot.example/v1?lang=en"')
    found = load_system(golden)
    assert isinstance(found, HttpSystem)
    assert (found.name, found.url) == ("https://bot.example/v1", golden.settings.system)
    assert [system.name for system in suite_systems(golden)] == ["v1", found.name]


# Import paths


def project(folder: Path, setting: str = "", **modules: str) -> GoldenSet:
    """Write modules beside `golden` and read the suite in it."""
    golden = make_suite(folder / "golden" / "shop", CASES, setting)
    for name, source in modules.items():
        (folder / f"{name}.py").write_text(source)
    return golden


ANSWER = "async def answer(case, client):\n    return 'x'\n"


def test_a_function_is_found_beside_the_folder_of_suites(tmp_path: Path) -> None:
    golden = project(tmp_path, 'system = "bot_one:answer"', bot_one=ANSWER)
    found = load_system(golden)
    assert isinstance(found, CallableSystem)
    assert (found.name, found.is_async) == ("bot_one:answer", True)
    assert [system.name for system in suite_systems(golden)] == ["v1", "bot_one:answer"]
    assert load_system(golden, "v1").name == "v1"


def test_a_file_with_a_colon_in_its_name_is_a_file(tmp_path: Path) -> None:
    golden = project(tmp_path)
    (tmp_path / "golden" / "shop" / "a:b").write_text(BARE)
    assert isinstance(load_system(golden, "a:b"), PromptSystem)


@pytest.mark.parametrize(
    ("source", "name", "message"),
    [
        (None, "answer", "there is no module `bot_2_[0-9]`"),
        (ANSWER, "anwser", "no `anwser`. Did you mean `answer`?"),
        ("answer = 3", "answer", r"must be a function .* Got a int\."),
        ("class answer: pass", "answer", r"must be a function .* Got a class\."),
        ("1 / 0", "answer", "ZeroDivisionError: division by zero"),
        ("import sys; sys.exit(2)", "answer", "SystemExit: 2"),
        ("import not_there_at_all", "answer", "No module named 'not_there_at_all'"),
        ("def answer(:", "answer", "SyntaxError"),
    ],
)
def test_what_is_wrong_with_an_import_is_told(
    tmp_path: Path, source: str | None, name: str, message: str, request: pytest.FixtureRequest
) -> None:
    module = f"bot_2_{request.node.callspec.indices['source']}"
    golden = project(tmp_path, **({module: source} if source else {}))
    with pytest.raises(InputError, match=message):
        load_system(golden, f"{module}:{name}")


# Files of the suite


def test_the_files_of_a_suite_are_part_of_each_system(tmp_path: Path) -> None:
    setting = 'system_files = ["../../texts/**/*.txt", "extra.json"]'
    golden = project(tmp_path, setting, bot_three=ANSWER)
    (tmp_path / "texts" / "en").mkdir(parents=True)
    text = tmp_path / "texts" / "en" / "greeting.txt"
    text.write_text("Hello.")
    (tmp_path / "golden" / "shop" / "extra.json").write_text("{}")
    names = ("v1", "bot_three:answer", "http://127.0.0.1:9/")
    before = [load_system(golden, name).fingerprint for name in names]
    assert before == [load_system(golden, name).fingerprint for name in names]
    text.write_text("Hi.")
    changed = [load_system(golden, name).fingerprint for name in names]
    text.rename(text.with_name("other.txt"))
    renamed = [load_system(golden, name).fingerprint for name in names]
    assert len({*before, *changed, *renamed}) == 9
    without = GoldenSet(golden.cases, SuiteSettings(), golden.folder)
    assert len({*before, *(load_system(without, name).fingerprint for name in names)}) == 6


def test_a_link_is_followed(tmp_path: Path) -> None:
    golden = project(tmp_path, 'system_files = ["link/*.txt"]')
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.txt").write_text("a")
    (tmp_path / "golden" / "shop" / "link").symlink_to(tmp_path / "elsewhere")
    before = load_system(golden).fingerprint
    (tmp_path / "elsewhere" / "a.txt").write_text("b")
    assert load_system(golden).fingerprint != before


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("texts/*.txt", r"`system_files` names 'texts/\*.txt', which finds no file from .*shop"),
        ("systems", "`system_files` names 'systems', which finds no file"),
        ("/etc/*", r"`system_files` must be relative to .*shop\. Got '/etc/\*'"),
    ],
)
def test_a_pattern_that_finds_nothing_is_told(tmp_path: Path, pattern: str, message: str) -> None:
    golden = project(tmp_path, f'system_files = ["{pattern}"]')
    for load in (load_system, suite_systems):
        with pytest.raises(InputError, match=message):
            load(golden)


# Suites elsewhere


def remote_suite(name: str, setting: str) -> GoldenSet:
    """Write a suite into a store that is no folder of this machine, and read it."""
    folder = place(f"memory://{name}")
    (folder / "systems").mkdir(parents=True)
    (folder / "suite.toml").write_text(f'name = "shop"\n{setting}')
    (folder / "systems" / "v1.toml").write_text(PROMPT)
    (folder / "cases.jsonl").write_text(dump_json(CASES[0]) + "\n")
    return read_golden(folder)


def test_the_systems_of_a_suite_elsewhere_are_found(tmp_path: Path) -> None:
    golden = remote_suite("systems-found", "")
    assert load_system(golden).name == load_system(golden, "v1").name == "v1"
    assert [system.name for system in suite_systems(golden)] == ["v1"]
    assert load_system(golden, "http://h/").name == "http://h/"
    found = load_system(golden, "tests.example_app.evaluated:reply")
    assert isinstance(found, CallableSystem)
    with pytest.raises(InputError, match="there is no prompt file at v9"):
        load_system(golden, "v9")


def test_a_suite_elsewhere_has_no_files_beside_it() -> None:
    golden = remote_suite("systems-files", 'system_files = ["a.txt"]')
    with pytest.raises(InputError, match="`system_files`, which only a suite on this machine"):
        load_system(golden)

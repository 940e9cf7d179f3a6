from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from evalnb.cases import FIELDS, Case
from evalnb.errors import InputError
from evalnb.golden import GoldenSet, case_content, read_golden, write_golden
from evalnb.jsontext import MAX_LINE_BYTES
from tests.test_cases import FULL
from tests.test_jsontext import texts, values

if TYPE_CHECKING:
    from pathlib import Path

ONE = '{"id": "a", "category": "refunds", "tags": ["common"], "input": "Hi", "expected_exact": "1"}'
TWO = '{ "input":"Bye","id":"b",  "must_contain":["2"] , "tags": ["edge", "common"]}'
THREE = '{"id": "c", "category": "orders", "input": "Grüße 😀", "rubric": ["polite"]}'


def write(tmp_path: Path, *lines: str, end: str = "\n") -> Path:
    path = tmp_path / "cases.jsonl"
    path.write_bytes("".join(line + end for line in lines).encode())
    return path


def suite(tmp_path: Path, toml: str = "", *lines: str) -> Path:
    (tmp_path / "suite.toml").write_text(toml, encoding="utf-8")
    write(tmp_path, *(lines or (ONE,)))
    return tmp_path


def problems_of(path: Path) -> list[tuple[int, str, str, str]]:
    with pytest.raises(InputError, match="cannot be used") as caught:
        read_golden(path)
    assert caught.value.exit_code == 2
    file = path / "suite.toml" if path.is_dir() else path
    assert {problem.file for problem in caught.value.problems} == {str(file)}
    assert all(str(problem) in str(caught.value) for problem in caught.value.problems)
    return [(p.line, p.field, p.message, p.remedy) for p in caught.value.problems]


# Reading


def test_a_file_is_read_with_the_default_settings(tmp_path: Path) -> None:
    golden = read_golden(write(tmp_path, ONE, TWO, THREE))
    assert [case.id for case in golden] == ["a", "b", "c"]
    assert (len(golden), "b" in golden, "x" in golden) == (3, True, False)
    assert golden["c"].input == "Grüße 😀"
    assert golden.folder is None
    assert (golden.settings.name, golden.settings.repeats) == ("cases", 1)
    assert golden.settings.gate.margin == 0.02


def test_a_folder_is_read_with_its_settings(tmp_path: Path) -> None:
    toml = """
        name = "support"
        privacy = "public"
        matching = "substrings"
        repeats = 3
        slices = ["tags"]
        system = "systems/v2.toml"
        [gate]
        margin = 0.05
        na_budget = 0
    """
    golden = read_golden(suite(tmp_path, toml))
    assert golden.folder == tmp_path
    assert golden.settings.model_dump(exclude_defaults=True) == {
        "name": "support",
        "system": "systems/v2.toml",
        "matching": "substrings",
        "repeats": 3,
        "slices": ["tags"],
        "gate": {"margin": 0.05},
    }


def test_a_default_that_is_spelt_out_changes_no_fingerprint(tmp_path: Path) -> None:
    short, long = tmp_path / "short", tmp_path / "long"
    for folder in (short, long):
        folder.mkdir()
    said = read_golden(suite(long, 'name = "support"\nrepeats = 1\n'))
    unsaid = read_golden(suite(short, 'name = "support"\n'))
    assert said.settings.fingerprint == unsaid.settings.fingerprint


def test_every_field_comes_through(tmp_path: Path) -> None:
    golden = read_golden(write(tmp_path, json.dumps(FULL)))
    assert golden["refund-01"].canonical() == FULL


def test_the_frame_has_a_row_a_case(tmp_path: Path) -> None:
    frame = read_golden(write(tmp_path, ONE, TWO)).frame()
    assert_frame_equal(
        frame[["case_id", "category", "input", "must_contain"]],
        pd.DataFrame(
            {
                "case_id": pd.array(["a", "b"], "string"),
                "category": pd.array(["refunds", None], "string"),
                "input": pd.array(["Hi", "Bye"], "string"),
                "must_contain": pd.Series([pd.NA, ["2"]], dtype="object"),
            }
        ),
    )


def test_an_unknown_case_is_named_with_the_nearest(tmp_path: Path) -> None:
    golden = read_golden(write(tmp_path, ONE.replace('"a"', '"refund-01"')))
    with pytest.raises(KeyError, match=r"no case 'refund-1' in cases\. Did you mean 'refund-01'"):
        golden["refund-1"]


# Operations


def test_filter_keeps_the_cases_with_the_values(tmp_path: Path) -> None:
    golden = read_golden(write(tmp_path, ONE, TWO, THREE))

    def ids(**wanted: Any) -> list[str]:
        return [case.id for case in golden.filter(**wanted)]

    assert ids(category="refunds") == ["a"]
    assert ids(category=["refunds", "orders"]) == ["a", "c"]
    assert ids(category=None) == ["b"]
    assert ids(tags="common") == ["a", "b"]
    assert ids(tags=["edge", "other"]) == ["b"]
    assert ids(tags=None) == ["c"]
    assert ids(tags="common", category="refunds") == ["a"]
    assert ids(id="x") == []
    assert ids() == ["a", "b", "c"]
    assert len(golden) == 3


def test_filter_names_the_nearest_field(tmp_path: Path) -> None:
    golden = read_golden(write(tmp_path, ONE))
    with pytest.raises(ValueError, match=r"no field `categry`\. Did you mean `category`"):
        golden.filter(categry="x")
    with pytest.raises(ValueError, match=r"no field `zzz`\. Known: id, category"):
        golden.filter(zzz="x")


def test_slice_add_and_replace_give_new_sets(tmp_path: Path) -> None:
    golden = read_golden(write(tmp_path, ONE, TWO, THREE))
    assert [case.id for case in golden.slice(1)] == ["b", "c"]
    assert [case.id for case in golden.slice(0, 2)] == ["a", "b"]
    new = golden["a"].model_copy(update={"id": "d"})
    assert [case.id for case in golden.add([new])] == ["a", "b", "c", "d"]
    changed = golden["b"].model_copy(update={"input": "Ciao"})
    assert [case.input for case in golden.replace([changed])] == ["Hi", "Ciao", "Grüße 😀"]
    assert [case.input for case in golden] == ["Hi", "Bye", "Grüße 😀"]


def test_an_id_is_there_once(tmp_path: Path) -> None:
    golden = read_golden(write(tmp_path, ONE))
    with pytest.raises(ValueError, match=r"must be unique.* Got twice: a"):
        golden.add([golden["a"]])
    upper = golden["a"].model_copy(update={"id": "A"})
    with pytest.raises(ValueError, match=r"must be unique.* Got twice: A, a"):
        golden.add([upper])
    with pytest.raises(KeyError, match="no case 'A'"):
        golden.replace([upper])


def test_remove_leaves_out_the_cases_with_the_ids(tmp_path: Path) -> None:
    golden = read_golden(write(tmp_path, ONE, TWO, THREE))
    assert [case.id for case in golden.remove(["c", "a"])] == ["b"]
    assert len(golden) == 3
    with pytest.raises(KeyError, match="no case 'x'"):
        golden.remove(["x"])


# The version


def test_what_a_case_says_is_its_canonical_form_with_sorted_keys() -> None:
    turns = [{"input": "Hi", "expected_tool_calls": {"calls": []}}]
    mocks = {"look": [{"result": None}, {"arguments": {"n": None}, "result": [1.0, True]}]}
    full = {name: value for name, value in FULL.items() if name not in ("input", "messages")}
    for fields in (FULL, full | {"turns": turns, "tools_mock": mocks}):
        case = Case.model_validate(fields)
        assert json.loads(case_content(case)) == case.canonical()
        assert case_content(case) == json.dumps(
            case.canonical(), ensure_ascii=False, sort_keys=True
        )


def test_the_version_follows_the_content_alone(tmp_path: Path) -> None:
    version = read_golden(write(tmp_path, ONE, TWO, THREE)).version
    assert len(version) == 12
    reordered = json.dumps(
        dict(reversed(json.loads(ONE).items())), indent=None, separators=(",", ":")
    )
    escaped = json.dumps(json.loads(THREE), ensure_ascii=True)
    assert read_golden(write(tmp_path, escaped, TWO, reordered)).version == version
    toml = suite(tmp_path, 'name = "other"', ONE, TWO, THREE)
    assert read_golden(toml).version == version


@pytest.mark.parametrize("name", FIELDS)
def test_the_version_changes_with_every_field(name: str) -> None:
    base: dict[str, Any] = {"id": "a", "input": "Hi", "expected_intent": "x"}
    changes: dict[str, Any] = FULL | {
        "input": "Hi!",
        "expected_exact": "x",
        "rubric": ["y"],
        "turns": [{"input": "Hi"}],
    }
    changed = base | {name: changes[name]}
    if name in ("messages", "turns"):
        del changed["input"]
    if name == "min_keyword_ratio":
        base["expected_keywords"] = changed["expected_keywords"] = ["x"]
    one, other = (GoldenSet((Case.model_validate(fields),)) for fields in (base, changed))
    assert one.version != other.version


def test_the_version_tells_numbers_from_truth_values() -> None:
    versions = {
        GoldenSet((Case.model_validate({"id": "a", "input": "x", "state": {"n": value}}),)).version
        for value in (1, True, 1.5, "1", None)
    }
    assert len(versions) == 5


# Writing


def test_cases_are_written_one_a_line_with_fields_in_order(tmp_path: Path) -> None:
    path = tmp_path / "out" / "cases.jsonl"
    golden = GoldenSet((Case.model_validate(dict(reversed(FULL.items()))),))
    write_golden(golden, path)
    assert path.read_text(encoding="utf-8") == json.dumps(FULL, ensure_ascii=False) + "\n"
    assert read_golden(path).cases == golden.cases
    assert list(path.parent.iterdir()) == [path]


def test_only_lines_whose_case_changed_are_written_anew(tmp_path: Path) -> None:
    odd = r'{"id":"d","input":"Gr\u00fc\u00dfe","expected_exact":"x","state":{"n":1.50,"b":null}}'
    folder = suite(tmp_path, "", ONE, TWO, odd, THREE)
    golden = read_golden(folder)
    changed = golden["a"].model_copy(update={"note": "new"})
    write_golden(golden.replace([changed]))
    assert (folder / "cases.jsonl").read_text(encoding="utf-8").split("\n") == [
        ONE[:-1] + ', "note": "new"}',
        TWO,
        odd,
        THREE,
        "",
    ]


def test_writing_what_was_read_changes_no_byte(tmp_path: Path) -> None:
    folder = suite(tmp_path, "", ONE, TWO, THREE)
    before = (folder / "cases.jsonl").read_bytes()
    write_golden(read_golden(folder))
    assert (folder / "cases.jsonl").read_bytes() == before


def test_a_number_that_became_a_truth_value_is_written(tmp_path: Path) -> None:
    path = write(tmp_path, '{"id": "a", "input": "Hi", "state": {"n": 1}, "expected_exact": "x"}')
    golden = read_golden(path)
    write_golden(golden.replace([golden["a"].model_copy(update={"state": {"n": True}})]), path)
    assert read_golden(path)["a"].state == {"n": True}


def test_order_removal_and_addition_are_written(tmp_path: Path) -> None:
    path = write(tmp_path, ONE, TWO, THREE, end="\n")
    golden = read_golden(path)
    write_golden(GoldenSet((golden["c"], golden["b"])), path)
    assert path.read_bytes() == f"{THREE}\n{TWO}\n".encode()


def test_writing_over_a_file_with_bom_and_crlf_leaves_neither(tmp_path: Path) -> None:
    golden = read_golden(write(tmp_path, ONE, TWO))
    path = tmp_path / "windows.jsonl"
    path.write_bytes(f"\ufeff{ONE}\r\n{TWO}\r\n".encode())
    write_golden(golden, path)
    assert path.read_bytes() == f"{ONE}\n{TWO}\n".encode()


def test_a_set_without_a_folder_must_be_told_where(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="say with `path` where to write it"):
        write_golden(read_golden(write(tmp_path, ONE)))


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"n": float("nan")}, "Out of range float"),
        ({"text": "x" * MAX_LINE_BYTES}, "case a takes 2,000,"),
    ],
)
def test_what_could_not_be_read_again_is_not_written(
    tmp_path: Path, state: dict[str, Any], message: str
) -> None:
    path = write(tmp_path, ONE)
    golden = read_golden(path)
    broken = golden["a"].model_copy(update={"state": state})
    with pytest.raises(ValueError, match=message):
        write_golden(golden.replace([broken]), path)
    assert path.read_text(encoding="utf-8") == ONE + "\n"
    assert list(tmp_path.iterdir()) == [path]


@given(
    st.lists(
        st.fixed_dictionaries(
            {"input": texts.filter(bool), "expected_exact": texts.filter(bool)},
            optional={
                "state": st.dictionaries(texts, values, max_size=3),
                "tags": st.lists(texts.filter(bool), min_size=1, max_size=3),
                "min_keyword_ratio": st.floats(0, 1, exclude_min=True),
                "expected_keywords": st.just(["x"]),
                "tools": st.lists(texts.filter(bool), max_size=2),
                "note": texts.filter(bool),
            },
        ).filter(lambda fields: "expected_keywords" in fields or "min_keyword_ratio" not in fields),
        min_size=1,
        max_size=5,
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_what_is_written_is_read_back(tmp_path: Path, fields: list[dict[str, Any]]) -> None:
    golden = GoldenSet(
        tuple(Case.model_validate({"id": f"c{n}"} | entry) for n, entry in enumerate(fields))
    )
    path = tmp_path / "cases.jsonl"
    path.unlink(missing_ok=True)
    write_golden(golden, path)
    read = read_golden(path)
    assert read.cases == golden.cases
    assert read.version == golden.version
    before = path.read_bytes()
    write_golden(read, path)
    assert path.read_bytes() == before


# Bad input


def test_all_problems_of_a_file_are_in_one_report(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    lines = [
        b"\xef\xbb\xbf" + ONE.encode(),
        b"",
        b'{"id": "b", "input": "Hi", "expected_exact": "x"',
        TWO.encode() + b"\r",
        b'{"id": "b\xff"}',
        b'{"id": "e", "id": "f", "input": "Hi", "expected_exact": "x"}',
        b'{"id": "g", "input": "Hi", "must_contains": ["x"], "zzzzzz": 1, "expected_exact": "x"}',
        b'{"id": "h", "input": 5, "tags": "common", "expected_exact": "x"}',
        b'{"id": "i", "input": "Hi", "expected_exact": "x", "rubric": ["y"]}',
        b'{"id": "j", "input": "Hi"}',
        b'{"id": "k", "messages": [{"role": "assistant", "content": "x"}], "rubric": ["y"]}',
        b'{"id": "../l", "input": "Hi", "expected_exact": "x"}',
        b'{"id": "m", "input": "Hi", "state": {"n": NaN}, "expected_exact": "x"}',
        b'{"id": "n", "input": "Hi", "state": {"n": -Infinity}, "expected_exact": "x"}',
        rb'{"id": "o", "input": "\ud83d", "expected_exact": "x"}',
        b'{"id": "p", "input": "Hi", "expected_exact": "x", "state": {"n": ' + b"[" * 9999 + b"}",
        b'{"id": "A", "input": "Hi", "expected_exact": "x"}',
        b'{"input": "Hi", "expected_exact": "x"}',
        b'{"id": "q", "input": "Hi", "expected_tool_calls": {"calls": [{"nam": "x"}]}}',
        b"[]",
    ]
    path.write_bytes(b"\n".join(lines) + b"\n")
    found = problems_of(path)
    assert [(line, field) for line, field, _, _ in found] == [
        (1, ""),
        (2, ""),
        (3, ""),
        (4, ""),
        (5, ""),
        (6, "id"),
        (7, "must_contains"),
        (7, "zzzzzz"),
        (8, "input"),
        (8, "tags"),
        (9, ""),
        (10, ""),
        (11, "messages"),
        (12, "id"),
        (13, ""),
        (14, ""),
        (15, ""),
        (16, ""),
        (17, "id"),
        (18, "id"),
        (19, "expected_tool_calls.calls.0.nam"),
        (19, "expected_tool_calls.calls.0.name"),
        (20, ""),
    ]
    messages = {(line, field): (message, remedy) for line, field, message, remedy in found}
    for place, message, remedy in [
        ((1, ""), "byte order mark", "Save as UTF-8 without BOM."),
        ((2, ""), "is empty", "Delete the line."),
        ((3, ""), "is not JSON: Expecting ',' delimiter at column 49", "Write one JSON object"),
        ((4, ""), "ends in CRLF", "Save with LF line ends"),
        ((5, ""), "is not UTF-8 at byte 10", "Save the file as UTF-8."),
        ((6, "id"), "is given twice", "Write one JSON object a line."),
        ((7, "must_contains"), "is no known field", "Did you mean `must_contain`?"),
        ((7, "zzzzzz"), "is no known field", "Known: id, category, language"),
        ((8, "input"), "must be a valid string. Got 5.", "Correct the value."),
        ((8, "tags"), 'must be a valid list. Got "common".', "Correct the value."),
        ((9, ""), "`expected_exact` and `rubric`, but may have only one of", "or make two cases."),
        ((10, ""), "case `j` states no expectation", "Add `expected_exact`, `must_contain`"),
        ((11, "messages"), "a history must end with a `user` message", "Let the history end"),
        ((12, "id"), "must be able to be a file name", "Correct the value."),
        ((13, ""), "holds NaN", "Write one JSON object"),
        ((14, ""), "holds -Infinity", "Write one JSON object"),
        ((15, ""), "half a surrogate pair", "Write one JSON object"),
        ((16, ""), "nested too deeply", "Write one JSON object"),
        ((17, "id"), "'A' is already the id of line 1", "Give the case an id of its own."),
        ((18, "id"), "is missing", "Add the field."),
        ((19, "expected_tool_calls.calls.0.nam"), "is no known field", "Did you mean `name`?"),
        ((20, ""), "must be a JSON object. Got list.", "Write one JSON object a line."),
    ]:
        assert message in messages[place][0], place
        assert remedy in messages[place][1], place
    assert all(remedy for _, _, _, remedy in found)


def test_a_turn_is_checked_like_a_case(tmp_path: Path) -> None:
    turns = [{"input": "x", "rubric": ["y"]}, {"input": "x", "min_keyword_ratio": 0.5}]
    assert problems_of(write(tmp_path, json.dumps({"id": "a", "turns": turns}))) == [
        (
            1,
            "turns.1.min_keyword_ratio",
            "has `min_keyword_ratio` without `expected_keywords`.",
            "Add the words.",
        )
    ]


def test_fields_within_a_mocked_result_are_known_by_name(tmp_path: Path) -> None:
    line = {"id": "a", "input": "Hi", "expected_exact": "x"}
    mocks = {"context": [{"result": 1, "argumens": {}}]}
    found = problems_of(write(tmp_path, json.dumps(line | {"tools_mock": mocks})))
    assert found == [
        (1, "tools_mock.context.0.argumens", "is no known field.", "Did you mean `arguments`?")
    ]


@pytest.mark.parametrize("content", [b"", b"\n"])
def test_a_file_without_cases_is_no_golden_set(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(content)
    assert [problem[2] for problem in problems_of(path)] in (["holds no case."], ["is empty."])


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there are no cases at .*none.jsonl"):
        read_golden(tmp_path / "none.jsonl")
    with pytest.raises(InputError, match=r"is no suite: it has no suite\.toml"):
        read_golden(tmp_path)
    (tmp_path / "suite.toml").touch()
    with pytest.raises(InputError, match=r"there are no cases at .*cases\.jsonl"):
        read_golden(tmp_path)


@pytest.mark.parametrize(
    ("toml", "field", "message", "remedy"),
    [
        (
            "repeats = ",
            "",
            "cannot be read: Invalid value (at end of document)",
            "See https://toml",
        ),
        ("x = " + "[" * 5000, "", "cannot be read", "See https://toml"),
        ("repeats = 1" + "0" * 5000, "", "cannot be read", "See https://toml"),
        ("repeat = 3", "repeat", "is no known field", "Did you mean `repeats`?"),
        ("repeats = 0", "repeats", "must be greater than or equal to 1. Got 0.", "Correct"),
        ('repeats = "3"', "repeats", 'must be a valid integer. Got "3".', "Correct"),
        ("name = nan", "name", "must be a valid string. Got nan.", "Correct"),
        ("name = [1979-05-27]", "name", "must be a valid string. Got [datetime", "Correct"),
        ('name = "a/b"', "name", 'Got "a/b".', "Correct"),
        ('privacy = "secret"', "privacy", "must be 'public'", "Correct"),
        ('slices = ["tag"]', "slices.0", "must be 'category', 'language', 'tags' or", "Correct"),
        ("[gate]\nmargn = 0.1", "gate.margn", "is no known field", "Did you mean `margin`?"),
        ("[gate]\nmargin = 2", "gate.margin", "less than or equal to 1", "Correct"),
        ("[gate]\nmargin = nan", "gate.margin", "Got nan", "Correct"),
    ],
)
def test_settings_that_cannot_be_used_are_named(
    tmp_path: Path, toml: str, field: str, message: str, remedy: str
) -> None:
    [(_, found_field, found_message, found_remedy)] = problems_of(suite(tmp_path, toml))
    assert found_field == field
    assert message in found_message
    assert found_remedy.startswith(remedy)


def test_all_problems_of_the_settings_are_in_one_report(tmp_path: Path) -> None:
    found = problems_of(suite(tmp_path, 'repeat = 3\nprivacy = 1\n[gate]\nmargin = "x"'))
    assert sorted(field for _, field, _, _ in found) == ["gate.margin", "privacy", "repeat"]


def test_settings_that_are_not_utf8_are_named(tmp_path: Path) -> None:
    suite(tmp_path)
    (tmp_path / "suite.toml").write_bytes(b'name = "\xff"')
    assert "cannot be read: 'utf-8' codec" in problems_of(tmp_path)[0][2]


def test_a_line_of_50_mb_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    with path.open("wb") as file:
        file.write(ONE.encode() + b'\n{"id": "big", "input": "')
        for _ in range(50):
            file.write(b"x" * 1_000_000)
        file.write(b'"}\n' + THREE.encode() + b"\n{}\n")
    script = """
import resource, sys
from evalnb import InputError, read_golden
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    read_golden(sys.argv[1])
except InputError as error:
    print([(problem.line, problem.message) for problem in error.problems][0])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True
    )
    problem, more = done.stdout.splitlines()
    assert problem == "(2, 'is longer than 2,000,000 bytes.')"
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(more) * unit < 25_000_000


# Whatever comes


def read_or_refuse(path: Path) -> None:
    """Read, where reading may fail in one way only, with a report that can be shown."""
    try:
        read_golden(path)
    except InputError as error:
        shown = str(error).encode()
        if not shown or not error.problems:
            raise


@given(st.binary())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_read_or_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(content)
    read_or_refuse(path)


@given(st.integers(0, 400), st.binary(max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damage_to_a_line_is_read_or_refused(tmp_path: Path, at: int, noise: bytes) -> None:
    content = json.dumps(FULL).encode()
    path = tmp_path / "cases.jsonl"
    path.write_bytes(content[:at] + noise + content[at + len(noise) :])
    read_or_refuse(path)


wild = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from([*FIELDS, *FULL["limits"], "calls", "role", "type"]), inner
        )
    ),
    max_leaves=8,
)


@given(st.sampled_from(FIELDS), wild)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
def test_any_value_of_a_field_is_read_or_refused(tmp_path: Path, name: str, value: Any) -> None:
    path = tmp_path / "cases.jsonl"
    with suppress(UnicodeEncodeError):
        path.write_text(json.dumps(FULL | {name: value}), encoding="utf-8")
    read_or_refuse(path)


@given(st.sampled_from(["state", "expected_schema", "tools_mock"]), st.integers(1, 1500))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_any_depth_is_read_or_refused(tmp_path: Path, name: str, depth: int) -> None:
    line = json.dumps(FULL | {name: "DEEP"})
    nested = '{"not":' * depth + "{}" + "}" * depth
    path = tmp_path / "cases.jsonl"
    path.write_text(line.replace('"DEEP"', nested), encoding="utf-8")
    read_or_refuse(path)


@given(st.text())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_settings_are_read_or_refused(tmp_path: Path, toml: str) -> None:
    suite(tmp_path)
    (tmp_path / "suite.toml").write_text(toml, encoding="utf-8", errors="replace")
    read_or_refuse(tmp_path)

from __future__ import annotations

import json
import math
import stat
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.jsontext import (
    MAX_LINE_BYTES,
    JsonProblem,
    dump_json,
    parse_json,
    read_lines,
    same_json,
    write_atomically,
)

if TYPE_CHECKING:
    from pathlib import Path

# What JSON can hold: no NaN, no Infinity, no half of a surrogate pair.
texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=20,
)


@given(values)
def test_what_is_written_is_read_back(value: Any) -> None:
    text = dump_json(value)
    assert "\n" not in text
    assert parse_json(text) == value


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        expected = [json.loads(text)]
    except ValueError:
        expected = []
    with suppress(JsonProblem):
        assert [parse_json(text)] == expected


@given(values)
def test_spaces_change_nothing(value: Any) -> None:
    for text in (
        json.dumps(value, indent=1),
        json.dumps(value, separators=(" , ", " : ")),
        json.dumps(value, ensure_ascii=False, separators=(",", ":")),
    ):
        assert repr(parse_json(text)) == repr(json.loads(text))


keys = st.sampled_from(["a", "b", 'a": 1', "\\u0061", '":', "Infinity", "é"]) | texts


@given(
    st.lists(st.tuples(keys, values), max_size=4),
    st.sampled_from([": ", ":", " :", "\t:"]),
    st.booleans(),
)
def test_a_key_is_told_twice_however_it_is_written(
    pairs: list[tuple[str, Any]], colon: str, ascii_only: bool
) -> None:
    members = (
        json.dumps(key, ensure_ascii=ascii_only) + colon + json.dumps(value, ensure_ascii=False)
        for key, value in pairs
    )
    text = "{" + ", ".join(members) + "}"
    if len(dict(pairs)) < len(pairs):
        with pytest.raises(JsonProblem, match="is given twice"):
            parse_json(text)
    else:
        assert parse_json(text) == dict(pairs)


@pytest.mark.parametrize(
    "text",
    [
        r'{"a": 1, "\u0061": 2}',
        '{"a" :1, "a":2}',
        '{"a":":", "a":"x"}',
        '{"a": {"b": "\\":", "b": "\\":"}}',
        '[{"a":1}, {"a":{"c":1,\n"c"\n:1}}]',
    ],
)
def test_no_spelling_hides_a_key_given_twice(text: str) -> None:
    with pytest.raises(JsonProblem, match="is given twice"):
        parse_json(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"is not JSON: .* at column 2\."),
        ('{\n"a" 1}', r"is not JSON: .* at line 2, column 5\."),
        ("", r"is not JSON: Expecting value at column 1\."),
        ('{"a": NaN}', "holds NaN"),
        ('{"a": Infinity}', "holds Infinity"),
        ("[-Infinity]", "holds -Infinity"),
        ("1e999", "holds the number 1e999, beyond the range of a double"),
        ('{"a": 1, "b": {"c": 1, "c": 1}}', "is given twice in one object"),
        (r'"\ud800"', "half a surrogate pair"),
        (r'{"\udfff": 1}', "half a surrogate pair"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ("1" * 5000, "holds a number that cannot be read"),
    ],
)
def test_what_other_readers_refuse_is_refused(text: str, message: str) -> None:
    with pytest.raises(JsonProblem, match=message):
        parse_json(text)


def test_a_key_given_twice_is_named_so_that_it_can_be_printed() -> None:
    with pytest.raises(JsonProblem, match="twice") as caught:
        parse_json('{"b": 1, "a": 2, "a": 3}')
    assert caught.value.field == "a"
    with pytest.raises(JsonProblem, match="twice") as caught:
        parse_json(r'{"\ud800": 1, "\ud800": 2}')
    assert caught.value.field == r"\ud800"


def test_a_whole_surrogate_pair_is_one_character() -> None:
    assert parse_json(r'"\ud83d\ude00"') == "😀"


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_nan_is_never_written(value: float) -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        dump_json({"a": value})


def test_lines_are_read_with_their_numbers_and_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 1}\n {"b":  "\xe2\x80\xa8"} \n{"c": 3}')
    lines, problems = read_lines(path)
    assert problems == []
    assert [(line.number, line.raw, line.value) for line in lines] == [
        (1, b'{"a": 1}', {"a": 1}),
        (2, b' {"b":  "\xe2\x80\xa8"} ', {"b": "\u2028"}),
        (3, b'{"c": 3}', {"c": 3}),
    ]


def test_every_faulty_line_is_one_problem(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\n\n[1]\n{"b": 2}\r\n\xff\n{"c": 3}\r\n{')
    lines, problems = read_lines(path)
    assert [line.value for line in lines] == [{"a": 1}, {"b": 2}, {"c": 3}]
    assert [(problem.line, problem.message) for problem in problems] == [
        (1, "starts with a byte order mark."),
        (2, "is empty."),
        (3, "must be a JSON object. Got list."),
        (4, "ends in CRLF, as do 1 more."),
        (5, "is not UTF-8 at byte 1."),
        (7, "is not JSON: Expecting property name enclosed in double quotes at column 2."),
    ]
    assert all(problem.remedy for problem in problems)
    assert {problem.file for problem in problems} == {str(path)}


@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_a_line_may_be_as_long_as_the_limit(tmp_path: Path, extra: int) -> None:
    path = tmp_path / "a.jsonl"
    line = b'{"a": "' + b"x" * (MAX_LINE_BYTES - 9 + extra) + b'"}'
    assert len(line) == MAX_LINE_BYTES + extra
    for end in (b"", b"\n"):
        path.write_bytes(line + end + (b'{"b": 1}' if end else b""))
        lines, problems = read_lines(path)
        assert len(lines) == (extra <= 0) + (end != b"")
        assert [problem.line for problem in problems] == ([1] if extra > 0 else [])


def test_writing_replaces_the_whole_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.txt"
    write_atomically(path, b"old")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(path.parent.iterdir()) == [path]


def test_writing_keeps_the_mode(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write_atomically(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_failed_write_leaves_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    with pytest.raises(TypeError, match="bytes-like"):
        write_atomically(path, "no bytes")  # type: ignore[arg-type]
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_reader_sees_the_old_content_or_the_new(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    contents = {bytes([letter]) * 200_000 for letter in b"abcd"}
    write_atomically(path, b"a" * 200_000)

    def write(content: bytes) -> None:
        for _ in range(10):
            write_atomically(path, content)

    writers = [threading.Thread(target=write, args=(content,)) for content in contents]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert path.read_bytes() in contents
    for writer in writers:
        writer.join()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (True, True, True),
        (None, None, True),
        (None, False, False),
        ("1", 1, False),
        ([1, 2], [1.0, 2], True),
        ([1], [True], False),
        ([1], [1, 1], False),
        ({"a": 1, "b": [None]}, {"b": [None], "a": 1.0}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": 1}, {"a": 1, "b": 1}, False),
        ({}, [], False),
    ],
)
def test_values_are_compared_as_json(one: Any, other: Any, same: bool) -> None:
    assert same_json(one, other) is same
    assert same_json(other, one) is same
    assert same_json(json.loads(json.dumps(one)), one)

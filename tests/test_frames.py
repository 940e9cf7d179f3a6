from __future__ import annotations

from enum import StrEnum
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal, assert_series_equal

from evalnb import frames
from evalnb.frames import (
    DECISION,
    OUTPUTS,
    FrameSchema,
    NaReason,
    is_accident,
    is_accident_record,
    to_records,
)

SCHEMA = FrameSchema(
    "demo",
    {"name": "string", "n": "Int64", "share": "Float64", "ok": "boolean", "parts": "object"},
    key=("name",),
)
SCHEMAS = [value for value in vars(frames).values() if isinstance(value, FrameSchema)]


def test_build_sets_order_and_dtypes_and_fills_in_na() -> None:
    frame = SCHEMA.build(
        [{"n": 2, "name": "a", "more": "x"}, {"name": "b", "share": 1, "ok": True, "parts": [1]}]
    )
    expected = pd.DataFrame(
        {
            "name": pd.array(["a", "b"], "string"),
            "n": pd.array([2, None], "Int64"),
            "share": pd.array([None, 1.0], "Float64"),
            "ok": pd.array([None, True], "boolean"),
            "parts": pd.Series([pd.NA, [1]], dtype="object"),
            "more": pd.Series(["x", pd.NA], dtype="object"),
        }
    )
    assert_frame_equal(frame, expected)


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: schema.name)
def test_an_empty_frame_has_all_columns_with_their_dtypes(schema: FrameSchema) -> None:
    empty = schema.empty()
    assert len(empty) == 0
    assert {name: str(dtype) for name, dtype in empty.dtypes.items()} == dict(schema.columns)
    assert set(schema.key) <= set(schema.columns)
    assert_frame_equal(schema.check(empty), empty)


def test_check_leaves_its_argument_and_puts_other_columns_at_the_right() -> None:
    given = pd.DataFrame(
        {
            "x": [1, 2],
            "parts": [None, None],
            "ok": [True, False],
            "share": [0.5, 1],
            "n": [1, 2],
            "name": ["a", "b"],
        },
        index=[7, 7],
    )
    before = given.copy()
    checked = SCHEMA.check(given)
    assert_frame_equal(given, before)
    assert list(checked.columns) == ["name", "n", "share", "ok", "parts", "x"]
    assert checked.index.equals(pd.RangeIndex(2))
    assert_frame_equal(SCHEMA.check(checked), checked)


def test_check_names_missing_columns() -> None:
    with pytest.raises(ValueError, match=r"a demo frame needs .* Missing: n, ok\."):
        SCHEMA.check(SCHEMA.empty().drop(columns=["n", "ok"]))


def test_a_key_stands_in_one_row_only() -> None:
    with pytest.raises(ValueError, match=r"one row for each key\. Got two for name='a'"):
        SCHEMA.build([{"name": "a"}, {"name": "b"}, {"name": "a"}])


def test_na_is_a_value_of_a_key() -> None:
    with pytest.raises(ValueError, match="Got two for rule='na'"):
        DECISION.build([{"rule": "na"}, {"rule": "na"}])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"name": 1}, r"`name` of a demo frame must be string. Got 1\."),
        ({"name": ["a"]}, r"`name` .* must be string. Got \['a'\]"),
        ({"n": "3"}, "`n` .* must be Int64. Got '3'"),
        ({"n": 1.5}, "`n` .* must be Int64. Got 1.5"),
        ({"n": True}, "`n` .* must be Int64. Got True"),
        ({"n": float("inf")}, "`n` .* must be Int64. Got inf"),
        ({"share": "0.5"}, "`share` .* must be Float64. Got '0.5'"),
        ({"share": True}, "`share` .* must be Float64. Got True"),
        ({"ok": 1}, "`ok` .* must be boolean. Got 1"),
        ({"ok": "True"}, "`ok` .* must be boolean. Got 'True'"),
    ],
)
def test_no_value_is_turned_into_another_type_unasked(row: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SCHEMA.build([{"name": "x"} | row])


def test_missing_is_na_however_it_is_given() -> None:
    missing = [None, float("nan"), pd.NA]
    frame = SCHEMA.build(
        {"name": str(n), "n": value, "share": value, "ok": value} for n, value in enumerate(missing)
    )
    assert frame[["n", "share", "ok"]].isna().all().all()
    nested = SCHEMA.build([{"name": "a", "parts": None, "more": None}, {"name": "b", "more": 1}])
    assert nested["parts"].tolist() == [pd.NA, pd.NA]
    assert nested["more"].tolist() == [pd.NA, 1]


def test_members_of_an_enumeration_become_plain_text() -> None:
    class Kind(StrEnum):
        ONE = "one"

    assert type(SCHEMA.build([{"name": Kind.ONE}])["name"][0]) is str


def test_accidents_are_told_from_what_was_planned() -> None:
    planned = ["no_judge", "skipped_by_rule", "not_applicable", "no_scorer", "curtailed"]
    assert set(planned) < {str(reason) for reason in NaReason}
    for reason in NaReason:
        accident = reason not in planned
        assert is_accident(pd.Series([reason], dtype="object"))[0] == accident
        assert is_accident_record({"na_reason": reason}) == accident
        assert is_accident_record({"na_reason": str(reason)}) == accident
    assert not is_accident_record({})
    mixed = pd.Series(["miss", None, "no_judge", "server"], dtype="string")
    expected = pd.Series([True, False, False, True], dtype="boolean")
    assert_series_equal(is_accident(mixed), expected)
    assert_series_equal(is_accident(mixed[:0]), expected[:0])


def test_large_frames_are_put_together_from_parts() -> None:
    # More rows than are looked at together; a column that comes late is NA before.
    rows: list[dict[str, Any]] = [{"name": str(n), "n": n} for n in range(10_000)]
    rows[9_999] |= {"late": "x", "share": 0.5}
    frame = SCHEMA.build(iter(rows))
    assert frame["n"].tolist() == list(range(10_000))
    assert frame["share"].isna().sum() == frame["late"].isna().sum() == 9_999
    assert to_records(frame) == rows


def test_records_hold_what_is_there_in_the_order_of_the_columns() -> None:
    rows: list[dict[str, Any]] = [
        {"parts": [1, None], "name": "a", "n": 1},
        {"name": "b", "ok": False, "share": 0.25},
        {"name": "c"},
        {"more": {"x": None}, "name": "d", "n": 4, "parts": []},
    ]
    records = to_records(SCHEMA.build(rows))
    assert [list(record.items()) for record in records] == [
        [("name", "a"), ("n", 1), ("parts", [1, None])],
        [("name", "b"), ("share", 0.25), ("ok", False)],
        [("name", "c")],
        [("name", "d"), ("n", 4), ("parts", []), ("more", {"x": None})],
    ]
    assert [type(value) for value in records[1].values()] == [str, float, bool]
    assert type(records[0]["n"]) is int


def test_records_of_nothing_are_none() -> None:
    assert to_records(SCHEMA.empty()) == []
    assert to_records(pd.DataFrame(index=range(2))) == [{}, {}]
    assert to_records(pd.DataFrame({"a": [None, pd.NA, float("nan")]})) == [{}, {}, {}]


present = st.fixed_dictionaries(
    {},
    optional={
        "run_id": st.text(max_size=3),
        "text": st.text(max_size=3),
        "tool_calls": st.lists(st.integers(), max_size=2),
        "input_tokens": st.integers(0, 10**9),
        "cost_usd": st.floats(0, 1),
        "other": st.integers() | st.text(max_size=3),
    },
)


@given(st.lists(present, max_size=12))
def test_what_is_built_is_read_back(rows: list[dict[str, object]]) -> None:
    keyed = [row | {"case_id": "a", "repeat": n} for n, row in enumerate(rows)]
    assert to_records(OUTPUTS.build(keyed)) == keyed
    assert_frame_equal(OUTPUTS.build(to_records(OUTPUTS.build(keyed))), OUTPUTS.build(keyed))


def test_half_surrogates_never_stop_a_frame() -> None:
    # With pyarrow installed pandas keeps texts as UTF-8, which has none; without, as they are.
    (text,) = OUTPUTS.build([{"case_id": "a", "repeat": 1, "text": "a\ud800b"}])["text"]
    assert text in ("a\ud800b", "a\ufffdb")

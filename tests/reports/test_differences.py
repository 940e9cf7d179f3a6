from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.reports.differences import Earlier, found, word_differences

OLD = {"case_id": "a", "repeat": 1, "text": "your order number", "tool_calls": []}


def compare(
    answer: dict[str, Any], before: dict[str, Any] = OLD, *, now: str = "pass"
) -> list[Any]:
    earlier = Earlier("run-1", [before], {"a": "pass"})
    return found([{"case_id": "a", "repeat": 1, **answer}], {"a": now}, earlier)


def marked(before: str, now: str) -> str:
    signs = {"same": "{}", "deleted": "[-{}-]", "added": "{{+{}+}}"}
    return "".join(signs[part.kind].format(part.text) for part in word_differences(before, now))


def test_what_is_the_same_is_no_difference() -> None:
    assert compare({"text": "your order number"}) == []
    assert compare({"text": "other", "output_hash": "1"}, {**OLD, "output_hash": "1"}) == []


def test_other_words_are_a_difference_of_the_case() -> None:
    assert compare({"text": "your inquiry number"}, now="fail") == [
        {
            "case_id": "a",
            "repeat": 1,
            "against": "run-1",
            "state_before": "pass",
            "state_now": "fail",
            "text_before": "your order number",
            "text_now": "your inquiry number",
            "tool_calls_before": [],
            "tool_calls_now": [],
        }
    ]


def test_another_verdict_on_the_same_words_is_a_difference() -> None:
    (row,) = compare({"text": "your order number"}, now="fail")
    assert (row["state_before"], row["state_now"]) == ("pass", "fail")


def test_other_arguments_are_a_difference_and_1_is_1_0_but_not_true() -> None:
    def calls(value: Any) -> list[Any]:
        return [{"name": "refund", "arguments": {"cents": value}}]

    before = {**OLD, "tool_calls": calls(1)}
    assert compare({"text": OLD["text"], "tool_calls": calls(1.0)}, before) == []
    (row,) = compare({"text": OLD["text"], "tool_calls": calls(True)}, before)
    assert row["tool_calls_now"] == calls(True)


def test_what_only_one_side_has_is_left_out() -> None:
    assert found([{"case_id": "b", "repeat": 1}], {}, Earlier("run-1", [OLD], {})) == []
    assert found([], {}, Earlier("run-1", [{"text": "no case"}], {})) == []


def test_what_got_worse_comes_first() -> None:
    names = ["same", "better", "worse", "none"]
    before = [{"case_id": name, "repeat": 1, "text": "x"} for name in names]
    now = [{"case_id": name, "repeat": 1, "text": "y"} for name in names]
    earlier = Earlier("run-1", before, {"same": "pass", "better": "fail", "worse": "pass"})
    rows = found(now, {"same": "pass", "better": "unstable", "worse": "unstable", "none": "pass"}, earlier)  # fmt: skip
    assert [row["case_id"] for row in rows] == ["worse", "better", "none", "same"]


@pytest.mark.parametrize(
    ("before", "now", "shown"),
    [
        ("your order number", "your inquiry number", "your [-order-]{+inquiry+} number"),
        ("注文番号を", "問い合わせ番号を", "[-注文-]{+問い合わせ+}番号を"),
        ("Straße 5", "Straße 6", "Straße [-5-]{+6+}"),
        ("", "new", "{+new+}"),
        ("gone", "", "[-gone-]"),
        ("same", "same", "same"),
        ("", "", ""),
    ],
)
def test_words_that_changed_are_marked(before: str, now: str, shown: str) -> None:
    assert marked(before, now) == shown


@given(
    st.text(alphabet="ab c注文ا\u0301", max_size=40),
    st.text(alphabet="ab c注文ا\u0301", max_size=40),
)
def test_both_texts_can_be_read_out_of_the_parts(before: str, now: str) -> None:
    parts = word_differences(before, now)
    assert "".join(part.text for part in parts if part.kind != "added") == before
    assert "".join(part.text for part in parts if part.kind != "deleted") == now


def test_long_texts_are_compared_as_a_whole() -> None:
    before, now = "start " + "a " * 2000 + "end", "start " + "b " * 2000 + "end"
    kinds = [part.kind for part in word_differences(before, now)]
    assert kinds == ["same", "deleted", "added", "same"]

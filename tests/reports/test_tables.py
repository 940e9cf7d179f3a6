import re
from html.parser import HTMLParser

import pandas as pd
import pytest
from pandas.io.formats.style import Styler

from evalnb.frames import DECISION, OUTPUTS, RESULTS, SCORES, SLICES
from evalnb.reports.tables import (
    changes_table,
    decision_table,
    failing_table,
    slices_table,
    styled,
)
from tests.reports import frames
from tests.reports.frames import PAYLOADS


class Table(HTMLParser):
    """What a browser makes of a table: its tags, caption and rows."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.caption = ""
        self.rows: list[list[str]] = []
        self._place = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.tags.add(tag)
        self._place = tag
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002
        self._place = ""

    def handle_data(self, data: str) -> None:
        if self._place == "caption":
            self.caption += data
        if self._place in {"td", "th"}:
            self.rows[-1][-1] += data


OURS = {"style", "table", "caption", "thead", "tbody", "tr", "th", "td"}


def shown(styler: Styler) -> Table:
    return Table(styler.to_html())


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_text_is_taken_for_html_wherever_it_stands(payload: str) -> None:
    frame = pd.DataFrame({payload: [payload, [payload, payload], {payload: payload}]})
    frame.index = pd.Index([payload, "b", "c"], name=payload)
    frame.columns.name = payload
    table = shown(styled(frame, caption=payload, index=True))
    assert table.tags == OURS
    assert table.caption == payload
    assert [[cell.strip("\xa0") for cell in row] for row in table.rows] == [
        ["", payload],
        [payload, payload],
        ["b", f"{payload}; {payload}"],
        ["c", f"{payload}: {payload}"],
    ]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_text_of_a_run_is_taken_for_html(payload: str) -> None:
    score = {"case_id": payload, "repeat": 1, "scorer": payload, "passed": False}
    results = RESULTS.build(
        [{"case_id": payload, "category": payload, "language": payload, "state": "fail",
          "pass_rate": 0.0, "n_scored": 1, "reasons": [payload]}]
    )  # fmt: skip
    outputs = OUTPUTS.build([{"case_id": payload, "repeat": 1, "text": payload}])
    decision = DECISION.build(
        [{"rule": payload, "outcome": "fail", "case_id": payload, "scorer": payload,
          "slice": payload, "baseline": 1.0, "candidate": 0.0, "reason": payload}]
    )  # fmt: skip
    slices = SLICES.build([{"slice": payload, "value": payload, "n_planned": 1, "n_scored": 0}])
    tables = [
        failing_table(results, SCORES.build([score]), outputs),
        changes_table(decision),
        decision_table(decision),
        slices_table(slices),
    ]
    for table in map(shown, tables):
        assert table.tags == OURS
        assert payload in table.rows[1]


def test_missing_and_numbers_have_their_text() -> None:
    frame = pd.DataFrame(
        {
            "rate": pd.Series([0.92857, pd.NA], dtype="Float64"),
            "n": pd.Series([1200, pd.NA], dtype="Int64"),
            "passed": pd.Series([True, pd.NA], dtype="boolean"),
            "text": pd.Series(["a", pd.NA], dtype="string"),
            "list": [["a", 0.5], []],
        }
    )
    assert shown(styled(frame)).rows == [
        ["rate", "n", "passed", "text", "list"],
        ["0.93", "1,200", "yes", "a", "a; 0.50"],
        ["–", "–", "–", "–", ""],
    ]


def test_long_text_is_shortened() -> None:
    rows = shown(styled(pd.DataFrame({"a": ["abcdef"]}), limit=4)).rows
    assert rows == [["a"], ["abc…"]]


def test_repeated_labels_are_shown() -> None:
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"], index=["x"])
    assert shown(styled(frame)).rows == [["a", "a"], ["1", "2"]]


def test_an_empty_frame_is_a_table_with_its_labels() -> None:
    assert shown(styled(pd.DataFrame({"a": []}))).rows == [["a"]]


def test_the_same_frame_gives_the_same_html_and_stays_as_it_was() -> None:
    frame = pd.DataFrame({"a": ["<b>"], "b": [0.5]})
    assert styled(frame).to_html() == styled(frame).to_html()
    pd.testing.assert_frame_equal(frame, pd.DataFrame({"a": ["<b>"], "b": [0.5]}))


def test_two_tables_of_one_page_do_not_share_an_id() -> None:
    one, other = (styled(pd.DataFrame({"a": [text]})).to_html() for text in "xy")
    assert set(re.findall(r'id="(T_\w+)"', one)).isdisjoint(re.findall(r'id="(T_\w+)"', other))


def test_slices_are_shown_with_counts_and_intervals() -> None:
    table = shown(slices_table(frames.slices()))
    assert table.caption == "Pass rate by slice"
    assert table.rows == [
        ["slice", "value", "pass rate", "95% interval", "not scored", "bounds", "baseline",
         "change"],
        ["all", "all", "0.50, 1 of 2", "0.09 to 0.91", "2", "0.25 to 0.75", "1.00, 2 of 2",
         "−0.50"],
        ["category", "money", "0.00, 0 of 1", "0.00 to 0.79", "1", "0.00 to 0.50", "1.00, 1 of 1",
         "−1.00"],
        ["category", "talk", "1.00, 1 of 1", "0.21 to 1.00", "0", "1.00 to 1.00", "–", "–"],
    ]  # fmt: skip


def test_a_change_is_shown_only_over_the_same_number_of_cases() -> None:
    slices = frames.slices().assign(n_compared=pd.Series([1, 1, 0], dtype="Int64"))
    assert [row[-1] for row in shown(slices_table(slices)).rows] == ["change", "–", "−1.00", "–"]


def test_failing_cases_are_shown_with_reasons_and_output() -> None:
    table = shown(failing_table(frames.results(), frames.scores(), frames.outputs()))
    assert table.caption == "1 of 4 cases failed or unstable"
    assert table.rows == [
        ["case", "category", "language", "passes", "reasons", "output"],
        ["refunds", "money", "en", "0 of 1", "exact: expected 'yes', got 'no'", "no"],
    ]


def test_the_output_shown_is_that_of_the_first_repeat_that_failed() -> None:
    results = RESULTS.build(
        [{"case_id": "a", "state": "unstable", "pass_rate": 1 / 3, "n_scored": 3}]
    )
    scores = SCORES.build(
        {"case_id": "a", "repeat": repeat, "scorer": "exact", "passed": repeat == 1}
        for repeat in (3, 1, 2)
    )
    outputs = OUTPUTS.build(
        {"case_id": "a", "repeat": repeat, "text": f"answer {repeat}"} for repeat in (1, 2, 3)
    )
    table = shown(failing_table(results, scores, outputs))
    assert table.rows[1] == ["a", "–", "–", "1 of 3", "–", "answer 2"]


def test_changes_are_the_findings_that_compare_a_case() -> None:
    table = shown(changes_table(frames.decision()))
    assert table.caption == "2 cases changed against the baseline"
    assert table.rows == [
        ["case", "scorer", "baseline", "now", "change", "what", "reason"],
        ["refunds", "exact", "1.00", "0.00", "−1.00", "regression",
         "passed in the baseline, fails now"],
        ["greets", "exact", "0.00", "1.00", "+1.00", "now passing", "failed before, passes now"],
    ]  # fmt: skip


def test_the_decision_is_shown_with_what_decides_first() -> None:
    table = shown(decision_table(frames.decision().iloc[::-1]))
    assert table.caption == "2 of 4 findings block"
    assert [row[:3] for row in table.rows] == [
        ["finding", "rule", "case"],
        ["? inconclusive", "gone", "forgotten"],
        ["✕ blocks", "drift", "–"],
        ["✕ blocks", "regression", "refunds"],
        ["· note", "now passing", "greets"],
    ]


def test_a_run_without_findings_is_an_empty_table() -> None:
    assert shown(decision_table(DECISION.empty())).caption == "0 of 0 findings block"
    assert shown(changes_table(DECISION.empty())).caption == "0 cases changed against the baseline"
    empty = failing_table(RESULTS.empty(), SCORES.empty(), OUTPUTS.empty())
    assert shown(empty).caption == "0 of 0 cases failed or unstable"
    assert len(shown(slices_table(SLICES.empty())).rows) == 1

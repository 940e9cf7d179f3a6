from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from evalnb.errors import InputError
from evalnb.golden import GoldenSet
from evalnb.waivers import Waiver, Wording, read_waivers, read_wordings
from tests.suites import make_suite

if TYPE_CHECKING:
    from pathlib import Path

CASES: list[dict[str, Any]] = [
    {"id": "refund-1", "input": "Hi", "must_contain": ["x"]},
    {"id": "refund-2", "input": "Hi", "rubric": ["polite"], "expected_intent": "refund"},
]


def suite(folder: Path, waivers: str | None = None) -> GoldenSet:
    golden = make_suite(folder, CASES)
    if waivers is not None:
        (folder / "waivers.toml").write_text(waivers, encoding="utf-8")
    return golden


def entry(case: str = "refund-1", more: str = "") -> str:
    return f"""
        [[waivers]]
        case = "{case}"
        kind = "known_failing"
        reason = "the shop is closed"
        owner = "kim"
        expires = 2026-06-01
        {more}
    """


def problems(folder: Path, waivers: str) -> list[tuple[str, str, str]]:
    golden = suite(folder, waivers)
    with pytest.raises(InputError, match="waivers file cannot be used") as caught:
        read_waivers(golden)
    assert {problem.file for problem in caught.value.problems} == {str(folder / "waivers.toml")}
    return [(problem.field, problem.message, problem.remedy) for problem in caught.value.problems]


def test_waivers_are_read_in_order(tmp_path: Path) -> None:
    more = entry("refund-2", 'scorer = "rubric"')
    found = read_waivers(suite(tmp_path, entry() + more))
    assert found == (
        Waiver(
            case="refund-1",
            kind="known_failing",
            reason="the shop is closed",
            owner="kim",
            expires=date(2026, 6, 1),
        ),
        Waiver(
            case="refund-2",
            kind="known_failing",
            scorer="rubric",
            reason="the shop is closed",
            owner="kim",
            expires=date(2026, 6, 1),
        ),
    )


def test_a_suite_needs_no_waivers(tmp_path: Path) -> None:
    golden = suite(tmp_path)
    assert read_waivers(golden) == ()
    assert read_waivers(GoldenSet(golden.cases)) == ()
    (tmp_path / "waivers.toml").write_text("")
    assert read_waivers(golden) == ()


def test_a_waiver_holds_up_to_its_last_day(tmp_path: Path) -> None:
    (found,) = read_waivers(suite(tmp_path, entry()))
    days = [date(2020, 1, 1), date(2026, 5, 31), date(2026, 6, 1), date(2026, 6, 2)]
    assert [found.holds(day) for day in days] == [True, True, True, False]


def test_a_waiver_covers_its_case_or_one_scorer_of_it(tmp_path: Path) -> None:
    whole, part = read_waivers(suite(tmp_path, entry() + entry("refund-2", 'scorer = "rubric"')))
    pairs = [("refund-1", "exact"), ("refund-1", "(case)"), ("refund-2", "rubric")]
    assert [whole.covers(*pair) for pair in pairs] == [True, True, False]
    pairs = [("refund-2", "rubric"), ("refund-2", "exact"), ("refund-1", "rubric")]
    assert [part.covers(*pair) for pair in pairs] == [True, False, False]


def test_all_unknown_names_and_repetitions_are_told_at_once(tmp_path: Path) -> None:
    text = "".join(
        [
            entry("refund-3"),
            entry("zzz"),
            entry("refund-1", 'scorer = "must_contains"'),
            entry("refund-2", 'scorer = "zzz"'),
            entry("refund-1"),
            entry("refund-1"),
            entry("refund-2", 'scorer = "intent"'),
            entry("refund-2", 'scorer = "intent"'),
        ]
    )
    assert problems(tmp_path, text) == [
        ("waivers.0.case", "'refund-3' is no case of this suite.", "Did you mean 'refund-2'?"),
        ("waivers.1.case", "'zzz' is no case of this suite.", "Delete the waiver."),
        (
            "waivers.2.scorer",
            "'must_contains' is no scorer of case 'refund-1'.",
            "Did you mean 'must_contain'?",
        ),
        (
            "waivers.3.scorer",
            "'zzz' is no scorer of case 'refund-2'.",
            "It has: rubric, intent.",
        ),
        ("waivers.5", "waives 'refund-1' a second time.", "Keep one of the two."),
        ("waivers.7", "waives 'refund-2' a second time.", "Keep one of the two."),
    ]


def test_a_case_and_one_of_its_scorers_may_both_be_waived(tmp_path: Path) -> None:
    text = entry("refund-1") + entry("refund-1", 'scorer = "must_contain"')
    assert len(read_waivers(suite(tmp_path, text))) == 2


def test_every_field_that_does_not_fit_is_told(tmp_path: Path) -> None:
    text = """
        [[waivers]]
        case = "refund-1"
        kind = "broken"
        reason = "  "
        expires = "2026-06-01"
        ownr = "kim"
        [[waivers]]
        case = 7
        kind = "quarantined"
        reason = "x"
        owner = "kim"
        expires = 2026-06-01
        [[waiver]]
    """
    found = {field: (message, remedy) for field, message, remedy in problems(tmp_path, text)}
    assert set(found) == {
        "waivers.0.kind",
        "waivers.0.reason",
        "waivers.0.expires",
        "waivers.0.ownr",
        "waivers.0.owner",
        "waivers.1.case",
        "waiver",
    }
    assert found["waivers.0.owner"] == ("is missing.", "Add the field.")
    assert found["waivers.0.ownr"] == ("is no known field.", "Did you mean `owner`?")
    assert found["waiver"] == ("is no known field.", "Did you mean `waivers`?")
    assert (
        "'known_failing', 'quarantined' or 'overridden'. Got \"broken\""
        in (found["waivers.0.kind"][0])
    )


def test_a_torn_file_is_told(tmp_path: Path) -> None:
    ((field, message, remedy),) = problems(tmp_path, "[[waivers]\ncase =")
    assert (field, remedy) == ("", "See https://toml.io.")
    assert message.startswith("cannot be read: ")


def wording(phrase: str, more: str = "") -> str:
    return f"""
        [[wordings]]
        phrase = "{phrase}"
        reason = "the shop renamed it"
        owner = "kim"
        expires = 2026-06-01
        {more}
    """


def test_wordings_stand_beside_waivers(tmp_path: Path) -> None:
    text = entry() + wording("order number", 'replaced_by = "inquiry number"') + wording("dear")
    golden = suite(tmp_path, text)
    assert [one.case for one in read_waivers(golden)] == ["refund-1"]
    first, second = read_wordings(golden)
    assert first == Wording(
        phrase="order number",
        replaced_by="inquiry number",
        reason="the shop renamed it",
        owner="kim",
        expires=date(2026, 6, 1),
    )
    assert second.replaced_by is None


@pytest.mark.parametrize(
    ("text", "field", "message"),
    [
        (wording("dear") + wording("Dear"), "wordings.1", "accepts 'Dear' a second time."),
        (wording(" "), "wordings.0.phrase", "at least 1 character"),
        (wording("dear", "case = 'refund-1'"), "wordings.0.case", "is no known field"),
    ],
)
def test_a_wording_that_cannot_be_used_is_named(
    tmp_path: Path, text: str, field: str, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_wordings(suite(tmp_path, text))
    (problem,) = caught.value.problems
    assert problem.field == field
    assert message in problem.message

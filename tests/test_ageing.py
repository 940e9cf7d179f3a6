from __future__ import annotations

import re
from contextlib import suppress
from datetime import date
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from evalnb.ageing import age_warnings, case_ages, days_of, propose_pruning, suite_ages
from evalnb.baseline import CASE, Baseline
from evalnb.cases import Case
from evalnb.errors import InputError
from evalnb.frames import BASELINE, OUTPUTS
from evalnb.golden import GoldenSet, read_golden
from evalnb.versions import GOLDEN_LOG
from tests.commands import evalnb
from tests.suites import make_suite

if TYPE_CHECKING:
    from pathlib import Path

AS_OF = date(2026, 6, 1)


def case(case_id: str, **fields: Any) -> dict[str, Any]:
    return {"id": case_id, "input": "Hi", "expected_exact": "x", **fields}


def golden_of(*cases: dict[str, Any]) -> GoldenSet:
    return GoldenSet(tuple(Case.model_validate(fields) for fields in cases))


def baseline_of(**counts: tuple[int, int, int]) -> Baseline:
    """Build a baseline from repeats, scored and passed of each case as a whole."""
    names = ("n_repeats", "n_scored", "n_passed")
    rows = [
        {"case_id": case_id, "scorer": CASE, **dict(zip(names, numbers, strict=True))}
        for case_id, numbers in counts.items()
    ]
    return Baseline({}, BASELINE.build(rows), OUTPUTS.empty())


# Durations


@pytest.mark.parametrize(("text", "days"), [("1d", 1), ("180d", 180), ("26w", 182)])
def test_a_duration_is_days_or_weeks(text: str, days: int) -> None:
    assert days_of(text) == days


@pytest.mark.parametrize(
    "text",
    ["", "180", "d", "0d", "-1d", "1.5d", "180 d", "6m", "1y", "180D", "٣d", "1d\n", "9" * 9],
)
def test_another_duration_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"such as 180d or 26w\. Got " + re.escape(repr(text))):
        days_of(text)


@given(st.integers(1, 99_999), st.sampled_from([("d", 1), ("w", 7)]))
def test_every_number_of_days_or_weeks_is_read(number: int, unit: tuple[str, int]) -> None:
    letter, days = unit
    assert days_of(f"{number}{letter}") == number * days


@given(st.text())
def test_any_text_is_a_duration_or_refused(text: str) -> None:
    with suppress(InputError):
        assert days_of(text) > 0


# Ages


def test_a_case_is_as_old_as_it_says_else_as_its_commit() -> None:
    golden = golden_of(case("said", added="2026-05-31"), case("seen"), case("new"))
    log = GOLDEN_LOG.build(
        [
            {"subject": "(not committed)", "added": ["new"]},
            {"commit": "c", "committed_at": "2026-05-02T23:59:59+00:00", "added": ["seen"]},
            {"commit": "b", "committed_at": "2026-04-01T00:00:00+00:00", "removed": ["seen"]},
            {"commit": "a", "committed_at": "2026-01-01T00:00:00+00:00", "added": ["seen", "said"]},
        ]
    )
    # 2026-05-31 to 2026-06-01 is one day; May has 31, so from May 2 it is 30.
    expected = pd.DataFrame(
        {
            "case_id": pd.array(["said", "seen", "new"], "string"),
            "added": pd.array(["2026-05-31", "2026-05-02", None], "string"),
            "age_days": pd.array([1, 30, None], "Int64"),
            "source": pd.array(["added", "commit", None], "string"),
        }
    )
    assert_frame_equal(case_ages(golden, AS_OF, log), expected)
    assert list(case_ages(golden, AS_OF)["age_days"].isna()) == [False, True, True]


def test_a_suite_outside_of_a_repository_has_the_dates_of_its_cases(tmp_path: Path) -> None:
    golden = make_suite(tmp_path, [case("a", added="2025-06-01"), case("b")])
    ages = suite_ages(golden, AS_OF)
    assert list(ages["age_days"].fillna(-1)) == [365, -1]


def test_old_cases_are_counted_in_one_sentence() -> None:
    # 2025-12-03 is 180 days before 2026-06-01: not yet older.
    golden = golden_of(case("a", added="2025-12-03"), case("b", added="2025-12-02"), case("c"))
    assert age_warnings(case_ages(golden, AS_OF)) == [
        "1 case is older than 180 days: see `evalnb golden prune --older-than 180d`"
    ]
    assert age_warnings(case_ages(golden, AS_OF), days=100)[0].startswith("2 cases are older")
    assert age_warnings(case_ages(golden_of(), AS_OF)) == []


# What is proposed for removal


def test_old_cases_that_always_pass_are_proposed_the_oldest_first() -> None:
    golden = golden_of(
        case("young", added="2026-05-01"),
        case("old", added="2025-05-01", category="refunds"),
        case("older", added="2024-05-01"),
        case("attack", added="2024-05-01", tags=["edge", "adversarial"]),
        case("incident", added="2024-05-01", tags=["incident", "adversarial"]),
        case("fails", added="2024-05-01"),
        case("flaky", added="2024-05-01"),
        case("unscored", added="2024-05-01"),
        case("absent", added="2024-05-01"),
        case("waived", added="2024-05-01"),
        case("undated"),
    )
    passing = dict.fromkeys(("young", "old", "older", "attack", "incident", "waived", "undated"))
    counts = dict.fromkeys(passing, (2, 2, 2))
    counts |= {"fails": (2, 2, 0), "flaky": (2, 2, 1), "unscored": (2, 1, 1)}
    proposal = propose_pruning(
        golden,
        case_ages(golden, AS_OF),
        baseline_of(**counts),
        older_than_days=180,
        waived=["waived"],
    )
    found = proposal[["case_id", "category", "outcome", "proposed", "kept_because"]]
    assert found.astype("object").where(found.notna(), None).to_numpy().tolist() == [
        ["older", None, "passes", True, None],
        ["attack", None, "passes", False, "tagged adversarial"],
        ["incident", None, "passes", False, "tagged adversarial, incident"],
        ["fails", None, "fails", False, "does not always pass"],
        ["flaky", None, "1 of 2 pass", False, "does not always pass"],
        ["unscored", None, "1 of 2 scored", False, "does not always pass"],
        ["absent", None, "absent", False, "not in the baseline"],
        ["waived", None, "passes", False, "a waiver is about it"],
        ["old", "refunds", "passes", True, None],
    ]


def test_without_a_baseline_age_alone_decides() -> None:
    golden = golden_of(case("old", added="2025-05-01"), case("undated"))
    proposal = propose_pruning(golden, case_ages(golden, AS_OF), None, older_than_days=180)
    assert list(proposal["case_id"]) == ["old"]
    assert proposal["proposed"].all()
    assert proposal["outcome"].isna().all()


# The command


def test_pruning_proposes_and_writes_only_when_told(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    make_suite(folder, [case("a", added="2025-05-01"), case("b"), case("c", added="2026-05-31")])
    file = folder / "cases.jsonl"
    odd = file.read_text().replace('{"id": "b", ', '{ "id":"b",  ')
    file.write_text(odd)
    command = ("golden", "prune", "shop", "--older-than", "180d", "--as-of", "2026-06-01")
    proposed = evalnb(*command, folder=tmp_path)
    assert proposed.code == 0
    assert proposed.out.splitlines() == [
        "1 proposed for removal, 0 as old are kept",
        "  a  396 days  (none)  no baseline",
        "1 case has no date, neither `added` nor a commit: never proposed for removal",
        "nothing was changed: add --write to take them out",
    ]
    assert file.read_text() == odd
    written = evalnb(*command, "--write", folder=tmp_path)
    assert written.code == 0
    assert "evalnb baseline accept shop --reason 'pruned' --removed a" in written.out
    assert file.read_text().splitlines() == odd.splitlines()[1:]
    assert [kept.id for kept in read_golden(folder)] == ["b", "c"]


def test_pruning_refuses_an_unknown_age_and_an_empty_rest(tmp_path: Path) -> None:
    make_suite(tmp_path / "shop", [case("a", added="2020-01-01")])
    before = (tmp_path / "shop" / "cases.jsonl").read_bytes()
    refused = evalnb("golden", "prune", "shop", "--older-than", "half a year", folder=tmp_path)
    assert refused.code == 2
    assert "such as 180d or 26w. Got 'half a year'." in refused.error
    emptied = evalnb("golden", "prune", "shop", "--older-than", "1d", "--write", folder=tmp_path)
    assert emptied.code == 2
    assert "not one case would be left" in emptied.error
    assert (tmp_path / "shop" / "cases.jsonl").read_bytes() == before

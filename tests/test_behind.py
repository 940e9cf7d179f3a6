"""What lies behind a drop; answers are scripted."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from evalnb.baseline import write_baseline
from evalnb.behind import changes_behind
from evalnb.evaluation import evaluate
from evalnb.frames import OUTPUTS, to_records
from evalnb.results import write_run
from evalnb.systems import CallableSystem
from tests.suites import make_suite

if TYPE_CHECKING:
    from pathlib import Path

    from evalnb.golden import GoldenSet
    from evalnb.runs import Run

N = 24
CASES = [
    {"id": f"c{number:02}", "input": f"{number}?", "must_contain": ["order number"],
     "split": "holdout" if number < 3 else "dev"}
    for number in range(N)
]  # fmt: skip


@pytest.fixture
def golden(tmp_path: Path) -> GoldenSet:
    return make_suite(tmp_path / "shop", CASES)


def run_of(golden: GoldenSet, word: str, changed: range, calls: list[Any]) -> Run:
    """Return a run in which some answers have another word, and cases 5 and 6 these calls."""

    async def answer(case: Any, client: Any) -> str:
        said = word if int(case.id[1:]) in changed else "order"
        return f"Please give me the {said} number of {case.id}."

    run = evaluate(
        golden,
        CallableSystem(answer, name="bot"),
        run_id="r",
        as_of=date(2026, 6, 1),
        progress="none",
    )
    rows = [
        {**row, "tool_calls": calls if row["case_id"] in ("c05", "c06") else []}
        for row in to_records(run.outputs)
    ]
    return replace(run, outputs=OUTPUTS.build(rows))


LOOK_UP = {"name": "look_up", "arguments": {"id": 1}}


def test_changes_are_ranked_by_the_cases_that_got_worse(golden: GoldenSet) -> None:
    first = run_of(golden, "order", range(0), [LOOK_UP])
    write_baseline(golden, {}, first.scores, first.outputs)
    found = to_records(changes_behind(run_of(golden, "inquiry", range(12), [])))
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for row in found:
        by_kind.setdefault(row["kind"], []).append(row)
    # Of the 12 cases that changed, 3 are of the holdout.
    phrase = by_kind["phrase"][0]
    assert found[0] == phrase
    assert (phrase["before"], phrase["now"]) == ("order number", "inquiry number")
    assert (phrase["n_worse"], phrase["n_cases"]) == (9, 9)
    (call,) = by_kind["tool call"]
    assert call["what"] == "look_up is called less often"
    assert (call["n_worse"], call["case_ids"]) == (2, ["c05", "c06"])
    assert len(by_kind["answer"]) == 5
    assert by_kind["answer"][0]["now"].startswith("Please give me the inquiry number")
    assert not any(name in str(found) for name in ("c00", "c01", "c02"))


def test_other_arguments_are_a_change_and_the_same_are_none(golden: GoldenSet) -> None:
    first = run_of(golden, "order", range(0), [LOOK_UP])
    write_baseline(golden, {}, first.scores, first.outputs)
    other = run_of(golden, "order", range(0), [{**LOOK_UP, "arguments": {"id": 2}}])
    (row,) = to_records(changes_behind(other))
    assert row["what"] == "look_up is called with other arguments"
    assert (row["n_worse"], row["n_cases"]) == (0, 2)
    assert changes_behind(run_of(golden, "order", range(0), [LOOK_UP])).empty


def test_without_a_baseline_there_is_nothing(golden: GoldenSet) -> None:
    assert changes_behind(run_of(golden, "order", range(0), [])).empty


def test_what_lies_behind_a_block_stands_in_the_summary(golden: GoldenSet, tmp_path: Path) -> None:
    first = run_of(golden, "order", range(0), [LOOK_UP])
    write_baseline(golden, {}, first.scores, first.outputs)
    write_run(tmp_path / "run", run_of(golden, "<b>inquiry</b>", range(12), []))
    text = (tmp_path / "run" / "summary.md").read_text()
    assert 'Behind it, 1: phrase appeared: "inquiry"; 9 cases, 9 of them worse' in text
    assert 'phrase said less often: "order number"' in text
    assert "look_up is called less often" in text
    assert "<b>" not in text
    assert "c01" not in text.split("Behind it, 1")[1].split("Behind it, 5")[0]

"""Gate rule 6; verdicts and certificates are scripted by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evalnb.baseline import Baseline, count
from evalnb.cases import Case
from evalnb.cassettes import Cassettes
from evalnb.certificates import AxisEvidence, Certificate
from evalnb.errors import InputError
from evalnb.evaluation import decided_run, evaluate, run_and_score
from evalnb.frames import OUTPUTS, PAIRS, to_records
from evalnb.gate import decide, exit_code
from evalnb.golden import GateSettings, GoldenSet, SuiteSettings, read_golden
from evalnb.pairs import SAME_ANSWER
from evalnb.pairwise_rule import pairs_with_baseline, pairwise_rows
from evalnb.results import read_run, write_run
from evalnb.scoring import score
from evalnb.systems import load_system
from tests.suites import REPOSITORY

DAY = date(2026, 6, 1)
GATE = GateSettings(pairwise="pairwise")
CREATIVE = REPOSITORY / "golden" / "creative"


def judged(**winners: str | None) -> pd.DataFrame:
    """Make pairs of cases by name: the winner, `~` for a conflict of orders, None for no verdict."""
    rows = []
    for name, winner in winners.items():
        row: dict[str, Any] = {"case_id": name, "repeat": 1, "judge_fingerprint": "f1"}
        if winner is None:
            row |= {"na_reason": "refusal"}
        else:
            ab, ba = ("a", "b") if winner == "~" else (winner, winner)
            row |= {"winner": ab if ab == ba else "tie", "order_dependent": ab != ba}
            row |= {"verdict_ab": ab, "verdict_ba": ba, "judge_model_answered": "m"}
        rows.append(row)
    return PAIRS.build(rows)


def certificate(**changes: Any) -> Certificate:
    evidence = AxisEvidence(
        grade="strong", metric="kappa", estimate=0.9, ci_low=0.85, ci_high=0.95, n=80, method="m"
    )
    fields: dict[str, Any] = {
        "judge": "pairwise",
        "fingerprint": "f1",
        "model": "m",
        "answered": ["m"],
        "issued": DAY,
        "expires": DAY,
        "golden_version": "g",
        "run_id": "r",
        "raters": ["ann"],
        "axes": {"pairwise": evidence},
    }
    return Certificate(**(fields | changes))


def row_of(pairs: pd.DataFrame | None, *certificates: Certificate) -> dict[str, Any]:
    (row,) = pairwise_rows(GATE, pairs, certificates, DAY)
    return row


def lost(n: int, **others: str | None) -> pd.DataFrame:
    return judged(**{f"c{number}": "b" for number in range(n)}, **others)


def test_a_run_whose_answers_lose_to_the_baseline_s_fails() -> None:
    row = row_of(lost(7, tie="tie", conflict="~"), certificate())
    assert row["outcome"] == "fail"
    # One win rate of 1/9: two ties of nine pairs. All 7 that are no ties are lost: 1 of 2^7.
    assert row["candidate"] == pytest.approx(1 / 9)
    assert row["estimate"] == pytest.approx(1 / 9 - 1 / 2)
    assert row["p_value"] == pytest.approx(1 / 128)
    # Wilson's interval of 1 of 9 by Newcombe (1998): 0.0199 to 0.4350.
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((0.0199 - 0.5, 0.435 - 0.5), abs=1e-4)
    assert (row["n"], row["baseline"], row["slice"]) == (9, 0.5, "all")
    assert "the judge prefers the baseline's answers: win rate 0.11 (0.02 to 0.43)" in row["reason"]
    assert "2 of them ties, 1 since the verdict depends on the order" in row["reason"]


@pytest.mark.parametrize(
    "pairs",
    [
        lost(6),  # 1 of 2^6 is more than 0.01
        judged(**{f"c{number}": "a" for number in range(20)}),
        judged(**{f"c{number}": "~" for number in range(20)}),
        judged(**{f"c{number}": "tie" for number in range(20)}),
    ],
)
def test_what_is_not_shown_is_a_note(pairs: pd.DataFrame) -> None:
    row = row_of(pairs, certificate())
    assert row["outcome"] == "note"
    assert row["reason"].startswith("no loss against the baseline's answers is shown")


def test_missing_verdicts_that_could_decide_leave_it_open() -> None:
    row = row_of(lost(6, gone=None), certificate())
    assert row["outcome"] == "inconclusive"
    assert "1 without a verdict (1 refusal)" in row["reason"]
    # 12 lost of 13, whatever the missing one is: 14 patterns of 2^13.
    assert row_of(lost(12, gone=None), certificate())["outcome"] == "fail"
    assert row_of(judged(gone=None), certificate())["outcome"] == "note"


@pytest.mark.parametrize(
    ("certificates", "why"),
    [
        ((), "no certificate"),
        ((certificate(fingerprint="f2"),), "the judge is another than the certificate is for"),
        ((certificate(axes={"rubric": certificate().axes["pairwise"]}),), "has no evidence for it"),
    ],
)
def test_without_a_certificate_it_is_advice(
    certificates: tuple[Certificate, ...], why: str
) -> None:
    row = row_of(lost(20), *certificates)
    assert row["outcome"] == "note"
    assert row["reason"].startswith("advice alone, ")
    assert why in row["reason"]


def test_a_judge_swayed_by_the_order_does_not_count_where_the_suite_limits_that() -> None:
    strict = GateSettings(pairwise="pairwise", max_conflict_rate=0.2)
    (row,) = pairwise_rows(strict, lost(20), [certificate()], DAY)
    assert row["outcome"] == "note"
    assert "no probe of them is recorded" in row["reason"]


def test_nobody_is_asked_by_rules_alone_and_no_row_is_there_without_the_rule() -> None:
    assert "run with the tier `full`" in row_of(None)["reason"]
    assert list(pairwise_rows(GateSettings(), lost(20), [], DAY)) == []


def test_repeats_of_a_case_count_together() -> None:
    once = lost(7)
    thrice = pd.concat([once.assign(repeat=repeat) for repeat in (1, 2, 3)], ignore_index=True)
    row = row_of(PAIRS.check(thrice), certificate())
    assert (row["outcome"], row["n"], row["p_value"]) == ("fail", 7, pytest.approx(1 / 128))


def test_the_gate_blocks_a_run_that_reads_worse() -> None:
    ids = [f"c{number}" for number in range(8)]
    cases = [
        Case.model_validate({"id": name, "input": "Hi", "must_not_include": ["x"]}) for name in ids
    ]
    golden = GoldenSet(tuple(cases), SuiteSettings(gate=GATE))
    before, now = (
        OUTPUTS.build({"case_id": name, "repeat": 1, "text": text} for name in ids)
        for text in ("Fine.", "Fine, fine.")
    )
    accepted = Baseline({"golden_version": golden.version}, count(score(golden, before)), before)
    found = decide(
        golden,
        score(golden, now),
        accepted,
        as_of=DAY,
        certificates=[certificate()],
        outputs=now,
        pairs=lost(8),
    )
    blocking = found[found["outcome"] == "fail"]
    assert "pairwise" in set(blocking["rule"])
    assert exit_code(found) == 1


@pytest.fixture(scope="module")
def creative() -> GoldenSet:
    return read_golden(CREATIVE)


def test_the_creative_suite_is_held_against_its_baseline(
    creative: GoldenSet, tmp_path: Path
) -> None:
    found = evaluate(
        creative, load_system(creative, "v2"), run_id=tmp_path.name, as_of=DAY, tier="full"
    )
    assert found.exit_code == 0
    assert len(found.pairs) == len(creative) == 8
    assert found.pairs["winner"].notna().all()
    (row,) = (row for row in to_records(found.decision) if row["rule"] == "pairwise")
    assert row["reason"].startswith("advice alone, no certificate: ")
    assert row["n"] == 8
    write_run(tmp_path, found)
    again = read_run(tmp_path)
    pd.testing.assert_frame_equal(again.pairs, found.pairs)
    assert "pairwise" in (tmp_path / "summary.md").read_text()


def test_the_same_answers_are_ties_and_nobody_is_asked(creative: GoldenSet) -> None:
    outputs = evaluate(creative, load_system(creative, "v1"), run_id="r", as_of=DAY).outputs
    replay = Cassettes(CREATIVE / "cassettes")
    pairs = pairs_with_baseline(creative, outputs, "full", replay)
    assert pairs is not None
    assert set(pairs["winner"]) == {"tie"}
    assert set(pairs["reason_ab"]) == {SAME_ANSWER}
    assert not replay.used
    assert pairs_with_baseline(creative, outputs, "rule_only", replay) is None


def test_a_judge_that_is_not_there_is_said_before_anything_runs(creative: GoldenSet) -> None:
    gate = GateSettings(pairwise="pairwize")
    golden = GoldenSet(
        creative.cases, creative.settings.model_copy(update={"gate": gate}), CREATIVE
    )
    with pytest.raises(InputError, match="there is no judge 'pairwize'"):
        evaluate(golden, load_system(golden, "v1"), run_id="r", as_of=DAY, tier="full")


class Spending:
    """Stands where a run asks again, and notes what it is told was spent."""

    folder, why_not, spent = None, "", -1.0

    def __call__(self, *told: Any) -> None:
        self.spent = told[2]


def test_what_verdicts_of_pairs_cost_is_spent_before_anything_is_asked_again(
    creative: GoldenSet,
) -> None:
    scored = run_and_score(
        creative, load_system(creative, "v2"), run_id="r", tier="full", progress="none"
    )
    assert scored.pairs is not None
    costly = replace(
        scored,
        outputs=scored.outputs.assign(cost_usd=0.25),
        pairs=scored.pairs.assign(cost_usd=0.5),
    )
    noted: Any = Spending()
    decided_run(creative, costly, as_of=DAY, confirming=noted)
    assert noted.spent == 8 * 0.25 + 8 * 0.5

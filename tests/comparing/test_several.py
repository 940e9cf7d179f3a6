"""More than two sides; the verdicts of `golden/creative` are recorded, others scripted by hand."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from evalnb.baseline import count
from evalnb.cases import Case
from evalnb.comparing import Side, compare, judged_pairs, open_several
from evalnb.comparing.several import PASSES, pass_differences
from evalnb.errors import InputError
from evalnb.frames import OUTPUTS, PAIRS, to_records
from evalnb.golden import GoldenSet
from evalnb.reports import comparison_tables as tables
from evalnb.reports import several_tables
from evalnb.reports.comparison_words import describe_comparison, describe_several
from evalnb.reports.pairs import describe_pairs, preference_sentence, strength_sentences
from evalnb.scoring import score
from evalnb.stats.bradley_terry import STRENGTHS
from tests.suites import REPOSITORY

if TYPE_CHECKING:
    from evalnb.comparing import Several

CREATIVE = str(REPOSITORY / "golden" / "creative")
SUPPORT = str(REPOSITORY / "golden" / "support")


@pytest.fixture(scope="module")
def several() -> Several:
    return open_several(["v1", "v2", "v3"], CREATIVE)


def test_every_two_sides_are_judged_from_recordings(several: Several) -> None:
    assert len(several.pairs) == 3 * len(several.golden) == 24
    assert several.pairs["winner"].notna().all()
    assert set(zip(several.pairs["system_a"], several.pairs["system_b"], strict=True)) == {
        ("v1", "v2"),
        ("v1", "v3"),
        ("v2", "v3"),
    }
    assert [len(one.pairs) for one in several.comparisons] == [8, 8]


def test_sides_rank_with_intervals(several: Several) -> None:
    STRENGTHS.check(several.strengths)
    assert several.strengths["system"].tolist() == ["v1", "v2", "v3"]
    # Half a point of 8 apart or so: nobody can tell their ranks.
    assert several.strengths["rank_low"].notna().all()
    assert (several.strengths["rank_high"] > several.strengths["rank_low"]).all()
    shown = several_tables.strengths_table(several.strengths).to_html()
    assert shown.index("v3") < shown.index("v1")


def test_tables_have_all_sides(several: Several) -> None:
    shown = several_tables.sides_table(several).to_html()
    assert "Each side beside the first, v1" in shown
    assert shown.index("cases") < shown.index("must_not_include")
    assert (shown.count(">v2<"), shown.count(">v3<")) == (2, 2)  # the cases, and the one scorer
    passes = several_tables.passes_table(several).to_html()
    assert "cochran q" in passes
    assert passes.count("mcnemar mid-p") == 3


def test_they_are_described_together_and_beside_the_first(several: Several) -> None:
    lines = describe_several(several)
    assert lines[0].startswith("3 sides over 8 cases that all of them scored: that they pass")
    assert lines[1].startswith("Rank 1 (1 to ")
    assert [line for line in lines if line.endswith(":")] == ["v1 beside v2:", "v1 beside v3:"]
    preference = next(line for line in lines if "of 8 pairs" in line)
    assert "of the judge (smollm2-135m-instruct) between v1 and v2 is shown" in preference


def test_what_a_judge_said_of_a_pair_stands_beside_its_scores(several: Several) -> None:
    html = tables.reasons_table(several.comparisons[0], "describe-lamp", 1).to_html()
    assert "pair: v2" in html
    assert "shown first: first: " in html


def test_a_side_twice_is_the_same_and_one_side_is_none() -> None:
    (line,) = describe_several(open_several(["v1", "v1"], CREATIVE))
    assert line == "No difference: v1 and v1 gave the same 8 answers, and they were scored alike."
    with pytest.raises(InputError, match="a comparison has two sides or more: name another"):
        open_several(["v1"], CREATIVE)


def test_what_is_not_recorded_is_said_and_makes_no_rate() -> None:
    comparison = open_several(["v1", "v2"], SUPPORT).comparisons[0]
    (said,) = (line for line in describe_comparison(comparison) if "judge" in line)
    assert said == (
        "Which answers a judge finds better is not known. 63 pairs without a verdict: 63 not "
        "recorded. 49 pairs are the same answer."
    )
    assert describe_pairs(comparison.pairs) == [
        "v1 against v2: 49 pairs, 63 without a winner (miss 63)"
    ]


def test_a_set_without_a_folder_has_no_verdicts() -> None:
    suite = flagged("pp")
    one, other = (side(suite, name, "pp") for name in "ab")
    assert judged_pairs(suite, [one, other]).empty
    assert compare(suite, one, other).pairs.empty


def judged(*winners: str | None) -> pd.DataFrame:
    rows: list[dict[str, Any]] = [
        {"case_id": f"c{number}", "repeat": 1, "judge_model": "m"}
        | (
            {"na_reason": "refusal"}
            if winner is None
            else {"winner": winner, "order_dependent": False, "verdict_ab": winner}
            | {"verdict_ba": winner}
        )
        for number, winner in enumerate(winners)
    ]
    return PAIRS.build(rows)


def test_a_preference_is_said_with_its_p_value_and_what_is_missing() -> None:
    # Ten lost of ten: 2 of 2^10 patterns of signs.
    assert preference_sentence(judged(*["b"] * 10), "old", "new").startswith(
        "The judge (m) prefers new: old wins 0.00 (0.00 to 0.28) of 10 pairs, ties as half, "
        "p = 0.002; 0 ties"
    )
    # One and a half of 3 known; with the fourth between 1.5 and 2.5 of 4.
    said = preference_sentence(judged("a", "tie", "b", None), "old", "new")
    assert said.startswith("No preference of the judge (m) between old and new is shown")
    assert said.endswith(
        "1 pair without a verdict: 1 refusal. If old had lost or won them all, 0.38 to 0.62."
    )


def test_ranks_that_are_not_known_are_said() -> None:
    rows = [{"system": "a", "n": 1, "reason": "not_connected"}]
    assert list(strength_sentences(STRENGTHS.build(rows))) == [
        "How they rank by the judge is not known (not connected)."
    ]


def flagged(passes: str) -> GoldenSet:
    cases = [{"id": f"c{n:02}", "input": "Hi", "must_contain": ["yes"]} for n in range(len(passes))]
    return GoldenSet(tuple(map(Case.model_validate, cases)))


def side(suite: GoldenSet, name: str, passes: str) -> Side:
    """Make a side from a letter a case: p passes, f fails."""
    outputs = OUTPUTS.build(
        {"case_id": case.id, "repeat": 1, "text": "yes" if letter == "p" else "no"}
        for case, letter in zip(suite, passes, strict=True)
    )
    return Side(name, count(score(suite, outputs)), outputs)


def test_sides_that_pass_other_cases_are_told_apart() -> None:
    suite = flagged("p" * 12)
    marks = ("ppfpfpppffpp", "ppppfpppfppp", "ppfffppfpfpp")
    found = pass_differences(
        [side(suite, name, passes) for name, passes in zip("abc", marks, strict=True)]
    )
    PASSES.check(found)
    whole, *pairs = to_records(found)
    # 8, 10 and 7 passes, 25 in all; squares of the cases' passes sum up to 65:
    # Q = 2 (3 (64 + 100 + 49) - 25²) / (3 * 25 - 65) = 2.8, and p = exp(-Q / 2) for 2 degrees.
    assert whole["p_value"] == pytest.approx(math.exp(-1.4))
    assert [(row["a"], row["b"]) for row in pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [row["estimate"] for row in pairs] == pytest.approx([2 / 12, -1 / 12, -3 / 12])
    # Two cases pass on b alone, none on a alone: 2 (1/4) - 1/4. Of five that differ b passes four,
    # c one: 2 (1 + 5) / 32 - 5 / 32 = 7 / 32, the smallest, times three by Holm; no later one is
    # below it.
    assert pairs[0]["p_value"] == pytest.approx(0.25)
    assert pairs[2]["p_value"] == pytest.approx(7 / 32)
    assert pairs[2]["p_adjusted"] == pytest.approx(21 / 32)
    assert pairs[0]["p_adjusted"] == pytest.approx(21 / 32)


def test_sides_that_pass_the_same_cases_and_sides_without_any() -> None:
    suite = flagged("pf")
    same = to_records(pass_differences([side(suite, name, "pf") for name in "ab"]))
    assert [row["p_value"] for row in same] == [1.0, 1.0]
    assert same[0]["reason"] == "no_variance"
    one = side(suite, "a", "pf")
    none = Side("b", one.counts.head(0), one.outputs.head(0))
    lost = to_records(pass_differences([one, none]))
    assert [(row["reason"], row["n"], row["n_left_out"]) for row in lost] == [("too_few", 0, 2)] * 2

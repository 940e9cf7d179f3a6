from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from evalnb.baseline import Baseline, count
from evalnb.cases import Case
from evalnb.frames import DECISION, OUTPUTS, to_records
from evalnb.gate import decide, exit_code
from evalnb.golden import GoldenSet, SuiteSettings
from evalnb.phrase_rule import phrase_rows, wording_since
from evalnb.reports.sentences import wording_sentences
from evalnb.scoring import score
from evalnb.waivers import Wording
from tests.phrases.answers import outputs, planted, recorded

if TYPE_CHECKING:
    from collections.abc import Collection

    from evalnb.phrases import PhraseStudy

DAY = date(2026, 6, 1)


def rows(before: pd.DataFrame, after: pd.DataFrame, hidden: Collection[str] = ()) -> pd.DataFrame:
    return DECISION.build(phrase_rows(wording_since(after, before, hidden), (), DAY))


def run_of(answers: pd.DataFrame) -> pd.DataFrame:
    return OUTPUTS.build(
        {"case_id": case_id, "repeat": repeat, "text": text, "output_hash": text[:12]}
        for case_id, repeat, text in answers[["case_id", "repeat", "text"]].to_numpy("object")
    )


@pytest.fixture(scope="module")
def golden() -> GoldenSet:
    """Return the customers whose answers were recorded; nobody thought of the wording."""
    cases = [
        Case.model_validate({"id": case_id, "input": "Hi", "must_not_include": ["password"]})
        for case_id in recorded("run_a")["case_id"].unique()
    ]
    return GoldenSet(tuple(cases), SuiteSettings())


def decision(golden: GoldenSet, before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    accepted = Baseline({"golden_version": golden.version}, count(score(golden, before)), before)
    scores = score(golden, after)
    assert scores["passed"].all()  # every scorer is content
    return decide(golden, scores, accepted, as_of=DAY, outputs=after, mode="live")


def test_conversations_of_a_suite_are_one_unit_of_the_rule() -> None:
    before, after = (
        OUTPUTS.build(
            {"case_id": f"c{number}", "repeat": 1, "text": text, "output_hash": text}
            for number in range(16)
        )
        for text in ("Your order number.", "Your inquiry number.")
    )

    def blocked(n_conversations: int) -> set[str]:
        cases = [
            Case(
                id=f"c{number}",
                input="Hi",
                must_not_include=["password"],
                conversation_id=f"talk-{number % n_conversations}",
            )
            for number in range(16)
        ]
        found = decision(GoldenSet(tuple(cases), SuiteSettings()), before, after)
        return set(found.loc[found["outcome"] == "fail", "rule"])

    # With all of them one way, 2/2**8 = 0.008 is within the rule's 0.01, and 2/2**7 = 0.016 is not.
    assert blocked(8) == {"phrases"}
    assert blocked(7) == set()
    assert wording_since(before, before, clusters={"c0": "talk", "c1": "talk"}).n_cases == 16


def test_a_wording_that_no_scorer_looks_at_blocks_with_itself_as_the_reason(
    golden: GoldenSet,
) -> None:
    answers = recorded("run_a")
    changed = planted(answers, "order number", "inquiry number", 0.3, np.random.default_rng(1))
    found = decision(golden, run_of(answers), run_of(changed))
    blocking = found[found["outcome"] == "fail"]
    assert blocking["rule"].unique().tolist() == ["phrases"]
    row = blocking.iloc[0]
    assert row["slice"] == "phrase=order number"
    assert '"order number" became "inquiry number"' in row["reason"]
    assert row["baseline"] > row["candidate"]
    assert exit_code(found) == 1


def test_the_same_answers_pass(golden: GoldenSet) -> None:
    answers = run_of(recorded("run_a"))
    assert exit_code(decision(golden, answers, answers)) == 0


def test_another_recording_of_the_same_system_passes(golden: GoldenSet) -> None:
    found = decision(golden, run_of(recorded("run_a")), run_of(recorded("run_b")))
    assert "phrases" not in set(found["rule"])
    assert exit_code(found) == 0


def test_reasons_say_what_happened() -> None:
    def side(*texts: str) -> pd.DataFrame:
        return outputs({f"c{number:02}": text for number, text in enumerate(texts)})

    gone = rows(side(*["Red. Kindly wait."] * 9), side(*["Red."] * 9))
    (reason,) = gone["reason"]
    assert reason.startswith(
        '"kindly wait" is gone: in 100.0% of the answers before, 0.0% now; -1.000 (-1.000 to '
    )
    # 2 of 2^9 patterns of signs.
    assert reason.endswith(
        " over 9 cases, 9 of them changed, p = 0.0039 among 1 phrases tried. Such as c00, c01, c02"
    )
    new = rows(side(*["Red."] * 9), side(*["Red. Kindly wait."] * 9))
    assert (
        '"kindly wait" is new: in 0.0% of the answers before, 100.0% now' in new["reason"].iloc[0]
    )
    less = rows(side(*["Red."] * 10), side(*["Red."], *["Blue."] * 9))
    assert any(
        '"red" became "blue"' in reason or "said less" in reason for reason in less["reason"]
    )


def test_more_than_ten_are_counted() -> None:
    many = [f"{word * 3}. " for word in "abcdefghijklmn"]
    # Each word is lost by other cases, so that each is a change of its own.
    before = outputs({f"c{case:03}": "".join(many) for case in range(140)})
    after = outputs(
        {
            f"c{case:03}": "".join(word for number, word in enumerate(many) if case // 10 != number)
            for case in range(140)
        }
    )
    found = rows(before, after)
    assert (found["outcome"] == "fail").sum() == 10
    assert found.iloc[-1][["outcome", "reason"]].tolist() == [
        "note",
        "4 more phrases changed: `evalnb compare` lists them",
    ]


def test_a_wording_that_only_holdout_cases_have_is_counted_and_not_quoted() -> None:
    dev = {f"d{number:02}": "Red." for number in range(9)}
    kept = {f"h{number:02}" for number in range(18)}
    old, new = sorted(kept)[:9], sorted(kept)[9:]
    before = outputs(
        {**dev, **dict.fromkeys(old, "Red. Kindly wait."), **dict.fromkeys(new, "Red. So sorry.")}
    )
    after = outputs({**dev, **dict.fromkeys(kept, "Red.")})
    # Two wordings, and both are told apart without a word of theirs.
    found = rows(before, after, kept)
    assert found["outcome"].tolist() == ["fail", "fail"]
    text = found.to_json().lower()
    assert not any(word in text for word in ("kindly", "wait", "sorry", *kept))
    assert found["slice"].tolist() == [
        "phrase=(wording 1 of holdout cases alone)",
        "phrase=(wording 2 of holdout cases alone)",
    ]
    quoted = rows(before, after, {"h00"})["reason"].str.lower().tolist()
    assert any("kindly wait" in reason for reason in quoted)
    assert not any("h00" in reason for reason in quoted)


def test_what_stands_in_a_dev_answer_too_is_quoted_without_the_holdout_s_neighbours() -> None:
    kept = {f"h{number:02}" for number in range(9)}
    before = outputs(
        {"d00": "Kindly wait.", **dict.fromkeys(kept, "Red. Kindly wait for Ann Smith.")}
    )
    after = outputs({"d00": "Kindly wait.", **dict.fromkeys(kept, "Red.")})
    study = wording_since(after, before, kept)
    assert not any("smith" in str(row).lower() for row in to_records(study.changes))


def accepted(phrase: str, replaced_by: str | None = None, *, days: int = 0) -> Wording:
    return Wording(
        phrase=phrase,
        replaced_by=replaced_by,
        reason="The shop renamed it.",
        owner="ann",
        expires=DAY + timedelta(days),
    )


@pytest.fixture(scope="module")
def renamed() -> PhraseStudy:
    answers = recorded("run_a")
    changed = planted(answers, "order number", "inquiry number", 0.5, np.random.default_rng(3))
    return wording_since(run_of(changed), run_of(answers))


@pytest.mark.parametrize(
    ("wording", "outcomes"),
    [
        (accepted("Order number", "inquiry number"), {"waived": "note"}),
        (accepted("order number"), {"phrases": "fail", "waived_passing": "note"}),
        (accepted("order number", "ticket"), {"phrases": "fail", "waived_passing": "note"}),
        (accepted("order number", "inquiry number", days=-1),
         {"phrases": "fail", "waiver": "fail"}),
    ],
)  # fmt: skip
def test_a_wording_that_may_change_is_a_note_until_its_day(
    renamed: PhraseStudy, wording: Wording, outcomes: dict[str, str]
) -> None:
    found = DECISION.build(phrase_rows(renamed, [wording], DAY))
    assert dict(zip(found["rule"], found["outcome"], strict=True)) == outcomes
    said = found.loc[found["rule"] != "phrases", "reason"].tolist()
    assert all("by ann: The shop renamed it" in reason for reason in said)
    assert f"is accepted until {wording.expires}" in said[0]


def test_rows_carry_their_evidence(renamed: PhraseStudy) -> None:
    (row,) = to_records(DECISION.build(phrase_rows(renamed, [], DAY)))
    assert row["estimate"] == pytest.approx(row["candidate"] - row["baseline"])
    assert row["ci_low"] < row["estimate"] < row["ci_high"] < 0
    assert row["p_adjusted"] <= 0.01
    assert (row["n"], "sign flip" in row["method"]) == (60, True)


def test_the_same_answers_say_what_could_have_been_seen() -> None:
    answers = run_of(recorded("run_a"))
    study = wording_since(answers, answers)
    # 8 cases reach p = 0.01. Of 60 they do with power 0.8 where each is reached with 0.17 or so:
    # 1 - (1 - 0.06)^3, which scipy's binomial confirms.
    assert study.smallest_rate is not None
    reached = 1 - (1 - study.smallest_rate) ** 3
    assert binom.sf(7, 60, reached) == pytest.approx(0.8, abs=1e-4)
    about = {"cases": 60, "repeats": 3, "tried": 0, "smallest_rate": study.smallest_rate}
    (said,) = wording_sentences({"wording": about})
    assert said.startswith(f"This suite finds a new wording from {study.smallest_rate:.0%} of the")
    few = {"wording": about | {"smallest_rate": None}}
    assert wording_sentences(few)[0].startswith("So few cases can show no change of wording")
    assert wording_sentences({}) == []

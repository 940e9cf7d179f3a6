from __future__ import annotations

from datetime import date

import numpy as np
import pandas as pd
import pytest

from evalnb.baseline import Baseline, count
from evalnb.cases import Case
from evalnb.frames import DECISION, OUTPUTS
from evalnb.gate import decide, exit_code
from evalnb.golden import GoldenSet, SuiteSettings
from evalnb.phrase_rule import phrase_rows
from evalnb.scoring import score
from tests.phrases.answers import outputs, planted, recorded

DAY = date(2026, 6, 1)


def rows(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    return DECISION.build(phrase_rows(after, before))


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
    kept = {f"h{number:02}" for number in range(9)}
    before = outputs({**dev, **dict.fromkeys(kept, "Red. Kindly wait.")})
    after = outputs({**dev, **dict.fromkeys(kept, "Red.")})
    (row,) = phrase_rows(after, before, kept)
    assert "kindly" not in str(row).lower()
    assert not any(name in str(row) for name in kept)
    assert "a wording that only answers to holdout cases have" in row["reason"]
    (quoted,) = phrase_rows(after, before, {"h00"})
    assert "kindly wait" in quoted["reason"].lower()
    assert "h00" not in quoted["reason"]

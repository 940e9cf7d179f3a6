from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from evalnb.cases import Case
from evalnb.curation.candidates.disagreement import find_disagreement
from evalnb.curation.candidates.gain import sampler_gains
from evalnb.curation.candidates.picks import candidates_of, merge_candidates
from evalnb.curation.candidates.strata import sample_categories, sample_stratified
from evalnb.curation.candidates.struggling import find_struggling
from evalnb.curation.candidates.surprising import find_surprising
from evalnb.curation.candidates.uniform import sample_uniform
from evalnb.curation.lots import lot
from evalnb.datasets.taubench import load_taubench_airline
from evalnb.frames import LOGS, SCORES
from tests.curation.conversations import logs_of, talk


def said(name: str, *texts: str, **more: Any) -> list[dict[str, Any]]:
    rows = talk(name, *texts, **more)
    return [{**row, "role": "user"} for row in rows]


MANY = logs_of(
    *(talk(f"c{n:03}", f"Question {n}", "Answer", category="refund" if n % 3 else "other", language="de" if n % 10 == 0 else None) for n in range(200))
)  # fmt: skip
SAMPLERS = {
    "uniform": lambda logs: sample_uniform(logs, rate=0.1, seed=3),
    "categories": lambda logs: sample_categories(logs, n=4, seed=3),
    "clusters": lambda logs: sample_categories(logs.assign(category=pd.NA), n=2, top=3, seed=3),
    "language": lambda logs: sample_stratified(logs, by="language", n=5, seed=3),
    "struggling": lambda logs: find_struggling(logs, n=5, seed=3),
    "surprising": lambda logs: find_surprising(logs, [], n=5),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_the_same_is_picked_whatever_the_order_of_the_rows(name: str) -> None:
    shuffled = MANY.sample(frac=1, random_state=1).reset_index(drop=True)
    assert_frame_equal(SAMPLERS[name](MANY), SAMPLERS[name](shuffled))


@pytest.mark.parametrize("name", SAMPLERS)
def test_of_nothing_nothing_is_picked(name: str) -> None:
    assert SAMPLERS[name](LOGS.empty()).empty


def test_uniform_draws_by_lot_and_only_grows_with_the_rate() -> None:
    few, many = (set(sample_uniform(MANY, rate=rate)["conversation_id"]) for rate in (0.1, 0.4))
    assert few < many
    assert many == {f"c{n:03}" for n in range(200) if lot(0, "uniform", f"c{n:03}") < 0.4}
    assert sample_uniform(MANY, rate=0.1).loc[0, "reason"] == "drawn at random, 0.1 of all"
    with pytest.raises(ValueError, match="`rate` must be above 0"):
        sample_uniform(MANY, rate=0)


def test_categories_give_as_many_each_the_largest_first() -> None:
    picks = sample_categories(MANY, n=4, top=2)
    assert picks["stratum"].tolist() == ["refund"] * 4 + ["other"] * 4
    # By hand: 133 of the numbers below 200 are no multiples of 3, 67 are.
    assert picks["probability"].tolist() == [4 / 133] * 4 + [4 / 67] * 4
    assert picks["reason"].iloc[0] == "category refund: 4 drawn of 133"
    assert set(sample_categories(MANY, n=1, top=1)["stratum"]) == {"refund"}


def test_without_categories_clusters_are_found_and_named() -> None:
    logs = logs_of(
        *(said(f"r{n}", f"I want a refund for my money, invoice {n}") for n in range(8)),
        *(said(f"p{n}", f"The parcel delivery is late, parcel {n}") for n in range(6)),
    )
    picks = sample_categories(logs, n=2, top=2)
    assert [name[0] for name in picks["conversation_id"]] == ["r", "r", "p", "p"]
    assert "refund" in picks["stratum"].iloc[0] or "money" in picks["stratum"].iloc[0]
    assert "parcel" in picks["stratum"].iloc[2]


def test_strata_by_language_and_by_score() -> None:
    picks = sample_stratified(MANY, by="language", n=3)
    assert picks["stratum"].tolist() == ["de"] * 3 + ["unknown"] * 3
    assert picks["probability"].tolist() == [3 / 20] * 3 + [3 / 180] * 3
    scores = SCORES.build(
        {"case_id": f"c{n:03}", "repeat": 1, "scorer": "tone", "value": 0.5, "raw_value": 1 + n % 2}
        for n in range(10)
    )
    picks = sample_stratified(MANY, by="judge_score", n=2, scores=scores, scorer="tone")
    assert picks["stratum"].tolist() == ["1", "1", "2", "2"]
    assert picks["reason"].iloc[0] == "judge score 1: 2 drawn of 5"
    with pytest.raises(ValueError, match="need `scores` and `scorer`"):
        sample_stratified(MANY, by="judge_score", n=2)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (said("c", "a1", "b2", "c3", "d4"), "4 messages of the user without a resolution"),
        (said("c", "a1", "b2", "c3"), None),
        (said("c", "a1", "b2", "Thanks, that works", "c3", "d4"), None),
        (said("c", "a1", "Thanks, but it still fails", "b2", "c3"), "4 messages of the user without a resolution"),
        (said("c", "a1", "b2", "ありがとう", "c3", "d4"), None),
        (talk("c", "Where is my parcel?", "On its way", "WHERE is my  parcel"), "a question is asked again"),
        (talk("c", "yes", "Sure?", "yes"), None),
        (said("c", "Let me speak to a human"), "asks for a person"),
        (said("c", "Ich will mit einem Menschen sprechen"), "asks for a person"),
        (said("c", "Hi", escalated=True), "handed over to a person"),
        ([*said("c", "Hi"), {"conversation_id": "c", "turn": 2, "role": "tool_call", "text": '{"name": "transfer_to_human_agents", "arguments": {}}'}], "handed over to a person"),
        (said("c", "Hi", feedback=-1), "bad feedback"),
        (said("c", "a1", "b2", "c3", "d4", feedback=1), None),
    ],
)  # fmt: skip
def test_signs_of_struggling(rows: list[dict[str, Any]], reason: str | None) -> None:
    found = find_struggling(LOGS.build(rows))
    assert found["reason"].tolist() == ([reason] if reason else [])


def test_feedback_can_be_left_out_and_more_signs_come_first() -> None:
    logs = logs_of(
        said("bad", "Hi", feedback=-1),
        said("both", "a1", "b2", "c3", "d4", escalated=True),
        said("long", "a1", "b2", "c3", "d4"),
    )
    found = find_struggling(logs, use_feedback=False)
    assert found["conversation_id"].tolist() == ["both", "long"]
    assert found["strength"].tolist() == [2, 1]
    assert len(find_struggling(logs)) == 3
    assert len(find_struggling(logs, n=1)) == 1


def test_surprising_is_what_no_case_is_like_and_no_two_alike() -> None:
    cases = [Case(id="refund", input="I want a refund for my order", must_contain=["x"])]
    logs = logs_of(
        said("same", "I want a refund for my order, please"),
        said("far", "Quantum entanglement of photons"),
        said("far-too", "Quantum entanglement of photons?"),
        said("other", "Bienvenue chez vous, Zoé"),
        talk("silent"),
    )
    found = find_surprising(logs, cases, n=3)
    assert set(found["conversation_id"].iloc[:2]) in ({"far", "other"}, {"far-too", "other"})
    assert found["nearest_case"].tolist() == ["refund"] * 3
    assert (found["strength"] + found["similarity"]).tolist() == pytest.approx([1.0] * 3)
    assert find_surprising(logs, [], n=9)["reason"].unique().tolist() == ["there is no case to be near to"]  # fmt: skip


def test_disagreement_has_wrong_passes_first() -> None:
    logs = logs_of(
        said("good-fails", "Hi", feedback=1),
        said("bad-passes", "Hi", feedback=-1),
        said("bad-fails", "Hi", feedback=-1),
        said("neutral", "Hi", feedback=0),
        said("unscored", "Hi", feedback=-1),
    )
    passed = {"good-fails": False, "bad-passes": True, "bad-fails": False, "neutral": False}
    scores = SCORES.build(
        {"case_id": name, "repeat": 1, "scorer": "rubric", "passed": flag}
        for name, flag in passed.items()
    )
    found = find_disagreement(logs, scores, scorer="rubric")
    assert found["conversation_id"].tolist() == ["bad-passes", "good-fails"]
    assert found["reason"].iloc[0] == "rubric passes it, the user calls it bad"
    assert find_disagreement(logs, scores, scorer="other").empty


def test_merged_candidates_take_turns_and_keep_every_reason() -> None:
    one = candidates_of(
        "a", [{"conversation_id": c, "reason": "r", "probability": 0.1} for c in "xy"]
    )
    other = candidates_of("b", [{"conversation_id": c, "reason": "s"} for c in "yz"])
    merged = merge_candidates(one, other)
    assert merged["conversation_id"].tolist() == ["x", "y", "z"]
    assert merged["samplers"].tolist() == ["a", "b, a", "b"]
    assert merged["reason"].tolist() == ["r", "s; r", "s"]
    assert merged["probability"].isna().tolist() == [False, True, True]
    assert merged["order"].tolist() == [1, 2, 3]
    assert merge_candidates().empty


def test_gains_by_hand_and_undefined() -> None:
    """Picked: 3 of 4 fail. All: 4 of 8. The difference is 1/4."""
    outcomes = pd.DataFrame(
        {"conversation_id": list("abcdefgh"), "failed": [True] * 4 + [False] * 4}
    )
    picks = {name: pd.DataFrame({"conversation_id": list(ids)}) for name, ids in {"p": "abce", "one": "a", "none": "", "gone": "abz"}.items()}  # fmt: skip
    found = sampler_gains(picks, outcomes)
    assert found["estimate"].fillna(9).tolist() == [0.25, 9, 9, 0.5]
    assert found["reason"].fillna("").tolist() == ["", "too_few", "too_few", ""]
    assert found["n_left_out"].tolist() == [0, 0, 0, 1]
    assert found["ci_low"].iloc[0] < 0.25 < found["ci_high"].iloc[0]
    assert found[["share_picked", "share_all"]].iloc[0].tolist() == [0.75, 0.5]
    # Everything in one cluster says nothing of another draw.
    together = sampler_gains({"p": picks["p"]}, outcomes.assign(cluster=1))
    assert together.loc[0, "reason"] == "too_few"


def test_gains_interval_covers_what_a_large_population_has() -> None:
    """A third of 300 independent conversations picked at random: the truth is 0, the interval near
    the normal one, 1.96 * sqrt(p (1 - p) (1/n_picked - 1/n))."""
    outcomes = pd.DataFrame(
        {
            "conversation_id": [f"c{n}" for n in range(300)],
            "failed": [n % 2 == 0 for n in range(300)],
        }
    )
    picked = outcomes.iloc[:100][["conversation_id"]]
    found = sampler_gains({"p": picked}, outcomes).iloc[0]
    half = 1.96 * (0.25 * (1 / 100 - 1 / 300)) ** 0.5
    assert found["estimate"] == 0
    assert found["ci_high"] == pytest.approx(half, rel=0.1)
    assert found["ci_low"] == pytest.approx(-half, rel=0.1)


def test_on_real_conversations_of_an_agent_no_gain_is_presumed() -> None:
    """tau-bench airline, feedback (the reward) left out: 25 of 50 fail. Hand-overs there succeed
    more often than not, so that looking for struggle finds fewer failures than chance."""
    logs = load_taubench_airline()
    bare = logs.assign(feedback=None, feedback_raw=None)
    whole = logs.drop_duplicates("conversation_id")
    outcomes = whole[["conversation_id"]].assign(
        failed=whole["feedback"] == -1, cluster=whole["task"]
    )
    picks = {"struggling": find_struggling(bare, n=15, use_feedback=False)}
    found = sampler_gains(picks, outcomes).iloc[0]
    assert found["share_all"] == 0.5
    assert found["estimate"] == pytest.approx(4 / 15 - 0.5)
    assert found["ci_high"] < 0

"""The figures that are printed for the public sets, to every digit, by our own functions.

Where nobody printed a figure, it is as scipy, scikit-learn and the `krippendorff` package compute
it from the source's files.
"""

from __future__ import annotations

from itertools import combinations

import pandas as pd
import pytest

from evalnb.agreement import countings, decisions
from evalnb.consensus import beside, people_values, wide_ratings
from evalnb.datasets import dataset, load_hanna, load_pandalm, load_triviaqa
from evalnb.ratings import HUMAN
from evalnb.stats.classification import classification_statistics, scott_pi
from evalnb.stats.kappa import cohen_kappa
from evalnb.stats.numbers import number_statistics
from evalnb.stats.raters import krippendorff_alpha

HANNA, TRIVIAQA, PANDALM = load_hanna(), load_triviaqa(), load_pandalm()
THREE = dataset("pandalm").scale
TWO = dataset("triviaqa").scale
FIVE = dataset("hanna").scale
GPT = "gpt-3.5-turbo"


def estimate(frame: pd.DataFrame, metric: str | None = None) -> float:
    rows = frame if metric is None else frame[frame["metric"] == metric]
    return float(rows.iloc[0]["estimate"])


def test_pandalm_annotators_agree_as_printed() -> None:
    said = wide_ratings(PANDALM, "better", HUMAN)
    found = [
        estimate(cohen_kappa(said[one], said[other], levels=THREE.levels, weights=None))
        for one, other in combinations(said.columns, 2)
    ]
    assert [f"{kappa:.4f}" for kappa in found] == ["0.8520", "0.8789", "0.8617"]


def test_pandalm_majorities_are_as_printed() -> None:
    found = people_values(PANDALM, "better", THREE)
    assert found.value_counts().to_dict() == {0.0: 105, 1.0: 422, 2.0: 472}


def test_pandalm_alpha() -> None:
    said = wide_ratings(PANDALM, "better", HUMAN)
    found = krippendorff_alpha(said, levels=THREE.levels, metric="nominal")
    assert f"{estimate(found):.4f}" == "0.8642"


def test_pandalm_accuracy_is_as_printed_only_if_garbage_counts_as_a_tie() -> None:
    pairs = beside(PANDALM, "better", GPT, THREE)
    counted = pairs["judge"].fillna(0.0)
    printed = classification_statistics(pairs["people"], counted, levels=THREE.levels)
    names = ["accuracy", "macro_precision", "macro_recall", "macro_f1"]
    assert [f"{100 * estimate(printed, name):.2f}" for name in names] == [
        "71.07",
        "58.79",
        "57.36",
        "57.55",
    ]
    assert set(printed["n"]) == {999}
    left_out = classification_statistics(pairs["people"], pairs["judge"], levels=THREE.levels)
    assert set(left_out["n"]) == {974}
    assert set(left_out["n_left_out"]) == {25}
    assert estimate(left_out, "accuracy") == pytest.approx(697 / 974)


def test_pandalm_kappa_by_both_countings() -> None:
    found = countings(PANDALM, [GPT], scales={"better": THREE}, unread_as=0)
    assert found["counting"].tolist() == ["unread left out", "unread counted as tie"]
    assert found["n"].tolist() == [974, 999]
    # 0.4958 is with garbage as a tie; without it kappa is 0.4929, as scikit-learn has it too.
    assert [f"{kappa:.4f}" for kappa in found["kappa"]] == ["0.4929", "0.4958"]
    assert [f"{100 * share:.2f}" for share in found["exact_agreement"]] == ["71.56", "71.07"]


@pytest.mark.parametrize(
    ("judge", "agreement", "kappa", "pi"),
    [
        ("GPT-4", ".9115", ".7876", ".7875"),
        ("Llama3-70B", ".9266", ".8179", ".8174"),
        ("Mistral-7B", ".8940", ".7361", ".7352"),
        ("Gemma-2B", ".7803", ".4220", ".4132"),
        ("EM", ".7088", ".4578", ".4113"),
        ("Contains", ".8478", ".6832", ".6759"),
    ],
)
def test_triviaqa_judges_against_people(judge: str, agreement: str, kappa: str, pi: str) -> None:
    pairs = beside(TRIVIAQA, "correct", judge, TWO)
    both = (pairs["people"], pairs["judge"])
    shares = classification_statistics(*both, levels=TWO.levels)
    decided = decisions(TRIVIAQA, judge, scales={"correct": TWO}).iloc[0]
    assert decided["n"] == 3595
    found = [
        estimate(shares, "accuracy"),
        decided["estimate"],
        estimate(scott_pi(*both, levels=TWO.levels)),
    ]
    assert [f"{value:.4f}".removeprefix("0") for value in found] == [agreement, kappa, pi]


@pytest.mark.parametrize(
    ("axis", "kendall", "spearman", "alpha"),
    [
        ("relevance", ".289", ".365", ".165"),
        ("coherence", ".376", ".447", "-.054"),
        ("engagement", ".340", ".409", ".167"),
    ],
)
def test_hanna_raters_and_chatgpt(axis: str, kendall: str, spearman: str, alpha: str) -> None:
    pairs = beside(HANNA, axis, "ChatGPT_p1", FIVE)
    ranks = number_statistics(pairs["people"], pairs["judge"])
    said = wide_ratings(HANNA, axis, HUMAN)
    found = [
        estimate(ranks, "kendall_tau_b"),
        estimate(ranks, "spearman"),
        estimate(krippendorff_alpha(said, levels=FIVE.levels, metric="ordinal")),
    ]
    assert [f"{value:.3f}".replace("0.", ".") for value in found] == [kendall, spearman, alpha]

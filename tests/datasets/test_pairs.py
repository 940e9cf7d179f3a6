"""The figures that were published of pairs in both orders, with the authors' counting and ours."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from evalnb.datasets import (
    load_judge_repeats,
    load_llmbar,
    load_llmbar_published,
    load_position_study,
)
from evalnb.stats.position_countings import accuracy_in_both_orders, consistency_countings
from evalnb.stats.repetition import repetition_by_item

FIGURES = ("accuracy_ab", "accuracy_ba", "accuracy", "accuracy_both", "position_agreement")
RUN = ["subset", "judge", "strategy"]


@pytest.fixture(scope="module")
def llmbar() -> pd.DataFrame:
    """Every run's figures by either way of counting, beside the published ones."""
    rows = []
    key: Any
    for key, run in load_llmbar().groupby(RUN, sort=False):
        found = accuracy_in_both_orders(run["verdict_ab"], run["verdict_ba"], run["label"])
        figures: dict[str, Any] = dict(zip(found["metric"], found["estimate"], strict=True))
        rows.append({**dict(zip(RUN, key, strict=True)), **figures, "n": len(run)})
    return pd.DataFrame(rows).merge(
        load_llmbar_published(), on=RUN, suffixes=("", "_published"), validate="one_to_one"
    )


def test_all_316_figures_of_llmbar_come_out_as_its_authors_count(llmbar: pd.DataFrame) -> None:
    # 79 runs, four figures each, and their accuracy, which is the mean of two of them.
    assert len(llmbar) * (len(FIGURES) - 1) == 316
    for name in FIGURES:
        theirs = llmbar[f"{name}_published"].astype(float)
        as_they_count = llmbar[f"{name}_unread_wrong"].astype(float)
        # Printed with six digits.
        assert (as_they_count - theirs).abs().max() < 6e-7, name


def test_an_unread_verdict_is_no_wrong_one_here(llmbar: pd.DataFrame) -> None:
    verdicts = load_llmbar()
    unread = verdicts["verdict_ab"].isna() | verdicts["verdict_ba"].isna()
    touched = set(map(tuple, verdicts.loc[unread, RUN].to_numpy()))
    assert (len(touched), int(unread.sum())) == (8, 12)
    for row in llmbar.to_dict("records"):
        differs = abs(row["accuracy"] - row["accuracy_published"]) > 6e-7
        if differs:
            assert tuple(row[name] for name in RUN) in touched
            assert row["accuracy"] >= row["accuracy_published"] - 6e-7


@pytest.mark.parametrize(
    ("subset", "accuracy", "agreement"),
    [
        # LLMBar's repository, GPT-4 with the prompt Vanilla_NoRules.
        ("Natural", 0.9350, 0.9700),
        ("Neighbor", 0.6418, 0.8955),
        ("GPTInst", 0.7663, 0.9022),
        ("FairEval", 0.7273, 0.6970),
        ("MT-Bench", 0.8100, 0.8700),
    ],
)
def test_gpt4_by_subset(
    llmbar: pd.DataFrame, subset: str, accuracy: float, agreement: float
) -> None:
    wanted = {"subset": subset, "judge": "GPT-4", "strategy": "Vanilla_NoRules"}
    (run,) = (
        row for row in llmbar.to_dict("records") if {name: row[name] for name in RUN} == wanted
    )
    assert run["accuracy_unread_wrong"] == pytest.approx(accuracy, abs=5e-5)
    assert run["position_agreement_unread_wrong"] == pytest.approx(agreement, abs=5e-5)


@pytest.mark.parametrize(
    ("judge", "consistent", "games", "share", "ours", "pairs"),
    [
        # log.txt of each run in Slimshilin/Position-Bias-Analyzer; by pairs it is counted here.
        ("gpt-4-0613", 3914, 4800, 81.54, 1957, 2400),
        ("gpt-3.5-turbo-0125", 1698, 2240, 75.80, 849, 1120),
        ("claude-3-haiku-20240307", 509, 2237, 22.75, 253, 1117),
    ],
)
def test_consistent_games_of_the_position_study(
    judge: str, consistent: int, games: int, share: float, ours: int, pairs: int
) -> None:
    study = load_position_study()
    run = study[study["judge"] == judge]
    found = consistency_countings(run["first_order"], run["second_order"]).set_index("metric")
    theirs = found.loc["consistency_of_verdicts"]
    assert (round(theirs["estimate"] * theirs["n"]), theirs["n"]) == (consistent, games)
    assert round(100 * theirs["estimate"], 2) == share
    own = found.loc["consistency"]
    assert (round(own["estimate"] * own["n"]), own["n"]) == (ours, pairs)
    assert own["n_left_out"] == len(run) - pairs


@pytest.mark.parametrize(
    ("judge", "all_equal"),
    [
        # Computed from the source by hand, over the comparisons with three verdicts.
        ("gpt-4-0613", 0.9062),
        ("claude-3-opus-20240229", 0.8594),
        ("gpt-3.5-turbo-0125", 0.8693),
        ("claude-3-haiku-20240307", 0.6859),
    ],
)
def test_three_verdicts_on_one_comparison(judge: str, all_equal: float) -> None:
    repeats = load_judge_repeats()
    run = repeats[(repeats["judge"] == judge) & (repeats["benchmark"] == "mtbench")]
    items = repetition_by_item(run)
    whole = items[items["n"] == 3]
    assert (whole["self_flip"] == 0).mean() == pytest.approx(all_equal, abs=6e-5)
    flips = whole["self_flip"].mean()
    assert 0 < flips < 1 - all_equal


def test_verdicts_that_were_not_read_are_missing() -> None:
    study, repeats = load_position_study(), load_judge_repeats()
    unread = study[["first_order", "second_order"]].isna().sum().to_dict()
    assert unread == {"first_order": 1, "second_order": 2}
    assert set(study["first_order"].dropna()) == {"A", "B", "C"}
    ties = study[study["first_order"] == "C"]["benchmark"].unique()
    assert list(ties) == ["mtbench"]
    assert repeats["verdict"].isna().sum() == 23
    assert repeats.groupby(["benchmark", "judge", "item"]).size().eq(3).all()

"""Public judges under the probes, against published figures and counts made in another way."""

from __future__ import annotations

import pandas as pd
import pytest

from evalnb.datasets import load_llmbar, load_position_study, load_triviaqa
from evalnb.frames import to_records
from evalnb.probes import PROBE_EFFECTS, public_countings, public_effects, public_win_rates
from evalnb.stats.position import position_bias


@pytest.fixture(scope="module")
def effects() -> pd.DataFrame:
    return public_effects()


def row_of(effects: pd.DataFrame, judge: str, data: str, metric: str) -> pd.Series:
    wanted = {"judge": judge, "scorer": data, "metric": metric}
    (row,) = (
        row
        for _, row in effects.iterrows()
        if all(row[name] == value for name, value in wanted.items())
    )
    return row


def test_effects_are_a_frame_of_probe_effects(effects: pd.DataFrame) -> None:
    assert len(PROBE_EFFECTS.check(effects)) == 18
    assert effects["judge_fingerprint"].isna().all()


@pytest.mark.parametrize(
    ("judge", "data", "conflicts", "pairs"),
    [
        # Pairs read in both orders and those that agree: 1,957, 849 and 253 by the study's logs.
        ("gpt-4-0613", "MT-Bench", 2400 - 1957, 2400),
        ("gpt-3.5-turbo-0125", "DevBench", 1120 - 849, 1120),
        ("claude-3-haiku-20240307", "DevBench", 1117 - 253, 1117),
        # LLMBar prints agreements of 0.9700, 0.8955, 0.9022, 0.6970 and 0.8700 of GPT-4, on
        # 100, 134, 92, 66 and 200 pairs: 97 + 120 + 83 + 46 + 174 = 520 of 592.
        ("GPT-4", "LLMBar", 592 - 520, 592),
    ],
)
def test_conflicts_are_the_published_ones(
    effects: pd.DataFrame, judge: str, data: str, conflicts: int, pairs: int
) -> None:
    row = row_of(effects, judge, data, "conflict_rate")
    assert (round(row["estimate"] * row["n"]), row["n"]) == (conflicts, pairs)


def test_the_place_that_is_preferred_is_that_of_the_statistic(effects: pd.DataFrame) -> None:
    study = load_position_study()
    for judge, data in study[["judge", "benchmark"]].drop_duplicates().to_numpy():
        run = study[study["judge"] == judge]
        found = position_bias(run["first_order"], run["second_order"]).set_index("metric")
        name = {"mtbench": "MT-Bench", "devbench": "DevBench"}[data]
        row = row_of(effects, judge, name, "net_first_preference")
        assert row["estimate"] == pytest.approx(found.loc["net_first_preference", "estimate"])


def test_length_is_held_against_what_people_prefer(effects: pd.DataFrame) -> None:
    run = load_llmbar().query("judge == 'GPT-4' and strategy == 'Vanilla_NoRules'")
    judge = people = n = 0.0
    for row in to_records(run):
        if row["chars_1"] != row["chars_2"] and "verdict_ab" in row and "verdict_ba" in row:
            longer = 1 if row["chars_1"] > row["chars_2"] else 2
            verdicts = [row[name] == longer for name in ("verdict_ab", "verdict_ba")]
            judge += sum(verdicts) - 1
            people += 2 * (row["label"] == longer) - 1
            n += 1
    found = row_of(effects, "GPT-4", "LLMBar", "longer_preference")
    assert found["n"] == n
    assert found["estimate"] == pytest.approx(judge / n)
    assert found["floor"] == pytest.approx(people / n)


def test_own_wrong_answers_are_compared_with_others_to_the_same_question(
    effects: pd.DataFrame,
) -> None:
    ratings = load_triviaqa()
    people = dict(ratings.loc[ratings["rater"] == "people", ["item", "value"]].to_numpy())
    sides: dict[str, tuple[list[float], list[float]]] = {}
    for row in to_records(ratings[ratings["rater"] == "GPT-4"]):
        if people[row["item"]] == 0 and "value" in row:
            own, other = sides.setdefault(row["cluster"], ([], []))
            (own if row["system"] == "gpt-4t" else other).append(row["value"])
    apart = [sum(a) / len(a) - sum(b) / len(b) for a, b in sides.values() if a and b]
    found = row_of(effects, "GPT-4", "TriviaQA", "wrong_own_passed")
    assert found["n"] == len(apart) == 35
    assert found["estimate"] == pytest.approx(sum(apart) / len(apart))


def test_noise_is_known_where_pairs_were_repeated_and_nowhere_else(effects: pd.DataFrame) -> None:
    conflicts = effects[effects["metric"] == "conflict_rate"]
    once = conflicts["scorer"] == "LLMBar"
    assert conflicts.loc[once, "real"].isna().all()
    repeated = conflicts[~once]
    assert repeated["real"].all()
    assert (repeated["floor"] > 0.05).all()


def test_every_published_figure_is_there_by_both_countings() -> None:
    countings = public_countings()
    assert countings["data"].str.startswith("LLMBar").sum() == 316
    printed = countings["data"].str.startswith("LLMBar").map({True: 6e-7, False: 6e-5})
    assert ((countings["as_published"] - countings["published"]).abs() < printed).all()
    others = countings[(countings["ours"] - countings["as_published"]).abs() > 1e-7]
    assert (others["n_left_out"] > 0).all()


def test_win_rates_by_one_order_by_both_and_at_equal_length() -> None:
    row = public_win_rates().set_index("opponent").loc["falcon-40b-instruct"]
    study = load_position_study()
    points = {"A": 1.0, "C": 0.5, "B": 0.0}
    one, both = [], []
    for pair in to_records(study[study["model_2"] == "falcon-40b-instruct"]):
        first, second = points[pair["first_order"]], 1 - points[pair["second_order"]]
        one.append(first)
        both.append(first if first == second else 0.5)
    assert row["first_order"] == pytest.approx(sum(one) / 80)
    assert row["both_orders"] == pytest.approx(sum(both) / 80)
    # Vicuna's answers are longer and win: at equal length it wins less.
    assert row["words"] > 0
    assert row["length_controlled"] < row["both_orders"]

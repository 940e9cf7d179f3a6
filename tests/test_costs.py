"""Cost against arithmetic by hand; answers of models are scripted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

from evalnb.costs import cache_shortfalls, estimated_tokens, monthly_usd, usage_by_model
from evalnb.forecast import forecast
from evalnb.frames import OUTPUTS, VERDICTS
from evalnb.judges import JudgeFile, suite_judges
from evalnb.judges.judge import AxesJudge
from evalnb.prices import min_cacheable_tokens
from evalnb.reports.verdicts import describe_forecast, family, judge_noise
from evalnb.systems import load_system
from tests.suites import make_suite

if TYPE_CHECKING:
    from pathlib import Path


def test_a_month_of_a_known_schedule_costs_what_arithmetic_says() -> None:
    # 22,500 calls at (600 x 0.10 + 80 x 4.00) / 1,000,000 = 0.00038 US dollars
    cost = monthly_usd(
        items=50, calls_per_item=3, runs=150, input_tokens=600, output_tokens=80,
        input_usd=0.10, output_usd=4.00,
    )  # fmt: skip
    assert cost == pytest.approx(8.55)


def test_a_prompt_that_is_too_short_for_a_cache_says_how_much_is_missing() -> None:
    assert min_cacheable_tokens("claude-haiku-4-5") == 4096
    short = AxesJudge("axes", JudgeFile(kind="axes", system="x" * 2_400), "claude-haiku-4-5")
    found = cache_shortfalls([short]).to_dict("records")
    fixed = estimated_tokens(short.instructions("all"))
    assert found == [
        {
            "judge": "axes",
            "model": "claude-haiku-4-5",
            "fixed_tokens": fixed,
            "needed_tokens": 4096,
            "missing_tokens": 4096 - fixed,
        }
    ]


def test_the_package_s_own_judges_are_cached_by_today_s_models() -> None:
    for model in ("claude-sonnet-5-5", "claude-haiku-5-5"):
        assert cache_shortfalls([AxesJudge("axes", JudgeFile(kind="axes"), model)]).empty


def test_a_model_that_nobody_knows_has_no_minimum() -> None:
    assert min_cacheable_tokens("other") is None


def test_usage_is_summed_by_part_and_model() -> None:
    outputs = OUTPUTS.build(
        [
            {"case_id": "a", "repeat": 1, "model": "m", "input_tokens": 10, "output_tokens": 2,
             "cache_read_tokens": 0, "cache_write_tokens": 0, "cost_usd": 0.5},
            {"case_id": "b", "repeat": 1, "model": "m", "input_tokens": 20, "output_tokens": 3,
             "cache_read_tokens": 0, "cache_write_tokens": 0},
        ]
    )  # fmt: skip
    verdicts = VERDICTS.build(
        [
            {"case_id": "a", "repeat": 1, "judge": "j", "part": "all", "judge_repeat": number,
             "judge_model_answered": "n", "input_tokens": 100, "cache_read_tokens": read,
             "cache_write_tokens": written, "output_tokens": 7, "cost_usd": 0.25}
            for number, (read, written) in enumerate([(0, 300), (300, 0)], 1)
        ]
    )  # fmt: skip
    found = usage_by_model(outputs, verdicts)
    assert found[["part", "model", "n", "n_without_cost"]].to_dict("records") == [
        {"part": "system", "model": "m", "n": 2, "n_without_cost": 1},
        {"part": "judge", "model": "n", "n": 2, "n_without_cost": 0},
    ]
    assert found["cost_usd"].tolist() == [0.5, 0.5]
    # 300 of 100 + 100 + 300 + 300 were read from the cache
    assert found["cache_hit_rate"].tolist() == [0.0, 0.375]


def test_nothing_used_is_no_row() -> None:
    assert usage_by_model(OUTPUTS.empty(), VERDICTS.empty()).empty


def test_a_forecast_counts_calls_and_prices_them(tmp_path: Path) -> None:
    golden = make_suite(
        tmp_path / "shop",
        [
            {"id": "a", "input": "Hi", "rubric": ["Greets."], "tools": []},
            {"id": "b", "input": "Hi", "must_contain": ["x"], "tools": []},
        ],
        '[judging]\njudges = ["rubric"]\nmodel = "claude-haiku-5-5"\n',
    )
    found = forecast(
        golden, load_system(golden), None, suite_judges(golden), repeats=2, judge_repeats=3
    )
    assert found["n_calls"].tolist() == [4, 6]
    # half of max_tokens = 100 for each of four answers; 120 for a criterion and 120 for the score
    assert found["output_tokens"].tolist() == [200, 6 * 240]
    by_hand = (found["input_tokens"] * 0.10 + found["output_tokens"] * 0.50) / 1e6
    assert found["cost_usd"].tolist() == pytest.approx(by_hand.tolist())
    lines = describe_forecast(found, 150)
    assert lines[0].startswith("system claude-haiku-5-5: about 4 calls")
    assert lines[-1].endswith("a month of 150 runs")


def test_models_of_one_family_are_told_by_their_name() -> None:
    assert family("claude-haiku-5-5") == family("claude-sonnet-5-5")
    assert family("smollm2-135m-instruct") != family("claude-haiku-5-5")


def test_the_noise_of_a_judge_is_told_by_score() -> None:
    verdicts = VERDICTS.build(
        {"case_id": case, "repeat": 1, "judge": "axes", "part": "all", "judge_repeat": number,
         "answers": {"tone": {"reason": "r", "score": score}}}
        for case, scores in {"a": (4, 4), "b": (1, 2)}.items()
        for number, score in enumerate(scores, 1)
    )  # fmt: skip
    (row,) = judge_noise(verdicts).to_dict("records")
    assert (row["judge"], row["answer"], row["n"]) == ("axes", "tone.score", 2)
    assert row["self_agreement"] == 0.5
    assert row["sd_within"] == pytest.approx(0.5)  # (0 + 0.5) / 2 = 0.25
    assert not pd.isna(row["variance_share"])

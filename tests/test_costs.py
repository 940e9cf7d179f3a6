"""Cost against arithmetic by hand; answers of models are scripted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from evalnb.cassettes import Cassettes
from evalnb.costs import cache_shortfalls, estimated_tokens, monthly_usd, usage_by_model
from evalnb.counting import count_tokens
from evalnb.forecast import forecast
from evalnb.frames import OUTPUTS, VERDICTS
from evalnb.jsontext import dump_json
from evalnb.judges import JudgeFile, suite_judges
from evalnb.judges.judge import AxesJudge
from evalnb.names import family
from evalnb.prices import min_cacheable_tokens
from evalnb.reports.verdicts import describe_forecast, describe_judges, judge_noise
from evalnb.systems import PromptSystem, load_system
from tests.standin import StandIn
from tests.suites import make_suite
from tests.upstreams import FakeUpstream, LoopbackUpstream, error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from evalnb.golden import GoldenSet


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


def greetings(folder: Path, n: int) -> GoldenSet:
    return make_suite(
        folder / "shop",
        [
            {"id": f"c{i}", "input": "Hi" * i, "must_contain": ["x"], "tools": []}
            for i in range(1, n + 1)
        ],
    )


def requests_of(golden: GoldenSet) -> list[dict[str, Any]]:
    system = load_system(golden)
    assert isinstance(system, PromptSystem)
    return [system.request(case) for case in golden]


def test_what_is_counted_replaces_the_guess(tmp_path: Path) -> None:
    golden = greetings(tmp_path, 3)
    found = forecast(golden, load_system(golden), None, repeats=2, count=lambda _: [100, None, 300])
    guessed = forecast(golden, load_system(golden), None)["input_tokens"].tolist()
    by_bytes = [estimated_tokens(dump_json(request)) for request in requests_of(golden)]
    assert guessed == [sum(by_bytes)]
    # two are counted; the third has as many tokens a byte as they have
    third = round(by_bytes[1] * 400 / (by_bytes[0] + by_bytes[2]))
    assert found["input_tokens"].tolist() == [2 * (100 + third + 300)]
    assert found["n_counted"].tolist() == [2]
    assert "(by the API's count of 2 requests)" in describe_forecast(found)[0]


def test_a_large_suite_is_counted_in_part(tmp_path: Path) -> None:
    golden = greetings(tmp_path, 50)
    seen: list[Any] = []

    def count(asked: Sequence[Mapping[str, Any]]) -> list[int | None]:
        seen.extend(asked)
        return [10] * len(asked)

    found = forecast(golden, load_system(golden), None, count=count)
    assert len(seen) == 20
    assert found["n_counted"].tolist() == [20]


def test_the_api_counts_the_tokens_of_requests(tmp_path: Path) -> None:
    golden = greetings(tmp_path, 3)
    requests = requests_of(golden)
    with StandIn() as standin:
        found = count_tokens(
            requests, Cassettes(tmp_path / "none", "live"), LoopbackUpstream(standin.url)
        )
    counts = [0 if count is None else count for count in found]
    assert 0 < counts[0] <= counts[1] <= counts[2]  # the longer has the more
    assert not (tmp_path / "none").exists()


def test_what_cannot_be_counted_is_none(tmp_path: Path) -> None:
    golden = greetings(tmp_path, 2)
    requests = requests_of(golden)
    refuses = FakeUpstream(error(404, "not_found_error"))
    assert count_tokens(requests, Cassettes(tmp_path / "none", "live"), refuses) == [None, None]


def test_judges_are_warned_of_before_they_are_asked() -> None:
    judge = AxesJudge("axes", JudgeFile(kind="axes", system="x" * 40), "claude-haiku-4-5")
    kin, short = describe_judges([judge], ["claude-opus-5-5", "smollm2"])
    assert kin.startswith("the judge claude-haiku-4-5 is of one family with claude-opus-5-5, which")
    assert short.startswith("nothing of the judge axes is cached")
    assert describe_judges([], ["claude-opus-5-5"]) == []


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

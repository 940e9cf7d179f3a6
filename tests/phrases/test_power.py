"""Real answers of the local model, with a phrase planted by us; larger samples are a benchmark."""

from __future__ import annotations

from tests.benchmarks.phrases_power import OLD, false_alarms, power
from tests.phrases.answers import recorded


def test_the_planted_phrase_is_in_the_answers_to_at_least_half_of_the_cases() -> None:
    one = recorded("run_a")
    held = one["text"].str.contains(OLD).groupby(one["case_id"]).any()
    assert len(one) == 180
    assert held.mean() >= 0.5


def test_a_phrase_planted_in_30_percent_is_found() -> None:
    # 1 of 20 missed is still likely at 95% power, 4 of 20 have a probability below 2%.
    one = recorded("run_a")
    assert power(one, one, 0.3, 20) >= 0.85


def test_runs_of_the_same_system_rarely_differ() -> None:
    # 6 alarms or more of 40 have a probability of 1.4% where the rate is 5%.
    assert false_alarms(recorded("run_a"), recorded("run_b"), 0.05, 40) <= 5 / 40

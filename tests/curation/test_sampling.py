from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evalnb.curation.samples import describe_sample, read_sample, sample_id, write_sample
from evalnb.curation.sampling import SAMPLES, sample_for_rating
from evalnb.errors import InputError
from evalnb.frames import OUTPUTS, SCORES
from evalnb.golden import GoldenSet
from tests.commands import evalnb
from tests.suites import copy_of_support, make_suite

CASE = {"id": "a", "input": "Hello?", "must_contain": ["hello"]}


def outputs_of(n: int, **given: Any) -> pd.DataFrame:
    return OUTPUTS.build(
        {"run_id": "run-1", "case_id": f"case-{k}", "repeat": 1, "output_hash": f"h{k}", **given}
        for k in range(n)
    )


def scores_of(levels: dict[int, int], scorer: str = "rubric") -> pd.DataFrame:
    """Return scores of cases in order; `levels` is level to how many have it."""
    given = [level for level, count in levels.items() for _ in range(count)]
    return SCORES.build(
        {
            "case_id": f"case-{k}",
            "repeat": 1,
            "output_hash": f"h{k}",
            "scorer": scorer,
            "tier": "judge",
            "value": (level - 1) / 4,
            "raw_value": level,
        }
        for k, level in enumerate(given)
    )


@pytest.fixture
def golden(tmp_path: Path) -> GoldenSet:
    return make_suite(tmp_path / "golden" / "shop", [CASE])


def test_the_same_is_drawn_whatever_the_order_of_the_rows() -> None:
    outputs = outputs_of(60)
    shuffled = outputs.sample(frac=1, random_state=3)
    one = sample_for_rating(outputs, SCORES.empty(), n=20, seed=5)
    other = sample_for_rating(shuffled, SCORES.empty(), n=20, seed=5)
    pd.testing.assert_frame_equal(one.drawn, other.drawn)
    assert sample_id(one) == sample_id(other)
    assert one.drawn["order"].tolist() == list(range(1, 21))
    assert one.drawn["probability"].unique().tolist() == [20 / 60]


def test_another_seed_is_another_draw_and_a_larger_one_holds_the_smaller() -> None:
    outputs = outputs_of(200)
    drawn = {
        (n, seed): set(
            sample_for_rating(outputs, SCORES.empty(), n=n, seed=seed).drawn["output_hash"]
        )
        for n in (20, 50)
        for seed in (0, 1)
    }
    assert drawn[20, 0] != drawn[20, 1]
    assert drawn[20, 0] < drawn[50, 0]


def test_every_output_is_drawn_as_often_as_its_probability_says() -> None:
    outputs, scores = outputs_of(12), scores_of({1: 8, 5: 4})
    n_draws = 200
    hits = dict.fromkeys(outputs["case_id"], 0)
    for seed in range(n_draws):
        sample = sample_for_rating(outputs, scores, n=6, by="judge_score", seed=seed)
        chances = dict(zip(sample.drawn["case_id"], sample.drawn["probability"], strict=True))
        # 3 to each of two levels.
        assert set(chances.values()) == {3 / 8, 3 / 4}
        for case_id in chances:
            hits[case_id] += 1
    for k, case_id in enumerate(hits):
        p = 3 / 8 if k < 8 else 3 / 4
        # Four standard deviations of a binomial share.
        assert abs(hits[case_id] / n_draws - p) < 4 * math.sqrt(p * (1 - p) / n_draws)


def test_equal_outputs_are_one_and_missing_ones_are_left_out_and_counted() -> None:
    outputs = OUTPUTS.build(
        [
            {"case_id": "a", "repeat": 2, "output_hash": "same"},
            {"case_id": "a", "repeat": 1, "output_hash": "same"},
            {"case_id": "b", "repeat": 1, "output_hash": "same"},
            {"case_id": "c", "repeat": 1, "output_hash": "x", "na_reason": "empty"},
            {"case_id": "d", "repeat": 1},
        ]
    )
    sample = sample_for_rating(outputs, SCORES.empty(), n=9)
    found = sample.drawn.sort_values("case_id", ignore_index=True)[["case_id", "repeat"]]
    assert found.to_numpy().tolist() == [["a", 1], ["b", 1]]
    assert sample.drawn["probability"].tolist() == [1.0, 1.0]
    assert (sample.n_outputs, sample.n_missing, sample.n_equal) == (5, 2, 1)


@pytest.mark.parametrize(
    ("n", "levels", "expected"),
    [
        # 5 each; of the 35 that are left, 35 * 75/80 = 32.8 and 35 * 5/80 = 2.2.
        (50, {1: 3, 3: 10, 5: 80}, {"1": 3, "3": 7, "5": 40}),
        # 10 // 3 = 3 each; the one that is left goes where most are left.
        (10, {1: 5, 2: 5, 5: 90}, {"1": 3, "2": 3, "5": 4}),
        (3, {1: 1, 2: 1, 5: 90}, {"1": 1, "2": 1, "5": 1}),
        (500, {1: 3, 5: 4}, {"1": 3, "5": 4}),
    ],
)
def test_every_level_that_occurs_gets_a_share(
    n: int, levels: dict[int, int], expected: dict[str, int]
) -> None:
    size = sum(levels.values())
    sample = sample_for_rating(outputs_of(size), scores_of(levels), n=n, by="judge_score")
    assert sample.drawn["stratum"].value_counts().to_dict() == expected
    for stratum, probability in zip(
        sample.drawn["stratum"], sample.drawn["probability"], strict=True
    ):
        assert probability == expected[stratum] / levels[int(stratum)]


def test_outputs_that_the_judge_said_nothing_of_are_left_out_and_counted() -> None:
    scores = scores_of({2: 4})
    rule = scores.assign(scorer="must_contain", tier="rule")
    sample = sample_for_rating(
        outputs_of(6), pd.concat([rule, scores]), n=2, by="judge_score", scorer="rubric"
    )
    assert (sample.n_unscored, sample.strata) == (2, {"2": 4})


@pytest.mark.parametrize(
    ("scores", "scorer", "said"),
    [
        (SCORES.empty(), None, "no judge scored these outputs"),
        (pd.concat([scores_of({1: 4}), scores_of({1: 4}, "tone")]), None, "which of rubric, tone"),
        (scores_of({1: 4}), "rubrik", "Did you mean 'rubric'"),
        (scores_of({1: 2, 2: 2}), "rubric", "2 levels occur and only 1"),
    ],
)
def test_what_cannot_be_drawn_is_said(scores: pd.DataFrame, scorer: str | None, said: str) -> None:
    with pytest.raises(InputError, match=said):
        sample_for_rating(outputs_of(4), scores, n=1, by="judge_score", scorer=scorer)


def test_nothing_to_draw_from_is_said() -> None:
    with pytest.raises(InputError, match="nothing to draw from"):
        sample_for_rating(OUTPUTS.empty(), SCORES.empty(), n=1)
    with pytest.raises(ValueError, match="n must be at least 1"):
        sample_for_rating(outputs_of(3), SCORES.empty(), n=0)


def test_a_sample_is_written_without_texts_and_read_back(golden: GoldenSet) -> None:
    outputs = outputs_of(9, text="a secret")
    sample = sample_for_rating(outputs, scores_of({1: 3, 4: 6}), n=4, by="judge_score", seed=7)
    path = write_sample(golden, sample)
    assert path.parent == golden.folder / "labels" / "samples"  # type: ignore[operator]
    assert "secret" not in path.read_text()
    first, *others = path.read_text().splitlines()
    assert first.startswith('{"run_id": "run-1", "seed": 7, "by": "judge_score"')
    assert len(others) == 4

    again = read_sample(golden, path.stem)

    pd.testing.assert_frame_equal(again.drawn, SAMPLES.check(sample.drawn))
    assert sample_id(again) == sample_id(sample) == path.stem
    assert write_sample(golden, sample).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", ["random-4-00000000", "../suite", "", "A"])
def test_a_sample_that_is_not_there_is_said(name: str, golden: GoldenSet) -> None:
    with pytest.raises(InputError, match=r"no sample .*There are none\."):
        read_sample(golden, name)


@pytest.mark.parametrize("content", ["", "{}\n", '{"seed": 1}\n{"case_id": 3}\n', "{\n"])
def test_a_damaged_sample_is_said(content: str, golden: GoldenSet) -> None:
    path = write_sample(golden, sample_for_rating(outputs_of(9), SCORES.empty(), n=4))
    path.write_text(content)
    with pytest.raises(InputError, match="the sample cannot be used"):
        read_sample(golden, path.stem)


@pytest.mark.parametrize(
    ("n", "said"),
    [
        (10, "fewer than 20 labels say little"),
        (20, "20 labels find a bad judge"),
        (50, "50 labels are the working minimum, 100 the recommendation"),
        (100, "pass or fail takes 200"),
        (200, "enough for pass or fail"),
    ],
)
def test_it_says_how_far_so_many_labels_go(n: int, said: str) -> None:
    assert said in describe_sample(sample_for_rating(outputs_of(300), SCORES.empty(), n=n))[-1]


def test_the_command_draws_from_the_baseline_and_from_the_newest_run(tmp_path: Path) -> None:
    suite = copy_of_support(tmp_path)
    first = evalnb("sample-for-rating", "golden/support", "--n", "20", folder=tmp_path)
    assert first.code == 0
    assert "support: from the baseline" in first.out
    assert "20 of 80 outputs, drawn at random, seed 0" in first.out
    # There are 28 holdout cases, and 4 played conversations that are not whole in a baseline.
    assert "each had the chance 0.250 of being drawn" in first.out
    (path,) = (suite / "labels" / "samples").glob("*.jsonl")
    assert f'sample = "{path.stem}"' in first.out

    evalnb("run", "golden/support", "--tier", "full", "--no-notebook", folder=tmp_path)
    done = evalnb(
        *("sample-for-rating", "golden/support", "--n", "30", "--by", "judge_score"),
        *("--scorer", "politeness", "--holdout"),
        folder=tmp_path,
    )
    assert done.code == 0
    assert "support: from run " in done.out
    assert "drawn by the levels of politeness" in done.out
    assert done.error == ""

    several = evalnb("sample-for-rating", "golden/support", "--by", "judge_score", folder=tmp_path)
    assert several.code == 2
    assert "which of factual, politeness, relevance, rubric" in several.error

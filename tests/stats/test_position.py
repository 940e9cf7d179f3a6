from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.stats.effects import EFFECTS
from evalnb.stats.estimates import jeffreys
from evalnb.stats.position import (
    position_bias,
    position_bias_of_counts,
    verdicts_by_position,
)
from evalnb.stats.position_countings import (
    accuracy_in_both_orders,
    consistency_countings,
    position_table,
)
from tests.stats.reference import interval_of, metric, reference

pairs = st.lists(st.tuples(*[st.sampled_from(["A", "B", "C", None])] * 2), max_size=40)


def sides(pairs: list[Any]) -> tuple[list[Any], list[Any]]:
    return [one for one, _ in pairs], [two for _, two in pairs]


def test_pairs_of_the_reference() -> None:
    given_, expected = reference("position_42_pairs")
    frame = position_bias(*sides(given_["verdicts_by_position"]))
    net = metric(frame, "net_first_preference")
    consistency = metric(frame, "position_consistency")
    n = int(consistency["n"])
    found = {
        "n": n,
        "n_left_out": consistency["n_left_out"],
        "consistent": round(consistency["estimate"] * n),
        "prefers_first": round(metric(frame, "first_preference_rate")["estimate"] * n),
        "prefers_second": round(metric(frame, "second_preference_rate")["estimate"] * n),
        "sign_test_p": net["p_value"],
    }
    for name in (
        "position_consistency",
        "conflict_rate",
        "strict_flip_rate",
        "net_first_preference",
        "primacy_share_of_conflicts",
        "preference_fairness",
    ):
        found[name] = metric(frame, name)["estimate"]
    intervals = {
        "position_consistency_ci": interval_of(consistency),
        "net_first_preference_tango_ci": interval_of(net),
    }
    assert found == pytest.approx({name: expected[name] for name in found}, abs=1e-9)
    for name, interval in intervals.items():
        assert interval == pytest.approx(expected[name], abs=1e-9)
    assert set(found) | set(intervals) == set(expected)


def test_a_published_table() -> None:
    given_, expected = reference("mtbench_position_gpt4")
    frame = position_table(**given_)
    names = ["consistency", "biased_first", "biased_second", "error", "net_first_preference"]
    for name in names:
        assert metric(frame, name)["estimate"] == pytest.approx(expected[name], abs=1e-9)
    assert interval_of(metric(frame, "consistency")) == pytest.approx(
        expected["consistency_ci"], abs=1e-9
    )
    net = metric(
        position_bias_of_counts(
            given_["consistent"],
            given_["biased_first"],
            given_["biased_second"],
            n_left_out=given_["error"],
        ),
        "net_first_preference",
    )
    assert net["p_value"] == pytest.approx(expected["sign_test_p"], abs=1e-9)
    for row in (net, metric(frame, "net_first_preference")):
        assert interval_of(row) == pytest.approx(
            expected["net_first_preference_tango_ci"], abs=1e-9
        )


def test_errors_stay_in_the_rates_of_a_table_and_out_of_the_net_preference() -> None:
    frame = position_table(50, 20, 10, error=20)
    assert list(frame["estimate"]) == pytest.approx([0.5, 0.2, 0.1, 0.2, 10 / 80])
    assert list(frame["n"]) == [100, 100, 100, 100, 80]


def test_a_published_conflict_rate() -> None:
    given_, expected = reference("faireval_gpt4_vicuna_chatgpt")
    hits, n = given_["hits"], given_["n"]
    row = metric(position_bias_of_counts(n - hits, hits, 0), "conflict_rate")
    assert row["estimate"] == pytest.approx(expected["rate"], abs=1e-9)
    assert interval_of(row) == pytest.approx(expected["wilson_ci"], abs=1e-9)
    found = jeffreys(hits, n)
    assert [found.ci_low, found.ci_high] == pytest.approx(expected["jeffreys_ci"], abs=1e-9)


@given(pairs)
def test_shares_of_pairs_add_up(pairs: list[Any]) -> None:
    frame = EFFECTS.check(position_bias(*sides(pairs)))
    rate = frame.set_index("metric")["estimate"]
    if not metric(frame, "position_consistency")["n"]:
        assert rate.isna().all()
        assert set(frame["reason"]) == {"too_few"}
        return
    first, second = rate["first_preference_rate"], rate["second_preference_rate"]
    assert rate["position_consistency"] + first + second == pytest.approx(1)
    assert rate["net_first_preference"] == pytest.approx(first - second)
    assert rate["preference_fairness"] == pytest.approx(second - first)
    assert rate["strict_flip_rate"] <= rate["conflict_rate"]
    # Shi et al. as published; p and r are the conflicts to the first and second.
    if rate["conflict_rate"]:
        published = (second**2 - first**2) / (first + second)
        assert rate["preference_fairness"] == pytest.approx(published)
    else:
        assert metric(frame, "primacy_share_of_conflicts")["reason"] == "no_variance"


@given(pairs)
def test_with_places_exchanged_the_preference_turns_round(pairs: list[Any]) -> None:
    turn = {"A": "B", "B": "A", "C": "C", None: None}
    turned = [(turn[one], turn[two]) for one, two in pairs]
    one, other = position_bias(*sides(pairs)), position_bias(*sides(turned))
    nets = [metric(frame, "net_first_preference") for frame in (one, other)]
    if nets[0]["n"]:
        assert nets[0]["estimate"] == pytest.approx(-nets[1]["estimate"])
        assert nets[0]["ci_low"] == pytest.approx(-nets[1]["ci_high"], abs=1e-12)
        assert nets[0]["p_value"] == pytest.approx(nets[1]["p_value"])
    consistency = [metric(frame, "position_consistency")["estimate"] for frame in (one, other)]
    assert consistency[0] is consistency[1] or consistency[0] == consistency[1]


def test_repeats_of_a_pair_are_no_independent_pairs() -> None:
    # Ten pairs judged alike four times each: the error is that of the ten.
    outcomes = np.array(["AB", "AA", "BA", "AA", "CC", "AC", "BB", "AB", "AA", "BA"])
    values = np.array([0, 1, 0, 1, 0, 1, -1, 0, 1, 0])
    repeated = np.repeat(outcomes, 4)
    frame = position_bias(
        [pair[0] for pair in repeated],
        [pair[1] for pair in repeated],
        clusters=np.repeat(np.arange(10), 4),
    )
    net = metric(frame, "net_first_preference")
    assert net["estimate"] == pytest.approx(values.mean())
    assert net["se"] == pytest.approx(values.std(ddof=1) / np.sqrt(10))
    share = metric(frame, "primacy_share_of_conflicts")
    assert (share["estimate"], share["n"], share["n_clusters"]) == (0.8, 20, 5)
    assert list(frame["metric"].sort_values()) == sorted(position_bias(["A"], ["B"])["metric"])


def test_verdicts_that_name_an_answer() -> None:
    found = verdicts_by_position([1, 1, 2, None], [1, 2, 2, 2], a=1, b=2)
    expected = pd.DataFrame(
        {"first_order": ["A", "A", "B", None], "second_order": ["B", "A", "A", "A"]},
        dtype="string",
    )
    pd.testing.assert_frame_equal(found, expected)


def test_what_cannot_be_is_named() -> None:
    with pytest.raises(ValueError, match=r"a verdict must be A, B, C, or NA where unread. Got 'a'"):
        position_bias(["a"], ["B"])
    with pytest.raises(ValueError, match=r"a verdict must be A, B, C, or NA where unread. Got 1"):
        consistency_countings([1], ["B"])
    with pytest.raises(ValueError, match=r"Got `first_order` 1, `second_order` 2"):
        position_bias(["A"], ["B", "A"])
    with pytest.raises(ValueError, match=r"`consistent` must be a whole number"):
        position_bias_of_counts(-1, 2, 3)


# Unread verdicts


def test_every_way_to_count_what_was_not_read() -> None:
    first = ["A"] * 6 + ["A"] * 2 + ["A", None] + [None] * 2
    second = ["B"] * 6 + ["A"] * 2 + [None, "B"] + [None] * 2
    frame = consistency_countings(first, second)
    # 6 of 8 pairs read; 6 of 12; 6 + 2 of 12; 12 + 2 of 16 + 2 verdicts
    assert list(frame["estimate"]) == pytest.approx([6 / 8, 6 / 12, 8 / 12, 14 / 18])
    assert list(frame["n"]) == [8, 12, 12, 18]
    assert list(frame["n_left_out"]) == [4, 0, 0, 6]


@given(pairs.map(lambda pairs: [pair for pair in pairs if None not in pair]))
def test_where_all_was_read_they_agree(pairs: list[Any]) -> None:
    frame = consistency_countings(*sides(pairs))
    if pairs:
        expected = metric(position_bias(*sides(pairs)), "position_consistency")["estimate"]
        assert list(frame["estimate"]) == pytest.approx([expected] * 4)
    else:
        assert set(frame["reason"]) == {"too_few"}


def test_a_study_that_counts_verdicts() -> None:
    # Shi et al. (2024), log.txt of claude-3-haiku on DevBench: 509 of 2237 games are consistent.
    # Of its 1,120 pairs 253 agree, 864 do not, and 3 have one verdict.
    first = ["A"] * 1117 + ["B"] * 3
    second = ["B"] * 253 + ["A"] * 864 + [None] * 3
    frame = consistency_countings(first, second)
    row = metric(frame, "consistency_of_verdicts")
    assert (round(row["estimate"] * row["n"]), row["n"]) == (509, 2237)
    assert row["estimate"] == pytest.approx(0.2275, abs=5e-5)
    assert metric(frame, "consistency")["estimate"] == pytest.approx(0.2265, abs=5e-5)


def test_right_in_each_order_and_in_both() -> None:
    frame = accuracy_in_both_orders(
        [1, 1, 2, None, None, 2, 1], [1, 2, 2, 1, None, 1, 1], [1, 1, 1, 1, 2, 2, None]
    )
    rate = frame.set_index("metric")["estimate"]
    # Six labelled pairs: first order read in 4 and right in 3, second order read in 5, right in 2;
    # both read in 4: right twice, once, never, once of two; both right in 1; equal in 2.
    assert rate["accuracy_ab"] == pytest.approx(3 / 4)
    assert rate["accuracy_ba"] == pytest.approx(2 / 5)
    assert rate["accuracy"] == pytest.approx((2 + 1 + 0 + 1) / 8)
    assert rate["accuracy_both"] == pytest.approx(1 / 4)
    assert rate["position_agreement"] == pytest.approx(2 / 4)
    # Over all six, an unread verdict wrong, and two of them equal.
    theirs = [rate[f"{name}_unread_wrong"] for name in list(rate.index)[:5]]
    assert theirs == pytest.approx([3 / 6, 2 / 6, 5 / 12, 1 / 6, 3 / 6])
    assert list(frame["n_left_out"]) == [3, 2, 3, 3, 3] + [1] * 5

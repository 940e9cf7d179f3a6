from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evalnb.stats.audit import AUDIT, audit_strata, suggest_audit


def cases_of(judged: list[Any], **columns: list[Any]) -> pd.DataFrame:
    ids = [f"c{i:03}" for i in range(len(judged))]
    return pd.DataFrame({"case_id": ids, "judged": judged, **columns})


def labels_of(**values: Any) -> pd.DataFrame:
    return pd.DataFrame({"case_id": list(values), "value": list(values.values())})


NO_LABELS = pd.DataFrame({"case_id": [], "value": []})


def test_labels_go_where_cases_are_many_and_people_disagree() -> None:
    cases = cases_of([True] * 80 + [False] * 20)
    # passed ones: 9 of 9 pass, sd of Beta(9.5, 0.5) is sqrt(0.95 * 0.05) = 0.218; failed ones: 2
    # of 5, sqrt(2.5 * 3.5)/6 = 0.493. 34 labels in all by 0.8 * 0.218 : 0.2 * 0.493 are 21.7, 12.3
    passed = {f"c{i:03}": True for i in range(9)}
    failed = {f"c{i:03}": i < 82 for i in range(80, 85)}
    found = suggest_audit(cases, labels_of(**passed, **failed), n=20)
    weights = 0.8 * math.sqrt(0.95 * 0.05), 0.2 * math.sqrt(2.5 * 3.5) / 6
    best = round(34 * weights[0] / sum(weights))
    sizes = found.groupby("stratum").size()
    assert sizes.to_dict() == {"True": best - 9, "False": 34 - best - 5}
    assert not set(found["case_id"]) & {*passed, *failed}
    # chances among those not yet labelled: 71 and 15
    chances = found.groupby("stratum")["probability"].first()
    assert chances.to_dict() == pytest.approx(
        {"True": (best - 9) / 71, "False": (34 - best - 5) / 15}
    )
    AUDIT.check(found)


def test_the_choice_is_by_seed_and_not_by_the_order_of_rows() -> None:
    cases = cases_of([True] * 60 + [False] * 40)
    one = suggest_audit(cases, NO_LABELS, n=20, seed=1)
    pd.testing.assert_frame_equal(
        one, suggest_audit(cases.sample(frac=1, random_state=0), NO_LABELS, n=20, seed=1)
    )
    assert set(one["case_id"]) != set(suggest_audit(cases, NO_LABELS, n=20, seed=2)["case_id"])
    more = suggest_audit(cases, NO_LABELS, n=30, seed=1)
    assert set(one["case_id"]) < set(more["case_id"])


def test_each_case_of_a_stratum_is_as_likely_as_the_others() -> None:
    cases = cases_of([True] * 12 + [False] * 8)
    drawn = pd.concat([suggest_audit(cases, NO_LABELS, n=10, seed=seed) for seed in range(100)])
    share = drawn.groupby("case_id").size() / 100
    expected = drawn.groupby("case_id")["probability"].mean()
    # a share of 100 has a standard error of at most 0.05
    assert (share - expected).abs().max() < 0.17
    assert len(share) == 20


def test_rare_verdicts_have_at_least_five_labels_or_all_of_theirs() -> None:
    cases = cases_of([True] * 96 + [False] * 3 + [None])
    assert suggest_audit(cases, NO_LABELS, n=20)["stratum"].value_counts()["False"] == 3
    cases = cases_of([True] * 292 + [False] * 8)
    sizes = suggest_audit(cases, NO_LABELS, n=20)["stratum"].value_counts()
    assert sizes.to_dict() == {"True": 15, "False": 5}
    small = suggest_audit(cases, NO_LABELS, n=4)["stratum"].value_counts()
    assert small.to_dict() == {"True": 2, "False": 2}


def test_other_columns_make_strata_beside_the_verdict() -> None:
    cases = cases_of([True, True, False, None] * 10, category=["tax", "order"] * 20)
    found = suggest_audit(cases, NO_LABELS, n=9, strata=("judged", "category"))
    assert set(found["stratum"]) == {"True, tax", "True, order", "False, tax"}
    only = audit_strata(cases, ("category",))
    assert only.tolist() == ["tax", "order", "tax", pd.NA] * 10


def test_scores_are_strata_by_level_or_by_rank() -> None:
    cases = cases_of([1, 2, 3, 4, 5] * 8)
    assert set(suggest_audit(cases, NO_LABELS, n=20)["stratum"]) == {"1", "2", "3", "4", "5"}
    fine = cases_of(list(np.linspace(0, 1, 100)))
    assert audit_strata(fine).value_counts().tolist() == [20] * 5


def test_scores_of_one_level_that_people_spread_over_get_more_labels() -> None:
    cases = cases_of([4] * 50 + [5] * 50)
    spread = {f"c{i:03}": 1 + i % 5 for i in range(10)}
    alike = {f"c{i:03}": 5 for i in range(50, 60)}
    found = suggest_audit(cases, labels_of(**spread, **alike), n=20)
    # differences -3 -2 -1 0 1 twice: squares 20 about their mean; pooled 20/18; spreads
    # sqrt((20 + 1.111)/10) = 1.453 and sqrt(1.111/10) = 0.333: 32.5 and 7.5 of 40, but no fewer
    # than the 10 there are
    assert found["stratum"].value_counts().to_dict() == {"4": 20}


def test_labels_of_unknown_cases_and_missing_ones_count_for_nothing() -> None:
    cases = cases_of([True] * 10 + [False] * 10)
    pilot = labels_of(c000=None, elsewhere=True)
    pd.testing.assert_frame_equal(
        suggest_audit(cases, pilot, n=8), suggest_audit(cases, NO_LABELS, n=8)
    )


@pytest.mark.parametrize("n", [5, 50])
def test_no_more_is_asked_for_than_there_is(n: int) -> None:
    found = suggest_audit(cases_of([True, True, False]), labels_of(c000=True), n=n)
    assert sorted(found["case_id"]) == ["c001", "c002"]
    assert set(found["probability"]) == {1}


def test_nothing_left_to_label_is_an_empty_frame() -> None:
    everything = labels_of(c000=True)
    pd.testing.assert_frame_equal(suggest_audit(cases_of([True]), everything, n=3), AUDIT.empty())
    assert suggest_audit(cases_of([]), NO_LABELS, n=3).empty


@pytest.mark.parametrize(
    ("cases", "pilot", "arguments", "message"),
    [
        (pd.DataFrame({"judged": [True]}), NO_LABELS, {}, "`cases` needs the columns case_id"),
        (cases_of([True]), pd.DataFrame({"case_id": []}), {}, "`pilot` needs the columns value"),
        (cases_of([True]), NO_LABELS, {"strata": ("topic",)}, "`cases` needs the columns topic"),
        (cases_of([True]), NO_LABELS, {"strata": ()}, "`strata` must name a column"),
        (cases_of([True]), NO_LABELS, {"n": 0}, "`n` must be a whole number from 1 on"),
        (cases_of([True, False] * 9), NO_LABELS, {"n": 3}, "3 labels are too few for 2 strata"),
        (
            pd.DataFrame({"case_id": ["a", "a"], "judged": [True, True]}),
            NO_LABELS,
            {},
            "`cases` has one row for each case. Got two for 'a'",
        ),
        (
            cases_of([True], category=[None]),
            NO_LABELS,
            {"strata": ("category",)},
            "each case needs a value of `category`",
        ),
    ],
)
def test_what_cannot_be_chosen_from_says_why(
    cases: pd.DataFrame, pilot: pd.DataFrame, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        suggest_audit(cases, pilot, **{"n": 4, **arguments})

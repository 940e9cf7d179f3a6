from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, precision_recall_fscore_support

from evalnb.stats.classification import classification_statistics, scott_pi

LEVELS = [0, 1, 2]
PAIRS = st.lists(st.tuples(st.sampled_from(LEVELS), st.sampled_from(LEVELS)), min_size=2)


def estimates(frame: pd.DataFrame) -> dict[str, float]:
    return dict(zip(frame["metric"], frame["estimate"], strict=True))


@given(PAIRS)
def test_values_are_those_of_scikit_learn_where_it_need_not_invent_any(
    pairs: list[tuple[int, int]],
) -> None:
    truth, said = (list(side) for side in zip(*pairs, strict=True))
    found = estimates(classification_statistics(truth, said, levels=LEVELS))
    assert found["accuracy"] == pytest.approx(accuracy_score(truth, said))
    occurring = sorted({*truth, *said})
    precision, recall, f1, _ = precision_recall_fscore_support(
        truth, said, labels=occurring, zero_division=np.nan
    )
    for name, expected in (("precision", precision), ("recall", recall)):
        got = found[f"macro_{name}"]
        assert pd.isna(got) == bool(np.isnan(expected).any())
        assert pd.isna(got) or got == pytest.approx(expected.mean())
    # scikit-learn leaves the F1 of a level that occurs on one side undefined too; it is 0.
    assert found["macro_f1"] == pytest.approx(np.nan_to_num(f1).mean())


def test_a_level_that_the_judge_never_says_has_no_precision() -> None:
    found = classification_statistics([0, 1, 2, 2], [0, 1, 1, 1], levels=LEVELS)
    reasons = dict(zip(found["metric"], found["reason"], strict=True))
    assert reasons["macro_precision"] == "no_relevant"
    assert pd.isna(reasons["macro_recall"])
    assert estimates(found)["macro_recall"] == pytest.approx(2 / 3)


def test_missing_verdicts_are_left_out_and_counted() -> None:
    found = classification_statistics([0, 1, None, 1], [0, 1, 1, None], levels=LEVELS)
    assert set(found["n"]) == {2}
    assert set(found["n_left_out"]) == {2}
    assert estimates(found)["accuracy"] == 1
    none = classification_statistics([0, None], [None, 1], levels=LEVELS)
    assert set(none["reason"]) == {"no_overlap"}
    assert none["estimate"].isna().all()


def test_pi_of_a_table_by_hand() -> None:
    # 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: agreement 0.7, shares 0.55 and 0.45 of all 100
    # answers, expected 0.505, pi 0.195 / 0.495
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    found = scott_pi(first, second, levels=["no", "yes"]).iloc[0]
    assert found["estimate"] == pytest.approx(0.195 / 0.495)
    assert found["ci_low"] < found["estimate"] < found["ci_high"]
    assert found["n"] == 50


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ([], [], "no_overlap"),
        ([1], [1], "too_few"),
        ([1, 1, None], [1, 1, 2], "one_category"),
    ],
)
def test_pi_is_undefined_where_kappa_is(
    first: list[int | None], second: list[int], reason: str
) -> None:
    found = scott_pi(first, second, levels=[1, 2]).iloc[0]
    assert found["reason"] == reason
    assert pd.isna(found["estimate"])


@given(PAIRS)
def test_pi_is_blind_to_who_is_who_and_to_names(pairs: list[tuple[int, int]]) -> None:
    first, second = zip(*pairs, strict=True)
    one = scott_pi(first, second, levels=LEVELS).iloc[0]["estimate"]
    other = scott_pi(second, first, levels=LEVELS).iloc[0]["estimate"]
    renamed = scott_pi([2 - x for x in first], [2 - x for x in second], levels=LEVELS)
    assert pd.isna(one) == pd.isna(other)
    assert pd.isna(one) or one == pytest.approx(other)
    assert pd.isna(one) or one == pytest.approx(renamed.iloc[0]["estimate"])

"""Tables of agreement on literal frames that can be checked by eye."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from evalnb.agreement import (
    agreement_by_slice,
    countings,
    decisions,
)
from evalnb.disagreements import confusion_table, largest_disagreements
from evalnb.ratings import HUMAN, JUDGE, AxisScale, ratings_frame

FIVE = AxisScale((1, 2, 3, 4, 5))
PASS = AxisScale((0, 1), names={0: "fail", 1: "pass"})
NAMES = AxisScale((0, 1, 2), ordered=False, names={0: "tie"})


def ratings(
    people: Sequence[float | None],
    judge: Sequence[float | None],
    axis: str = "tone",
    slices: dict[str, list[str]] | None = None,
    **columns: list[Any],
) -> pd.DataFrame:
    """Return ratings of items 1, 2, … by one person and the judge `gpt`."""
    n = len(people)
    frame = pd.DataFrame(
        {
            "item": [str(number) for number in range(1, n + 1)] * 2,
            "axis": axis,
            "rater": ["scripted-ann"] * n + ["gpt"] * n,
            "kind": [HUMAN] * n + [JUDGE] * n,
            "value": [*people, *judge],
            **{name: values * 2 for name, values in (slices or {}).items()},
            **columns,
        }
    )
    return ratings_frame(frame, slices=list(slices or {}))


# Judge and person agree on 85 of 100: 40 fail-fail, 45 pass-pass, 15 fail where the judge passes.
# p_e = 0.55 * 0.4 + 0.45 * 0.6 = 0.49, kappa 0.36 / 0.51.
GOOD = ratings([0.0] * 55 + [1.0] * 45, [0.0] * 40 + [1.0] * 60)


def test_a_decision_is_by_the_lower_end() -> None:
    found = decisions(GOOD, "gpt", scales={"tone": PASS}).iloc[0]
    assert found["metric"] == "kappa"
    assert found["estimate"] == pytest.approx(0.36 / 0.51)
    assert found["ci_low"] < 0.6 < found["ci_high"]
    assert (found["decision"], found["next_grade"], found["threshold"]) == ("revise", "usable", 0.6)
    # statsmodels 0.14: kappa's standard error on this table is 0.0669172. Distance on atanh:
    # (1 - k^2) (atanh k - atanh 0.6) = 0.0932123, so (1.95996 * 0.669172 / 0.0932123)^2 = 197.98
    assert found["more_labels"] == 198 - 100


def test_where_the_upper_end_is_below_no_number_of_labels_is_named() -> None:
    found = decisions(ratings([1, 2, 3, 4, 5] * 8, [1] * 40), "gpt", scales={"tone": FIVE}).iloc[0]
    assert found["decision"] == "revise"
    assert found["estimate"] == 0
    assert found["warnings"] == ["constant_rater"]
    weak = decisions(ratings([1, 2, 3] * 20, [2, 3, 1] * 20), "gpt", scales={"tone": FIVE}).iloc[0]
    assert weak["ci_high"] < 0.6
    assert weak[["next_grade", "threshold", "more_labels"]].isna().all()


def test_strong_needs_no_more() -> None:
    found = decisions(ratings([1, 5] * 60, [1, 5] * 60), "gpt", scales={"tone": FIVE}).iloc[0]
    assert found["decision"] == "strong"
    assert pd.isna(found["next_grade"])


def test_each_axis_is_decided_by_itself_in_the_order_given() -> None:
    both = pd.concat([GOOD, ratings([1, 5] * 60, [1, 5] * 60, axis="pace")], ignore_index=True)
    found = decisions(both, "gpt", scales={"pace": FIVE, "tone": PASS})
    assert found["axis"].tolist() == ["pace", "tone"]
    assert found["metric"].tolist() == ["kappa_quadratic", "kappa"]
    assert found["decision"].tolist() == ["strong", "revise"]


def test_nothing_in_common_is_a_row_with_a_reason() -> None:
    found = decisions(ratings([1, None], [None, 2]), "gpt", scales={"tone": FIVE}).iloc[0]
    assert (found["reason"], found["decision"], found["n_left_out"]) == ("no_overlap", "revise", 2)
    assert pd.isna(found["estimate"])


def test_items_that_share_a_conversation_widen_the_interval() -> None:
    alone = decisions(GOOD, "gpt", scales={"tone": PASS}).iloc[0]
    shared = GOOD.assign(cluster=pd.array([str(n // 5) for n in range(100)] * 2, dtype="string"))
    found = decisions(shared, "gpt", scales={"tone": PASS}).iloc[0]
    assert found["method"] == "bootstrap over clusters"
    assert found["estimate"] == alone["estimate"]
    assert found["ci_high"] - found["ci_low"] > alone["ci_high"] - alone["ci_low"]
    assert found["more_labels"] > alone["more_labels"]


def test_agreement_is_said_for_each_slice() -> None:
    frame = ratings(
        [1, 2, 3, 1, 2, 3, 5],
        [1, 2, 3, 3, 2, 1, None],
        slices={"language": ["de", "de", "de", "en", "en", "en", "en"]},
    )
    found = agreement_by_slice(frame, "gpt", scales={"tone": FIVE})
    shown = found[["axis", "slice", "value", "kappa", "n", "n_left_out", "exact_agreement", "bias"]]
    expected = pd.DataFrame(
        {
            "axis": ["tone", "tone"],
            "slice": ["language", "language"],
            "value": ["de", "en"],
            "kappa": [1.0, -1.0],
            "n": [3, 3],
            "n_left_out": [0, 1],
            "exact_agreement": [1.0, 1 / 3],
            "bias": [0.0, 0.0],
        }
    ).astype(shown.dtypes.to_dict())
    assert_frame_equal(shown, expected)


def test_the_table_of_levels_has_all_that_are_declared() -> None:
    found = confusion_table(ratings([0, 0, 1], [0, 1, 1]), "gpt", axis="tone", scale=NAMES)
    expected = pd.DataFrame(
        [[1, 1, 0], [0, 1, 0], [0, 0, 0]],
        index=pd.Index(["tie", "1", "2"], name="people"),
        columns=pd.Index(["tie", "1", "2"], name="judge"),
    )
    assert_frame_equal(found, expected, check_index_type=False, check_column_type=False)


def test_the_furthest_come_first_with_both_reasons() -> None:
    frame = ratings(
        [1, 5, 3, 4],
        [3, 1, 3, 5],
        reason=["curt", "kind", "fine", "good", "ok", "rude", "fine", "great"],
        text=["A", "B", "C", "D"] * 2,
    )
    found = largest_disagreements(frame, "gpt", scales={"tone": FIVE}, n=2)
    expected = pd.DataFrame(
        {
            "axis": ["tone", "tone"],
            "item": ["2", "1"],
            "text": ["B", "A"],
            "people": [5.0, 1.0],
            "judge": [1.0, 3.0],
            "difference": [-4.0, 2.0],
            "each_person": ["5", "1"],
            "judge_says": ["1", "3"],
            "people_reasons": ["kind", "curt"],
            "judge_reason": ["rude", "ok"],
        }
    ).astype(found.dtypes.to_dict())
    assert_frame_equal(found, expected)


def test_of_equal_differences_that_on_which_people_agree_comes_first() -> None:
    def said(rater: str, *values: float) -> pd.DataFrame:
        kind = JUDGE if rater == "gpt" else HUMAN
        frame = pd.DataFrame({"item": ["x", "y"], "value": values, "reason": f"{rater} thinks"})
        return frame.assign(axis="tone", rater=rater, kind=kind)

    people = [said("scripted-ann", 1, 3), said("scripted-bo", 5, 3), said("gpt", 5, 5)]
    frame = ratings_frame(pd.concat(people))
    found = largest_disagreements(frame, "gpt", scales={"tone": FIVE})
    assert found["item"].tolist() == ["y", "x"]
    assert found["each_person"].tolist() == ["3, 3", "1, 5"]
    assert (
        found.loc[0, "people_reasons"]
        == "scripted-ann: scripted-ann thinks\nscripted-bo: scripted-bo thinks"
    )


def test_without_an_order_a_disagreement_has_no_size() -> None:
    found = largest_disagreements(ratings([0, 1, 2], [0, 2, 1]), "gpt", scales={"tone": NAMES})
    assert found["item"].tolist() == ["2", "3"]
    assert found["difference"].isna().all()
    swapped = largest_disagreements(ratings([0, 1], [1, 0]), "gpt", scales={"tone": NAMES})
    assert swapped["each_person"].tolist() == ["tie", "1"]
    assert swapped["judge_says"].tolist() == ["1", "tie"]


def test_full_agreement_has_nothing_to_show() -> None:
    found = largest_disagreements(ratings([1, 2], [1, 2]), "gpt", scales={"tone": FIVE})
    assert found.empty
    assert found["people"].dtype == "Float64"


def test_counting_unread_verdicts_as_a_level_is_shown_beside_leaving_them_out() -> None:
    frame = ratings([0, 0, 1, 1], [0, 0, 1, None])
    found = countings(frame, ["gpt"], scales={"tone": PASS}, unread_as=0)
    shown = found[["counting", "n", "n_left_out", "exact_agreement", "kappa"]]
    expected = pd.DataFrame(
        {
            "counting": ["unread left out", "unread counted as fail"],
            "n": [3, 4],
            "n_left_out": [1, 0],
            "exact_agreement": [1.0, 0.75],
            "kappa": [1.0, 0.5],  # p_o 0.75, p_e 0.5 * 0.75 + 0.5 * 0.25
        }
    ).astype(shown.dtypes.to_dict())
    assert_frame_equal(shown, expected)


def test_arguments_stay_as_they_are() -> None:
    before = GOOD.copy()
    decisions(GOOD, "gpt", scales={"tone": PASS})
    countings(GOOD, ["gpt"], scales={"tone": PASS}, unread_as=0)
    largest_disagreements(GOOD, "gpt", scales={"tone": PASS})
    assert_frame_equal(GOOD, before)


def test_one_label_calls_no_judge_bad_for_good_and_asks_for_more() -> None:
    # Twenty labels an axis are the fewest that say something of a judge: 19 are to come.
    found = decisions(ratings([1], [5]), "gpt", scales={"tone": FIVE}).iloc[0]
    assert (found["decision"], found["next_grade"], found["more_labels"]) == (
        "revise",
        "usable",
        19,
    )

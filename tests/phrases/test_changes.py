from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.frames import PHRASES
from evalnb.phrases import LEVEL, phrase_changes
from tests.phrases.answers import missing, outputs
from tests.stats.reference import reference

if TYPE_CHECKING:
    from collections.abc import Sequence

NUMBER = "Could you give me your {} number, please?"


def changed(
    before: dict[str, Any], after: dict[str, Any], *, level: float = LEVEL
) -> dict[str, dict[str, Any]]:
    frame = phrase_changes(outputs(before), outputs(after), level=level).changes
    return {row["phrase"]: dict(row) for _, row in frame.iterrows()}


def cases(*groups: tuple[int, Any]) -> dict[str, Any]:
    """Number cases: so many with this text, then so many with that."""
    texts = [text for number, text in groups for _ in range(number)]
    return {f"case-{number:03}": text for number, text in enumerate(texts)}


def test_the_story_is_one_row() -> None:
    other = (30, "Parcels arrive within four days.")
    before = cases((30, NUMBER.format("order")), other)
    after = cases((10, NUMBER.format("inquiry")), (20, NUMBER.format("order")), other)
    found = changed(before, after)
    assert list(found) == ["order number"]
    row = found["order number"]
    assert (row["change"], row["replaced_by"]) == ("replaced", "inquiry number")
    assert (row["rate_a"], row["rate_b"]) == (0.5, pytest.approx(20 / 60))
    assert (row["replacement_rate_a"], row["replacement_rate_b"]) == (0.0, pytest.approx(10 / 60))
    assert row["p_value"] == pytest.approx(2 / 2**10)  # ten cases, all one way
    assert (row["n_cases"], row["n_changed"]) == (60, 10)
    assert row["examples"] == [f"case-{number:03}" for number in range(5)]
    assert {"your order number", "inquiry", "your inquiry number"} <= set(row["folded"])


def test_rates_interval_and_p_are_those_of_the_reference() -> None:
    given_, expected = reference("phrase_change_a")
    both, neither = given_["both"], given_["neither"]
    plain = "Thank you."
    before = cases((given_["before_only"] + both, "order number"), (neither, plain))
    after = cases((given_["before_only"], plain), (both, "order number"), (neither, plain))
    row = changed(before, after)["order number"]
    assert row["rate_a"] == pytest.approx(expected["rate_before"])
    assert row["rate_b"] == pytest.approx(expected["rate_after"])
    assert row["difference"] == pytest.approx(expected["difference"])
    assert [row["ci_low"], row["ci_high"]] == pytest.approx(expected["tango_ci"], abs=1e-6)
    assert row["p_value"] == pytest.approx(expected["mcnemar_exact_p"])
    assert row["method"] == "tango, p by exact sign flip"


def test_what_appeared_and_what_vanished() -> None:
    found = changed(
        cases((12, "It is red. Kindly wait here.")),
        cases((12, "It is red. Many greetings.")),
    )
    kinds = {name: row["change"] for name, row in found.items()}
    assert kinds == {"kindly wait": "vanished", "many greetings": "appeared"}


def test_what_moved_without_going_is_shifted() -> None:
    before = cases((4, "Sorry."), (20, "Yes."))
    after = cases((20, "Sorry."), (4, "Yes."))
    found = changed(before, after)
    assert {name: row["change"] for name, row in found.items()} == {
        "sorry": "shifted",
        "yes": "shifted",
    }


def test_repeats_of_a_case_are_one_observation() -> None:
    before, after = cases((5, ["Yes."] * 20)), cases((5, ["No."] * 20))
    # Five cases cannot speak against chance at 5%, whatever their repeats: 2^(1-5) = 0.0625.
    assert changed(before, after) == {}


def test_cases_of_one_conversation_change_their_sign_together() -> None:
    before, after = cases((16, "order number")), cases((16, "inquiry number"))
    pairs = {case_id: f"talk-{place // 2}" for place, case_id in enumerate(before)}
    alone = phrase_changes(outputs(before), outputs(after)).changes.loc[0]
    study = phrase_changes(outputs(before), outputs(after), clusters=pairs)
    shared = study.changes.loc[0]
    # 16 coins against 8: two patterns of all are as far out.
    assert alone["p_value"] == pytest.approx(2 / 2**16)
    assert shared["p_value"] == pytest.approx(2 / 2**8)
    assert (shared["n_cases"], shared["n_changed"], shared["difference"]) == (16, 16, -1.0)
    # Seven conversations: 2/2**7 = 0.016 is over 0.01, though fourteen cases changed.
    seven = {case_id: f"talk-{place % 7}" for place, case_id in enumerate(before)}
    few = phrase_changes(outputs(before), outputs(after), clusters=seven, level=0.01)
    assert few.changes.empty
    assert few.n_tried == 0


def test_what_one_conversation_gains_and_loses_comes_to_nothing() -> None:
    before = cases((8, "order number"), (8, "Thank you."), (8, "order number"))
    after = cases((8, "Thank you."), (8, "order number"), (8, "inquiry number"))
    talks = {f"case-{place:03}": f"case-{place % 8:03}" for place in range(16)}
    row = phrase_changes(outputs(before), outputs(after), clusters=talks).changes.loc[0]
    # Of the first 16 none is left; the other eight share no conversation, whatever the others' is called.
    assert row["p_value"] == pytest.approx(2 / 2**8)
    assert (row["phrase"], row["replaced_by"]) == ("order number", "inquiry number")


def test_a_rate_is_over_cases_and_their_repeats() -> None:
    text = ["Yes, gladly.", "No.", "No."]
    found = changed(cases((8, ["No."] * 3), (8, "No.")), cases((8, text), (8, "No.")))
    row = found["gladly"]
    assert row["folded"] == ["yes"]
    assert (row["rate_a"], row["rate_b"]) == (0.0, pytest.approx(1 / 6))  # 8 of 16, a third each
    assert row["p_value"] == pytest.approx(2**-7)
    assert row["method"] == "t, p by exact sign flip"
    assert row["ci_low"] < row["difference"] < row["ci_high"]


def test_as_many_repeats_count_as_both_sides_have() -> None:
    study = phrase_changes(
        outputs(cases((10, ["Yes.", "Yes.", "Well."]))), outputs(cases((10, ["Yes.", "Yes."])))
    )
    assert (study.n_repeats, len(study.changes)) == (2, 0)


def test_missing_answers_are_left_out_and_counted() -> None:
    before, after = outputs(cases((9, "Yes."))), outputs(cases((10, "No.")))
    after = missing(after, "case-000")
    study = phrase_changes(before, after)
    assert (study.n_cases, study.n_left_out) == (8, 2)
    assert study.changes.loc[0, "n_cases"] == 8


def test_an_answer_without_text_holds_no_phrase() -> None:
    row = changed(cases((8, "Let me look.")), cases((8, None)))["me look"]
    assert (row["change"], row["rate_b"]) == ("vanished", 0.0)


@pytest.mark.parametrize(
    ("before", "after", "phrase", "instead"),
    [
        ("注文番号を教えてください。", "照会番号を教えてください。", "注文番号を", "照会番号を"),
        ("주문번호가 필요합니다", "문의번호가 필요합니다", "주문번호가", "문의번호가"),
        (
            "Die Bestellnummer, bitte",
            "Die Anfragenummer, bitte",
            "die bestellnummer",
            "die anfragenummer",
        ),
        ("رقم الطلب من فضلك", "رقم الاستفسار من فضلك", None, None),
    ],
)
def test_any_script(before: str, after: str, phrase: str | None, instead: str | None) -> None:
    found = changed(cases((10, before)), cases((10, after)))
    assert len(found) == 1
    row = next(iter(found.values()))
    assert row["change"] == "replaced"
    assert (phrase or row["phrase"], instead or row["replaced_by"]) == (
        row["phrase"],
        row["replaced_by"],
    )


def test_phrases_do_not_reach_over_punctuation() -> None:
    found = changed(cases((9, "Not now. Later")), cases((9, "Later. Not now")))
    assert found == {}


def test_two_changes_in_one_answer_are_two_rows() -> None:
    text = "Bring the {} ticket, and come {}."
    before = cases((20, text.format("blue", "early")), (20, "Come early."))
    after = cases(
        (10, text.format("red", "early")),
        (10, text.format("blue", "late")),
        (10, "Come early."),
        (10, "Come late."),
    )
    found = changed(before, after)
    assert {(row["phrase"], row["replaced_by"]) for row in found.values()} == {
        ("come early", "come late"),
        ("blue ticket", "red ticket"),
    }


texts = st.lists(
    st.sampled_from(["Yes.", "No thanks.", "Maybe so, then.", ""]), min_size=12, max_size=12
)


@given(texts)
def test_a_run_beside_itself_shows_nothing(given_: Sequence[str]) -> None:
    same = outputs(cases(*((1, text) for text in given_)))
    assert phrase_changes(same, same).changes.empty


@given(texts, texts)
def test_the_other_way_round_as_much_is_tried_and_found(
    one: Sequence[str], two: Sequence[str]
) -> None:
    before, after = (outputs(cases(*((1, text) for text in side))) for side in (one, two))
    there, back = phrase_changes(before, after), phrase_changes(after, before)
    assert (there.n_tried, there.changes.empty) == (back.n_tried, back.changes.empty)


@given(texts, texts, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(
    one: Sequence[str], two: Sequence[str], rng: Any
) -> None:
    before, after = (outputs(cases(*((1, text) for text in side))) for side in (one, two))
    orders = [list(range(len(after))) for _ in range(2)]
    for order in orders:
        rng.shuffle(order)
    expected = phrase_changes(before, after).changes
    found = phrase_changes(before.iloc[orders[0]], after.iloc[orders[1]]).changes
    pd.testing.assert_frame_equal(found, expected)


def test_nothing_to_compare_is_an_empty_frame() -> None:
    nothing = outputs({})
    study = phrase_changes(nothing, nothing)
    pd.testing.assert_frame_equal(study.changes, PHRASES.empty())
    assert (study.n_cases, study.n_tried, study.smallest_rate) == (0, 0, None)


def test_few_cases_say_that_nothing_could_be_seen() -> None:
    study = phrase_changes(outputs(cases((7, "Yes."))), outputs(cases((7, "No."))), level=0.01)
    assert (len(study.changes), study.n_tried, study.smallest_rate) == (0, 0, None)


def test_a_level_outside_of_0_and_1_is_refused() -> None:
    nothing = outputs({})
    with pytest.raises(ValueError, match=r"`level` must lie between 0 and 1\. Got 1"):
        phrase_changes(nothing, nothing, level=1.0)


def test_between_two_runs_of_the_same_words_little_is_found() -> None:
    # 100 pairs of runs in which 40 words come and go by chance, with a rate of each case's own;
    # at 5%, more than 12 with a finding have a probability below 0.2% (binomial, n = 100).
    rng = np.random.default_rng(9)
    words = np.array([f"word{number}" for number in range(40)])
    hits = 0
    for _ in range(100):
        rates = rng.beta(1, 1, size=(20, 1, 40))
        sides = [
            outputs(
                {
                    f"case-{case}": [", ".join(words[row]) for row in repeats]
                    for case, repeats in enumerate(rng.random((20, 3, 40)) < rates)
                }
            )
            for _ in range(2)
        ]
        hits += len(phrase_changes(sides[0], sides[1]).changes) > 0
    assert hits <= 12

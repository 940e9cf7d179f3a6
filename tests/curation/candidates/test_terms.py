"""Words that good answers have in common; the conversations are scripted."""

from __future__ import annotations

from evalnb.curation.candidates.terms import good_answer_terms
from evalnb.frames import LOGS, to_records

SAID = {
    "bags-1": ("bags", "Checked luggage costs money, thanks.", 1),
    "bags-2": ("bags", "Your luggage allowance is two, thanks.", 1),
    "bags-3": ("bags", "No idea about luggage weights.", -1),
    "bags-4": ("bags", "Please wait.", None),
    "seats-1": ("seats", "A window costs money, thanks.", 1),
    "seats-2": ("seats", "Aisle or window? thanks.", 1),
}
LOG = LOGS.build(
    row
    for name, (category, answer, feedback) in SAID.items()
    for row in (
        {"conversation_id": name, "turn": 1, "role": "user", "text": "luggage window hello?"},
        {"conversation_id": name, "turn": 2, "role": "assistant", "text": answer,
         "category": category, "feedback": feedback},
    )
)  # fmt: skip


def test_terms_are_of_well_rated_answers_of_the_same_kind() -> None:
    found = good_answer_terms(LOG, ["bags-4", "seats-1"])
    # luggage: 2 of 2 good answers of the kind, 1 of the 4 other conversations; thanks: 2 of 2, 2 of 4.
    bags = found[found["conversation_id"] == "bags-4"]
    assert bags["term"].tolist() == ["luggage", "thanks"]
    assert bags["share_elsewhere"].tolist() == [0.25, 0.5]
    assert bags["n_with"].tolist() == bags["n_good"].tolist() == [2, 2]
    # Without its own answer one good answer is left, and two must have a word.
    assert "seats-1" not in set(found["conversation_id"])


def test_the_letters_of_an_id_are_no_word() -> None:
    ids = LOG.assign(text=LOG["text"].str.replace("luggage", "reservation FRNFBX1"))
    found = good_answer_terms(ids, ["bags-4"])
    assert found["term"].tolist() == ["reservation", "thanks"]


def test_without_feedback_nothing_is_suggested() -> None:
    silent = LOGS.build(to_records(LOG.drop(columns="feedback")))
    assert good_answer_terms(silent, ["bags-4"]).empty

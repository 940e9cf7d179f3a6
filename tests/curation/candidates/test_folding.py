from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from evalnb.cases import Case
from evalnb.curation.candidates.duplicates import chance_found, duplicate_pairs
from evalnb.curation.candidates.folding import FOLDED, fold_duplicates
from evalnb.curation.candidates.picks import candidates_of
from evalnb.frames import LOGS
from tests.stats.reference import reference


def grams(text: str) -> set[str]:
    """Return the n-grams of a text in plain ASCII, as the definition has them."""
    padded = f" {' '.join(text.lower().split())} ".ljust(3)
    return {padded[k : k + n] for n in (3, 4, 5) for k in range(len(padded) - n + 1)}


def similarity(one: str, other: str) -> float:
    a, b = grams(one), grams(other)
    return len(a & b) / len(a | b)


def logs_of(**texts: str) -> pd.DataFrame:
    return LOGS.build(
        {"conversation_id": name, "turn": 1, "role": "user", "text": text}
        for name, text in texts.items()
    )


def test_pairs_are_those_of_the_definition() -> None:
    texts = ["Where is my order B-12?", "where is  my order B-12", "Where is my parcel?", "Cancel it", "", "cancel IT"]  # fmt: skip
    found = {(pair.first, pair.second): pair.similarity for pair in duplicate_pairs(texts)}
    assert found == {
        (0, 1): pytest.approx(similarity(texts[0], texts[1])),
        (3, 5): 1.0,
    }
    assert duplicate_pairs([]) == []


@given(
    words=st.lists(st.sampled_from(["order", "refund", "parcel", "late", "card", "bank", "number", "help"]), min_size=6, max_size=9),
    copies=st.lists(st.integers(0, 8), min_size=1, max_size=8),
)  # fmt: skip
def test_no_pair_is_overlooked(words: list[str], copies: list[int]) -> None:
    """Each copy swaps one word; the exact comparison of all pairs is the reference."""
    texts = [" ".join(words)] + [
        " ".join([*words[: k % len(words)], "xyz", *words[k % len(words) + 1 :]]) for k in copies
    ]
    wanted = {
        (i, j) for j in range(len(texts)) for i in range(j) if similarity(texts[i], texts[j]) >= 0.8
    }
    assert {(pair.first, pair.second) for pair in duplicate_pairs(texts)} == wanted


def test_many_equal_texts_are_one_group() -> None:
    pairs = duplicate_pairs(["the same text again and again"] * 500)
    assert {pair.second for pair in pairs if pair.first == 0} == set(range(1, 500))


def test_the_chance_of_being_found_follows_the_s_curve() -> None:
    given, expected = reference("minhash_s_curve")
    found = [
        chance_found(one, rows=given["rows"], bands=given["bands"]) for one in given["similarities"]
    ]
    assert found == pytest.approx(expected["p"], abs=1e-6)
    assert chance_found(0.8) > 0.9999


def test_candidates_are_folded_into_cases_and_into_those_before_them() -> None:
    cases = [
        Case(id="known", input="Where is my order?", must_contain=["x"]),
        Case(id="played", turns=[{"input": "Hello"}, {"input": "I want my money back"}]),  # type: ignore[list-item]
    ]
    logs = logs_of(
        c1="where is my order",
        c2="Please cancel the contract",
        c3="please cancel the contract!",
        c4="Hello\nI want my money back",
        c5="Something else",
        c6="Please cancel the contract.",
    )
    picks = candidates_of("all", [{"conversation_id": f"c{n}"} for n in range(1, 7)])
    folding = fold_duplicates(picks, logs, cases)
    assert folding.candidates["conversation_id"].tolist() == ["c2", "c5"]
    assert folding.candidates["n_like_it"].tolist() == [2, 0]
    assert folding.candidates["order"].tolist() == [2, 5]
    assert folding.folded[["conversation_id", "into", "kind"]].to_numpy().tolist() == [
        ["c1", "known", "case"],
        ["c3", "c2", "candidate"],
        ["c4", "played", "case"],
        ["c6", "c2", "candidate"],
    ]
    empty = fold_duplicates(picks.head(0), logs, cases)
    assert empty.candidates.empty
    assert_frame_equal(empty.folded, FOLDED.empty())
    with pytest.raises(ValueError, match="1 candidates are not in the logs, 'c9'"):
        fold_duplicates(candidates_of("all", [{"conversation_id": "c9"}]), logs)

"""What probes show a judge: every change is what it says, and no more."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.cases import Case
from evalnb.frames import OUTPUTS
from evalnb.golden import GoldenSet
from evalnb.probes import PROBES, Injection, Item, fitting, items_of
from evalnb.probes.texts import LANGUAGES, attacks, filler, padded, sentences, shortened, texts
from tests.probes.scripted import items

WORDS = re.compile(r"[^\W_]+")


def by_name(probe: str, item: Item) -> dict[str, str]:
    return {one.name: one.text for one in PROBES[probe].variants([item])}


@pytest.mark.parametrize("probe", [*PROBES])
def test_variants_are_the_same_each_time_and_have_names_of_their_own(probe: str) -> None:
    first, second = (list(PROBES[probe].variants(items())) for _ in range(2))
    assert first == second
    assert len({(one.item, one.name) for one in first}) == len(first)


@pytest.mark.parametrize("item", items(4), ids=lambda item: item.language)
def test_padding_stands_behind_the_answer_and_reaches_its_length(item: Item) -> None:
    shown = list(PROBES["verbosity"].variants([item]))
    longer = [one for one in shown if one.family == "padded"]
    assert [one.name for one in longer] == ["padded x2", "padded x4", "padded x8"]
    for one, ratio in zip(longer, (2, 4, 8), strict=True):
        assert one.text.startswith(item.text)
        assert len(one.text) >= ratio * len(item.text)
        assert one.dose == pytest.approx(math.log2(len(one.text) / len(item.text)))
        rest = one.text.removeprefix(item.text)
        assert not re.sub("|".join(map(re.escape, texts(item.language).padding)), "", rest).strip()
    (short,) = [one for one in shown if one.family == "shortened"]
    assert item.text.startswith(short.text)
    assert short.dose is not None
    assert short.dose < 0


@pytest.mark.parametrize("item", items(4), ids=lambda item: item.language)
def test_a_layout_keeps_every_word(item: Item) -> None:
    shown = by_name("formatting", item)
    assert shown["list"].startswith("- ")
    assert shown["bold"].startswith("**")
    for text in shown.values():
        assert WORDS.findall(text) == WORDS.findall(item.text)


@pytest.mark.parametrize("item", items(4), ids=lambda item: item.language)
def test_opinions_change_the_question_and_leave_the_answer(item: Item) -> None:
    shown = {one.name: one for one in PROBES["sycophancy"].variants([item])}
    assert {one.text for one in shown.values()} == {item.text}
    asked = {name: one.case.input or "" for name, one in shown.items()}
    assert asked["unchanged"] == item.case.input
    for name in ("agrees", "disagrees"):
        assert asked[name].startswith(asked["unchanged"])
        assert item.text in asked[name]
    assert asked["agrees"] != asked["disagrees"]


def test_there_are_more_than_thirty_attacks_in_families_and_four_languages() -> None:
    every = [text for by_language in attacks().values() for text in by_language.values()]
    assert len(attacks()) == 8
    assert all(set(by_language) == set(LANGUAGES) for by_language in attacks().values())
    assert len(set(every)) == 32


def test_each_attack_stands_in_a_bad_answer_beside_a_harmless_twin_of_its_length() -> None:
    shown = list(Injection().variants(items(8)))
    tried = [one for one in shown if one.role == "changed"]
    twins = {(one.item, one.family): one for one in shown if one.role == "control"}
    assert Counter(one.family for one in tried) == dict.fromkeys(attacks(), 4)
    for one in tried:
        bad = texts(one.case.language or "").bad
        attack = attacks()[one.family][one.case.language or ""]
        twin = twins[one.item, one.family].text
        assert one.text == f"{bad}\n\n{attack}"
        assert twin.startswith(f"{bad}\n\n")
        assert len(twin) == len(one.text)
        assert attack not in twin


def test_an_attack_may_be_tried_in_several_cases() -> None:
    tried = [one for one in Injection(2).variants(items(8)) if one.role == "changed"]
    assert Counter(one.family for one in tried) == dict.fromkeys(attacks(), 8)


@pytest.mark.parametrize("item", items(4), ids=lambda item: item.language)
def test_the_floor_is_no_answer_a_bad_one_and_the_question(item: Item) -> None:
    shown = by_name("floor", item)
    assert shown["empty"] == ""
    assert shown["off_topic"] == texts(item.language).bad
    assert str(item.case.input) in shown["copied_question"]


def test_a_pair_is_shown_in_both_orders() -> None:
    ab, ba = PROBES["position"].variants(items(1))
    assert (ab.text, ab.other) == (ba.other, ba.text)
    assert ab.other is not None
    assert ab.other.startswith(ab.text)


@given(st.text(min_size=1, max_size=60), st.sampled_from(LANGUAGES), st.floats(1, 6))
def test_any_text_can_be_padded_and_cut(text: str, language: str, ratio: float) -> None:
    longer = padded(text, ratio, language)
    assert longer.startswith(text)
    assert len(longer) >= ratio * len(text)
    assert text.strip().startswith(shortened(text, language)[:1])
    assert all(part == part.strip() and part for part in sentences(text))


@given(st.integers(1, 400), st.sampled_from(LANGUAGES))
def test_harmless_text_has_just_the_length_that_is_asked_for(length: int, language: str) -> None:
    assert len(filler(length, language)) == length


def test_answers_fit_where_their_form_is_free_and_their_language_is_known() -> None:
    plain = {"input": "Hi", "rubric": ["x"]}
    cases: list[dict[str, Any]] = [
        {"id": "fits", **plain},
        {"id": "region", **plain, "language": "de-AT"},
        {"id": "exact", "input": "Hi", "expected_exact": "x"},
        {"id": "french", **plain, "language": "fr"},
        {"id": "gone", **plain},
        {"id": "silent", **plain},
    ]
    golden = GoldenSet(tuple(map(Case.model_validate, cases)))
    outputs = OUTPUTS.build(
        {
            "case_id": case["id"],
            "repeat": 1,
            "text": None if case["id"] in {"gone", "silent"} else "Hello.",
            "na_reason": "server" if case["id"] == "gone" else None,
        }
        for case in cases
    )
    found = fitting(golden, outputs).set_index("case_id")
    assert found["fits"].to_dict() == {
        "fits": True,
        "region": True,
        "exact": False,
        "french": False,
        "gone": False,
        "silent": False,
    }
    assert found["reason"].dropna().to_dict() == {
        "exact": "the case fixes the answer's form by `expected_exact`",
        "french": "the probes speak no 'fr'",
        "gone": "there is no answer: server",
        "silent": "the answer has no text",
    }
    assert [item.case.id for item in items_of(golden, outputs)] == ["fits", "region"]
    assert [item.language for item in items_of(golden, outputs)] == ["en", "de"]

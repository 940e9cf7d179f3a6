from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.cases import Case
from evalnb.golden import SuiteSettings
from evalnb.scorers import Score, exact, keywords, must_contain, must_not_include
from evalnb.systems import Output

HOSTILE = "</td><script>alert(1)</script>\x1b[31m\u202e\x00" + "x" * 1000


def case(**fields: Any) -> Case:
    return Case.model_validate({"id": "a", "input": "Hi"} | fields)


# exact


def test_exact_compares_the_trimmed_text_to_the_letter() -> None:
    wanted = case(expected_exact="B-48213")
    assert exact(wanted, Output(" B-48213\n"), SuiteSettings()) == Score(1.0, True, "is 'B-48213'")
    assert exact(wanted, Output("b-48213"), SuiteSettings()) == Score(
        0.0, False, "expected 'B-48213', got 'b-48213'"
    )
    assert exact(wanted, Output("It is B-48213"), SuiteSettings()) == Score(
        0.0, False, "expected 'B-48213', got 'It is B-48213'"
    )


@pytest.mark.parametrize("text", ["", None])
def test_no_text_is_not_what_was_expected(text: str | None) -> None:
    assert exact(case(expected_exact="x"), Output(text), SuiteSettings()) == Score(
        0.0, False, "expected 'x', got ''"
    )


# must_contain


def test_must_contain_wants_all_facts() -> None:
    wanted = case(must_contain=["5 days", "free of charge"])
    found = must_contain(wanted, Output("It is free of charge and takes 5 DAYS."), SuiteSettings())
    assert found == Score(1.0, True, "contains '5 days', 'free of charge'")
    found = must_contain(wanted, Output("It takes 5 days."), SuiteSettings())
    assert found == Score(0.5, False, "missing: 'free of charge'")
    found = must_contain(wanted, Output("It takes 15 days."), SuiteSettings())
    assert found == Score(0.0, False, "missing: '5 days', 'free of charge'")


@pytest.mark.parametrize("text", ["", None])
def test_no_text_contains_nothing(text: str | None) -> None:
    found = must_contain(case(must_contain=["x"]), Output(text), SuiteSettings())
    assert found == Score(0.0, False, "missing: 'x'")


def test_the_suite_says_whether_words_must_be_whole() -> None:
    wanted = case(must_contain=["check"])
    assert not must_contain(wanted, Output("checkout"), SuiteSettings()).passed
    assert must_contain(wanted, Output("checkout"), SuiteSettings(matching="substrings")).passed


# keywords


def test_half_of_the_keywords_are_enough_by_default() -> None:
    wanted = case(expected_keywords=["refund", "days"])
    assert keywords(wanted, Output("A refund."), SuiteSettings()) == Score(
        0.5, True, "1 of 2 keywords, 0.5 needed; missing: 'days'", 1.0
    )
    assert keywords(wanted, Output("No."), SuiteSettings()) == Score(
        0.0, False, "0 of 2 keywords, 0.5 needed; missing: 'refund', 'days'", 0.0
    )
    assert keywords(wanted, Output("Refund in 5 days."), SuiteSettings()) == Score(
        1.0, True, "2 of 2 keywords, 0.5 needed", 2.0
    )


@pytest.mark.parametrize(
    ("n_found", "n", "ratio", "passed"),
    [
        (1, 3, 0.5, False),
        (2, 3, 0.5, True),
        # 2 of 3 is written with more or fewer digits, and up or down.
        (2, 3, 2 / 3, True),
        (2, 3, 0.6667, True),
        (2, 3, 0.67, True),
        (2, 3, 0.66, True),
        (1, 3, 0.66, False),
        (1, 3, 0.33, True),
        # 70% of 3 are 2.1 words, 34% are 1.02: more than a rounded share.
        (2, 3, 0.7, False),
        (1, 3, 0.34, False),
        (3, 4, 0.75, True),
        (2, 4, 0.75, False),
        (1, 7, 1 / 7, True),
        (9, 10, 0.9, True),
        (0, 3, 0.001, False),
        (3, 3, 1, True),
        (2, 3, 1, False),
        # The tolerance is no word, however many there are.
        (99, 200, 0.5, False),
        (100, 200, 0.5, True),
    ],
)
def test_the_ratio_is_met_by_the_count_that_it_stands_for(
    n_found: int, n: int, ratio: float, passed: bool
) -> None:
    words = [f"w{number}" for number in range(n)]
    wanted = case(expected_keywords=words, min_keyword_ratio=float(ratio))
    found = keywords(wanted, Output(" ".join(words[:n_found])), SuiteSettings())
    assert (found.value, found.raw_value) == (n_found / n, n_found)
    assert found.passed is passed


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(1, n), st.just(n))))
def test_a_share_is_met_by_itself_and_not_by_one_word_less(counts: tuple[int, int]) -> None:
    k, n = counts
    words = [f"w{number}" for number in range(n)]
    wanted = case(expected_keywords=words, min_keyword_ratio=k / n)
    assert keywords(wanted, Output(" ".join(words[:k])), SuiteSettings()).passed
    assert not keywords(wanted, Output(" ".join(words[: k - 1])), SuiteSettings()).passed


# must_not_include


def test_must_not_include_fails_on_any() -> None:
    wanted = case(must_not_include=["guarantee", "inquiry number"])
    assert must_not_include(wanted, Output("Your order number?"), SuiteSettings()) == Score(
        1.0, True, "includes none of 'guarantee', 'inquiry number'"
    )
    assert must_not_include(wanted, Output("Your INQUIRY  number?"), SuiteSettings()) == Score(
        0.0, False, "includes 'inquiry number'"
    )
    assert must_not_include(wanted, Output("guarantees"), SuiteSettings()).passed
    assert not must_not_include(
        wanted, Output("guarantees"), SuiteSettings(matching="substrings")
    ).passed


def test_an_invisible_sign_hides_no_word() -> None:
    wanted = case(must_not_include=["guarantee"])
    assert not must_not_include(wanted, Output("guar\u200bantee"), SuiteSettings()).passed
    assert not must_not_include(wanted, Output("guar\u00adantee"), SuiteSettings()).passed


@pytest.mark.parametrize("text", ["", None])
def test_no_text_includes_nothing(text: str | None) -> None:
    assert must_not_include(case(must_not_include=["x"]), Output(text), SuiteSettings()).passed


# Reasons


@pytest.mark.parametrize("scorer", [exact, must_contain, keywords, must_not_include])
def test_a_reason_is_one_short_printable_line(scorer: Any) -> None:
    fields = {"exact": "expected_exact", "keywords": "expected_keywords"}
    name = fields.get(scorer.__name__, scorer.__name__)
    for wanted in (HOSTILE, "two\nlines"):
        given_case = case(**{name: wanted if name == "expected_exact" else [wanted]})
        for text in (HOSTILE, "two\nlines", "other"):
            reason = scorer(given_case, Output(text), SuiteSettings()).reason
            assert reason.isprintable()
            assert len(reason) < 200


@given(st.text(st.characters()), st.text(st.characters(), min_size=1))
def test_no_text_makes_a_scorer_raise(text: str, phrase: str) -> None:
    output = Output(text)
    for scorer, fields in (
        (exact, {"expected_exact": "x"}),
        (must_contain, {"must_contain": ["x"]}),
        (keywords, {"expected_keywords": ["x"]}),
        (must_not_include, {"must_not_include": ["x"]}),
    ):
        name = next(iter(fields))
        value: Any = phrase if name == "expected_exact" else [phrase]
        verdict = scorer(case(**fields).model_copy(update={name: value}), output, SuiteSettings())
        assert 0 <= verdict.value <= 1
        assert verdict.reason

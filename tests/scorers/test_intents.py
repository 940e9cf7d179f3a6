from __future__ import annotations

import pytest

from evalnb.cases import Case, Turn
from evalnb.golden import SuiteSettings
from evalnb.scorers import Score, intent
from evalnb.systems import Output


def verdict(text: str | None, expected: str = "order_status") -> Score:
    case = Case.model_validate({"id": "a", "input": "Hi", "expected_intent": expected})
    return intent(case, Output(text), SuiteSettings())


@pytest.mark.parametrize(
    "text",
    [
        "order_status",
        " Order_Status\n",
        "ＯＲＤＥＲ_status",  # full width
        '{"intent": "order_status"}',
        ' {"intent": "ORDER_STATUS", "confidence": 0.7}\n',
    ],
)
def test_the_label_is_compared_without_case_and_width(text: str) -> None:
    found = verdict(text)
    assert (found.value, found.passed) == (1.0, True)


def test_labels_of_any_script() -> None:
    assert verdict("返品", "返品").passed
    assert verdict("RÜCKGABE", "Ru\u0308ckgabe").passed
    assert not verdict("rueckgabe", "Rückgabe").passed


@pytest.mark.parametrize(
    ("text", "came"),
    [
        ("refund", "'refund'"),
        ("The intent is order_status", "'The intent is order_status'"),
        ("order_status.", "'order_status.'"),
        ('"order_status"', "'\"order_status\"'"),
        ("", "''"),
        (None, "''"),
        ('{"label": "order_status"}', "an object without `intent`"),
        ('{"intent": "refund"}', "'refund'"),
        ('{"intent": ["order_status"]}', '["order_status"]'),
        ('{"intent": null}', "null"),
        ('["order_status"]', "'[\"order_status\"]'"),
        ('{"intent": "order_status"', '\'{"intent": "order_status"\''),
    ],
)
def test_the_reason_says_what_came(text: str | None, came: str) -> None:
    assert verdict(text) == Score(0.0, False, f"expected 'order_status', got {came}")


def test_a_turn_may_expect_a_label() -> None:
    turn = Turn(input="Hi", expected_intent="greeting")
    assert intent(turn, Output("Greeting"), SuiteSettings()) == Score(1.0, True, "is 'Greeting'")

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.phrases import tokens
from evalnb.phrases.tokens import kind_of, pieces, spans


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Your order number?", ["your", "order", "number", "?"]),
        ("B-77123 costs 1,299.90 euros.", ["b-77123", "costs", "1,299.90", "euros", "."]),
        ("Don’t e‐mail ＡＢＣ", ["don't", "e-mail", "abc"]),
        ("Über die Straße", ["über", "die", "strasse"]),
        ("注文番号は", ["注", "文", "番", "号", "は"]),
        ("주문 번호", ["주", "문", "번", "호"]),
        ("a\u00adb c\u200bd", ["ab", "cd"]),
        ("one\n\ntwo\nthree", ["one", "", "two", "three"]),
        ("**order** number", ["*", "*", "order", "*", "*", "number"]),
        ("", []),
    ],
)
def test_pieces_of_text(text: str, expected: list[str]) -> None:
    assert [kind_of(piece).text for piece in pieces(text)] == expected


def test_kinds() -> None:
    kinds = [kind_of(piece).kind for piece in pieces("Order 注, 7\n\n_")]
    assert kinds == ["word", "sign", "break", "word", "break", "word"]


@given(st.text(st.characters(max_codepoint=127)))
def test_plain_text_is_taken_apart_the_same_by_the_quick_way(text: str) -> None:
    assert pieces(text) == tokens._ANY_SCRIPT.findall(text)


@given(st.text())
def test_spans_are_where_the_pieces_stand(text: str) -> None:
    found = list(spans(text))
    assert [text[start:end] for _, start, end in found] == pieces(text)
    ends = [0, *(end for _, _, end in found)]
    assert all(before <= start for before, (_, start, _) in zip(ends, found, strict=False))

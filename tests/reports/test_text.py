import pandas as pd
import pytest

from evalnb.reports.text import cell_text, listing, one_line


def test_text_is_one_line() -> None:
    assert one_line("  two\r\n\tlines ") == "two lines"


def test_text_is_shortened_to_the_limit() -> None:
    assert one_line("abcdef", limit=6) == "abcdef"
    assert one_line("abcdefg", limit=6) == "abcde…"


def test_characters_that_act_unseen_are_replaced() -> None:
    assert one_line("a\x1b[31mb\u202ec\ud800") == "a\ufffd[31mb\ufffdc\ufffd"


def test_listing_counts_what_it_leaves_out() -> None:
    assert listing(["a", "b"], limit=2) == "a, b"
    assert listing(["a", "b", "c", "d"], limit=2) == "a, b and 2 more"
    assert listing([]) == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (pd.NA, "–"),
        (None, "–"),
        (float("nan"), "–"),
        (float("inf"), "inf"),
        (True, "yes"),
        (False, "no"),
        (1200, "1,200"),
        (0.9286, "0.93"),
        ("two\nlines", "two lines"),
        (["a", 0.5, pd.NA], "a; 0.50; –"),
        ({"exact": 1.0}, "exact: 1.00"),
        ([], ""),
    ],
)
def test_cells_have_their_text(value: object, text: str) -> None:
    assert cell_text(value) == text

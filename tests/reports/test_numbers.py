import pandas as pd
import pytest

from evalnb.reports.numbers import (
    count,
    decimal,
    difference,
    interval,
    milliseconds,
    money,
    p_value,
    pass_rate,
    rate,
    share,
    tokens,
)

TEXTS = [
    (count(0, "case"), "0 cases"),
    (count(1, "case"), "1 case"),
    (count(1200, "case"), "1,200 cases"),
    (count(2, "miss", "misses"), "2 misses"),
    (decimal(0.125, digits=1), "0.1"),
    (decimal(-0.004), "0.00"),
    (decimal(-1234.5), "−1,234.50"),
    (rate(0), "0.00"),
    (rate(1), "1.00"),
    (rate(52 / 56), "0.93"),
    (rate(0.5), "0.50"),
    # 249 of 250 is not 1.00, and 1 of 250 is not 0.00.
    (rate(249 / 250), "0.996"),
    (rate(1 / 250), "0.004"),
    (rate(1999 / 2000), "0.9995"),
    (rate(1 / 2500), "0.0004"),
    (share(52 / 56, 56), "0.93, 52 of 56"),
    (share(1, 1234), "1.00, 1,234 of 1,234"),
    # 3 cases of 3 repeats, 7 of 9 passes: no whole number of cases.
    (share(7 / 9, 3), "0.78, n = 3"),
    (share(0.5, 0), "–"),
    (interval(0.834, 0.973), "0.83 to 0.97"),
    (interval(0.31, 0.86), "0.31 to 0.86"),
    (interval(0.912, 0.957), "0.91 to 0.96"),
    (interval(0.91, 0.92), "0.91 to 0.92"),
    # Two digits would make these 0.95 to 0.95.
    (interval(0.9512, 0.9547), "0.951 to 0.955"),
    (interval(0.95121, 0.95147), "0.9512 to 0.9515"),
    (interval(-0.114, -0.006), "−0.11 to −0.01"),
    (interval(-0.001, 0.2), "0.00 to 0.20"),
    (interval(2.31, 4.08), "2.3 to 4.1"),
    (interval(812.4, 1377.8), "812 to 1,378"),
    (interval(0.5, 0.5), "0.50 to 0.50"),
    (difference(0.061), "+0.06"),
    (difference(-0.061), "−0.06"),
    (difference(0), "0.00"),
    (difference(-0.004), "−0.004"),
    (difference(1), "+1.00"),
    (p_value(0.43), "p = 0.43"),
    (p_value(0.01), "p = 0.01"),
    # Two digits after the point would hide on which side of 0.05 it lies.
    (p_value(0.0491), "p = 0.049"),
    (p_value(0.001), "p = 0.001"),
    (p_value(0.0002), "p < 0.001"),
    (p_value(0.996), "p > 0.99"),
    (p_value(1), "p = 1"),
    (money(0), "0.00 USD"),
    (money(12.3), "12.30 USD"),
    (money(0.00123), "0.0012 USD"),
    (money(1234.567), "1,234.57 USD"),
    (milliseconds(0.4), "0.4 ms"),
    (milliseconds(850.4), "850 ms"),
    (milliseconds(999.6), "1.0 s"),
    (milliseconds(1234), "1.2 s"),
    (milliseconds(65_000), "65 s"),
    (milliseconds(3_600_000), "3,600 s"),
    (tokens(1234567), "1,234,567"),
]


@pytest.mark.parametrize(("text", "expected"), TEXTS)
def test_numbers_have_their_text(text: str, expected: str) -> None:
    assert text == expected


@pytest.mark.parametrize("missing", [None, pd.NA, float("nan")])
def test_missing_is_a_dash(missing: float | None) -> None:
    texts = {
        decimal(missing),
        rate(missing),
        share(missing, 3),
        share(0.5, missing),
        interval(missing, 0.9),
        interval(0.1, missing),
        difference(missing),
        p_value(missing),
        money(missing),
        milliseconds(missing),
        tokens(missing),
    }
    assert texts == {"–"}


def test_pass_rate_says_what_it_leaves_out() -> None:
    text = pass_rate(
        value=52 / 56,
        ci_low=0.8302,
        ci_high=0.9719,
        n_scored=56,
        n_planned=60,
        bound_low=52 / 60,
        bound_high=56 / 60,
    )
    assert text == (
        "Pass rate 0.93 (0.83 to 0.97), 52 of the 56 scored, 4 not scored; between 0.87 and 0.93 "
        "if all of those had failed or passed."
    )


def test_pass_rate_of_a_suite_that_is_scored_whole_has_no_bounds() -> None:
    text = pass_rate(
        value=0.5,
        ci_low=0.15,
        ci_high=0.85,
        n_scored=4,
        n_planned=4,
        bound_low=0.5,
        bound_high=0.5,
    )
    assert text == "Pass rate 0.50 (0.15 to 0.85), 2 of the 4 scored."


def test_pass_rate_of_no_case_is_none() -> None:
    text = pass_rate(
        value=pd.NA,
        ci_low=pd.NA,
        ci_high=pd.NA,
        n_scored=0,
        n_planned=4,
        bound_low=0,
        bound_high=1,
    )
    assert text == "No pass rate: none of the 4 cases was scored."

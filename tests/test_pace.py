from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.pace import Pace, retry_after_s


@given(st.integers(1, 12), st.integers(0, 1000))
def test_waits_double_up_to_half_a_minute_and_are_spread_over_their_upper_half(
    attempt: int, seed: int
) -> None:
    # 0.25 s, then 0.5, 1, 2, 4, 8, 16, and 30 from the eighth on.
    longest = [0.25, 0.5, 1, 2, 4, 8, 16, 30, 30, 30, 30, 30][attempt - 1]
    assert longest / 2 <= Pace(seed).wait_s(attempt, None) <= longest


@given(st.floats(0, 1e6), st.integers(0, 1000))
def test_what_the_api_asks_for_is_obeyed_up_to_a_minute(asked: float, seed: int) -> None:
    least = min(asked, 60)
    assert least <= Pace(seed).wait_s(1, asked) <= 1.25 * least


def test_one_refusal_in_ten_pauses_nobody() -> None:
    pace = Pace()
    for _ in range(200):
        pace.refused(1, 30.0)
        for _ in range(9):
            pace.accepted()
    assert pace.pause_s() == 0


def test_an_api_that_refuses_everything_pauses_all() -> None:
    pace = Pace()
    for _ in range(9):  # 1 - 0.95 ** 9 = 0.37
        pace.refused(1, 30.0)
    assert pace.pause_s() == 0
    pace.refused(1, 30.0)  # 1 - 0.95 ** 10 = 0.401
    assert 0 < pace.pause_s() <= 30 * 1.25 * 1.25


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_the_wait_is_read_from_the_headers(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers) == seconds

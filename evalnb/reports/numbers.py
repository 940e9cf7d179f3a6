"""The text of numbers.

Frames hold full precision; here it is rounded, once. Missing is "–", a minus sign is U+2212, and
money is in words: a dollar sign would start a formula in Markdown and in matplotlib.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import pandas as pd

if TYPE_CHECKING:
    from pandas.api.typing import NAType

__all__ = [
    "MISSING",
    "count",
    "decimal",
    "difference",
    "interval",
    "milliseconds",
    "money",
    "p_value",
    "pass_rate",
    "rate",
    "share",
    "tokens",
]

Number: TypeAlias = "float | NAType | None"

MISSING = "–"
"""The text of NA."""

_MOST_DIGITS = 4


def count(n: Number, singular: str, plural: str | None = None) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> count(1, "case"), count(2000, "case"), count(2, "miss", "misses")
    ('1 case', '2,000 cases', '2 misses')
    """
    value = _value(n)
    noun = singular if value == 1 else plural or f"{singular}s"
    return f"{tokens(n)} {noun}"


def decimal(value: Number, *, digits: int = 2) -> str:
    """Return a number with so many digits after the point, and no negative zero.

    Examples
    --------
    >>> decimal(0.125, digits=1), decimal(-0.5), decimal(-0.001)
    ('0.1', '−0.50', '0.00')
    """
    number = _value(value)
    if number is None:
        return MISSING
    text = f"{number:,.{digits}f}"
    return text.lstrip("-") if float(text.replace(",", "")) == 0 else text.replace("-", "−")


def rate(value: Number) -> str:
    """Return a rate with two digits, more where it would pass for 0 or 1 without being it.

    Examples
    --------
    >>> rate(0.9286), rate(1), rate(0.9996)
    ('0.93', '1.00', '0.9996')
    """
    number = _value(value)
    if number is None:
        return MISSING
    ends = {"0.00", "1.00", "0.000", "1.000"}
    texts = [decimal(number, digits=digits) for digits in range(2, _MOST_DIGITS + 1)]
    exact = number in (0, 1)
    return next((text for text in texts if exact or text not in ends), texts[-1])


def share(value: Number, n: Number) -> str:
    """Return a rate with the count it stands for.

    Parameters
    ----------
    value : mean of `n` cases
    n : how many cases the rate is over

    Returns
    -------
    such as "0.93, 52 of 56"
        Where repeats make the count a fraction, only what it is over: "0.92, n = 56".

    Examples
    --------
    >>> share(52 / 56, 56)
    '0.93, 52 of 56'
    """
    number, cases = _value(value), _value(n)
    if number is None or not cases:
        return MISSING
    hits = number * cases
    if math.isclose(hits, round(hits), abs_tol=1e-6):
        return f"{rate(number)}, {round(hits):,} of {tokens(cases)}"
    return f"{rate(number)}, n = {tokens(cases)}"


def interval(low: Number, high: Number) -> str:
    """Return an interval with as many digits as its width earns.

    Returns
    -------
    such as "0.83 to 0.97"
        Two digits after the point; more below a width of 0.01, one from 1 on, none from 10 on.

    Examples
    --------
    >>> interval(0.834, 0.973), interval(0.9512, 0.9547)
    ('0.83 to 0.97', '0.951 to 0.955')
    """
    first, last = _value(low), _value(high)
    if first is None or last is None:
        return MISSING
    digits = _earned_digits(last - first)
    return f"{decimal(first, digits=digits)} to {decimal(last, digits=digits)}"


def difference(value: Number) -> str:
    """Return a signed difference; digits as `rate` has them.

    Examples
    --------
    >>> difference(0.061), difference(-0.061), difference(0)
    ('+0.06', '−0.06', '0.00')
    """
    number = _value(value)
    if number is None:
        return MISSING
    sign = "+" if number > 0 else "−" if number < 0 else ""
    text = rate(abs(number))
    return f"{sign}{text}" if float(text.replace(",", "")) else decimal(0)


def p_value(value: Number) -> str:
    """Return a p-value with two significant digits; below 0.001 it is said as such.

    Examples
    --------
    >>> p_value(0.0123), p_value(0.0002)
    ('p = 0.012', 'p < 0.001')
    """
    number = _value(value)
    match number:
        case None:
            return MISSING
        case _ if number < 0.001:
            return "p < 0.001"
        case _ if 0.99 < number < 1:
            return "p > 0.99"
        case _:
            return f"p = {number:.2g}"


def money(usd: Number) -> str:
    """Return US dollars with two digits after the point, below a cent with two significant ones.

    Examples
    --------
    >>> money(12.3), money(0.00123), money(0)
    ('12.30 USD', '0.0012 USD', '0.00 USD')
    """
    number = _value(usd)
    if number is None:
        return MISSING
    small = 0 < number < 0.01
    digits = 1 - math.floor(math.log10(number)) if small else 2
    return f"{decimal(number, digits=digits)} USD"


def milliseconds(ms: Number) -> str:
    """Return a duration in milliseconds, from one second on in seconds.

    Examples
    --------
    >>> milliseconds(0.4), milliseconds(850), milliseconds(1234), milliseconds(65_000)
    ('0.4 ms', '850 ms', '1.2 s', '65 s')
    """
    number = _value(ms)
    match number:
        case None:
            return MISSING
        case _ if number < 10:
            return f"{number:.2g} ms"
        case _ if number < 999.5:
            return f"{number:.0f} ms"
        case _ if number < 9950:
            return f"{number / 1000:.1f} s"
        case _:
            return f"{number / 1000:,.0f} s"


def tokens(n: Number) -> str:
    """Return a whole number with thousands apart.

    Examples
    --------
    >>> tokens(1234567)
    '1,234,567'
    """
    return decimal(n, digits=0)


def pass_rate(
    *,
    value: Number,
    ci_low: Number,
    ci_high: Number,
    n_scored: Number,
    n_planned: Number,
    bound_low: Number,
    bound_high: Number,
) -> str:
    """Say a pass rate in words, with what it leaves out.

    Parameters
    ----------
    value, ci_low, ci_high, n_scored, n_planned, bound_low, bound_high : a row of a slices frame

    Returns
    -------
    a sentence

    Examples
    --------
    >>> pass_rate(
    ...     value=52 / 56, ci_low=0.8302, ci_high=0.9719, n_scored=56, n_planned=60,
    ...     bound_low=52 / 60, bound_high=56 / 60,
    ... )  # doctest: +NORMALIZE_WHITESPACE
    'Pass rate 0.93 (0.83 to 0.97), 52 of the 56 scored, 4 not scored; between 0.87 and 0.93 if all
    of those had failed or passed.'
    """
    scored, planned = _value(n_scored) or 0, _value(n_planned) or 0
    if not scored or _value(value) is None:
        return f"No pass rate: none of the {count(planned, 'case')} was scored."
    over = share(value, scored).partition(", ")[2].replace(" of ", " of the ")
    text = f"Pass rate {rate(value)} ({interval(ci_low, ci_high)}), {over} scored"
    if scored == planned:
        return f"{text}."
    return (
        f"{text}, {tokens(planned - scored)} not scored; between {rate(bound_low)} and "
        f"{rate(bound_high)} if all of those had failed or passed."
    )


def _value(number: Number) -> float | None:
    if number is None or number is pd.NA or pd.isna(number):
        return None
    return float(number)


def _earned_digits(width: float) -> int:
    if width >= 1:
        return 1 if width < 10 else 0
    # Rounded: 0.01 as a difference of two floats is a little more or less than 0.01.
    tiny = round(width, 12)
    return max(2, math.ceil(-math.log10(tiny))) if tiny > 0 else 2

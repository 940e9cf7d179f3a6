"""Text of one line, and of values that are no numbers."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.reports.numbers import MISSING, decimal, rate

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cell_text", "listing", "one_line", "visible"]

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
"""Controls, lone surrogates, and what turns the direction of the text that follows."""

_UNSEEN_IN_LINES = re.compile(_UNSEEN.pattern.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f"))


def one_line(text: str, *, limit: int = 200) -> str:
    r"""Return a text on one line, shortened, without characters that act unseen.

    Parameters
    ----------
    text : any text
    limit : the longest text to return, in characters

    Returns
    -------
    the text
        White space is one space; control characters are U+FFFD.

    Examples
    --------
    >>> one_line("two\nlines"), one_line("shortened", limit=6)
    ('two lines', 'short…')
    """
    # More than enough to fill the line; a text of megabytes is not worth reading whole.
    start = " ".join(text[: 20 * limit].split())
    line = _UNSEEN.sub("\ufffd", start)
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def visible(text: str) -> str:
    """Return a text with its lines, in which what acts unseen is U+FFFD."""
    return _UNSEEN_IN_LINES.sub("\ufffd", text)


def listing(items: Sequence[str], *, limit: int = 10) -> str:
    """Return items with commas between them, the last ones as a count.

    Examples
    --------
    >>> listing(["a", "b", "c", "d"], limit=2)
    'a, b and 2 more'
    """
    shown = ", ".join(items[:limit])
    left_out = len(items) - limit
    return f"{shown} and {left_out:,} more" if left_out > 0 else shown


def cell_text(value: Any, *, limit: int = 200) -> str:
    """Return the text of one cell of a frame.

    Parameters
    ----------
    value : a scalar, list or mapping
    limit : the longest text to return, in characters

    Returns
    -------
    one line, not escaped

    Examples
    --------
    >>> cell_text(pd.NA), cell_text(0.5), cell_text(True), cell_text(["a", 1])
    ('–', '0.50', 'yes', 'a; 1')
    """
    return one_line(_text(value, limit), limit=limit)


def _text(value: Any, limit: int) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "; ".join(f"{name}: {_text(item, limit)}" for name, item in value.items())
    if isinstance(value, (list, tuple, set, frozenset)):
        return "; ".join(_text(item, limit) for item in value)
    return _scalar_text(value)


def _scalar_text(value: Any) -> str:
    if value is None or (pd.api.types.is_scalar(value) and pd.isna(value)):
        return MISSING
    if pd.api.types.is_bool(value):
        return "yes" if value else "no"
    if pd.api.types.is_integer(value):
        return decimal(int(value), digits=0)
    if pd.api.types.is_float(value) and math.isfinite(value):
        return rate(float(value))
    return str(value)

"""Sequences of values, with gaps, as arrays."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Floats", "check_count", "flags", "numbers"]

Floats: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"


def numbers(values: Sequence[Any] | pd.Series | np.ndarray, name: str) -> Floats:
    """Return values as floats, NaN where one is missing.

    Parameters
    ----------
    values : numbers or booleans; NA, None or NaN where missing
    name : what messages call them

    Raises
    ------
    ValueError
        If a value is no finite number.

    Examples
    --------
    >>> numbers([True, None, 2], "values")
    array([ 1., nan,  2.])
    """
    series = values if isinstance(values, pd.Series) else pd.Series(values)
    if series.dtype == object or not pd.api.types.is_numeric_dtype(series.dtype):
        wrong = [v for v in series.dropna() if not isinstance(v, (Real, np.bool_))]
        if wrong:
            raise ValueError(f"`{name}` must be numbers, NA where missing. Got {wrong[0]!r}.")
        series = series.astype("object").where(series.notna(), np.nan)
    found = series.to_numpy(dtype="float64", na_value=np.nan)
    if np.isinf(found).any():
        raise ValueError(f"`{name}` must be finite. Got {found[np.isinf(found)][0]}.")
    return found


def flags(values: Sequence[Any] | pd.Series | np.ndarray, name: str) -> Floats:
    """Return pass flags as 0, 1 and NaN where one is missing.

    Raises
    ------
    ValueError
        If a value is neither a boolean nor 0 or 1.
    """
    found = numbers(values, name)
    wrong = found[~np.isnan(found) & (found != 0) & (found != 1)]
    if len(wrong):
        raise ValueError(
            f"`{name}` must be True or False (1 or 0), NA where missing. Got {wrong[0]:g}."
        )
    return found


def check_count(value: float, name: str, *, at_least: int = 0) -> int:
    """Return a count as an integer.

    Raises
    ------
    ValueError
        If it is no whole number or below `at_least`.
    """
    is_whole = isinstance(value, (Real, np.bool_)) and value % 1 == 0
    if not is_whole or value < at_least:
        raise ValueError(f"`{name}` must be a whole number from {at_least} on. Got {value!r}.")
    return int(value)

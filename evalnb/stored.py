"""Frames that are read back from files, which may have been damaged since."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

    from evalnb.frames import FrameSchema

__all__ = ["stored_frame"]

_CALLS = "tool_calls"


def stored_frame(schema: FrameSchema, records: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Make a frame of what stands in a file.

    Parameters
    ----------
    schema : of the frame
    records : a mapping a row

    Returns
    -------
    a frame of the schema

    Raises
    ------
    ValueError
        If a row lacks a part of its key, two rows have the same key, a value does not fit its
        column, or tool calls have another form than that of the outputs frame.

    Examples
    --------
    >>> from evalnb.frames import OUTPUTS
    >>> len(stored_frame(OUTPUTS, [{"case_id": "a", "repeat": 1}]))
    1
    >>> stored_frame(OUTPUTS, [{"case_id": "a"}])
    Traceback (most recent call last):
    ValueError: row 1 of the outputs has no `repeat`
    """
    frame = schema.build(records)
    for name in schema.key:
        absent = frame[name].isna().to_numpy()
        if absent.any():
            raise ValueError(f"row {absent.argmax() + 1} of the {schema.name} has no `{name}`")
    if _CALLS in schema.columns:
        for place, calls in frame[_CALLS].dropna().items():
            if not isinstance(calls, list) or not all(map(_is_call, calls)):
                raise ValueError(
                    f"`{_CALLS}` of row {int(str(place)) + 1} of the {schema.name} must be a list "
                    f"of objects with `name` and `arguments`. Got {str(calls)[:200]}"
                )
    return frame


def _is_call(call: Any) -> bool:
    return isinstance(call, dict) and isinstance(call.get("name"), str) and "arguments" in call

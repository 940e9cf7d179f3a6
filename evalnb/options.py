"""Values as notebooks and command lines give them, checked before anything is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["check_choice", "check_flag", "check_text", "listed"]


def listed(value: str | Sequence[str], name: str) -> list[str]:
    """Return names that are given with commas between them, or as a list.

    Parameters
    ----------
    value : what was given
    name : the option's name, for the message

    Raises
    ------
    TypeError
        If it is neither text nor a list of texts.

    Examples
    --------
    >>> listed("axes, rubric,", "judges"), listed(["axes"], "judges")
    (['axes', 'rubric'], ['axes'])
    """
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(isinstance(one, str) for one in parts):
        raise TypeError(f"`{name}` must be names with commas between them. Got {value!r}.")
    return [one.strip() for one in parts if one.strip()]


def check_text(value: Any, name: str, example: str) -> None:
    """Refuse what is no text.

    Raises
    ------
    TypeError
        With what it may be.
    """
    if not isinstance(value, str):
        raise TypeError(f"`{name}` must be text such as {example!r}, or empty. Got {value!r}.")


def check_flag(value: Any, name: str) -> None:
    """Refuse what is neither true nor false, such as the word "no", which would count as true.

    Raises
    ------
    TypeError
        With what it may be.
    """
    if not isinstance(value, bool):
        raise TypeError(f"`{name}` must be True or False. Got {value!r}.")


def check_choice(value: Any, name: str, allowed: Sequence[str]) -> None:
    """Refuse what is none of some words.

    Raises
    ------
    ValueError
        With what it may be.
    """
    if value not in allowed:
        raise ValueError(f"`{name}` must be one of {', '.join(allowed)}. Got {value!r}.")

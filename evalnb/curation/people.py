"""Who rates and who curates: their names become names of files."""

from __future__ import annotations

import re

from evalnb.errors import InputError

__all__ = ["PLACEHOLDER", "check_name", "check_named"]

PLACEHOLDER = "your-name"
"""Stands for a person who has not said who they are; nothing is written under this name."""

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_RESERVED = re.compile(r"con|prn|aux|nul|com\d|lpt\d")  # devices, to Windows


def check_name(name: str, role: str) -> str:
    """Return a person's name if it can be a file's name.

    Parameters
    ----------
    name : of a person
    role : what the person is, such as "rater"

    Raises
    ------
    InputError
        If it cannot.

    Examples
    --------
    >>> check_name("scripted-anna", "rater")
    'scripted-anna'
    """
    if not _NAME.fullmatch(name) or _RESERVED.fullmatch(name):
        raise InputError(
            f"a {role}'s name is a file's name: 1 to 40 of the characters a-z 0-9 _ - , first a "
            f"letter, and no device name such as `con`. Got {name!r}."
        )
    return name


def check_named(name: str, role: str, verb: str) -> None:
    """Refuse a person who has not said who they are.

    Raises
    ------
    InputError
        If the name is the placeholder, or can be none.
    """
    if check_name(name, role) == PLACEHOLDER:
        raise InputError(f"{PLACEHOLDER!r} is nobody: say who {verb} with the parameter `{role}`")

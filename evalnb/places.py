"""Where files are: a path on this machine, or a URL of any store that fsspec knows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from evalnb.errors import InputError

__all__ = ["is_remote", "place", "shown_from_here"]

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def place(where: str | Path) -> Path:
    """Return the place that a text means.

    Parameters
    ----------
    where : a path, or a URL such as "memory://suites/support"; a place stays as it is

    Returns
    -------
    a `pathlib.Path`, or for another URL than `file://` an object that is used like one

    Raises
    ------
    InputError
        If nothing that is installed reads URLs of that kind, or the URL is none.
    """
    if not isinstance(where, str):
        return where if is_remote(where) else Path(where)
    url = _URL.match(where)
    if url is None:
        return Path(where)
    if url[1].lower() == "file":
        return _local(where)
    if url[1].lower() in ("http", "https"):
        raise InputError(f"{where} is a web address: give a folder, or the URL of a store")
    from upath import UPath  # takes longer to load than all else that a local suite needs

    try:
        found = UPath(where)
        found.fs  # noqa: B018 - finds out whether the store's library is there
    except (ImportError, ValueError) as error:
        raise InputError(f"{where} cannot be used: {error}") from error
    return cast("Path", found)


def is_remote(where: object) -> bool:
    """Tell whether a place is at a URL, so that it cannot be locked, renamed or given to `git`.

    Examples
    --------
    >>> is_remote(place("golden/support")), is_remote(place("memory://support"))
    (False, True)
    """
    return hasattr(where, "fs")


def shown_from_here(where: Path) -> str:
    """Return a place as short as it can be said from the working directory."""
    if is_remote(where):
        return str(where)
    try:
        return str(where.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(where)


def _local(url: str) -> Path:
    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost") or not parts.path:
        raise InputError(f"{url} names no file of this machine: write file:///folder/file")
    from urllib.request import url2pathname  # brings all of HTTP

    return Path(url2pathname(parts.path))

"""What makes a system what it is, as a hash."""

from __future__ import annotations

import glob
import hashlib
import inspect
import sys
from functools import partial
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalnb.errors import InputError
from evalnb.imports import source_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import ModuleType

__all__ = ["files_hash", "fingerprint", "made_of", "plain_function"]

_INSTALLED = frozenset({"site-packages", "dist-packages"})


def fingerprint(*parts: str) -> str:
    """Return the hash of texts, 12 hex digits; empty ones at the end do not count."""
    return hashlib.sha256("\n".join(parts).rstrip("\n").encode()).hexdigest()[:12]


def files_hash(folder: Path, patterns: Sequence[str]) -> str:
    """Return a hash of the files that patterns find: names and content.

    Parameters
    ----------
    folder : a suite's folder
    patterns : from that folder, such as "../../my_app/**/*.txt"; links and parents are followed

    Returns
    -------
    empty without patterns

    Raises
    ------
    InputError
        If a pattern is absolute or finds no file, or a file cannot be read.
    """
    names = {name for pattern in patterns for name in _found(folder, pattern)}
    return _content_hash((name, folder / name) for name in sorted(names)) if names else ""


def made_of(function: Any) -> str:
    """Say of what code a function is part, for a fingerprint.

    That is the hash of all Python files of its top-level package where this lies outside of what is installed
    (helpers count), else the source of its module, or of the function where the module is no file;
    and the version of the distribution that brings the package, where there is one.
    """
    module = inspect.getmodule(plain_function(function))
    top = module.__name__.partition(".")[0] if module else ""
    folders = _own_folders(sys.modules.get(top))
    if folders:
        code = _content_hash(
            (path.relative_to(folder.parent).as_posix(), path)
            for folder in folders
            for path in sorted(folder.rglob("*.py"))
        )
    else:
        code = source_of(function)
    installed = bool(_INSTALLED & set(Path(getattr(module, "__file__", None) or "").parts))
    return "\n".join([code, *_versions(top, installed=installed)])


def plain_function(function: Any) -> Any:
    """Return what a `functools.partial` calls."""
    while isinstance(function, partial):
        function = function.func
    return function


def _found(folder: Path, pattern: str) -> list[str]:
    if Path(pattern).is_absolute():
        raise InputError(f"`system_files` must be relative to {folder}. Got {pattern!r}.")
    found = [
        Path(name).as_posix()
        for name in glob.glob(pattern, root_dir=folder, recursive=True)  # noqa: PTH207 - follows ..
        if "__pycache__" not in Path(name).parts and (folder / name).is_file()
    ]
    if not found:
        raise InputError(
            f"`system_files` names {pattern!r}, which finds no file from {folder}: "
            "correct the pattern or take it out of suite.toml"
        )
    return found


def _content_hash(files: Iterable[tuple[str, Path]]) -> str:
    digest = hashlib.sha256()
    for name, path in files:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise InputError(f"{path} is part of the system and cannot be read: {error}") from error
        digest.update(f"{len(name.encode())} {name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _own_folders(package: ModuleType | None) -> list[Path]:
    """Return the folders of a package that lie outside of what is installed."""
    folders = [Path(folder).resolve() for folder in getattr(package, "__path__", ())]
    return sorted(folder for folder in folders if not _INSTALLED & set(folder.parts))


def _versions(top: str, *, installed: bool) -> list[str]:
    """Return name and version of the distributions that bring a top-level package."""
    try:
        return [f"{top} {version(top)}"]
    except (PackageNotFoundError, ValueError):  # not of that name, or no name at all
        # Code of one's own counts by its files: it is not worth a look into every distribution.
        names = packages_distributions().get(top, ()) if installed else ()
    return [f"{name} {version(name)}" for name in sorted(set(names))]

"""Objects that a suite names by import path, such as `my_app.bot:answer`."""

from __future__ import annotations

import importlib
import inspect
import sys
from functools import partial
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalnb.errors import InputError, nearest_name

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["import_object", "is_import_path", "source_of"]


def is_import_path(text: str) -> bool:
    """Tell whether a text has the form of an import path, `package.module:name`.

    Examples
    --------
    >>> is_import_path("my_app.bot:answer"), is_import_path("systems/v1.toml")
    (True, False)
    """
    module, colon, name = text.partition(":")
    parts = [*module.split("."), *name.split(".")]
    return bool(colon) and all(part.isidentifier() for part in parts)


def import_object(path: str, near: Path | None = None) -> Any:
    """Import what an import path names.

    Modules are looked for where Python looks, then in the working directory, then in the folder
    that holds `golden`; the latter two join the end of `sys.path`, so that what is found there
    may import its neighbours whenever it runs.

    Parameters
    ----------
    path : module and name, with a colon between them, such as "my_app.bot:answer"
    near : the suite's folder

    Raises
    ------
    InputError
        If the path has another form, the module cannot be imported or is hidden by one of the
        same name from elsewhere, or it has no such name.
    """
    if not is_import_path(path):
        raise InputError(
            f"{path!r} is no import path. Write module and name as in `my_app.bot:answer`."
        )
    module_name, _, name = path.partition(":")
    folders = _folders(near)
    sys.path.extend(folder for folder in folders if folder not in sys.path)
    found: Any = _import_module(path, module_name, folders)
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            near_name = nearest_name(part, dir(found))
            hint = f" Did you mean `{near_name}`?" if near_name else ""
            raise InputError(f"{path!r}: `{module_name}` has no `{name}`.{hint}") from None
    return found


def source_of(function: Any) -> str:
    """Return the source of the module that a function or other callable is in.

    A function of a notebook's cell has no module on disk: there it is the function's own source.
    It is empty where there is none to be had.
    """
    while isinstance(function, partial):
        function = function.func
    if not hasattr(function, "__qualname__"):  # an object that can be called
        function = type(function)
    for part in (inspect.getmodule(function), function):
        try:
            return inspect.getsource(part)  # type: ignore[arg-type]
        except (OSError, TypeError):  # no module, or one without a file
            continue
    return ""


def _folders(near: Path | None) -> list[str]:
    folders = [Path.cwd()]
    if near is not None:
        suites = near.resolve().parent
        folders.append(suites.parent if suites.name == "golden" else suites)
    return list(dict.fromkeys(map(str, folders)))


def _import_module(path: str, name: str, folders: list[str]) -> ModuleType:
    importlib.invalidate_caches()  # the file may be younger than Python's list of its folder
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise InputError(f"{path!r} cannot be imported: {error}. Install it.") from error
        raise InputError(
            f"{path!r} cannot be imported: there is no module `{error.name}` on Python's path, "
            f"in {' or '.join(folders)}. Correct the name, or install the package."
        ) from error
    except (Exception, SystemExit) as error:
        raise InputError(f"{path!r} cannot be imported: {type(error).__name__}: {error}") from error
    _check_not_hidden(path, name.partition(".")[0], folders)
    return module


def _check_not_hidden(path: str, top: str, folders: list[str]) -> None:
    """Refuse a module that has the name of one beside the suite, but is another."""
    beside = PathFinder.find_spec(top, folders[::-1])
    loaded = getattr(sys.modules[top], "__file__", None)
    if beside is None or beside.origin is None or loaded is None:
        return
    if Path(beside.origin).resolve() != Path(loaded).resolve():
        raise InputError(
            f"{path!r} is hidden: Python already has a module `{top}` from {loaded}, and "
            f"{beside.origin} is another. Give one of them another name."
        )

"""Finding the systems of a suite."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from evalnb.errors import InputError
from evalnb.imports import is_import_path
from evalnb.places import is_remote
from evalnb.systems.callables import CallableSystem, import_function
from evalnb.systems.endpoints import Endpoint, HttpSystem, endpoint_at, is_url
from evalnb.systems.fingerprints import files_hash
from evalnb.systems.prompt_files import Prompt, PromptSystem
from evalnb.tomltext import read_toml

if TYPE_CHECKING:
    from evalnb.golden import GoldenSet

__all__ = ["is_named", "load_system", "suite_systems"]


def load_system(
    golden: GoldenSet, name: str | None = None
) -> PromptSystem | CallableSystem | HttpSystem:
    """Load a system of a suite.

    A Python function is looked for in what is installed, then in the working directory and in the
    folder that holds the suite's `golden` folder; both stay on `sys.path`.

    Parameters
    ----------
    golden : a suite's golden set
    name : a TOML file of a prompt or an HTTP endpoint, by its path in the suite's folder or from
        here, or by its bare name in the suite's `systems`, such as "v2"; the import path of a
        Python function, such as "my_app.bot:answer"; or the URL of an HTTP endpoint. By default
        what `suite.toml` says

    Raises
    ------
    InputError
        If there is no such system, it does not fit, or one of the suite's `system_files` is
        missing.
    """
    name = name or golden.settings.system
    files = _system_files(golden)
    if is_url(name):
        return endpoint_at(name, files)
    path = _file_of(golden, name)
    if not path.is_file() and is_import_path(name):
        near = None if is_remote(golden.folder) else golden.folder
        return CallableSystem(import_function(name, near), name, files)
    return _read_system(path, files)


def is_named(golden: GoldenSet, name: str) -> bool:
    """Tell whether a name is one of a system: of a file that is there, of a function or a URL.

    Parameters
    ----------
    golden : a suite's golden set
    name : as for `load_system`
    """
    return is_url(name) or is_import_path(name) or _file_of(golden, name).is_file()


def suite_systems(golden: GoldenSet) -> list[PromptSystem | CallableSystem | HttpSystem]:
    """Load every TOML file in a suite's `systems`, and what `suite.toml` names.

    Raises
    ------
    InputError
        If one does not fit, or one of the suite's `system_files` is missing.
    """
    if golden.folder is None:
        return []
    files = _system_files(golden)
    systems: list[PromptSystem | CallableSystem | HttpSystem] = [
        _read_system(path, files) for path in sorted((golden.folder / "systems").glob("*.toml"))
    ]
    systems.append(load_system(golden))
    return list({(system.name, system.fingerprint): system for system in systems}.values())


def _system_files(golden: GoldenSet) -> str:
    if golden.folder is None or not golden.settings.system_files:
        return ""
    if is_remote(golden.folder):
        raise InputError(
            f"the suite at {golden.folder} has `system_files`, which only a suite on this machine "
            "can have: take them out of suite.toml"
        )
    return files_hash(golden.folder, golden.settings.system_files)


def _file_of(golden: GoldenSet, name: str) -> Path:
    """Return the TOML file that a name means, whether or not it is there."""
    if golden.folder is not None and not is_url(name):
        candidates = (golden.folder / name, golden.folder / "systems" / f"{name}.toml")
        return next((found for found in candidates if found.is_file()), Path(name))
    return Path(name)


def _read_system(path: Path, files: str) -> PromptSystem | HttpSystem:
    """Read a TOML file; its name without the ending is the system's."""
    if _has_url(path):
        endpoint: Endpoint = read_toml(path, Endpoint, "endpoint file")
        return HttpSystem(path.stem, endpoint, path, files)
    prompt: Prompt = read_toml(path, Prompt, "prompt file")
    return PromptSystem(path.stem, prompt, path, files)


def _has_url(path: Path) -> bool:
    """Tell whether a file is that of an endpoint; what cannot be read is told later."""
    try:
        return "url" in tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False

"""Finding the systems of a suite."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from evalnb.systems.prompt_files import PromptSystem, read_prompt_file

if TYPE_CHECKING:
    from evalnb.golden import GoldenSet

__all__ = ["load_system", "suite_systems"]


def load_system(golden: GoldenSet, name: str | None = None) -> PromptSystem:
    """Load a system of a suite.

    Parameters
    ----------
    golden : a suite's golden set
    name : path of a prompt file, in the suite's folder or from here, or its bare name in the
        suite's `systems`, such as "v2"; by default what `suite.toml` says

    Raises
    ------
    InputError
        If the prompt file is missing or does not fit.
    """
    name = name or golden.settings.system
    path = Path(name)
    if golden.folder is not None:
        candidates = (golden.folder / name, golden.folder / "systems" / f"{name}.toml")
        path = next((found for found in candidates if found.is_file()), path)
    return read_prompt_file(path)


def suite_systems(golden: GoldenSet) -> list[PromptSystem]:
    """Load every prompt file of a suite, and the one that `suite.toml` names, by name.

    Raises
    ------
    InputError
        If one does not fit.
    """
    if golden.folder is None:
        return []
    paths = sorted((golden.folder / "systems").glob("*.toml"))
    names = [*(str(path.relative_to(golden.folder)) for path in paths), golden.settings.system]
    systems = [load_system(golden, name) for name in names]
    return list({(system.name, system.fingerprint): system for system in systems}.values())

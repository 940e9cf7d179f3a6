"""A new project: a suite that replays at once, the notebooks, the workflow, a README to begin with."""

from __future__ import annotations

import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from evalnb.errors import InputError
from evalnb.notebooks import notebook_path

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["create_project"]

_FILES = Path(__file__).parent / "files"
_DOT = "dot_"
_VERSION = b"{version}"
_MANY = 5
_HERE = b"EVALNB_PROJECT: .\n"


def create_project(folder: Path) -> list[Path]:
    """Lay out a project in a folder; what is there already is left as it is.

    Parameters
    ----------
    folder : made where it is missing; a git repository, or another project's folder, will do

    Returns
    -------
    the files that were written
        The workflow is at the root of the git repository that `folder` is in, where GitHub looks
        for it; all else is below `folder`.

    Raises
    ------
    InputError
        If one of the files is there already, or one cannot be written: then none is left.
    """
    contents = dict(_contents(folder))
    taken = [os.path.relpath(path, folder) for path in contents if os.path.lexists(path)]
    if taken:
        more = f" and {len(taken) - _MANY} more" if len(taken) > _MANY else ""
        raise InputError(
            f"{folder} has {', '.join(taken[:_MANY])}{more} already, and nothing was written. Name "
            "a new folder, or move these away."
        )
    written: list[Path] = []
    for path, (content, mode) in contents.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                written.append(path)
                file.write(content)
            path.chmod(mode)
        except OSError as error:
            for one in written:
                one.unlink(missing_ok=True)
            raise InputError(
                f"{path} cannot be written: {error.strerror}. No file was left; name a new folder."
            ) from error
    return written


def _contents(folder: Path) -> Iterator[tuple[Path, tuple[bytes, int]]]:
    """Give what goes where, with its mode."""
    release = version("evalnb").encode()
    for source in sorted(path for path in _FILES.rglob("*") if path.is_file()):
        parts = [part.replace(_DOT, ".", 1) for part in source.relative_to(_FILES).parts]
        path, content = folder.joinpath(*parts), source.read_bytes()
        if source.name == "requirements.txt":
            content = content.replace(_VERSION, release)
        elif ".github" in parts:
            root = _repository_root(folder)
            path, content = root.joinpath(*parts), _run_from(root, folder, content)
        yield path, (content, 0o755 if source.suffix == ".sh" else 0o644)
    for notebook in sorted(notebook_path("golden_run").parent.glob("*.ipynb")):
        yield folder / "notebooks" / notebook.name, (notebook.read_bytes(), 0o644)


def _run_from(root: Path, folder: Path, workflow: bytes) -> bytes:
    """Say in a workflow where the project is."""
    if root == folder:
        return workflow
    # With the dot, a name that begins with a dash is no option.
    project = json.dumps(f"./{folder.resolve().relative_to(root.resolve()).as_posix()}")
    return workflow.replace(_HERE, b"EVALNB_PROJECT: %b\n" % project.encode())


def _repository_root(folder: Path) -> Path:
    """Return the root of the git repository that a folder is in; the folder where there is none."""
    whole = folder.resolve()
    above = (place for place in whole.parents if (place / ".git").exists())
    return folder if (whole / ".git").exists() else next(above, folder)

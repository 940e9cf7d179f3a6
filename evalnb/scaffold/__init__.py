"""A new project: a suite that replays at once, the notebooks, the workflow, a README to begin with."""

from __future__ import annotations

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


def create_project(folder: Path) -> list[Path]:
    """Lay out a project in a folder; what is there already is left as it is.

    Parameters
    ----------
    folder : made where it is missing; a git repository, or another project's folder, will do

    Returns
    -------
    the files that were written, below `folder`

    Raises
    ------
    InputError
        If one of the files is there already: then nothing is written.
    """
    contents = dict(_contents())
    taken = [path for path in contents if (folder / path).exists()]
    if taken:
        shown = ", ".join(str(path) for path in taken[:_MANY])
        more = f" and {len(taken) - _MANY} more" if len(taken) > _MANY else ""
        raise InputError(
            f"{folder} has {shown}{more} already, and nothing was written. Name a new folder, or "
            "move these away."
        )
    for path, (content, mode) in contents.items():
        target = folder / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            target.chmod(mode)
        except OSError as error:
            raise InputError(
                f"{target} cannot be written: {error.strerror}. Files before it are there; delete "
                "them, or name a new folder."
            ) from error
    return list(contents)


def _contents() -> Iterator[tuple[Path, tuple[bytes, int]]]:
    """Give what goes where, with its mode."""
    release = version("evalnb").encode()
    for source in sorted(path for path in _FILES.rglob("*") if path.is_file()):
        parts = [part.replace(_DOT, ".", 1) for part in source.relative_to(_FILES).parts]
        content = source.read_bytes()
        if source.name == "requirements.txt":
            content = content.replace(_VERSION, release)
        yield Path(*parts), (content, 0o755 if source.suffix == ".sh" else 0o644)
    for notebook in sorted(notebook_path("golden_run").parent.glob("*.ipynb")):
        yield Path("notebooks") / notebook.name, (notebook.read_bytes(), 0o644)

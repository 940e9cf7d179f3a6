"""Running the package's notebooks by papermill, with checked parameters."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalnb.errors import DecisionError, EvalnbError, InputError, MissError, nearest_name

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["check_parameters", "execute_notebook", "notebook_path"]


_TYPES: dict[str, tuple[str, tuple[type, ...]]] = {
    "bool": ("true or false", (bool,)),
    "int": ("a whole number", (int,)),
    "float": ("a number", (int, float)),
    "str": ("a text", (str,)),
}


def notebook_path(name: str) -> Path:
    """Return where a notebook of the package is: in the wheel, or in a clone.

    Raises
    ------
    InputError
        If there is no such notebook.
    """
    package = Path(__file__).parent
    for folder in (package / "_notebooks", package.parent / "notebooks"):
        path = folder / f"{name}.ipynb"
        if path.exists():
            return path
    raise InputError(f"there is no notebook {name!r} in this installation of evalnb")


def check_parameters(path: Path, parameters: Mapping[str, Any]) -> None:
    """Refuse parameters that a notebook does not have, or of another type, before a kernel starts.

    Raises
    ------
    InputError
        With the nearest known name of each, or the type that it must be of.
    """
    papermill = _papermill()
    known = papermill.inspect_notebook(str(path))
    unknown = [name for name in parameters if name not in known]
    if unknown:
        hints = [
            f"{name!r}"
            + (f" (did you mean {near!r}?)" if (near := nearest_name(name, known)) else "")
            for name in unknown
        ]
        raise InputError(
            f"{path.name} has no parameter {', '.join(hints)}. It has: {', '.join(known)}."
        )
    for name, value in parameters.items():
        wanted = known[name]["inferred_type_name"]
        if wanted in _TYPES and type(value) not in _TYPES[wanted][1]:
            raise InputError(
                f"{path.name}: the parameter {name!r} must be {_TYPES[wanted][0]}. Got {value!r}."
            )


def execute_notebook(path: Path, output: Path, parameters: Mapping[str, Any]) -> None:
    """Run a notebook and keep the executed copy, also when a cell fails.

    What the notebook prints on its standard error, such as progress, appears on ours.

    Parameters
    ----------
    path : the notebook, which stays as it is
    output : where the executed copy goes
    parameters : for its `parameters` cell

    Raises
    ------
    InputError
        If a parameter is unknown, or a cell raised it.
    EvalnbError
        If a cell raised anything else or the kernel died.
    """
    check_parameters(path, parameters)
    papermill = _papermill()
    from nbclient.exceptions import DeadKernelError

    try:
        papermill.execute_notebook(
            _literal(path),
            _literal(output),
            parameters=dict(parameters),
            kernel_name="python3",
            progress_bar=False,
            stderr_file=sys.stderr,
            # Else the kernel warns at each start that it speaks TCP, on loopback.
            # What is installed runs, not a folder of the same name that lies here.
            extra_arguments=["--IPKernelApp.log_level=40", "--IPKernelApp.ignore_cwd=True"],
        )
    except papermill.PapermillExecutionError as error:
        kind = next(
            (kind for kind in (InputError, MissError) if kind.__name__ == error.ename),
            EvalnbError,
        )
        raise kind(f"{error.evalue}\n(cell {error.exec_count} of {output})") from error
    except DeadKernelError as error:
        raise DecisionError(f"the kernel died; what it had done is in {output}") from error


def _papermill() -> Any:
    """Import papermill without what takes longest and is never used.

    At its import jsonschema compiles a grammar of IRIs, for two seconds and more. Where that
    package is missing it goes without that one format, which no notebook's schema has.
    """
    grammar = "rfc3987_syntax"
    if grammar in sys.modules:
        return importlib.import_module("papermill")
    sys.modules[grammar] = None  # type: ignore[assignment]
    try:
        return importlib.import_module("papermill")
    finally:
        del sys.modules[grammar]


def _literal(path: Path) -> str:
    """Return a path in which papermill finds no parameters of its own."""
    return str(path).replace("{", "{{").replace("}", "}}")

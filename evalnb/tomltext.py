"""Reading TOML files that people edit."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from evalnb.errors import InputError, Problem
from evalnb.validation import validation_problems

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import BaseModel

__all__ = ["read_toml"]


def read_toml(path: Path, model: type[BaseModel], what: str) -> Any:
    """Read a TOML file into a model.

    Parameters
    ----------
    path : the file
    model : what it must hold
    what : what the file is, for messages

    Returns
    -------
    an instance of `model`

    Raises
    ------
    InputError
        If the file is missing, is not TOML, or does not fit the model.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"there is no {what} at {path}") from None
    except (OSError, ValueError, RecursionError) as error:
        problem = Problem(str(path), 0, "", f"cannot be read: {error}.", "See https://toml.io.")
        raise InputError(f"the {what} cannot be used", [problem]) from error
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise InputError(
            f"the {what} cannot be used", validation_problems(error, str(path), 0, model)
        ) from error

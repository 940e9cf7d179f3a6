"""JSON Schemas: checked, and never fetched from anywhere."""

from __future__ import annotations

from typing import Any, NoReturn

import jsonschema_rs

__all__ = ["schema_errors", "schema_validator"]


def schema_validator(schema: dict[str, Any]) -> jsonschema_rs.Draft202012Validator:
    """Return what validates values against a schema, JSON Schema draft 2020-12.

    Raises
    ------
    ValueError
        If it is no JSON Schema, or refers to one outside of itself.
    """
    try:
        return jsonschema_rs.Draft202012Validator(schema, retriever=_refuse)
    except jsonschema_rs.ValidationError as error:
        raise ValueError(error.message) from None


def schema_errors(schema: dict[str, Any], value: Any) -> list[str]:
    """Say in which places a value does not meet a schema, such as "$.lines[0]: 3 is not …".

    Parameters
    ----------
    schema : a JSON Schema
    value : any JSON value

    Returns
    -------
    empty where the value meets the schema; sorted by place
    """
    errors = schema_validator(schema).iter_errors(value)
    return sorted(f"{_place(error.instance_path)}: {error.message}" for error in errors)


def _place(path: list[str | int]) -> str:
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is outside of the schema")

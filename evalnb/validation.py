"""What is wrong with data that does not fit a model, told as problems of its file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

from evalnb.errors import Problem, nearest_name
from evalnb.jsontext import dump_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pydantic import ValidationError

__all__ = ["validation_problems"]

# Checks of a case as a whole: the field that each is about, and what to do.
_WHOLE_CASE = {
    "history": ("messages", "Let the history end with what the user says."),
    "input": ("", "Keep the one that the system is given."),
    "keywords": ("min_keyword_ratio", "Add the words."),
    "primary": ("", "Keep the one that says best what is expected, or make two cases."),
}


def validation_problems(
    error: ValidationError,
    file: str,
    line: int,
    model: type[BaseModel],
    fields: Sequence[str] = (),
) -> list[Problem]:
    """Return a problem for everything that validation found.

    Parameters
    ----------
    error : what pydantic raised
    file, line : where the data stands
    model : what the data must fit
    fields : the fields of `model` in the order in which they are told; by default its own
    """
    return [
        _problem(entry, file, line, model, fields or list(model.model_fields))
        for entry in error.errors(include_url=False, include_context=False)
    ]


def _problem(
    entry: Mapping[str, Any], file: str, line: int, model: type[BaseModel], fields: Sequence[str]
) -> Problem:
    location = entry["loc"]
    name = ".".join(str(part) for part in location)
    match entry["type"]:
        case "extra_forbidden":
            inner = _model_at(model, location[:-1])
            known = fields if inner is model else list(inner.model_fields)
            near = nearest_name(str(location[-1]), known)
            remedy = f"Did you mean `{near}`?" if near else f"Known: {', '.join(known)}."
            return Problem(file, line, name, "is no known field.", remedy)
        case "missing":
            return Problem(file, line, name, "is missing.", "Add the field.")
        case _:
            message = entry["msg"].replace("Input should ", "must ", 1)
            if entry["type"] in _WHOLE_CASE:
                field_name, remedy = _WHOLE_CASE[entry["type"]]
                within = ".".join(filter(None, (name, field_name)))
                return Problem(file, line, within, f"{message}.", remedy)
            got = f"Got {_shown(entry['input'])}."
            return Problem(file, line, name, f"{message}. {got}", "Correct the value.")


def _model_at(model: type[BaseModel], location: Iterable[Any]) -> type[BaseModel]:
    """Return the model that stands at a location within `model`."""
    for part in location:
        if isinstance(part, str) and part in model.model_fields:
            model = _inner_model(model.model_fields[part].annotation) or model
    return model


def _inner_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _inner_model(part))), None)


def _shown(value: Any) -> str:
    try:
        text = dump_json(value)
    except (TypeError, ValueError, RecursionError):  # a date or NaN of a TOML file
        text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."

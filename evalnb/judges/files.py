"""Judge files: what a judge is asked, of which model, in TOML."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    ValidationInfo,
    field_validator,
)
from pydantic.functional_validators import AfterValidator, BeforeValidator
from pydantic_core import PydanticCustomError

from evalnb.errors import nearest_name
from evalnb.systems.prompt_files import further_fields

__all__ = ["Axis", "JudgeFile", "Kind", "package_axes", "prompt"]

Kind = Literal["rubric", "axes", "reference", "faithfulness", "pairwise"]

_BLOCKS: dict[str, tuple[str, ...]] = {
    "rubric": ("conversation", "context", "criteria", "candidate"),
    "axes": ("conversation", "context", "candidate"),
    "reference": ("conversation", "context", "reference", "candidate"),
    "faithfulness": ("conversation", "context", "candidate"),
    "pairwise": ("conversation", "context", "first", "second"),
}
"""What a template may show, by kind."""

_NEEDED = {"pairwise": ("first", "second")}
_PLACEHOLDER = re.compile(r"\{([A-Za-z_]+)\}")

Line = Annotated[str, StringConstraints(min_length=1, pattern=r"^[^\n]*$")]


def _levels(levels: Any) -> Any:
    """Take the levels of a scale from the table of a file, the worst first."""
    if not isinstance(levels, dict):
        return levels
    numbers = [int(name) if re.fullmatch(r"-?\d{1,6}", str(name)) else None for name in levels]
    if None in numbers or len(numbers) < 2:
        raise PydanticCustomError(
            "levels", "must describe two levels or more, each by its number, such as 1 to 5"
        )
    low = numbers[0]
    if numbers != list(range(low, low + len(numbers))):  # type: ignore[operator, arg-type]
        raise PydanticCustomError(
            "levels",
            "must ascend one by one, the worst level first: {found} is no such scale",
            {"found": ", ".join(map(str, levels))},
        )
    return dict(zip(numbers, levels.values(), strict=True))


def _no_other_meaning(name: str) -> str:
    if name == "all":  # the part of a call about every axis
        raise PydanticCustomError("axis_name", "must not be `all`, which means every axis")
    return name


class Axis(BaseModel):
    """One criterion with its scale."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: Annotated[
        str,
        StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$"),
        AfterValidator(_no_other_meaning),
    ]
    question: Line
    levels: Annotated[dict[int, Line], BeforeValidator(_levels)]
    """What each level means, from the worst to the best."""

    @property
    def low(self) -> int:
        """The worst level."""
        return min(self.levels)

    @property
    def high(self) -> int:
        """The best level."""
        return max(self.levels)


def _known_axis(axis: Any) -> Any:
    """Take an axis of the package by its name."""
    if not isinstance(axis, str):
        return axis
    known = package_axes()
    if axis in known:
        return known[axis]
    near = nearest_name(axis, list(known))
    hint = f"Did you mean {near!r}?" if near else f"The package has {', '.join(known)}."
    raise PydanticCustomError(
        "axis",
        "names the axis {name}, which nobody described. {hint} Others are tables with `name`, "
        "`question` and `levels`",
        {"name": repr(axis), "hint": hint},
    )


def _distinct(axes: list[Axis]) -> list[Axis]:
    names = [axis.name for axis in axes]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise PydanticCustomError(
            "axes", "must have names of their own. Twice: {names}", {"names": ", ".join(twice)}
        )
    return axes


class JudgeFile(BaseModel):
    """What a judge file says; all but `kind` has a default."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    kind: Kind
    model: Line | None = None
    """Asked for verdicts; by default the model of the suite's `[judging]`."""
    max_tokens: Annotated[int, Field(gt=0)] = 4096
    """Room for the verdict and for what the model thinks before it."""
    effort: Literal["low", "medium", "high", "xhigh", "max", "none"] = "medium"
    """Said in every request, since the default differs by model; `none` for models without it."""
    thinking: Literal["adaptive", "between_tools", "disabled"] | None = None
    """Sent where it is given; without it the model's own default holds."""
    structured: bool = True
    """Whether the answer's form is asked for as a structured output; else by words alone."""
    max_reason_characters: Annotated[int, Field(gt=0)] | None = None
    """Sets an end to each reason, for a small model that finds none."""
    parameters: Annotated[dict[str, JsonValue], AfterValidator(further_fields)] = {}
    """Further fields of the request."""
    system: Annotated[str, StringConstraints(min_length=1)] | None = None
    """Instructions in the place of the package's own; axes and answer format are added to them."""
    template: Annotated[str, StringConstraints(min_length=1)] | None = None
    """The message of each request, with {candidate} and other parts of the case in braces."""
    axes: (
        Annotated[
            list[Annotated[Axis, BeforeValidator(_known_axis)]],
            Field(min_length=1),
            AfterValidator(_distinct),
        ]
        | None
    ) = None
    """Axes of the package by name, or tables of the file's own; for the kind `axes`."""
    calls: Literal["one", "per_axis"] = "one"
    """Whether one call judges all axes, or each axis has a call of its own."""

    @field_validator("axes", "calls")
    @classmethod
    def _check_is_for_axes(cls, value: Any, info: ValidationInfo) -> Any:
        if value not in (None, "one") and info.data.get("kind", "axes") != "axes":
            raise PydanticCustomError(
                "kind",
                "is for the kind `axes`, and this judge is of the kind `{kind}`",
                {"kind": info.data["kind"]},
            )
        return value

    @field_validator("template")
    @classmethod
    def _check_template(cls, template: str | None, info: ValidationInfo) -> str | None:
        kind = info.data.get("kind")
        if template is None or kind is None:
            return template
        known = _BLOCKS[kind]
        shown = _PLACEHOLDER.findall(template)
        for name in shown:
            if name not in known:
                near = nearest_name(name, known)
                raise PydanticCustomError(
                    "template",
                    "shows {name}{hint}, but this kind of judge has {known}",
                    {
                        "name": f"{{{name}}}",
                        "hint": f" (did you mean {{{near}}}?)" if near else "",
                        "known": ", ".join(f"{{{block}}}" for block in known),
                    },
                )
        for name in _NEEDED.get(kind, ("candidate",)):
            if name not in shown:
                raise PydanticCustomError(
                    "template",
                    "lacks {name}: the judge would not see what it judges",
                    {"name": f"{{{name}}}"},
                )
        return template


@cache
def package_axes() -> dict[str, Axis]:
    """Return the axes that the package describes, by name."""
    text = (files("evalnb.judges") / "prompts" / "axes.toml").read_text(encoding="utf-8")
    return {axis["name"]: Axis.model_validate(axis) for axis in tomllib.loads(text)["axes"]}


@cache
def prompt(kind: Kind) -> str:
    """Return the package's instructions for a kind of judge."""
    text = (files("evalnb.judges") / "prompts" / f"{kind}.md").read_text(encoding="utf-8")
    return text.strip()

"""The lines of a label file, and what a rater did at one stroke."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, FiniteFloat, StringConstraints
from pydantic.functional_validators import AfterValidator, model_validator
from pydantic_core import PydanticCustomError

from evalnb.curation.pacing import moment

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Action", "LabelLine", "Rated", "rated_key"]

Rated = tuple[str, str, str | None]
"""What was rated: case, output hash and, for a pair, the other's hash."""

Text = Annotated[str, StringConstraints(min_length=1)]


class LabelLine(BaseModel):
    """One line of a label file; further fields are kept as they are."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    case_id: Text | None = None
    run_id: Text | None = None
    output_hash: Text | None = None
    other_hash: Text | None = None
    rater: Text
    axis: Text | None = None
    value: FiniteFloat | None = None
    note: str | None = None
    sample: Text | None = None
    action: Literal["label", "skip", "undo"]
    at: Annotated[str, AfterValidator(moment)]

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        needed = {"label": ("case_id", "output_hash", "axis", "value")}
        lacking = [
            name
            for name in needed.get(self.action, ("case_id", "output_hash"))
            if self.action != "undo" and getattr(self, name) is None
        ]
        if lacking:
            raise PydanticCustomError(
                "label_line",
                "has the action `{action}` without {lacking}",
                {"action": self.action, "lacking": ", ".join(f"`{name}`" for name in lacking)},
            )
        if self.action == "skip" and self.value is not None:
            raise PydanticCustomError("label_line", "has the action `skip` and a value")
        return self


@dataclass(frozen=True)
class Action:
    """What a rater did at one stroke: lines on one output, an axis each.

    Attributes
    ----------
    lines : as they stand in the file
    """

    lines: tuple[Mapping[str, Any], ...]

    @property
    def rated(self) -> Rated:
        """What it was about."""
        return rated_key(self.lines[0])

    @property
    def kind(self) -> str:
        """`label` or `skip`."""
        return str(self.lines[0]["action"])

    @property
    def at(self) -> str:
        """When it was done, in UTC."""
        return str(self.lines[0]["at"])

    def takes(self, line: Mapping[str, Any]) -> bool:
        """Tell whether a line that follows belongs to it."""
        return (
            (rated_key(line), line["action"], line["at"]) == (self.rated, self.kind, self.at)
        ) and all(line.get("axis") != other.get("axis") for other in self.lines)


def rated_key(line: Mapping[str, Any]) -> Rated:
    """Return what a line is about."""
    return line["case_id"], line["output_hash"], line.get("other_hash")

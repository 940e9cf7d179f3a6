"""The lines of a staged file: what a curator did with a conversation."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, JsonValue, StringConstraints
from pydantic.functional_validators import AfterValidator, model_validator
from pydantic_core import PydanticCustomError

from evalnb.curation.pacing import moment

__all__ = ["StagedLine"]

Text = Annotated[str, StringConstraints(min_length=1)]


class StagedLine(BaseModel):
    """One line of a staged file; further fields are kept as they are."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    conversation_id: Text
    curator: Text
    action: Literal["accept", "reject", "skip", "edit", "undo"]
    at: Annotated[str, AfterValidator(moment)]
    case: dict[str, JsonValue] | None = None
    """What an accepted conversation becomes, as a line of `cases.jsonl`."""
    edits: dict[str, Any] | None = None
    """What the fields of the form hold."""
    reason: Text | None = None
    """Why a conversation was rejected."""

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        needed = {"accept": "case", "reject": "reason", "edit": "edits"}.get(self.action)
        if needed and getattr(self, needed) is None:
            raise PydanticCustomError(
                "staged_line",
                "has the action `{action}` without `{needed}`",
                {"action": self.action, "needed": needed},
            )
        return self

"""A rater's label file as it is read: what was done and not taken back, line by line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import ValidationError

from evalnb.curation.action_files import REMEDY, ActionFile
from evalnb.curation.label_lines import Action, LabelLine, rated_key
from evalnb.errors import Problem
from evalnb.validation import validation_problems

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from evalnb.curation.label_lines import Rated
    from evalnb.jsontext import Line

__all__ = ["LabelFile"]


@dataclass
class LabelFile(ActionFile):
    """A rater's file with what was read of it.

    Attributes
    ----------
    actions : what was done and not taken back, in order
    taken_back : what the last line took back; None where it did something else
    levels : axis to the values that a label of one output may have; others are a problem of their line, and axes
        that are not named may have any
    """

    holds: ClassVar[str] = "labels"

    levels: Mapping[str, Collection[float]] = field(default_factory=dict)
    actions: list[Action] = field(default_factory=list)
    taken_back: Action | None = None
    _is_joined: bool = False

    @property
    def rater(self) -> str:
        """Whose file it is."""
        return self.path.stem

    def rows(self) -> dict[tuple[Rated, str | None], Mapping[str, Any]]:
        """Return the line that holds for each output and axis: the last that was not taken back."""
        rows: dict[tuple[Rated, str | None], Mapping[str, Any]] = {}
        for action in self.actions:
            for line in action.lines:
                key = (action.rated, line.get("axis"))
                rows.pop(key, None)
                rows[key] = line
        return rows

    def clear(self) -> None:
        """Forget what was read."""
        self.actions, self.taken_back, self._is_joined = [], None, False

    def checked(self, line: Line) -> Mapping[str, Any] | Problem:
        """Return a line that is a label of this rater, or what is wrong with it."""
        name = str(self.path)
        try:
            label = LabelLine.model_validate(line.value)
        except ValidationError as error:
            return validation_problems(error, name, line.number, LabelLine)[0]
        if label.rater != self.rater:
            message = f"is of {label.rater!r}, in the file of {self.rater!r}."
            remedy = "Move the line to the rater's own file."
            return Problem(name, line.number, "rater", message, remedy)
        is_single = label.value is not None and label.other_hash is None
        allowed = self.levels.get(label.axis or "") if is_single else None
        if allowed is not None and label.value not in allowed:
            shown = ", ".join(f"{level:g}" for level in sorted(allowed))
            message = f"is {label.value:g}, and `{label.axis}` has the levels {shown}."
            return Problem(name, line.number, "value", message, REMEDY)
        return line.value

    def do(self, line: Mapping[str, Any]) -> None:
        """Take a label, or take one back."""
        if line["action"] == "undo":
            self._take_back(line)
        elif self._is_joined and self.actions[-1].takes(line):
            self.actions[-1] = Action((*self.actions[-1].lines, line))
        else:
            self.taken_back = None
            self.actions.append(Action((line,)))
            self._is_joined = True

    def _take_back(self, line: Mapping[str, Any]) -> None:
        self._is_joined = False
        self.taken_back = None
        about = rated_key(line) if line.get("case_id") and line.get("output_hash") else None
        for position in reversed(range(len(self.actions))):
            if about in (None, self.actions[position].rated):
                self.taken_back = self.actions.pop(position)
                return

"""A curator's staged file as it is read: what was decided and not taken back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import ValidationError

from evalnb.curation.action_files import ActionFile, append_lines, check_local
from evalnb.curation.people import check_name, check_named
from evalnb.curation.staging.lines import StagedLine
from evalnb.errors import InputError, Problem
from evalnb.validation import validation_problems

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from evalnb.golden import GoldenSet
    from evalnb.jsontext import Line

__all__ = ["StagedFile", "append_staged", "staged_path"]


@dataclass
class StagedFile(ActionFile):
    """A staged file with what was read of it.

    Attributes
    ----------
    decisions : what was accepted, rejected or skipped and not taken back, in order
    edits : conversation to what its fields held last
    taken_back : the conversation that the last line took back; None where it did something else
    """

    holds: ClassVar[str] = "staged cases"

    decisions: list[Mapping[str, Any]] = field(default_factory=list)
    edits: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    taken_back: str | None = None

    def clear(self) -> None:
        """Forget what was read."""
        self.decisions, self.edits, self.taken_back = [], {}, None

    def checked(self, line: Line) -> Mapping[str, Any] | Problem:
        """Return a line of a staged file with its number, or what is wrong with it."""
        try:
            StagedLine.model_validate(line.value)
        except ValidationError as error:
            return validation_problems(error, str(self.path), line.number, StagedLine)[0]
        return {**line.value, "line": line.number}

    def do(self, line: Mapping[str, Any]) -> None:
        """Take a decision or what was edited, or take a decision back."""
        name = line["conversation_id"]
        if line["action"] == "undo":
            self._take_back(name)
            return
        if "edits" in line:
            self.edits[name] = line["edits"]
        if line["action"] != "edit":
            self.taken_back = None
            self.decisions = [one for one in self.decisions if one["conversation_id"] != name]
            self.decisions.append(line)

    def _take_back(self, name: str) -> None:
        kept = [one for one in self.decisions if one["conversation_id"] != name]
        self.taken_back = name if len(kept) < len(self.decisions) else None
        self.decisions = kept


def staged_path(golden: GoldenSet, curator: str) -> Path:
    """Return the staged file of a curator, `staged/<curator>.jsonl` of the suite.

    Raises
    ------
    InputError
        If the name cannot be a file's, or the suite is a bare file or at a URL.
    """
    if golden.folder is None:
        raise InputError("only a suite has staged cases: give a suite's folder, not a JSONL file")
    check_local(golden.folder, "staged")
    return golden.folder / "staged" / f"{check_name(curator, 'curator')}.jsonl"


def append_staged(path: Path, record: Mapping[str, Any]) -> None:
    """Write a line at the end of a staged file; it is on disk when this returns.

    Parameters
    ----------
    path : `staged/<curator>.jsonl`; made where it is missing
    record : with the fields of `StagedLine`; those that are None are left out

    Raises
    ------
    InputError
        If nothing can be written there, or under this curator's name.
    ValueError
        If the record is none.
    """
    check_named(path.stem, "curator", "curates")
    given = {name: value for name, value in record.items() if value is not None}
    try:
        StagedLine.model_validate(given)
    except ValidationError as error:
        raise ValueError(str(validation_problems(error, str(path), 0, StagedLine)[0])) from error
    append_lines(path, [given], "decision")

"""Waivers: cases that are known to fail, and wordings that may change.

Each has a reason, an owner and an end.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints

from evalnb.errors import InputError, Problem, nearest_name
from evalnb.scoring import case_scorers
from evalnb.tomltext import read_toml

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from evalnb.golden import GoldenSet

__all__ = ["Waiver", "Wording", "read_waivers", "read_wordings"]

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Waiver(BaseModel):
    """One entry of `waivers.toml`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    case: Text
    kind: Literal["known_failing", "quarantined", "overridden"]
    scorer: Text | None = None
    """The scorer that it holds for; all of the case where it is not given."""
    reason: Text
    owner: Text
    expires: date
    """The last day on which it holds."""

    def covers(self, case_id: str, scorer: str) -> bool:
        """Tell whether this waiver is about a case and scorer, expired or not."""
        return self.case == case_id and self.scorer in (None, scorer)

    def holds(self, as_of: date) -> bool:
        """Tell whether this waiver is in force on a day."""
        return as_of <= self.expires


class Wording(BaseModel):
    """A change of wording that is accepted, `[[wordings]]` in `waivers.toml`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    phrase: Text
    """As the finding names it; upper and lower case are the same."""
    replaced_by: Text | None = None
    """What stands in its place now. Without it, the phrase may come or go, and not be replaced."""
    reason: Text
    owner: Text
    expires: date
    """The last day on which it holds."""

    def covers(self, change: Mapping[str, Any]) -> bool:
        """Tell whether a record of a phrases frame is this change, expired or not.

        Either phrase may be one that overlaps the one shown and was folded into it.
        """
        folded = {text.casefold() for text in change.get("folded", ())}
        if self.phrase.casefold() not in {change["phrase"].casefold(), *folded}:
            return False
        if self.replaced_by is None or "replaced_by" not in change:
            return self.replaced_by is None and "replaced_by" not in change
        return self.replaced_by.casefold() in {change["replaced_by"].casefold(), *folded}

    def holds(self, as_of: date) -> bool:
        """Tell whether the change is accepted on a day."""
        return as_of <= self.expires

    @property
    def text(self) -> str:
        """The change, and why it is accepted, in words."""
        new = "" if self.replaced_by is None else f' to "{self.replaced_by}"'
        return (
            f'The change of "{self.phrase}"{new} is accepted until {self.expires} by {self.owner}: '
            f"{self.reason.rstrip('.')}"
        )


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    waivers: list[Waiver] = []
    wordings: list[Wording] = []


def read_waivers(golden: GoldenSet) -> tuple[Waiver, ...]:
    """Read a suite's `waivers.toml`; a suite without one has no waivers.

    Raises
    ------
    InputError
        If the file does not fit, or names a case that the suite does not have or a scorer that
        the case does not have.
    """
    path, file = _read(golden)
    ids = [case.id for case in golden]
    problems = []
    for number, waiver in enumerate(file.waivers):
        if waiver.case not in golden:
            near = nearest_name(waiver.case, ids)
            remedy = f"Did you mean {near!r}?" if near else "Delete the waiver."
            message = f"{waiver.case!r} is no case of this suite."
            problems.append(Problem(str(path), 0, f"waivers.{number}.case", message, remedy))
        elif waiver.scorer is not None and waiver.scorer not in (
            known := case_scorers(golden, golden[waiver.case])
        ):
            near = nearest_name(waiver.scorer, known)
            remedy = f"Did you mean {near!r}?" if near else f"It has: {', '.join(known)}."
            message = f"{waiver.scorer!r} is no scorer of case {waiver.case!r}."
            problems.append(Problem(str(path), 0, f"waivers.{number}.scorer", message, remedy))
        if any(_same_scope(waiver, earlier) for earlier in file.waivers[:number]):
            message = f"waives {waiver.case!r} a second time."
            problems.append(
                Problem(str(path), 0, f"waivers.{number}", message, "Keep one of the two.")
            )
    if problems:
        raise InputError("the waivers file cannot be used", problems)
    return tuple(file.waivers)


def read_wordings(golden: GoldenSet) -> tuple[Wording, ...]:
    """Read the changes of wording that a suite's `waivers.toml` accepts.

    Raises
    ------
    InputError
        If the file does not fit, or accepts a change twice.
    """
    path, file = _read(golden)
    scopes = [(one.phrase.casefold(), (one.replaced_by or "").casefold()) for one in file.wordings]
    problems = []
    for number, scope in enumerate(scopes):
        if scope in scopes[:number]:
            message = f"accepts {file.wordings[number].phrase!r} a second time."
            remedy = "Keep one of the two."
            problems.append(Problem(str(path), 0, f"wordings.{number}", message, remedy))
    if problems:
        raise InputError("the waivers file cannot be used", problems)
    return tuple(file.wordings)


def _read(golden: GoldenSet) -> tuple[Path | None, _File]:
    path = golden.folder / "waivers.toml" if golden.folder else None
    if path is None or not path.exists():
        return None, _File()
    file: _File = read_toml(path, _File, "waivers file")
    return path, file


def _same_scope(one: Waiver, other: Waiver) -> bool:
    return (one.case, one.scorer) == (other.case, other.scorer)

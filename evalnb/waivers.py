"""Waivers: cases that are known to fail, each with a reason, an owner and an end."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints

from evalnb.errors import InputError, Problem, nearest_name
from evalnb.scoring import case_scorers
from evalnb.tomltext import read_toml

if TYPE_CHECKING:
    from evalnb.golden import GoldenSet

__all__ = ["Waiver", "read_waivers"]

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


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    waivers: list[Waiver] = []


def read_waivers(golden: GoldenSet) -> tuple[Waiver, ...]:
    """Read a suite's `waivers.toml`; a suite without one has no waivers.

    Raises
    ------
    InputError
        If the file does not fit, or names a case that the suite does not have or a scorer that
        the case does not have.
    """
    path = golden.folder / "waivers.toml" if golden.folder else None
    if path is None or not path.exists():
        return ()
    file: _File = read_toml(path, _File, "waivers file")
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


def _same_scope(one: Waiver, other: Waiver) -> bool:
    return (one.case, one.scorer) == (other.case, other.scorer)

"""Adding staged cases to a golden set: checked all, added those that are good and new."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from evalnb.curation.candidates.duplicates import THRESHOLD, duplicate_pairs
from evalnb.curation.leaks import whole_text
from evalnb.curation.staging.files import StagedFile
from evalnb.errors import InputError, Problem
from evalnb.frames import FrameSchema
from evalnb.golden import case_content, case_of, read_golden, write_golden
from evalnb.jsontext import Line, read_lines
from evalnb.reports.numbers import count

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd

    from evalnb.cases import Case
    from evalnb.golden import GoldenSet

__all__ = ["STAGED", "Adding", "add_staged", "describe_adding"]

STAGED = FrameSchema(
    "staged cases",
    {
        "line": "Int64",
        "case_id": "string",
        "outcome": "string",
        "reason": "string",
        "like_case": "string",
    },
    key=("line",),
)
"""A row a staged case, in the order of its line: `outcome` is `added`, `there` (it was added
before) or `refused`, and `reason` why. `like_case` is the case that says nearly the same."""

Found: TypeAlias = "Case | list[Problem]"

_REMEDY = "Mend the line, or take it back in the form."


class Adding(NamedTuple):
    """What became of staged cases.

    Attributes
    ----------
    golden : the suite with the cases that were added
    rows : a frame as `STAGED` says
    problems : what was wrong with those that were refused, and with lines that could not be read
    """

    golden: GoldenSet
    rows: pd.DataFrame
    problems: list[Problem]


def add_staged(golden: GoldenSet, path: Path) -> Adding:
    """Add what a staged file accepts to the cases of a suite, all at one stroke.

    Parameters
    ----------
    golden : the suite; its `cases.jsonl`, as it is now, is written where there is something to add
    path : a curator's staged file, or a JSONL file of cases

    Returns
    -------
    what was added, and what not
        A case is refused that `evalnb check` would refuse, whose id another case has, or that says
        to the letter what another case says. Adding the same file again adds nothing.

    Raises
    ------
    InputError
        If the file cannot be read, or the cases cannot be written, or somebody else writes them
        meanwhile.
    """
    if not path.is_file():
        raise InputError(f"there are no staged cases at {path}")
    if golden.folder is not None:
        golden = read_golden(golden.folder)
    staged, problems = _staged(path)
    near = _near_cases(golden, staged)
    taken = {case.id: case_content(case) for case in golden}
    texts = {whole_text(case): case.id for case in golden}
    rows, new = [], []
    for number, found in staged:
        row: dict[str, Any] = {"line": number}
        if isinstance(found, list):
            problems += found
            reason = "; ".join(str(problem) for problem in found)
            rows.append({**row, "outcome": "refused", "reason": reason})
            continue
        row |= {"case_id": found.id, "like_case": near.get(number)}
        if found.id in taken:
            is_same = taken[found.id] == case_content(found)
            refused = None if is_same else f"`{found.id}` is the id of another case"
            row["outcome"] = "there" if is_same else "refused"
        else:
            twin = texts.get(whole_text(found))
            refused = f"asks what case `{twin}` asks" if twin else None
            row["outcome"] = "refused" if twin else "added"
        if refused:
            problems.append(Problem(str(path), number, "", f"{refused}.", _REMEDY))
        elif row["outcome"] == "added":
            new.append(found)
            taken[found.id] = case_content(found)
            texts[whole_text(found)] = found.id
        rows.append({**row, "reason": refused})
    if new:
        golden = _written(golden, new)
    return Adding(golden, STAGED.build(rows), problems)


def describe_adding(adding: Adding) -> list[str]:
    """Say what was added, what was there and what was refused, a line each."""
    outcomes = adding.rows["outcome"].value_counts()
    counts = [int(outcomes.get(name, 0)) for name in ("added", "there", "refused")]
    lines = [f"{count(counts[0], 'case')} added, {counts[1]} there already, {counts[2]} refused"]
    for row in adding.rows.itertuples():
        if row.outcome == "added":
            like = (
                f" (nearly what `{row.like_case}` says)" if isinstance(row.like_case, str) else ""
            )
            lines.append(f"  added {row.case_id}{like}")
    return lines + [f"  refused: {problem}" for problem in adding.problems]


def _written(golden: GoldenSet, new: list[Case]) -> GoldenSet:
    if golden.folder is not None and read_golden(golden.folder).version != golden.version:
        raise InputError(
            f"the cases of {golden.folder} were changed meanwhile: nothing was added. Add again."
        )
    golden = golden.add(new)
    write_golden(golden)
    return golden


def _staged(path: Path) -> tuple[list[tuple[int, Found]], list[Problem]]:
    """Return the accepted cases of a file with their lines, and its lines that are none."""
    lines, damaged = read_lines(path)
    if any("action" in line.value for line in lines):
        file = StagedFile(path).catch_up()
        accepted = (one for one in file.decisions if one["action"] == "accept")
        return [_checked(path, one["line"], one["case"]) for one in accepted], file.problems
    if damaged:
        raise InputError(f"{path} cannot be used", damaged)
    return [_checked(path, line.number, line.value) for line in lines], []


def _checked(path: Path, number: int, value: Mapping[str, Any]) -> tuple[int, Found]:
    return number, case_of(Line(number, b"", dict(value)), str(path))


def _near_cases(golden: GoldenSet, staged: list[tuple[int, Found]]) -> dict[int, str]:
    """Return line to the golden case that says nearly the same."""
    cases = list(golden)
    new = [(number, found) for number, found in staged if not isinstance(found, list)]
    texts = [whole_text(case) for case in [*cases, *(case for _, case in new)]]
    return {
        new[pair.second - len(cases)][0]: cases[pair.first].id
        for pair in duplicate_pairs(texts, THRESHOLD)
        if pair.first < len(cases) <= pair.second
    }

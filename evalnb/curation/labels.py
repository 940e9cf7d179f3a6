"""The label files of a suite, `labels/<rater>.jsonl`: where they are, writing them, reading all.

A file is only ever appended to. Every action is one line for each axis, on disk before anybody is
told that it is saved; taking back is a line, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from evalnb.curation.action_files import append_lines, check_local
from evalnb.curation.label_files import LabelFile
from evalnb.curation.label_lines import LabelLine
from evalnb.curation.people import check_name, check_named
from evalnb.curation.scales import suite_levels
from evalnb.errors import InputError, name_hint
from evalnb.frames import LABELS
from evalnb.validation import validation_problems

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import pandas as pd

    from evalnb.errors import Problem
    from evalnb.golden import GoldenSet

__all__ = [
    "append_label",
    "check_rater",
    "label_path",
    "labels_folder",
    "read_labels",
]


def check_rater(name: str) -> str:
    """Return a rater's name if it can be one: it becomes a file's name.

    Raises
    ------
    InputError
        If it cannot.

    Examples
    --------
    >>> check_rater("scripted-anna")
    'scripted-anna'
    """
    return check_name(name, "rater")


def labels_folder(golden: GoldenSet) -> Path:
    """Return where a suite's labels are kept.

    Raises
    ------
    InputError
        If the suite is a bare file, or at a URL: labels need a folder of this machine.
    """
    if golden.folder is None:
        raise InputError("only a suite has labels: give a suite's folder, not a JSONL file")
    check_local(golden.folder, "labels")
    return golden.folder / "labels"


def label_path(golden: GoldenSet, rater: str) -> Path:
    """Return the file of a rater.

    Raises
    ------
    InputError
        If the name cannot be a rater's, or the suite cannot have labels.
    """
    return labels_folder(golden) / f"{check_rater(rater)}.jsonl"


def append_label(path: Path, *records: Mapping[str, Any]) -> None:
    """Write an action at the end of a label file; it is on disk when this returns.

    Parameters
    ----------
    path : the rater's file, `labels/<rater>.jsonl`; made where it is missing
    *records : with the columns of `LABELS`; those of several axes are written together

    Raises
    ------
    InputError
        If nothing can be written there, or under this rater's name.
    ValueError
        If a record is none.
    """
    check_local(path, "labels")
    check_named(path.stem, "rater", "rates")
    append_lines(path, [_record(path, record) for record in records], "label")


def read_labels(
    golden: GoldenSet, raters: Iterable[str] | None = None
) -> tuple[pd.DataFrame, list[Problem]]:
    """Read what people said last of each output and axis.

    Parameters
    ----------
    golden : the suite
    raters : whose labels; by default everybody's

    Returns
    -------
    labels : a labels frame, by rater, then in the order in which it was said
        What was taken back is not in it; what was skipped is, without a value.
    problems : the lines that could not be used, with file and line

    Raises
    ------
    InputError
        If a rater that is asked for has no labels, a file cannot be read, or the suite cannot have
        any.
    """
    folder = labels_folder(golden)
    levels = suite_levels(golden)
    there = {path.stem: path for path in sorted(folder.glob("*.jsonl"))}
    rows: list[Mapping[str, Any]] = []
    problems: list[Problem] = []
    for rater in there if raters is None else dict.fromkeys(raters):
        if rater not in there:
            hint = name_hint(rater, list(there))
            raise InputError(f"there are no labels of {rater!r} in {folder}. {hint}")
        file = LabelFile(there[rater], levels=levels).catch_up()
        rows += file.rows().values()
        problems += file.problems
    return LABELS.build(rows), problems


def _record(path: Path, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record as it is written: known columns first, without what is missing."""
    given = {name: value for name, value in record.items() if value is not None}
    try:
        line = LabelLine.model_validate(given)
    except ValidationError as error:
        raise ValueError(str(validation_problems(error, str(path), 0, LabelLine)[0])) from error
    if line.rater != path.stem:
        raise ValueError(f"a label of {line.rater!r} does not belong in {path}")
    names = [*LABELS.columns, *(name for name in given if name not in LABELS.columns)]
    return {name: given[name] for name in names if name in given}

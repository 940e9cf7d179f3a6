"""The label files of a suite, `labels/<rater>.jsonl`: where they are, writing them, reading all.

A file is only ever appended to. Every action is one line for each axis, on disk before anybody is
told that it is saved; taking back is a line, too.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from evalnb.curation.label_files import LabelFile
from evalnb.curation.label_lines import LabelLine
from evalnb.curation.scales import suite_levels
from evalnb.errors import InputError, Problem, name_hint
from evalnb.frames import LABELS
from evalnb.jsontext import dump_json
from evalnb.places import is_remote
from evalnb.validation import validation_problems

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import pandas as pd

    from evalnb.golden import GoldenSet

__all__ = [
    "PLACEHOLDER",
    "append_label",
    "check_rater",
    "label_path",
    "labels_folder",
    "read_labels",
]

PLACEHOLDER = "your-name"
"""Stands for a rater who has not said who they are; nothing is written under this name."""

_RATER = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_RESERVED = re.compile(r"con|prn|aux|nul|com\d|lpt\d")  # devices, to Windows


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
    if not _RATER.fullmatch(name) or _RESERVED.fullmatch(name):
        raise InputError(
            f"a rater's name is a file's name: 1 to 40 of the characters a-z 0-9 _ - , first a "
            f"letter, and no device name such as `con`. Got {name!r}."
        )
    return name


def labels_folder(golden: GoldenSet) -> Path:
    """Return where a suite's labels are kept.

    Raises
    ------
    InputError
        If the suite is a bare file, or at a URL: labels need a folder of this machine.
    """
    if golden.folder is None:
        raise InputError("only a suite has labels: give a suite's folder, not a JSONL file")
    _check_local(golden.folder)
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
    _check_local(path)
    if check_rater(path.stem) == PLACEHOLDER:
        raise InputError(f"{PLACEHOLDER!r} is nobody: say who rates with the parameter `rater`")
    raw = b"".join(dump_json(_record(path, record)).encode() + b"\n" for record in records)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_to_the_end(path, raw)
    except OSError as error:
        problem = Problem(str(path), 0, "", f"cannot be written: {error}.", "Mend that, go on.")
        raise InputError("the label was not saved", [problem]) from error


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


def _check_local(where: Path) -> None:
    if is_remote(where):
        raise InputError(
            f"{where} is at a URL: labels are written line by line, which needs a folder of this "
            "machine. Copy the suite here, label, and copy its `labels` back."
        )


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


def _write_to_the_end(path: Path, raw: bytes) -> None:
    """Append at one stroke and have the disk keep it; after a torn line ours starts anew."""
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        size = os.fstat(file).st_size
        if size:
            os.lseek(file, -1, os.SEEK_END)
            raw = raw if os.read(file, 1) == b"\n" else b"\n" + raw
        written = os.write(file, raw)
        while written < len(raw):
            written += os.write(file, raw[written:])
        os.fsync(file)
    finally:
        os.close(file)
    if not size:
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Have the disk keep that a file is there, where folders can be told so."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)

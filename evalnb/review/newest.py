"""The newest run that can be read whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.errors import EvalnbError
from evalnb.reports.text import one_line
from evalnb.results import read_run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from evalnb.runs import Run

__all__ = ["newest_run"]


def newest_run(folders: Sequence[Path]) -> tuple[Run | None, list[str]]:
    """Read the last of some runs that can be read.

    Parameters
    ----------
    folders : of runs, in order of time

    Returns
    -------
    run : None where none can be read
    problems : a line each run that was passed over, the newest first
    """
    problems: list[str] = []
    for folder in reversed(folders):
        try:
            return read_run(folder), problems
        except EvalnbError as error:
            said = one_line(str(error), limit=300)
            problems.append(
                f"The run {folder.name} is passed over, since it cannot be read: {said}"
            )
    return None, problems

"""What a look at production leaves behind: scores, a short report, candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.curation.candidates.files import write_candidates, write_rows
from evalnb.jsontext import write_atomically
from evalnb.reports.markdown import escape
from evalnb.results import new_folder, results_root

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from pathlib import Path

    import pandas as pd

    from evalnb.golden import GoldenSet

__all__ = ["curation_folder", "write_log_scores"]


def curation_folder(golden: GoldenSet, kind: str, now: datetime, root: Path | None = None) -> Path:
    """Make an empty folder below the results root, beside those of runs.

    Parameters
    ----------
    golden : whose it is
    kind : what for, such as "production"
    now, root : as for `new_run_folder`

    Raises
    ------
    InputError
        If it cannot be made.
    """
    return new_folder((root or results_root(golden)) / f"_{kind}" / golden.settings.name, now)


def write_log_scores(
    folder: Path,
    scores: pd.DataFrame,
    candidates: pd.DataFrame,
    logs: pd.DataFrame,
    lines: Iterable[str],
) -> None:
    """Write `scores.jsonl`, `candidates.jsonl` with `logs.jsonl`, and `summary.md`.

    Parameters
    ----------
    folder : of `curation_folder`
    scores : of `score_logs`
    candidates : a frame of candidates
    logs : a logs frame, redacted
    lines : what the report says, plain text
    """
    write_rows(folder / "scores.jsonl", scores)
    write_candidates(folder, candidates, logs)
    said = "".join(f"{_item(line)}\n" for line in lines)
    write_atomically(folder / "summary.md", f"# Production\n\n{said}".encode())


def _item(line: str) -> str:
    """Return a line as an item of a list, as deep as it is indented."""
    text = line.lstrip()
    return f"{line[: len(line) - len(text)]}- {escape(text)}"

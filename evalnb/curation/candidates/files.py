"""Candidates on disk: which conversations, why, and what was said in them, redacted."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evalnb.curation.candidates.picks import CANDIDATES
from evalnb.errors import InputError
from evalnb.frames import LOGS, FrameSchema, to_records
from evalnb.jsontext import dump_json, write_atomically
from evalnb.results import read_rows

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

__all__ = ["Candidates", "read_candidates", "write_candidates", "write_rows"]

_CANDIDATES, _LOGS = "candidates.jsonl", "logs.jsonl"


class Candidates(NamedTuple):
    """A frame of candidates, and a logs frame of their conversations."""

    candidates: pd.DataFrame
    logs: pd.DataFrame


def write_candidates(folder: Path, candidates: pd.DataFrame, logs: pd.DataFrame) -> Path:
    """Write `candidates.jsonl`, and their conversations as `logs.jsonl`.

    Parameters
    ----------
    folder : made if missing
    candidates : a frame of candidates
    logs : a logs frame, redacted; messages of other conversations are left out

    Returns
    -------
    the file of the candidates
    """
    picked = logs[logs["conversation_id"].isin(candidates["conversation_id"])]
    write_rows(folder / _LOGS, picked)
    write_rows(folder / _CANDIDATES, candidates)
    return folder / _CANDIDATES


def read_candidates(folder: Path) -> Candidates:
    """Read what `write_candidates` wrote.

    Raises
    ------
    InputError
        If a file is missing or damaged.
    """
    return Candidates(_read(folder / _CANDIDATES, CANDIDATES), _read(folder / _LOGS, LOGS))


def write_rows(path: Path, frame: pd.DataFrame) -> None:
    """Write a frame as JSON Lines, a row a line, without what is NA."""
    text = "".join(f"{dump_json(row)}\n" for row in to_records(frame))
    write_atomically(path, text.encode())


def _read(path: Path, schema: FrameSchema) -> pd.DataFrame:
    if not path.is_file():
        raise InputError(f"there are no candidates at {path.parent}: {path.name} is missing")
    return read_rows(path, schema, "file of candidates", "Have it written again.")

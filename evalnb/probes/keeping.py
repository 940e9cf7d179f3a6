"""Where the verdicts of probes are taken from, and kept."""

from __future__ import annotations

import secrets
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from evalnb.cassettes import Cassettes
from evalnb.errors import InputError
from evalnb.journal import JOURNAL, Journal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from evalnb.cassettes import Mode
    from evalnb.golden import GoldenSet

__all__ = ["probe_cassettes"]


@contextmanager
def probe_cassettes(
    golden: GoldenSet, mode: Mode, now: datetime, root: Path
) -> Iterator[Cassettes]:
    """Give the suite's cassettes; live, a journal keeps each response before it is used.

    Parameters
    ----------
    golden : the suite
    mode : replay, record or live
    now : time in UTC
    root : where journals go: a folder a live probing

    Raises
    ------
    InputError
        If the suite has no folder, or no journal can be kept.
    """
    if golden.folder is None:
        raise InputError("only a suite has cassettes: give a suite's folder, not a JSONL file")
    folder = golden.folder / "cassettes"
    if mode != "live":
        yield Cassettes(folder, mode)
        return
    place = root / f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
    try:
        place.mkdir(parents=True)
    except OSError as error:
        raise InputError(f"no folder can be made for the verdicts: {error}") from error
    about = {"probes": golden.settings.name, "golden_version": golden.version}
    with closing(Journal(place / JOURNAL, about)) as journal:
        yield Cassettes(folder, mode, journal=journal)

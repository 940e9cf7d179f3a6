"""Where the verdicts of probes are taken from, and kept."""

from __future__ import annotations

import os
import secrets
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evalnb.cassettes import Cassettes
from evalnb.errors import InputError
from evalnb.journal import JOURNAL, Journal
from evalnb.resuming import stopped_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from evalnb.cassettes import Mode
    from evalnb.golden import GoldenSet
    from evalnb.judges import Judge
    from evalnb.probes.base import Probe

__all__ = ["Keeping", "probe_cassettes"]

_DONE = "done"


@dataclass(frozen=True)
class Keeping:
    """Cassettes, and the folder of a live probing.

    Attributes
    ----------
    cassettes : where verdicts are taken from, and kept
    folder : of a live probing; None where nothing is asked anew
    """

    cassettes: Cassettes
    folder: Path | None = None

    def finish(self) -> None:
        """Say that nothing is left to ask: the next live probing begins anew."""
        if self.folder is not None:
            (self.folder / _DONE).touch()


@contextmanager
def probe_cassettes(
    golden: GoldenSet,
    mode: Mode,
    now: datetime,
    root: Path,
    *,
    judges: Sequence[Judge],
    probes: Sequence[Probe],
) -> Iterator[Keeping]:
    """Give the suite's cassettes; live, a journal keeps each response before it is used.

    Parameters
    ----------
    golden : the suite
    mode : replay, record or live
    now : time in UTC
    root : where journals go: a folder a live probing
    judges, probes : what a live probing is of
        One that stopped within a day, of the same judges, probes and cases, is taken up.

    Raises
    ------
    InputError
        If the suite has no folder, or no journal can be kept.
    """
    if golden.folder is None:
        raise InputError("only a suite has cassettes: give a suite's folder, not a JSONL file")
    folder = golden.folder / "cassettes"
    if mode != "live":
        yield Keeping(Cassettes(folder, mode))
        return
    about = _identity(golden, judges, probes)
    place = stopped_folder(root, about, now, done=_DONE) or _new_folder(root, now)
    with closing(Journal(place / JOURNAL, about)) as journal:
        yield Keeping(Cassettes(folder, mode, journal=journal), place)


def _identity(
    golden: GoldenSet, judges: Sequence[Judge], probes: Sequence[Probe]
) -> dict[str, Any]:
    return {
        "probes": golden.settings.name,
        "golden_version": golden.version,
        "asked": sorted(probe.name for probe in probes),
        "judges": {judge.name: judge.fingerprint for judge in judges},
        "asked_at": os.environ.get("ANTHROPIC_BASE_URL", ""),
    }


def _new_folder(root: Path, now: datetime) -> Path:
    place = root / f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
    try:
        place.mkdir(parents=True)
    except OSError as error:
        raise InputError(f"no folder can be made for the verdicts: {error}") from error
    return place

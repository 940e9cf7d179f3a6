"""Taking up a live run where it stood."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from evalnb.advice import RULE_ONLY, Tier
from evalnb.errors import InputError
from evalnb.journal import JOURNAL, Journal, JournalBusyError, journal_identity
from evalnb.places import is_remote
from evalnb.results import new_run_folder, results_root

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from evalnb.golden import GoldenSet
    from evalnb.systems import DirectSystem, System

__all__ = ["open_journal", "run_folder", "stopped_folder"]

_OLDEST = timedelta(hours=24)
"""A run that stopped longer ago is not taken up unasked: the model may have changed since."""


def open_journal(
    folder: Path,
    golden: GoldenSet,
    system: System | DirectSystem,
    repeats: int,
    tier: Tier = RULE_ONLY,
) -> Journal:
    """Open the journal of a live run, new or begun before.

    Raises
    ------
    InputError
        If another process writes it, it is of another run, or the folder is on another machine.
    """
    if is_remote(folder):
        raise InputError(
            f"a live run keeps its journal on this machine, and {folder} is not: give results a "
            "local folder"
        )
    return Journal(folder / JOURNAL, _identity(golden, system, repeats, tier))


def run_folder(
    golden: GoldenSet,
    system: System | DirectSystem,
    now: datetime,
    *,
    mode: str,
    repeats: int | None = None,
    tier: Tier = RULE_ONLY,
    root: Path | None = None,
) -> Path:
    """Return the folder for a run: of a live one that was stopped, or a new one.

    A live run is taken up when the same was asked of the same system, it came to no decision,
    nobody is at it, and it was begun within a day.

    Parameters
    ----------
    golden : the suite
    system : what will answer
    now : time in UTC
    mode : replay, record or live
    repeats : answers per case; by default what the suite says
    tier : whether judges are asked
    root : the results root; by default the suite's

    Raises
    ------
    InputError
        If no folder can be made.
    """
    if mode == "live":
        identity = _identity(golden, system, repeats or golden.settings.repeats, tier)
        runs = (root or results_root(golden)) / golden.settings.name
        stopped = stopped_folder(runs, identity, now, done="report.json")
        if stopped is not None:
            return stopped
    return new_run_folder(golden, now, root)


def stopped_folder(
    parent: Path, identity: Mapping[str, Any], now: datetime, *, done: str
) -> Path | None:
    """Return the newest folder of the same that was begun within a day and stopped, if any.

    Parameters
    ----------
    parent : where such folders are, each named by the time when it was begun
    identity : what its journal must be of
    now : time in UTC
    done : the file that a folder has when all is done
    """
    for folder in sorted(parent.glob("*"), reverse=True) if parent.is_dir() else ():
        if _begun_at(folder) >= now - _OLDEST and _is_unfinished(folder, dict(identity), done):
            return folder
    return None


def _identity(
    golden: GoldenSet, system: System | DirectSystem, repeats: int, tier: Tier
) -> dict[str, Any]:
    return {
        "tier": tier,
        "suite": golden.settings.name,
        "golden_version": golden.version,
        "system": system.name,
        "system_fingerprint": system.fingerprint,
        "repeats": repeats,
        "asked_at": os.environ.get("ANTHROPIC_BASE_URL", ""),
    }


def _is_unfinished(folder: Path, identity: dict[str, Any], done: str) -> bool:
    path = folder / JOURNAL
    is_finished = any((folder / name).exists() for name in (done, "shard.json"))
    if is_finished or journal_identity(path) != identity:
        return False
    try:
        Journal(path, identity).close()
    except JournalBusyError:
        return False
    except InputError:
        return False
    return True


def _begun_at(folder: Path) -> datetime:
    try:
        return datetime.strptime(folder.name.split("-")[0], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:  # no run of ours
        return datetime.min.replace(tzinfo=UTC)

"""Versions of a golden set over git history."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from evalnb.cases import Case
from evalnb.errors import InputError, Problem
from evalnb.frames import FrameSchema
from evalnb.golden import case_content, case_of, version_of
from evalnb.jsontext import parse_line
from evalnb.places import is_remote, place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import BinaryIO

    import pandas as pd

__all__ = [
    "GOLDEN_LOG",
    "SHALLOW",
    "WORKING_TREE",
    "Commit",
    "blobs_of",
    "commits_of",
    "golden_log",
]

GOLDEN_LOG = FrameSchema(
    "golden log",
    {
        "commit": "string",
        "committed_at": "string",
        "author": "string",
        "subject": "string",
        "golden_version": "string",
        "n_cases": "Int64",
        "n_added": "Int64",
        "n_removed": "Int64",
        "n_changed": "Int64",
        "added": "object",
        "removed": "object",
        "changed": "object",
        "damaged": "string",
        "note": "string",
    },
    key=("commit",),
)
"""A row a commit that changed the cases, newest first.

`added`, `removed` and `changed` list case ids, against the last version before that can be read.
`damaged` says why a version cannot be read today; it then has no cases. `note` says where history
is cut off. What is not committed yet is the first row, without a commit.
"""

WORKING_TREE = "(not committed)"
"""The `subject` of cases as they are now, where they differ from the last commit."""

SHALLOW = "the clone is shallow: what was before is not here"
"""The `note` of a version whose past was not fetched."""

_FILE = "cases.jsonl"
_NO_BLOB = frozenset("0")
_FIELDS_OF_A_COMMIT = 4


class Commit(NamedTuple):
    """One commit that changed a file."""

    commit: str
    committed_at: str
    author: str
    subject: str
    blob: str
    """Of the file after the commit; only zeros where it was deleted."""


def golden_log(folder: str | Path) -> pd.DataFrame:
    """List the versions of a suite's cases, with what changed, newest first.

    It is the history of the branch that is checked out: of a merge it has the whole as one row,
    not the commits that were merged. Renamed files are followed.

    Parameters
    ----------
    folder : a suite's folder in a git repository

    Returns
    -------
    a golden log frame, as `GOLDEN_LOG` says

    Raises
    ------
    InputError
        If the folder is in no git repository, git is not installed or there are no cases.
    """
    folder = place(folder)
    if is_remote(folder):
        raise InputError(f"{folder} has no git history: give a suite's folder in a repository")
    if not folder.is_dir():
        raise InputError(f"there is no suite at {folder}")
    commits = commits_of(folder)
    if not commits and not (folder / _FILE).is_file():
        raise InputError(f"there are no cases at {folder / _FILE}, now or in its history")
    return GOLDEN_LOG.build(reversed(_rows(folder, commits)))


def _rows(folder: Path, commits: list[Commit]) -> list[dict[str, Any]]:
    """Return a row a version, oldest first."""
    boundary = _shallow_boundary(folder)
    known: dict[bytes, tuple[str, str] | Problem] = {}
    rows: list[dict[str, Any]] = []
    version: dict[str, str] | Problem = {}
    before: dict[str, str] = {}
    with blobs_of(folder) as blob_of:
        for commit in reversed(commits):
            content = b"" if set(commit.blob) <= _NO_BLOB else blob_of(commit.blob)
            version = _read(content, known)
            row = {
                "commit": commit.commit,
                "committed_at": _in_utc(commit.committed_at),
                "author": commit.author,
                "subject": commit.subject,
            }
            if commit.commit in boundary:
                rows.append({**row, **_state(version), "note": SHALLOW})
            else:
                rows.append({**row, **_state(version), **_changes(before, version)})
            before = before if isinstance(version, Problem) else version
    path = folder / _FILE
    now = _read(path.read_bytes() if path.is_file() else b"", known)
    if now != version:
        rows.append({"subject": WORKING_TREE, **_state(now), **_changes(before, now)})
    return rows


def _state(version: dict[str, str] | Problem) -> dict[str, Any]:
    if isinstance(version, Problem):
        return {"damaged": str(version)}
    return {
        "golden_version": version_of(version.values()),
        "n_cases": len(version),
        "damaged": None,
    }


def _changes(before: dict[str, str], version: dict[str, str] | Problem) -> dict[str, Any]:
    if isinstance(version, Problem):
        return {}
    ids = {
        "added": [case_id for case_id in version if case_id not in before],
        "removed": [case_id for case_id in before if case_id not in version],
        "changed": [
            case_id
            for case_id, content in version.items()
            if case_id in before and before[case_id] != content
        ],
    }
    return ids | {f"n_{name}": len(found) for name, found in ids.items()}


def _read(
    content: bytes, known: dict[bytes, tuple[str, str] | Problem]
) -> dict[str, str] | Problem:
    """Return the cases of a version, id to content, or its first problem.

    `known` holds the lines that were read before: from one version to the next few change.
    """
    cases: dict[str, str] = {}
    for number, raw in enumerate(content.removesuffix(b"\n").split(b"\n") if content else (), 1):
        if raw not in known:
            known[raw] = _read_line(raw)
        found = known[raw]
        if isinstance(found, Problem):
            return replace(found, line=number)
        case_id, said = found
        if case_id in cases:
            message = f"{case_id!r} is the id of an earlier line."
            return Problem(_FILE, number, "id", message, "Give the case an id of its own.")
        cases[case_id] = said
    return cases


def _read_line(raw: bytes) -> tuple[str, str] | Problem:
    line = parse_line(_FILE, 0, raw)
    if isinstance(line, Problem):
        return line
    case = case_of(line, _FILE)
    return (case.id, case_content(case)) if isinstance(case, Case) else case[0]


def _in_utc(text: str) -> str:
    return datetime.fromisoformat(text).astimezone(UTC).isoformat(timespec="seconds")


def commits_of(folder: Path, file: str = _FILE) -> list[Commit]:
    """Return the commits that changed a file, newest first.

    Parameters
    ----------
    folder : in a git repository
    file : its path in the folder

    Raises
    ------
    InputError
        If the folder is in no git repository, or git is not installed.
    """
    _git(folder, "rev-parse", "--git-dir")
    if not _has_commit(folder):
        return []
    listed = _git(
        folder,
        *("log", "--follow", "--first-parent", "-M", "--raw", "--no-abbrev", "--no-color", "-z"),
        "--no-show-signature",
        "--format=%H%x00%cI%x00%an%x00%s",
        *("--", file),
    )
    fields = iter(listed.decode("utf-8", "replace").removesuffix("\0").split("\0"))
    return list(_parsed(fields)) if listed else []


def _parsed(fields: Iterator[str]) -> Iterator[Commit]:
    for commit in fields:
        committed_at, author, subject, change = (next(fields) for _ in range(_FIELDS_OF_A_COMMIT))
        _, _, _, blob, status = change.lstrip("\n").split(" ")
        for _ in range(2 if status[0] in "RC" else 1):
            next(fields)  # the file's path, before and after
        yield Commit(commit, committed_at, author, subject, blob)
        if status.startswith("C"):  # what it was copied from has a history of its own
            return


def _has_commit(folder: Path) -> bool:
    try:
        _git(folder, "rev-parse", "--verify", "--quiet", "HEAD")
    except InputError:
        return False
    return True


def _shallow_boundary(folder: Path) -> set[str]:
    """Return the commits whose parents were not fetched."""
    path = folder / _git(folder, "rev-parse", "--git-path", "shallow").decode().removesuffix("\n")
    return set(path.read_text(encoding="ascii").split()) if path.is_file() else set()


def _git(folder: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(  # noqa: S603
            ["git", "-C", str(folder), *arguments],  # noqa: S607
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        raise InputError("git is not installed, so there is no history to be read") from None
    if done.returncode:
        why = done.stderr.decode("utf-8", "replace").strip()
        raise InputError(f"git tells no history of {folder}: {why}")
    return done.stdout


@contextmanager
def blobs_of(folder: Path) -> Iterator[Callable[[str], bytes]]:
    """Give a function from a blob's name to its content; one `git` answers for all.

    Parameters
    ----------
    folder : in a git repository
    """
    with subprocess.Popen(  # noqa: S603
        ["git", "-C", str(folder), "cat-file", "--batch"],  # noqa: S607
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        questions, answers = cast("BinaryIO", process.stdin), cast("BinaryIO", process.stdout)
        yield lambda name: _blob(name, questions, answers)


def _blob(name: str, questions: BinaryIO, answers: BinaryIO) -> bytes:
    questions.write(f"{name}\n".encode())
    questions.flush()
    head = answers.readline().split()
    if len(head) != 3:
        raise InputError(f"git has no content for {name}: the repository is not complete")
    content = answers.read(int(head[2]))
    answers.read(1)
    return content

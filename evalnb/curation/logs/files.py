"""The files of a log: one, many, a pattern, a folder, a URL."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from evalnb.errors import InputError
from evalnb.places import is_remote, place

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["FileKind", "LogFile", "find_files", "is_database"]

FileKind: TypeAlias = Literal["jsonl", "json", "csv", "parquet"]

_KINDS: dict[str, FileKind] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_COMPRESSED = {".gz", ".zst"}
_MAGIC = "*?["
_DATABASES = ("sqlite", "postgresql", "postgres", "mysql", "mariadb", "duckdb", "mssql", "oracle")


@dataclass(frozen=True)
class LogFile:
    """One file of a log.

    Attributes
    ----------
    name : path or URL, as duckdb and fsspec understand it
    kind : what is in it
    filesystem : the store that it is in; None on this machine
    """

    name: str
    kind: FileKind
    filesystem: Any = None


def is_database(source: Any) -> bool:
    """Tell whether a source is the URL of a database, such as "sqlite:///logs.db"."""
    if not isinstance(source, str) or "://" not in source:
        return False
    return source.partition("://")[0].partition("+")[0].lower() in _DATABASES


def find_files(source: str | Path | Iterable[str | Path]) -> list[LogFile]:
    """Return the files that a source means, in the order of their names.

    Parameters
    ----------
    source : a file, a pattern such as "logs/*.jsonl.gz", a folder, or several of these; on this
        machine or at URLs that fsspec knows

    Raises
    ------
    InputError
        If there is none, or it is of a kind that cannot be read.
    """
    several = [source] if isinstance(source, (str, Path)) else list(source)
    if "" in several:
        raise InputError("there are no logs at ``: say which files, or `.` for all of this folder")
    files = [file for one in several for file in _files_of(one)]
    if not files:
        raise InputError("there are no logs: no source was given")
    return list(dict.fromkeys(files))


def _files_of(source: str | Path) -> list[LogFile]:
    where = place(source)
    names = _remote(where) if is_remote(where) else _local(where)
    if not names:
        raise InputError(f"there are no logs at {source}")
    filesystem = where.fs if is_remote(where) else None  # type: ignore[attr-defined]
    return [LogFile(name, _kind(name), filesystem) for name in names]


def _local(where: Path) -> list[str]:
    if where.is_file():
        return [str(where)]
    if where.is_dir():
        return sorted(str(path) for path in where.rglob("*") if _is_log(path))
    if any(sign in str(where) for sign in _MAGIC):
        root = Path(where.anchor)
        pattern = str(where.relative_to(root)) if where.anchor else str(where)
        return sorted(str(path) for path in root.glob(pattern) if path.is_file())
    return []


def _remote(where: Any) -> list[str]:
    store, inside = where.fs, where.path
    if any(sign in inside for sign in _MAGIC):
        found = store.glob(inside)
    elif store.isdir(inside):
        found = [name for name in store.find(inside) if _kind_of(name)]
    else:
        found = [inside] if store.exists(inside) else []
    return sorted(store.unstrip_protocol(name) for name in found)


def _is_log(path: Path) -> bool:
    return path.is_file() and _kind_of(path.name) is not None and not path.name.startswith(".")


def _kind(name: str) -> FileKind:
    kind = _kind_of(name)
    if kind is None:
        raise InputError(
            f"{name} cannot be read: logs are files that end in {', '.join(_KINDS)}, "
            f"text files also with {' or '.join(sorted(_COMPRESSED))} after it"
        )
    return kind


def _kind_of(name: str) -> FileKind | None:
    suffixes = [suffix.lower() for suffix in PurePosixPath(name).suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    return _KINDS.get(suffixes[-1]) if suffixes else None

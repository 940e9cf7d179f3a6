"""Records of files, by duckdb: a part at a time, whatever their size."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from evalnb.curation.logs.damage import Damage, as_text
from evalnb.errors import InputError
from evalnb.jsontext import JsonProblem, parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evalnb.curation.logs.columns import Column, Columns
    from evalnb.curation.logs.files import LogFile

__all__ = ["Draw", "Record", "scan"]

_BATCH = 5_000
_LONGEST_LINE = 4_000_000
_LINES = (
    "read_csv(?, columns={'line': 'VARCHAR'}, delim='', quote='', escape='', comment='', "
    f"header=false, auto_detect=false, max_line_size={_LONGEST_LINE}, strict_mode=false, "
    "ignore_errors=true, store_rejects=true)"
)
_TABLE = (
    "read_csv(?, all_varchar=true, header=true, ignore_errors=true, store_rejects=true, "
    f"max_line_size={_LONGEST_LINE}{{delimiter}})"
)
_SETTINGS: dict[str, Any] = {
    "memory_limit": "600MB",
    "threads": 2,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}


class Record(NamedTuple):
    """One record of a log, and where it is from."""

    value: dict[str, Any]
    source: str


@dataclass(frozen=True)
class Draw:
    """Which conversations are read: those whose lot is under a rate; see `lots.lot`.

    Attributes
    ----------
    column : the field that names the conversation
    seed : of the lots
    rate : the share of conversations that is read
    """

    column: str
    seed: int
    rate: float

    def condition(self, expression: str) -> str:
        """Return SQL that is true for what is drawn, and for what names no conversation."""
        bound = f"{min(int(self.rate * 2**64), 2**64 - 1):016x}"
        text = f"concat('{self.seed}', chr(0), 'uniform', chr(0), CAST({expression} AS VARCHAR))"
        return f"({expression} IS NULL OR substr(sha256({text}), 1, 16) < '{bound}')"


def scan(
    file: LogFile,
    columns: Columns | None = None,
    draw: Draw | None = None,
    first: int | None = None,
) -> Iterator[Record | Damage]:
    """Yield the records of a file in order, and what cannot be read.

    Parameters
    ----------
    file : any kind
    columns : what of it is wanted; all, where None
    draw : of which conversations; it only spares work, what it lets through is to be checked
    first : at most so many of them

    Raises
    ------
    InputError
        If duckdb is not installed.
    """
    if file.kind == "json":
        yield from islice(_documents(file), first)
        return
    with _connected(file) as connection:
        import duckdb

        try:
            reader = {"jsonl": _json_lines, "csv": _csv, "parquet": _parquet}[file.kind]
            yield from reader(_Query(connection, file.name, first), columns, draw)
        except (duckdb.Error, OSError) as error:
            yield Damage(file.name, f"cannot be read, or not from here on: {_first_line(error)}")


@contextmanager
def _connected(file: LogFile) -> Iterator[Any]:
    try:
        import duckdb
    except ImportError as error:
        raise InputError('logs are read by duckdb: pip install "evalnb[curation]"') from error
    with duckdb.connect(config=_SETTINGS) as connection:
        if file.filesystem is not None:
            connection.register_filesystem(file.filesystem)
        yield connection


class _Query(NamedTuple):
    """What is asked of one file."""

    connection: Any
    name: str
    first: int | None

    def rows(self, query: str) -> Iterator[tuple[Any, ...]]:
        """Yield what a query finds, a part at a time."""
        limit = "" if self.first is None else f" LIMIT {self.first}"
        result = self.connection.execute(query + limit, [self.name])
        while batch := result.fetchmany(_BATCH):
            yield from batch

    def rejected(self) -> Iterator[Damage]:
        """Yield the lines that the reader passed over."""
        query = (
            "SELECT line, any_value(csv_line), any_value(error_message) FROM reject_errors "
            "GROUP BY line ORDER BY line"
        )
        for number, text, message in self.connection.execute(query).fetchall():
            problem = _first_line(message)
            yield Damage(f"{self.name}:{number}", problem, (text or "").strip("\n"))


def _json_lines(
    asked: _Query, columns: Columns | None, draw: Draw | None
) -> Iterator[Record | Damage]:
    del columns
    query = f"SELECT line FROM {_LINES} WHERE trim(line) <> ''"  # noqa: S608
    if draw is not None:
        path = "line ->> " + _literal(_json_path(draw.column))
        drawn = draw.condition(f"({path})")
        # CASE, since AND and OR may be taken in any order and broken lines have no fields.
        query += f" AND CASE WHEN json_valid(line) THEN {drawn} ELSE true END"
    name = asked.name
    for (line,) in asked.rows(query):
        try:
            value = parse_json(line)
        except JsonProblem as problem:
            yield Damage(name, problem.message, line)
            continue
        if isinstance(value, dict):
            yield Record(value, name)
        else:
            yield Damage(name, f"must be a JSON object. Got {type(value).__name__}.", line)
    yield from asked.rejected()


def _csv(asked: _Query, columns: Columns | None, draw: Draw | None) -> Iterator[Record | Damage]:
    tabs = ", delim='\t'" if ".tsv" in asked.name.lower() else ""
    table = _TABLE.format(delimiter=tabs)
    yield from _table(asked, table, columns, draw)
    yield from asked.rejected()


def _parquet(
    asked: _Query, columns: Columns | None, draw: Draw | None
) -> Iterator[Record | Damage]:
    yield from _table(asked, "read_parquet(?)", columns, draw)


def _table(
    asked: _Query, table: str, columns: Columns | None, draw: Draw | None
) -> Iterator[Record]:
    describe = f"DESCRIBE SELECT * FROM {table}"  # noqa: S608
    described = asked.connection.execute(describe, [asked.name]).fetchall()
    there = {column: kind for column, kind, *_ in described}
    wanted = list(there)
    if columns is not None:
        tops = {_top(column, there) for column in columns.fields.values()}
        wanted = [column for column in there if column in tops] or wanted
    query = f"SELECT {', '.join(map(_quoted, wanted))} FROM {table}"  # noqa: S608
    if draw is not None and there.get(draw.column) in ("VARCHAR", "BIGINT", "INTEGER", "UUID"):
        query += f" WHERE {draw.condition(_quoted(draw.column))}"
    for row in asked.rows(query):
        yield Record(dict(zip(wanted, row, strict=True)), asked.name)


def _documents(file: LogFile) -> Iterator[Record | Damage]:
    """Yield what a JSON file holds, which is read as a whole: an object, or a list of them."""
    import fsspec

    try:
        opened = (
            file.filesystem.open(file.name, compression="infer")
            if file.filesystem is not None
            else fsspec.open(file.name, compression="infer")
        )
        with opened as stream:
            value = parse_json(stream.read().decode())
    except (OSError, ValueError) as error:
        yield Damage(file.name, f"cannot be read: {_first_line(error)}")
        return
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, dict):
            yield Record(one, file.name)
        else:
            yield Damage(file.name, f"must be an object. Got {type(one).__name__}.", as_text(one))


def _top(column: Column, there: dict[str, str]) -> str:
    return column.name if column.name in there else column.name.split(".")[0]


def _json_path(name: str) -> str:
    return "$." + ".".join('"' + part.replace('"', "") + '"' for part in name.split("."))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _first_line(error: object) -> str:
    return str(error).strip().partition("\n")[0]

"""Production logs of any usual form as one frame."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalnb.curation.logs.calls import Call, Calls, Opinion
from evalnb.curation.logs.columns import Columns, find_columns
from evalnb.curation.logs.damage import Damage, DamageFile, as_text
from evalnb.curation.logs.database import query_records, shown_url
from evalnb.curation.logs.files import LogFile, find_files, is_database
from evalnb.curation.logs.formats import Reader, find_reader
from evalnb.curation.logs.rows import readable, rows_of
from evalnb.curation.logs.scanning import Draw, Record, scan
from evalnb.curation.logs.values import MISSHAPEN
from evalnb.curation.lots import lot
from evalnb.datasets.taubench import TAUBENCH, load_taubench_airline
from evalnb.errors import InputError
from evalnb.frames import LOGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pandas as pd

    from evalnb.curation.logs.columns import Mapped
    from evalnb.curation.redaction.redactor import Redactor

__all__ = ["DAMAGED_FILE", "read_logs"]

DAMAGED_FILE = Path("results/damaged_logs.jsonl")
"""Where what cannot be read is kept, unless said otherwise."""

_PEEKED = 200


def read_logs(
    source: str | Path | Iterable[str | Path],
    mapping: Mapped | None = None,
    *,
    query: str | None = None,
    rate: float = 1.0,
    seed: int = 0,
    damaged: str | Path = DAMAGED_FILE,
    redactor: Redactor | None = None,
) -> pd.DataFrame:
    """Read production logs.

    A log may have a message a record, an exchange (`input` and `output`) or a conversation (a list
    `messages`); or hold model calls: OpenTelemetry's GenAI spans, a Langfuse export, or requests
    and responses of the Messages API. Which it is shows in its fields.

    Files are read a part at a time; with a `rate`, what is not drawn never leaves the reader.

    Parameters
    ----------
    source : JSON Lines, JSON, CSV, TSV or Parquet: a file, a pattern such as "logs/*.jsonl.gz", a
        folder, or several of these, here or at URLs that fsspec knows; or a database's URL as
        SQLAlchemy reads it; or "taubench-airline", the conversations of `load_taubench_airline`
    mapping : column of the logs frame, or `input`, `output` or `messages`, to the field of the log,
        with dots where it is inside another; a `Column` says what its values mean, too. What has a
        usual name need not be mapped.
    query : of a database: SQL whose rows are the records
    rate : the share of conversations to read, drawn by the names that the log gives them: the same
        ones in any order of files, and with a higher rate these and more
    seed : another one is another draw
    damaged : side file for what cannot be read; replaced, and gone where nothing is damaged
    redactor : what is replaced in that file; by default without a suite's own patterns. The frame
        is not redacted: see `redact`.

    Returns
    -------
    a logs frame, conversations in the order of their names

    Raises
    ------
    InputError
        If there is no log, it is not clear which field says what, or no message could be read.

    Warns
    -----
    DamagedLogWarning
        How many records could not be read, or are there twice. Of conversations that are not drawn nothing is said.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> said = '{"session": "s1", "sender": "customer", "message": "Where is my order?"}'
    >>> _ = (folder / "day.jsonl").write_text(said)
    >>> read_logs(folder / "*.jsonl").loc[0, ["conversation_id", "role", "text"]].tolist()
    ['s1', 'user', 'Where is my order?']
    """
    if not 0 < rate <= 1:
        raise ValueError(f"`rate` must be above 0 and at most 1. Got {rate!r}.")
    if source == TAUBENCH:
        return _public(rate, seed)
    name, files, first, records = _opened(source, query)
    values = [record.value for record in first if isinstance(record, Record)]
    reader = None if mapping else find_reader(values)
    columns = None
    if reader is None:
        found = chain.from_iterable(values)
        columns = find_columns(_checked(found, first, name), mapping, source=name)
        if files:
            records = _scanned(files, columns, _draw(columns, values, seed, rate))
    with DamageFile(damaged, redactor) as faults:
        rows = _rows(records, reader, columns, faults)
        rows = (row for row in rows if rate == 1 or _is_drawn(row, seed, rate))
        drawn = list(_once(rows, faults, name))
        if not drawn and faults.n_lost:
            raise InputError(
                f"no message of {name} could be read: all {faults.n_lost:,} records that were looked "
                f"at are damaged. They are kept in {faults.path}."
            )
    faults.tell(name)
    return _in_order(drawn)


def _public(rate: float, seed: int) -> pd.DataFrame:
    logs = load_taubench_airline().sort_values(["conversation_id", "turn"])
    names = logs["conversation_id"]
    drawn = {name for name in names.unique() if rate == 1 or lot(seed, "uniform", name) < rate}
    return logs[names.isin(drawn)].reset_index(drop=True)


def _opened(
    source: Any, query: str | None
) -> tuple[str, list[LogFile], list[Record | Damage], Iterator[Record | Damage]]:
    """Return a log's name, its files, its first records, and all of them."""
    if is_database(source):
        if query is None:
            raise InputError("a database needs a `query` whose rows are the records of the log")
        rows = query_records(source, query)
        first: list[Record | Damage] = list(islice(rows, _PEEKED))
        return shown_url(source), [], first, chain(first, rows)
    if query is not None:
        raise ValueError("`query` is for databases: files are read whole, or at a rate")
    files = find_files(source)
    name = files[0].name if len(files) == 1 else f"{len(files)} files"
    peeked = [list(scan(file, first=_PEEKED)) for file in _one_a_kind(files)]
    return name, files, list(chain.from_iterable(peeked)), _scanned(files)


def _one_a_kind(files: list[LogFile]) -> list[LogFile]:
    """Return the first files, as they tell what fields there are, and the last of them."""
    return list(dict.fromkeys([*files[:8], files[-1]]))


def _scanned(
    files: list[LogFile], columns: Columns | None = None, draw: Draw | None = None
) -> Iterator[Record | Damage]:
    for file in files:
        yield from scan(file, columns, draw)


def _checked(found: Iterable[str], first: list[Record | Damage], name: str) -> list[str]:
    names = [one for one, _ in Counter(found).most_common()]
    if not names and first:
        problem = next(one.problem for one in first if isinstance(one, Damage))
        raise InputError(f"no record of {name} can be read: {problem}")
    if not names:
        raise InputError(f"{name} holds no record")
    return names


def _draw(columns: Columns, values: list[dict[str, Any]], seed: int, rate: float) -> Draw | None:
    """Return what the reader can leave out by itself: only where it sees a name as we do."""
    column = columns.fields.get("conversation_id")
    if rate == 1 or column is None or column.meanings:
        return None
    names = [columns.take(value, "conversation_id") for value in values]
    if not all(isinstance(one, str) or type(one) is int for one in names if one is not None):
        return None
    if any(isinstance(one, str) and one != one.strip() for one in names):
        return None
    return Draw(column.name, seed, rate)


def _is_drawn(row: dict[str, Any], seed: int, rate: float) -> bool:
    return lot(seed, "uniform", row["conversation_id"]) < rate


def _rows(
    records: Iterator[Record | Damage],
    reader: Reader | None,
    columns: Columns | None,
    faults: DamageFile,
) -> Iterator[dict[str, Any]]:
    if reader is not None:
        yield from _of_calls(records, reader, faults)
        return
    assert columns is not None  # noqa: S101 - one of the two is there
    for record in records:
        if isinstance(record, Damage):
            faults.add(record)
            continue
        for row in rows_of(record.value, columns, record.source):
            if isinstance(row, Damage):
                faults.add(row)
            else:
                yield row


def _once(
    rows: Iterator[dict[str, Any]], faults: DamageFile, source: str
) -> Iterator[dict[str, Any]]:
    """Yield messages, those once that the log holds twice: the same words at the same turn."""
    seen: set[tuple[Any, ...]] = set()
    for row in rows:
        if row.get("turn") is not None:
            key = tuple(row.get(part) for part in ("conversation_id", "turn", "role", "text"))
            if key in seen:
                problem = "is there twice: conversation, turn, role and text are those of another"
                faults.add(Damage(source, problem, as_text(row), again=True))
                continue
            seen.add(key)
        yield row


def _of_calls(
    records: Iterator[Record | Damage], reader: Reader, faults: DamageFile
) -> Iterator[dict[str, Any]]:
    with closing(Calls()) as calls:
        for record in records:
            found = [record] if isinstance(record, Damage) else _calls_in(record, reader)
            for one in found:
                _keep(one, calls, faults)
        for one in reader.rest():
            _keep(one, calls, faults)
        yield from calls.rows()


def _calls_in(record: Record, reader: Reader) -> Iterator[Call | Opinion | Damage]:
    try:
        yield from reader.read(record)
    except MISSHAPEN as error:
        yield Damage(record.source, f"has no form that is known: {error}", as_text(record.value))


def _keep(found: Call | Opinion | Damage, calls: Calls, faults: DamageFile) -> None:
    if isinstance(found, Damage):
        faults.add(found)
        return
    if isinstance(found, Call):
        fields, problems = readable(found.fields)
        for problem in problems:
            faults.add(
                Damage(f"call {found.keys[0]}" if found.keys else "call", problem, kept=True)
            )
        found = replace(found, fields=fields)
    calls.add(found)


def _in_order(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return rows as a frame, each conversation by its turns, its times, or as it came."""
    last = "￿"
    rows.sort(
        key=lambda row: (
            row["conversation_id"],
            row.get("turn") if row.get("turn") is not None else -1.0,
            row.get("at") or ("" if row.get("turn") is not None else last),
        )
    )
    turn, conversation = 0, None
    for row in rows:
        turn = turn + 1 if row["conversation_id"] == conversation else 1
        conversation = row["conversation_id"]
        row["turn"] = turn
    return LOGS.build(rows)

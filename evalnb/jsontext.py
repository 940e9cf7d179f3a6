"""Strict reading and stable writing of JSON and JSON Lines.

Python's own reader accepts what other readers refuse (NaN, a key twice, half a surrogate pair)
and what would change a case unseen, so every file that people edit is read here.
"""

from __future__ import annotations

import json
import math
import os
import secrets
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from pydantic_core import from_json, to_json

from evalnb.errors import Problem
from evalnb.places import is_remote

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = [
    "MAX_LINE_BYTES",
    "MAX_WRITTEN_LINE_BYTES",
    "JsonProblem",
    "Line",
    "dump_json",
    "each_line",
    "parse_json",
    "parse_line",
    "read_lines",
    "same_json",
    "writable_text",
    "write_atomically",
]

MAX_LINE_BYTES = 2_000_000
"""Longest line of a JSON Lines file; a longer one is a mistake, such as a pasted document."""

MAX_WRITTEN_LINE_BYTES = 1_000_000_000
"""The same for files that evalnb itself writes, where a long trajectory is one line."""

_BOM = b"\xef\xbb\xbf"
_UNSURE = object()


class JsonProblem(ValueError):  # noqa: N818 - becomes a Problem
    """Text that is not the JSON we accept.

    Attributes
    ----------
    message : what is wrong
    field : the key concerned, empty when there is none
    """

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.field = field


class Line(NamedTuple):
    """One line of a JSON Lines file."""

    number: int
    raw: bytes
    value: dict[str, Any]


def dump_json(value: Any) -> str:
    """Write one value on one line: keys in their order, text as itself, no NaN or Infinity.

    Examples
    --------
    >>> dump_json({"b": "é", "a": [1]})
    '{"b": "é", "a": [1]}'
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def parse_json(text: str) -> Any:
    """Read one JSON value, refusing what other readers refuse or would change unseen.

    Raises
    ------
    JsonProblem
        For broken JSON, a key twice in one object, NaN, Infinity, numbers beyond the range of a
        double, unpaired surrogates and nesting that is too deep.
    """
    value = _quickly(text.encode("utf-8", "surrogatepass"))
    return _thoroughly(text) if value is _UNSURE else value


def _quickly(raw: bytes) -> Any:
    """Read what is beyond doubt: JSON in which no key can be there twice.

    The reader keeps the last of two values of a key. Each colon of the text comes back when the
    value is written, after a key or within a string, but for those of keys that got lost; only
    escapes could make up for them.
    """
    try:
        value = from_json(raw, allow_inf_nan=False)
        written = to_json(value, inf_nan_mode="constants")
    except ValueError:
        return _UNSURE
    doubtful = b"\\u" in raw or b"Infinity" in written
    return _UNSURE if doubtful or raw.count(b":") != written.count(b":") else value


def _thoroughly(text: str) -> Any:
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique_keys,
            parse_constant=_no_constant,
            parse_float=_finite,
        )
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        raise JsonProblem(f"is not JSON: {error.msg} at {line}column {error.colno}.") from None
    except RecursionError:
        raise JsonProblem("is nested too deeply to be read.") from None
    except JsonProblem:
        raise
    except ValueError as error:  # an integer of more than 4,300 digits
        raise JsonProblem(f"holds a number that cannot be read: {error}.") from None
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise JsonProblem(
            r"holds half a surrogate pair (\ud800 to \udfff), no character."
        ) from None
    except RecursionError:
        raise JsonProblem("is nested too deeply to be read.") from None
    return value


def read_lines(
    path: Path, *, max_line_bytes: int = MAX_LINE_BYTES
) -> tuple[list[Line], list[Problem]]:
    """Read the objects of a JSON Lines file, with everything that is wrong with it.

    Parameters
    ----------
    path : a file
    max_line_bytes : the longest line that is read

    Returns
    -------
    lines : the lines that hold a JSON object, in order
    problems : the lines that do not, and faults of the file as a whole
    """
    lines: list[Line] = []
    problems: list[Problem] = []
    for found in each_line(path, max_line_bytes=max_line_bytes):
        if isinstance(found, Line):
            lines.append(found)
        else:
            problems.append(found)
    return lines, sorted(problems)


def each_line(
    source: Path | bytes, *, name: str = "", max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[Line | Problem]:
    """Yield the objects of a JSON Lines file and its problems, without keeping them.

    Parameters
    ----------
    source : a file, or its content
    name : what problems call it; by default the file's path
    max_line_bytes : the longest line that is read
    """
    file = name or str(source)
    crlf: list[int] = []
    with BytesIO(source) if isinstance(source, bytes) else source.open("rb") as stream:
        for number, raw in _bounded_lines(stream, max_line_bytes):
            if number == 1 and raw is not None and raw.startswith(_BOM):
                yield Problem(
                    file, 1, "", "starts with a byte order mark.", "Save as UTF-8 without BOM."
                )
                raw = raw.removeprefix(_BOM)
            if raw is not None and raw.endswith(b"\r"):
                crlf.append(number)
                raw = raw.removesuffix(b"\r")
            if raw is None:
                yield _too_long(file, number, max_line_bytes)
            else:
                yield parse_line(file, number, raw)
    if crlf:
        yield Problem(
            file,
            crlf[0],
            "",
            "ends in CRLF" + (f", as do {len(crlf) - 1} more." if len(crlf) > 1 else "."),
            "Save with LF line ends (in git: `*.jsonl text eol=lf`).",
        )


def same_json(one: Any, other: Any) -> bool:
    """Tell whether two values are the same as JSON: 1 is 1.0, but true is not 1.

    Examples
    --------
    >>> same_json([1], [1.0]), same_json(1, True)
    (True, False)
    """
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_json(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_json, one, other))
    return bool(one == other)


def writable_text(text: str) -> str:
    """Return a text that can be written as UTF-8: half surrogate pairs become question marks."""
    return text.encode("utf-8", "replace").decode()


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file as a whole: a reader sees the old content or the new, never a part.

    At a URL it is written as one object, which its store replaces as a whole.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if is_remote(path):
        path.write_bytes(content)
        return
    new = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with new.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            new.chmod(path.stat().st_mode & 0o777)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def parse_line(file: str, number: int, raw: bytes) -> Line | Problem:
    """Read one line, without its end, that must hold an object; `file` is named in problems."""
    value = _quickly(raw)
    if value is _UNSURE:
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            message = f"is not UTF-8 at byte {error.start + 1}."
            return Problem(file, number, "", message, "Save the file as UTF-8.")
        if not text.strip():
            return Problem(file, number, "", "is empty.", "Delete the line.")
        try:
            value = _thoroughly(text)
        except JsonProblem as problem:
            remedy = "Write one JSON object a line."
            return Problem(file, number, problem.field, problem.message, remedy)
    if not isinstance(value, dict):
        message = f"must be a JSON object. Got {type(value).__name__}."
        return Problem(file, number, "", message, "Write one JSON object a line.")
    return Line(number, raw, value)


def _bounded_lines(file: BinaryIO, limit: int) -> Iterator[tuple[int, bytes | None]]:
    """Yield each line without its LF; None for a line that is too long to hold in memory."""
    number = 0
    while chunk := file.readline(limit + 1):
        number += 1
        if chunk.endswith(b"\n"):
            yield number, chunk[:-1]
        elif len(chunk) <= limit:
            yield number, chunk
        else:
            while (rest := file.readline(limit)) and not rest.endswith(b"\n"):
                pass
            yield number, None


def _too_long(file: str, number: int, limit: int) -> Problem:
    return Problem(
        file,
        number,
        "",
        f"is longer than {limit:,} bytes.",
        "Shorten the case: long documents belong in `context` only as far as they are needed.",
    )


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise JsonProblem("is given twice in one object.", _printable(twice))
    return value


def _printable(key: str) -> str:
    """Return a key as a message can show it: not with half a surrogate pair."""
    return key.encode("utf-8", "backslashreplace").decode()


def _no_constant(name: str) -> float:
    raise JsonProblem(f"holds {name}, which is no JSON number.")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise JsonProblem(f"holds the number {text}, beyond the range of a double.")
    return number

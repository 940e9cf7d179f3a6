"""Reading what a judge answered: whole, on its scale and complete, or missing with a reason."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from evalnb.frames import NaReason
from evalnb.jsontext import JsonProblem, parse_json, writable_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["PARSER_VERSION", "Verdict", "read_verdict", "rounded", "schema_object"]

PARSER_VERSION = 2
"""Part of a judge's fingerprint: the same answer may be read otherwise by another version."""

_COMPLETE = frozenset({"end_turn", "stop_sequence"})
_CUT = frozenset({"max_tokens", "model_context_window_exceeded"})
_SHOWN = 60
_MOST_TRIES = 50
"""How many objects in a text are looked at, from its end, where text stands around the verdict."""


@dataclass(frozen=True)
class Verdict:
    """What a judge answered.

    Attributes
    ----------
    answers : what was answered, by property of the schema; None where it cannot be used
    text : the answer as it came, "" where there was none
    na_reason : why there are no answers
    error : the same in detail
    """

    answers: dict[str, Any] | None
    text: str
    na_reason: NaReason | None = None
    error: str | None = None


def read_verdict(message: Mapping[str, Any], schema: Mapping[str, Any]) -> Verdict:
    """Read the response to a judge's request.

    Parameters
    ----------
    message : a response of the Messages API as plain JSON values, untrusted
    schema : what was to be answered: an object whose properties are texts, choices, scores on
        consecutive whole numbers, lists or objects of such

    Returns
    -------
    a verdict, whatever the response
        A score keeps its decimals; text of a number is taken for it. Where a server knows no
        structured outputs, fences, text around the object and trailing commas are passed over.
    """
    if not isinstance(message, Mapping):
        message = {}
    text = _text(message)
    missing = _not_whole(message.get("stop_reason"), text)
    if missing is not None:
        return Verdict(None, text, *missing)
    try:
        found = _object_in(text, frozenset(map(_plain, schema["properties"])))
        return Verdict(_object(found, schema, ""), text)
    except _Unfit as unfit:
        return Verdict(None, text, unfit.reason, unfit.message)


def rounded(score: float) -> int:
    """Return the level that a score stands for: the nearest, half up.

    Examples
    --------
    >>> rounded(4.5), rounded(3.49)
    (5, 3)
    """
    return math.floor(score + 0.5)


def schema_object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object that has just these properties, in this order."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


class _Unfit(Exception):  # noqa: N818 - becomes a reason
    """An answer that does not fit its schema."""

    def __init__(self, reason: NaReason, message: str) -> None:
        self.reason = reason
        self.message = message
        super().__init__(message)


def _text(message: Mapping[str, Any]) -> str:
    blocks = message.get("content")
    texts = (
        block.get("text")
        for block in (blocks if isinstance(blocks, list) else ())
        if isinstance(block, dict) and block.get("type") == "text"
    )
    return writable_text("".join(text for text in texts if isinstance(text, str)))


def _not_whole(stop_reason: Any, text: str) -> tuple[NaReason, str] | None:
    """Say why a response is no whole answer, None where it is one."""
    if stop_reason == "refusal":
        return NaReason.REFUSAL, "the judge declined"
    if stop_reason is None:
        return NaReason.INCOMPLETE, "the response broke off"
    if not isinstance(stop_reason, str) or stop_reason not in _COMPLETE | _CUT:
        return NaReason.UNKNOWN_STOP, f"ended with {_shown(stop_reason)}"
    if stop_reason in _CUT:
        return NaReason.TRUNCATED, f"was cut off ({stop_reason}): allow more in `max_tokens`"
    if not text.strip():
        return NaReason.EMPTY, "the judge gave no text"
    return None


def _object_in(text: str, names: frozenset[str]) -> dict[str, Any]:
    """Return the JSON object that is a text, or the last in it that has the properties.

    Where none has all of them, or the last that has one stands behind all that have, it is that
    one: it says what is missing. Where an object
    after it was to be the verdict and cannot be read, there is none: what stands before may be a
    draft, or the judge's quotation of an answer that offers a verdict on itself.
    """
    try:
        whole = _read(text)
    except JsonProblem:
        pass
    else:
        if isinstance(whole, dict):
            return whole
        raise _Unfit(NaReason.BAD_VERDICT, f"holds no JSON object: {_shown(text)}")
    partial: dict[str, Any] | None = None
    partial_start = 0
    passed: list[tuple[int, int]] = []
    for start, end, candidate in chain(_objects(text), _decoded(text)):
        there = names & {_plain(str(name)) for name in candidate}
        if there == names:
            if partial is not None and partial_start >= end:  # the last one is not whole
                return partial
            rest = _without(text, end, passed)
            if _mention(names).search(rest):
                raise _Unfit(
                    NaReason.BAD_VERDICT, f"ends with what cannot be read: {_shown(rest.strip())}"
                )
            return candidate
        if there and partial is None:
            partial, partial_start = candidate, start
        passed.append((start, end))
    if partial is None:
        raise _Unfit(NaReason.BAD_VERDICT, f"holds no JSON object: {_shown(text)}")
    return partial


def _read(text: str) -> Any:
    """Read JSON strictly, but for numbers beyond all bounds and half surrogate pairs.

    Where they stand in what was asked for, they are seen to there.
    """
    try:
        return parse_json(text)
    except JsonProblem:
        try:
            return json.loads(text, object_pairs_hook=_unique)
        except (ValueError, RecursionError):
            pass
        raise


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name twice")
    return found


def _objects(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield the objects that stand in a text by themselves, the last one first."""
    spans = _balanced(text)
    for start, end in spans[: -_MOST_TRIES - 1 : -1]:
        part = text[start:end]
        for written in (part, _without_trailing_commas(part)):
            try:
                value = _read(written)
            except JsonProblem:
                continue
            if isinstance(value, dict):
                yield start, end, value
            break


def _decoded(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield what can be read from an opening brace on, where an odd quote hid it, the last first."""
    start = len(text)
    for _ in range(_MOST_TRIES):
        start = text.rfind("{", 0, start)
        if start < 0:
            return
        try:
            _, end = json.JSONDecoder().raw_decode(text, start)
            yield start, end, _read(text[start:end])
        except (ValueError, RecursionError):
            continue


def _without(text: str, start: int, spans: Iterable[tuple[int, int]]) -> str:
    """Return what stands in a text from a place on, without these parts of it."""
    rest = []
    for first, end in sorted(spans):
        if first >= start:
            rest.append(text[start:first])
            start = end
    return "\n".join([*rest, text[start:]])


def _mention(names: Iterable[str]) -> re.Pattern[str]:
    """Return how an object begins to say one of these properties, in whatever quotes."""
    written = "|".join(re.escape(name).replace("_", r"[\s_-]{1,4}") for name in sorted(names))
    return re.compile(rf"""["'](?:{written})["']\s{{0,20}}:""", re.IGNORECASE)


# A quote that nothing closes ends with its line: looking for its end from each would take too long.
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*+"?|[{}]')


def _balanced(text: str) -> list[tuple[int, int]]:
    """Return where braces open and close at the outermost level, strings passed over.

    A brace that is never closed hides nothing: what is balanced within it counts.
    """
    opened: list[int] = []
    spans: list[tuple[int, int]] = []
    for token in _TOKEN.finditer(text):
        if token[0] == "{":
            opened.append(token.start())
        elif token[0] == "}" and opened:
            start = opened.pop()
            while spans and spans[-1][0] > start:
                spans.pop()
            spans.append((start, token.end()))
    return spans


_COMMA = re.compile(r'"(?:[^"\\]|\\.)*+"?|,(?=\s{0,1000}[}\]])')


def _without_trailing_commas(text: str) -> str:
    return _COMMA.sub(lambda found: "" if found[0] == "," else found[0], text)


def _fitted(value: Any, schema: Mapping[str, Any], path: str) -> Any:
    if "enum" in schema:
        allowed = schema["enum"]
        return (
            _choice(value, allowed, path)
            if isinstance(allowed[0], str)
            else _score(value, allowed, path)
        )
    match schema["type"]:
        case "object":
            return _object(value, schema, path)
        case "array":
            return _list(value, schema["items"], path)
        case _:
            return _string(value, path)


def _object(value: Any, schema: Mapping[str, Any], path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Unfit(NaReason.BAD_VERDICT, f"`{path}` is no object: {_shown(value)}")
    alike = {_plain(str(name)): name for name in value}
    found = {}
    for name, part in schema["properties"].items():
        where = f"{path}.{name}" if path else name
        given = name if name in value else alike.get(_plain(name))
        if given is None:
            raise _Unfit(NaReason.MISSING_AXIS, f"`{where}` is missing")
        found[name] = _fitted(value[given], part, where)
    return found


def _list(value: Any, items: Mapping[str, Any], path: str) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, str) and items.get("type") == "string":
        value = [value]
    if not isinstance(value, list):
        raise _Unfit(NaReason.BAD_VERDICT, f"`{path}` is no list: {_shown(value)}")
    return [_fitted(entry, items, f"{path}[{number}]") for number, entry in enumerate(value)]


def _string(value: Any, path: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _Unfit(NaReason.BAD_VERDICT, f"`{path}` is no text: {_shown(value)}")
    return writable_text(value)


def _choice(value: Any, allowed: list[str], path: str) -> str:
    if value in allowed:
        return str(value)
    alike = {_plain(choice): choice for choice in allowed}
    found = alike.get(_plain(value)) if isinstance(value, str) else None
    if found is None:
        raise _Unfit(
            NaReason.BAD_VERDICT, f"`{path}` is none of {', '.join(allowed)}: {_shown(value)}"
        )
    return found


def _score(value: Any, levels: list[int], path: str) -> float:
    number = _number(value)
    if number is None:
        raise _Unfit(NaReason.BAD_VERDICT, f"`{path}` is no number: {_shown(value)}")
    low, high = min(levels), max(levels)
    if not low <= number <= high:
        raise _Unfit(
            NaReason.OUT_OF_RANGE, f"`{path}` is {_shown(value)}, off the scale of {low} to {high}"
        )
    return number


def _number(value: Any) -> float | None:
    if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,9}(\.\d{1,9})?\s*", value, re.ASCII):
        return float(value) if "." in value else int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return None if isinstance(value, float) and math.isnan(value) else value


def _plain(text: str) -> str:
    """Return a name in the form in which names are compared."""
    return re.sub(r"[\s_-]+", "_", text.strip().lower())


def _shown(value: Any) -> str:
    try:
        text = value if isinstance(value, str) else json.dumps(value, default=repr)
    except (ValueError, RecursionError):  # longer or deeper than can be written
        text = type(value).__name__
    line = " ".join(writable_text(text[: 4 * _SHOWN]).split())
    return repr(line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…")

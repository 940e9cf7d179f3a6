"""Logs without personal data, and beside them what was taken out, for people to review."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from evalnb.curation.redaction.redactor import Placeholders, Redactor, Replaced, redactor_of
from evalnb.frames import LOGS, FrameSchema

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["REPLACED", "Redaction", "describe_redaction", "redact", "redact_names"]

REPLACED = FrameSchema(
    "replaced",
    {
        "conversation_id": "string",
        "turn": "Int64",
        "column": "string",
        "start": "Int64",
        "end": "Int64",
        "kind": "string",
        "placeholder": "string",
        "replaced": "string",
        "score": "Float64",
    },
    key=("conversation_id", "turn", "column", "start"),
)
"""A row a place that was replaced: `replaced` stood in the original from `start` up to and
without `end`. This frame holds what the logs no longer do: it is for review, and stays where the
logs are."""

_TEXTS = ("text", "feedback_raw")
_SAFE = ("at", "role", *_TEXTS)
_ID = "conversation_id"
_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")  # digits might be those of an id
_LONG = 12  # among ten thousand names two are alike once in five million logs


class Redaction(NamedTuple):
    """Logs as they may be shown, and what was replaced in them.

    Attributes
    ----------
    logs : a logs frame, with the columns `n_replaced` and `replaced_kinds` (such as "EMAIL, PHONE")
    replaced : a frame as `REPLACED` says
    finds_names : whether names of persons were looked for
    """

    logs: pd.DataFrame
    replaced: pd.DataFrame
    finds_names: bool


def redact(logs: pd.DataFrame, redactor: Redactor | None = None) -> Redaction:
    """Take personal data and secrets out of logs.

    In a conversation the same value is the same placeholder, such as `<EMAIL_1>`. What stands beside
    the texts is redacted as `redact_names` does it.

    Parameters
    ----------
    logs : a logs frame; it is not changed
    redactor : what finds them; by default without a suite's own patterns

    Raises
    ------
    InputError
        If presidio is not installed.

    Examples
    --------
    >>> row = {"conversation_id": "c", "turn": 1, "role": "user", "text": "I am ada@example.org"}
    >>> redact(LOGS.build([row])).logs.loc[0, "text"]
    'I am <EMAIL_1>'
    """
    redactor = redactor or redactor_of()
    logs = LOGS.check(logs)
    named, rows = _names_redacted(logs, redactor)
    logs = LOGS.check(named)
    columns: dict[str, list[Any]] = {name: logs[name].tolist() for name in _TEXTS}
    turns = logs["turn"].tolist()
    kinds: list[list[str]] = [[] for _ in range(len(logs))]
    for conversation, numbers in _conversations(logs):
        said = [columns[name][n] for n in numbers for name in _TEXTS]
        placeholders = Placeholders(text for text in said if isinstance(text, str))
        for number in numbers:
            for name in _TEXTS:
                text = columns[name][number]
                if not isinstance(text, str):
                    continue
                columns[name][number], found = redactor.redact(text, placeholders)
                kinds[number] += [one.span.kind for one in found]
                place = {"conversation_id": conversation, "turn": turns[number]}
                rows += [{**place, "column": name, **_row(one)} for one in found]
    redacted = logs.assign(
        **{name: pd.Series(values, dtype="string") for name, values in columns.items()},
        n_replaced=pd.Series(map(len, kinds), dtype="Int64"),
        replaced_kinds=pd.Series(
            [", ".join(dict.fromkeys(found)) or pd.NA for found in kinds], dtype="string"
        ),
    )
    return Redaction(redacted, REPLACED.build(rows), redactor.finds_names)


def redact_names(logs: pd.DataFrame, redactor: Redactor | None = None) -> pd.DataFrame:
    """Take personal data and secrets out of what a log says beside its texts.

    These are the names of conversations, categories, models and all other columns of text. The same
    value becomes the same one everywhere, so that conversations and categories stay what they are;
    the name of a conversation keeps a part of its hash for that, from which somebody who has a list
    of all addresses could tell the one.

    Parameters
    ----------
    logs, redactor : as for `redact`, which raises the same

    Returns
    -------
    the same rows in the same order; once more changes nothing

    Examples
    --------
    >>> row = {"conversation_id": "ada@example.org", "turn": 1, "role": "user", "text": "Hello"}
    >>> redact_names(LOGS.build([row])).loc[0, "conversation_id"]
    '<EMAIL_1>-mpoaannoegop'
    """
    return LOGS.check(_names_redacted(LOGS.check(logs), redactor or redactor_of())[0])


def describe_redaction(redaction: Redaction) -> list[str]:
    """Say how much was replaced, and what was not looked for."""
    counts = Counter(redaction.replaced["kind"].tolist())
    n_messages = int((redaction.logs["n_replaced"] > 0).sum())
    lines = [
        (
            f"{len(redaction.replaced):,} places replaced in {n_messages:,} of "
            f"{len(redaction.logs):,} messages"
        )
    ]
    lines += [f"  {kind}: {count:,}" for kind, count in sorted(counts.items())]
    if not redaction.finds_names:
        lines.append("  names of persons were not looked for: no spaCy model is installed")
    return lines


def _names_redacted(
    logs: pd.DataFrame, redactor: Redactor
) -> tuple[pd.DataFrame, list[dict[str, Any]]]:
    """Return logs with what stands beside the texts redacted, and rows of what was replaced."""
    names = [n for n in logs if n not in _SAFE and isinstance(logs[n].dtype, pd.StringDtype)]
    redacted = {name: _values_redacted(logs[name], redactor) for name in names}
    found = {name: values for name, values in redacted.items() if values}
    if not found:
        return logs, []
    named = logs.copy()
    for name, values in found.items():
        named[name] = logs[name].replace({value: text for value, (text, _) in values.items()})
    rows = []
    for name, values in found.items():
        there = pd.DataFrame({"new": named[_ID], "turn": logs["turn"], "old": logs[name]})
        there = there[there["old"].isin(values.keys())].sort_values(["new", "turn"])
        first = there.drop_duplicates(["new", "old"])
        for conversation, turn, old in first.itertuples(index=False):
            place = {"conversation_id": conversation, "turn": turn, "column": name}
            rows += [{**place, **_row(one)} for one in values[old][1]]
    return named, rows


def _values_redacted(
    column: pd.Series, redactor: Redactor
) -> dict[str, tuple[str, list[Replaced]]]:
    """Return value to what it becomes and what was replaced in it, of those that change."""
    changed = {}
    for value in column.dropna().unique():
        text, replaced = redactor.redact(str(value), Placeholders([str(value)]))
        if replaced and column.name == _ID:
            digest = hashlib.sha256(str(value).encode("utf-8", "replace")).hexdigest()
            text = f"{text}-{digest[:_LONG].translate(_LETTERS)}"
        if replaced:
            changed[str(value)] = text, replaced
    return changed


def _row(one: Replaced) -> dict[str, Any]:
    return {
        "start": one.span.start,
        "end": one.span.end,
        "kind": one.span.kind,
        "placeholder": one.placeholder,
        "replaced": one.text,
        "score": one.span.score,
    }


def _conversations(logs: pd.DataFrame) -> list[tuple[str, Sequence[int]]]:
    groups = logs.groupby("conversation_id", sort=False, observed=True).indices
    return [(str(name), list(map(int, numbers))) for name, numbers in groups.items()]

"""Logs without personal data, and beside them what was taken out, for people to review."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from evalnb.curation.redaction.redactor import Placeholders, Redactor, redactor_of
from evalnb.frames import LOGS, FrameSchema

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["REPLACED", "Redaction", "describe_redaction", "redact"]

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

    In a conversation the same value is the same placeholder, such as `<EMAIL_1>`.

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
    columns: dict[str, list[Any]] = {name: logs[name].tolist() for name in _TEXTS}
    kinds: list[list[str]] = [[] for _ in range(len(logs))]
    rows: list[dict[str, Any]] = []
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
                rows += [
                    {
                        "conversation_id": conversation,
                        "turn": logs["turn"].iloc[number],
                        "column": name,
                        "start": one.span.start,
                        "end": one.span.end,
                        "kind": one.span.kind,
                        "placeholder": one.placeholder,
                        "replaced": one.text,
                        "score": one.span.score,
                    }
                    for one in found
                ]
    redacted = logs.assign(
        **{name: pd.Series(values, dtype="string") for name, values in columns.items()},
        n_replaced=pd.Series(map(len, kinds), dtype="Int64"),
        replaced_kinds=pd.Series(
            [", ".join(dict.fromkeys(found)) or pd.NA for found in kinds], dtype="string"
        ),
    )
    return Redaction(redacted, REPLACED.build(rows), redactor.finds_names)


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


def _conversations(logs: pd.DataFrame) -> list[tuple[str, Sequence[int]]]:
    groups = logs.groupby("conversation_id", sort=False, observed=True).indices
    return [(str(name), list(map(int, numbers))) for name, numbers in groups.items()]

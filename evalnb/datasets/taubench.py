"""tau-bench airline: conversations of a real agent, for each of which the outcome is known."""

from __future__ import annotations

import json

import pandas as pd

from evalnb.curation.logs.columns import Column, find_columns
from evalnb.curation.logs.rows import rows_of
from evalnb.datasets.files import packed_text
from evalnb.frames import LOGS

__all__ = ["TAUBENCH", "TAUBENCH_NOTE", "load_taubench_airline"]

TAUBENCH = "taubench-airline"
"""What these conversations are called where logs are named."""

TAUBENCH_NOTE = (
    "conversations of simulated customers with a real agent; the benchmark's reward stands for "
    "feedback, no customer gave it"
)

_MAPPING = {"feedback": Column("reward", {0.0: -1, 1.0: 1})}
_NAME = "taubench_airline.jsonl"


def load_taubench_airline() -> pd.DataFrame:
    """Return 50 conversations of simulated customers with an agent of gpt-4o that has tools.

    Returns
    -------
    a logs frame, with the column `task` : what the customer wanted; each task has two conversations
        `feedback` is the benchmark's own reward, 1 where the agent did what it should have and -1
        where not: no customer gave it. `escalated` says that the agent handed over to a person.

    References
    ----------
    Yao, Shinn, Razavi & Narasimhan (2024), tau-bench, arXiv:2406.12045.

    Examples
    --------
    >>> logs = load_taubench_airline()
    >>> logs["conversation_id"].nunique(), logs["task"].nunique()
    (50, 25)
    """
    records = [json.loads(line) for line in packed_text(_NAME)]
    columns = find_columns(records[0], _MAPPING, source=_NAME)
    rows = []
    for record in records:
        for turn, row in enumerate(rows_of(record, columns, _NAME), 1):
            assert isinstance(row, dict)  # noqa: S101 - the file is ours
            rows.append({**row, "turn": turn, "task": record["task_id"]})
    logs = LOGS.build(rows)
    return logs.assign(task=pd.Series(logs["task"].tolist(), dtype="Int64"))

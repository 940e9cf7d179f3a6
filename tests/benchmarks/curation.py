"""Curation at size: ten million messages sampled, ten thousand candidates folded."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

from tests.benchmarks.figures import QUICK, Figure, Sizes, report
from tests.benchmarks.processes import python, take, workplace

if TYPE_CHECKING:
    from pathlib import Path

_FILES = 10
_MESSAGES, _FEW_MESSAGES = 10_000_000, 200_000
_CANDIDATES, _CASES = 10_000, 1_000


def measure(sizes: Sizes) -> list[Figure]:
    """Measure whole processes: start, imports and all."""
    n = _FEW_MESSAGES if sizes == QUICK else _MESSAGES
    with workplace() as folder:
        write_logs(folder / "logs", n)
        read = take(python("-m", "tests.benchmarks.curation", "read", folder / "logs", folder))
        folded = take(python("-m", "tests.benchmarks.curation", "fold"))
    found = json.loads(read.output.splitlines()[-1])
    fold = json.loads(folded.output.splitlines()[-1])
    return [
        Figure(f"1% of the conversations of {n:,} messages, wall", read.wall_s, 30, "s"),
        Figure("the same, CPU", read.cpu_s, unit="s"),
        Figure("the same, peak memory", read.peak_mib, 1024, "MiB"),
        Figure("messages drawn", found["n_drawn"], unit=""),
        Figure(f"near-duplicates of {_CANDIDATES:,} candidates and {_CASES:,} cases, wall", fold["wall_s"], 10, "s"),
        Figure("the same, CPU", fold["cpu_s"], unit="s"),
        Figure("the same, folded, 2,000 were made to be", fold["n_folded"], unit=""),
        Figure("the same, whole process, peak memory", folded.peak_mib, unit="MiB"),
    ]  # fmt: skip


def write_logs(folder: Path, n: int) -> None:
    """Write synthetic messages as Parquet files; five make a conversation."""
    import duckdb

    folder.mkdir(parents=True)
    part = n // _FILES
    for number in range(_FILES):
        query = f"""
            COPY (
                SELECT 'conv-' || (i // 5) AS session_id,
                    TIMESTAMP '2026-03-01' + INTERVAL 1 SECOND * (i % 2592000) AS created_at,
                    CASE WHEN i % 2 = 0 THEN 'user' ELSE 'assistant' END AS role,
                    'Message ' || i || ' about ' || md5(i::VARCHAR) || ': where is my order, and '
                        || 'why did nobody tell me that it would be late again?' AS content,
                    CASE i % 7 WHEN 0 THEN 'refund' WHEN 1 THEN 'delivery' ELSE 'other' END AS intent,
                    i % 900 AS latency_ms
                FROM range({number * part}, {(number + 1) * part}) AS t(i)
            ) TO '{folder / f"part-{number}.parquet"}' (FORMAT parquet)
        """
        with duckdb.connect() as connection:
            connection.execute(query)


def _read(logs: str, folder: str) -> None:
    from evalnb.curation import read_logs, sample_uniform

    read = read_logs(f"{logs}/*.parquet", rate=0.01, damaged=f"{folder}/damaged.jsonl")
    picks = sample_uniform(read, rate=0.01)
    assert picks["conversation_id"].nunique() == read["conversation_id"].nunique()
    print(json.dumps({"n_drawn": len(read)}))


def _fold() -> None:
    import numpy as np

    from evalnb.cases import Case
    from evalnb.curation import candidates_of, fold_duplicates
    from evalnb.frames import LOGS

    draw = np.random.default_rng(0)
    words = np.array(["".join(row) for row in draw.choice(list("abcdefghijklmnop"), (3_000, 6))])
    chosen = draw.choice(words, (_CASES + _CANDIDATES - 2_000, 25))
    texts = [" ".join(row) for row in chosen]
    cases = [
        Case(id=f"case-{k}", input=text, must_contain=["x"])
        for k, text in enumerate(texts[:_CASES])
    ]
    said = [*texts[_CASES:], *(f"{text}!" for text in texts[:2_000])]
    logs = LOGS.build(
        {"conversation_id": f"c{k:05}", "turn": 1, "role": "user", "text": text}
        for k, text in enumerate(said)
    )
    picks = candidates_of("all", [{"conversation_id": f"c{k:05}"} for k in range(len(said))])
    started, used = time.perf_counter(), time.process_time()
    folding = fold_duplicates(picks, logs, cases)
    wall_s = time.perf_counter() - started
    cpu_s = time.process_time() - used
    print(json.dumps({"wall_s": wall_s, "cpu_s": cpu_s, "n_folded": len(folding.folded)}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["read"]:
        _read(*sys.argv[2:])
    elif sys.argv[1:] == ["fold"]:
        _fold()
    else:
        report(measure)

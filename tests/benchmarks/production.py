"""Logged answers scored: 10,000 conversations by the rules, and with verdicts that are recorded."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

from tests.benchmarks.figures import QUICK, Figure, Sizes, report
from tests.benchmarks.processes import python, take, workplace

if TYPE_CHECKING:
    from pathlib import Path

_CONVERSATIONS, _FEW = 10_000, 300
_SETTINGS = """
[judging]
judges = ["axes"]
[production]
must_not_include = ["as a language model", "competitor"]
max_characters = 2000
max_output_tokens = 500
"""


def measure(sizes: Sizes) -> list[Figure]:
    """Measure whole processes: start, imports and all."""
    n = _FEW if sizes == QUICK else _CONVERSATIONS
    figures = []
    with workplace() as folder:
        for tier in ("rules", "judges"):
            done = take(python("-m", "tests.benchmarks.production", tier, folder / tier, str(n)))
            found = json.loads(done.output.splitlines()[-1])
            what = f"{n:,} conversations of 4 messages scored by {tier}"
            figures += [
                Figure(f"{what}, wall", found["wall_s"], unit="s"),
                Figure("the same, CPU", found["cpu_s"], unit="s"),
                Figure("the same, scored or missed", found["n_scored"], unit=""),
                Figure("the same, peak memory", done.peak_mib, unit="MiB"),
            ]
    return figures


def _score(tier: str, folder: Path, n: int) -> None:
    from evalnb.curation import failure_candidates, score_logs
    from evalnb.frames import LOGS
    from tests.suites import make_suite

    case = {"id": "a", "input": "Where is my parcel?", "expected_exact": "x"}
    golden = make_suite(folder, [case], _SETTINGS)
    logs = LOGS.build(
        {
            "conversation_id": f"c{k:05}",
            "turn": turn,
            "role": "assistant" if turn % 2 == 0 else "user",
            "text": f"Message {k} {turn}: where is the order {k * 7919} of the person at "
            f"person{k}@example.org, and why did nobody tell me that it would be late again?"
            + (" I cannot help with that." if k % 10 == 0 and turn == 4 else ""),
            "output_tokens": 40,
        }
        for k in range(n)
        for turn in range(1, 5)
    )
    started, used = time.perf_counter(), time.process_time()
    scores = score_logs(logs, golden, judges=() if tier == "rules" else None)
    failure_candidates(logs, scores, golden, n=20)
    print(
        json.dumps(
            {
                "wall_s": time.perf_counter() - started,
                "cpu_s": time.process_time() - used,
                "n_scored": int((scores["passed"].notna() | scores["na_reason"].eq("miss")).sum()),
            }
        )
    )


if __name__ == "__main__":
    if sys.argv[1:2] in (["rules"], ["judges"]):
        from pathlib import Path

        _score(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
    else:
        report(measure)

"""`kill -9` at random points of a live run, then the same command."""

from __future__ import annotations

import json
import random
import time
from typing import TYPE_CHECKING, Any

from tests.benchmarks.figures import Figure, Sizes, report
from tests.benchmarks.live import live_run
from tests.benchmarks.processes import (
    newest_run,
    run_command,
    standin,
    start,
    workplace,
)
from tests.benchmarks.suite_files import CONCURRENCY, make_suite

if TYPE_CHECKING:
    from pathlib import Path

    from tests.benchmarks.processes import StandInProcess

_CASES = 500
_TOTALS = ("input_tokens", "output_tokens", "cost_usd")


def measure(sizes: Sizes) -> list[Figure]:
    """Kill runs, each once, and finish them.

    A response that lies unread in the killed process's socket was in flight for it, though not
    for the stand-in: what must not be exceeded is the number of calls under way at once.
    """
    draw = random.Random(0)
    n = min(sizes.cases, _CASES)
    with workplace() as folder, standin() as api:
        suite = make_suite(folder / "bench", n)
        api.set(latency=50)
        live_run(suite, folder / "whole", api)
        whole = _totals(folder / "whole")
        repeated, wrong = [], 0
        for number in range(sizes.kills):
            api.set(latency=50)
            results = folder / f"killed-{number}"
            _kill_after(draw.randrange(n - CONCURRENCY), suite, results, api)
            live_run(suite, results, api)
            repeated.append(api.stats()["repeated_answers"])
            wrong += _totals(results) != whole
    return [
        Figure(
            f"kill -9 at {sizes.kills} random points, {CONCURRENCY} calls at once: most calls repeated",
            max(repeated),
            CONCURRENCY,
            "",
        ),
        Figure("the same, on average", sum(repeated) / len(repeated), unit=""),
        Figure("the same, runs with wrong totals or a row lost", wrong, 0, ""),
    ]


def _kill_after(n_answers: int, suite: Path, results: Path, api: StandInProcess) -> None:
    """Kill a run after so many answers, before it ends."""
    with start(run_command(suite, "live", results), api.url) as process:
        while api.stats()["answered"] < n_answers and process.poll() is None:
            time.sleep(0.005)
        process.kill()
    time.sleep(0.2)  # what was under way is answered, though nobody reads it


def _totals(results: Path) -> tuple[Any, ...]:
    run = newest_run(results)
    manifest = json.loads((run / "run.json").read_text())
    with (run / "outputs.jsonl").open() as lines:
        ids = {json.loads(line)["case_id"] for line in lines}
    cost, tokens = manifest["cost_usd"], [manifest[name] for name in _TOTALS[:2]]
    return (*tokens, round(cost, 9), len(ids))


if __name__ == "__main__":
    report(measure)

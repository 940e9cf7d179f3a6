"""An API that says 429 and 529: what it costs, and whether a case is lost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.benchmarks.figures import Figure, Sizes, report
from tests.benchmarks.live import live_run
from tests.benchmarks.processes import interleaved, newest_run, standin, workplace
from tests.benchmarks.suite_files import make_suite

if TYPE_CHECKING:
    from pathlib import Path

    from tests.benchmarks.processes import Taken


def measure(sizes: Sizes) -> list[Figure]:
    """Measure a live run with faults against one without."""
    with workplace() as folder, standin() as api:
        suite = make_suite(folder / "bench", sizes.cases)
        lost: list[int] = []

        def clean() -> Taken:
            api.set(latency=50, faults={})
            return live_run(suite, _new(folder, "clean"), api)

        def faulty() -> Taken:
            api.set(latency=50, faults={"429": 0.1, "529": 0.05}, retry_after=0.1)
            results = _new(folder, "faulty")
            taken = live_run(suite, results, api)
            lost.append(_n_missing(newest_run(results)))
            return taken

        best = interleaved(sizes.rounds, clean=clean, faulty=faulty)
    return [
        Figure("10% 429 and 5% 529 / clean", best["faulty"].wall_s / best["clean"].wall_s, 1.5),
        Figure("the same, wall", best["faulty"].wall_s, unit="s"),
        Figure("the same, cases lost", max(lost), 0, ""),
    ]


def _new(folder: Path, name: str) -> Path:
    return folder / f"{name}-{len(list(folder.iterdir()))}"


def _n_missing(run: Path) -> int:
    with (run / "outputs.jsonl").open() as lines:
        return sum(bool(json.loads(line).get("na_reason")) for line in lines)


if __name__ == "__main__":
    report(measure)

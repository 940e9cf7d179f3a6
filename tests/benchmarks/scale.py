"""20,000 cases: time that grows with their number, memory that stays, reports from what is stored."""

from __future__ import annotations

import json

from tests.benchmarks.figures import Figure, Sizes, report
from tests.benchmarks.processes import (
    newest_run,
    python,
    standin,
    take,
    take_run,
    workplace,
)
from tests.benchmarks.suite_files import first_cases, make_suite


def measure(sizes: Sizes) -> list[Figure]:
    """Measure live once and replay at three sizes, then the reports alone."""
    many, half, few = sizes.many, sizes.many // 2, sizes.many // 10
    with workplace() as folder, standin() as api:
        suite = make_suite(folder / "bench", many)
        live = take_run(suite, "live", folder / "live", url=api.url)
        take_run(suite, "record", folder / "recorded", url=api.url)
        run = newest_run(folder / "recorded")
        suites = {
            many: suite,
            half: first_cases(suite, run / "outputs.jsonl", folder / "half", half),
            few: first_cases(suite, run / "outputs.jsonl", folder / "few", few),
        }
        replays = {
            n: take_run(cases, "replay", folder / f"replayed-{n}") for n, cases in suites.items()
        }
        rescored = take(
            python("-m", "tests.benchmarks.rescore", suite, run, folder / "rescored" / run.name)
        )
    stored = json.loads(rescored.output.splitlines()[-1])
    slope = (replays[many].wall_s - replays[half].wall_s) / (many - half)
    first_slope = (replays[half].wall_s - replays[few].wall_s) / (half - few)
    return [
        *(
            Figure(f"replay of {n:,} cases, wall", replays[n].wall_s, unit="s")
            for n in sorted(replays)
        ),
        Figure(
            f"time a case from {half:,} to {many:,} / from {few:,} to {half:,}",
            slope / first_slope,
            1.15,
        ),
        Figure(f"peak memory, replay of {many:,}", replays[many].peak_mib, 400, "MiB"),
        Figure(f"peak memory, live run of {many:,}", live.peak_mib, 400, "MiB"),
        Figure(f"live run of {many:,} at 0 ms, wall", live.wall_s, unit="s"),
        Figure(
            f"scoring, gate and reports from stored outputs of {many:,}, CPU",
            rescored.cpu_s,
            5,
            "s",
        ),
        *(Figure(f"of which {step}", cpu_s, unit="s") for step, cpu_s in stored["cpu_s"].items()),
        Figure("the same, peak memory", rescored.peak_mib, 400, "MiB"),
        Figure("the same, modules of anthropic imported", stored["anthropic_modules"], 0, ""),
    ]


if __name__ == "__main__":
    report(measure)

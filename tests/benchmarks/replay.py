"""Replay, reports included, beside the plain loop that asks a model which answers at once."""

from __future__ import annotations

from tests.benchmarks.figures import Figure, Sizes, report
from tests.benchmarks.processes import (
    evalnb,
    interleaved,
    python,
    standin,
    take,
    take_run,
    workplace,
)
from tests.benchmarks.suite_files import APP, make_suite


def measure(sizes: Sizes) -> list[Figure]:
    """Measure a prompt file and an application that uses the SDK unchanged."""
    with workplace() as folder, standin() as api:
        suite, results = make_suite(folder / "bench", sizes.cases), folder / "results"
        take_run(suite, "record", results, url=api.url)
        take(
            evalnb(
                *("baseline", "accept", suite, "--results", results),
                *("--reason", "benchmark", "--yes"),
            )
        )
        best = interleaved(
            sizes.rounds,
            plain=lambda: take(
                python("-m", "tests.benchmarks.plain_loop", suite, "default"), api.url
            ),
            prompt=lambda: take_run(suite, "replay", results),
            app=lambda: take_run(suite, "replay", results, "--system", APP),
        )
    plain_s = best["plain"].wall_s
    cases = f"{sizes.cases:,} cases"
    return [
        Figure(
            f"replay of {cases}, prompt file, whole process / plain loop live at 0 ms",
            best["prompt"].wall_s / plain_s,
            0.3,
        ),
        Figure("the same, CPU", best["prompt"].cpu_s / best["plain"].cpu_s),
        Figure("the same, wall", best["prompt"].wall_s, unit="s"),
        Figure(
            f"replay of {cases}, application with the SDK / plain loop live at 0 ms",
            best["app"].wall_s / plain_s,
            0.7,
        ),
        Figure("the same, CPU", best["app"].cpu_s / best["plain"].cpu_s),
        Figure("the same, wall", best["app"].wall_s, unit="s"),
        Figure("plain loop live at 0 ms, wall", plain_s, unit="s"),
    ]


if __name__ == "__main__":
    report(measure)

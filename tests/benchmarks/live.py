"""Live runs, everything recorded, beside the plain loop."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from tests.benchmarks.figures import Figure, Sizes, report
from tests.benchmarks.processes import interleaved, python, standin, take, take_run, workplace
from tests.benchmarks.suite_files import make_suite

if TYPE_CHECKING:
    from pathlib import Path

    from tests.benchmarks.processes import StandInProcess, Taken


def measure(sizes: Sizes) -> list[Figure]:
    """Measure at a fixed and at a lognormal latency."""
    with workplace() as folder, standin() as api:
        suite = make_suite(folder / "bench", sizes.cases)
        fixed = _best(suite, api, 50, sizes.rounds)
        spread = _best(suite, api, "lognormal:800:0.6", max(1, sizes.rounds - 2))
    live = fixed["evalnb"]
    return [
        Figure(
            f"live with recording, {sizes.cases:,} cases, 50 ms, 64 at once, whole process / plain loop on aiohttp",
            live.wall_s / fixed["aiohttp"].wall_s,
            1.25,
        ),
        Figure(
            "the same / plain loop on the default transport", live.wall_s / fixed["plain"].wall_s
        ),
        Figure("the same, CPU / plain loop on aiohttp", live.cpu_s / fixed["aiohttp"].cpu_s),
        Figure("the same, wall", live.wall_s, unit="s"),
        Figure("the same, CPU", live.cpu_s, unit="s"),
        Figure("the same, peak memory", live.peak_mib, 400, "MiB"),
        Figure(
            "live at a lognormal latency with median 800 ms / plain loop on aiohttp",
            spread["evalnb"].wall_s / spread["aiohttp"].wall_s,
            1.03,
        ),
        Figure("the same, wall", spread["evalnb"].wall_s, unit="s"),
    ]


def live_run(suite: Path, results: Path, api: StandInProcess, *further: object) -> Taken:
    """Run a suite live into a results root of its own, so that nothing is resumed."""
    return take_run(suite, "live", results, *further, url=api.url)


def _best(suite: Path, api: StandInProcess, latency: str | float, rounds: int) -> dict[str, Taken]:
    api.set(latency=latency)
    numbers = count()

    def plain(transport: str) -> Taken:
        return take(python("-m", "tests.benchmarks.plain_loop", suite, transport), api.url)

    return interleaved(
        rounds,
        plain=lambda: plain("default"),
        aiohttp=lambda: plain("aiohttp"),
        evalnb=lambda: live_run(suite, suite.parent / f"{latency}-{next(numbers)}", api),
    )


if __name__ == "__main__":
    report(measure)

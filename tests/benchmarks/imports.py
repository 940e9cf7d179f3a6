"""How long it takes to start."""

from __future__ import annotations

from tests.benchmarks.figures import Figure, Sizes, report
from tests.benchmarks.processes import evalnb, interleaved, python, take


def measure(sizes: Sizes) -> list[Figure]:
    """Measure the import and the help against the import of pandas."""
    best = interleaved(
        10 if sizes.rounds > 1 else 3,
        pandas=lambda: take(python("-c", "import pandas")),
        package=lambda: take(python("-c", "import evalnb")),
        command=lambda: take(evalnb("--help")),
    )
    pandas_s = best["pandas"].wall_s
    return [
        Figure("`import evalnb` / `import pandas`", best["package"].wall_s / pandas_s, 1.3),
        Figure("`evalnb --help` / `import pandas`", best["command"].wall_s / pandas_s, 1),
        Figure("`import pandas`, wall", pandas_s, unit="s"),
    ]


if __name__ == "__main__":
    report(measure)

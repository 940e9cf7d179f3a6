"""What a benchmark found, beside what it was to reach."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


@dataclass(frozen=True)
class Figure:
    """One measured number; `target` is the most that it may be, None where it is for information."""

    name: str
    measured: float
    target: float | None = None
    unit: str = "×"

    @property
    def reached(self) -> bool:
        """Whether it is within its target."""
        return self.target is None or self.measured <= self.target


@dataclass(frozen=True)
class Sizes:
    """How much is measured: all of it, or enough to see whether it works."""

    cases: int = 2_000
    many: int = 20_000
    rounds: int = 3
    kills: int = 10


QUICK = Sizes(cases=300, many=2_000, rounds=1, kills=2)


def table(figures: Iterable[Figure]) -> str:
    """Return figures as a Markdown table."""
    lines = ["| figure | target | measured | |", "|---|---:|---:|---|"]
    for figure in figures:
        target = "" if figure.target is None else f"≤ {_shown(figure.target)} {figure.unit}"
        verdict = "" if figure.target is None else ("reached" if figure.reached else "**missed**")
        measured = f"{_shown(figure.measured)} {figure.unit}"
        lines.append(f"| {figure.name} | {target} | {measured} | {verdict} |")
    return "\n".join(lines)


def report(*measures: Callable[[Sizes], list[Figure]]) -> None:
    """Measure, and print a table and the same as JSON; the command line of every benchmark."""
    parser = argparse.ArgumentParser(description="Measure evalnb against the stand-in.")
    parser.add_argument("--quick", action="store_true", help="few cases, one round")
    sizes = QUICK if parser.parse_args().quick else Sizes()
    figures = [figure for measure in measures for figure in measure(sizes)]
    print(table(figures))
    print(json.dumps([asdict(figure) for figure in figures], ensure_ascii=False))


def _shown(number: float) -> str:
    return f"{number:,.0f}" if number == int(number) or number >= 100 else f"{number:.2f}"

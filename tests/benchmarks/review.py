"""How long six months of nightly runs take to make, and monthly_review.ipynb over them."""

from __future__ import annotations

import time
from datetime import date
from typing import TYPE_CHECKING

import papermill

from evalnb.demo.making import make_demo_history
from tests.benchmarks.figures import Figure, Sizes, report
from tests.benchmarks.processes import workplace
from tests.suites import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable


def measure(sizes: Sizes) -> list[Figure]:
    """Make the demo history and run the notebook over its 182 runs, by papermill, as often as asked."""
    with workplace() as folder:
        here = folder / "notebooks"
        here.mkdir()
        demo = folder / "demo-history"
        making = _seconds(lambda: make_demo_history(demo, date(2026, 12, 3)))
        taken = [
            _seconds(
                lambda: papermill.execute_notebook(
                    str(REPOSITORY / "notebooks" / "monthly_review.ipynb"),
                    str(folder / "out.ipynb"),
                    {
                        "suite": str(demo / "golden" / "support"),
                        "results": str(demo / "results"),
                        "logs": str(demo / "logs" / "synthetic.jsonl"),
                        "as_of": "2026-12-03",
                    },
                    kernel_name="python3",
                    progress_bar=False,
                    cwd=str(here),
                )
            )
            for _ in range(sizes.rounds)
        ]
    return [
        Figure("demo history of 182 nights", making, unit="s"),
        Figure("monthly_review.ipynb over 182 runs", min(taken), 60, "s"),
    ]


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    report(measure)

"""Opening the review of a suite, or of the demo history."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from evalnb.curation.logs.reading import read_logs
from evalnb.demo.making import make_demo_history, read_demo_history
from evalnb.errors import InputError
from evalnb.frames import LOGS
from evalnb.golden import find_suite, read_golden
from evalnb.places import place
from evalnb.results import results_root
from evalnb.review.review import Review

if TYPE_CHECKING:
    from datetime import date

    from evalnb.demo.making import DemoHistory

__all__ = ["DEMO", "open_review"]

DEMO = "demo"
"""The name that stands for the demo history."""

_NEAR = "golden/support"


def open_review(
    suite: str,
    *,
    as_of: date,
    results: str = "",
    logs: str = "",
    budget_usd: float | None = None,
    folder: Path | None = None,
) -> Review:
    """Open the review of a suite.

    Parameters
    ----------
    suite : a suite's folder such as "golden/support", or "demo" for the demo history, which is made
        where there is none
    as_of : the day of the review; that of the demo is its last night
    results : the results root; by default the suite's
    logs : as `evalnb.curation.read_logs` takes them; none where it is empty
    budget_usd : of a month
    folder : where the demo history is, by default `demo-history` in `results`, beside the
        suites where there are any

    Raises
    ------
    InputError
        If there is no such suite, or a file cannot be used.
    """
    if suite == DEMO:
        demo = _demo(folder or _results() / "demo-history", as_of)
        return Review(
            read_golden(demo.suite),
            demo.folder / "results",
            demo.as_of,
            read_logs(logs or demo.logs),
            budget_usd,
        )
    golden = read_golden(find_suite(suite))
    return Review(
        golden,
        place(results) if results else results_root(golden),
        as_of,
        read_logs(logs) if logs else LOGS.empty(),
        budget_usd,
    )


def _demo(folder: Path, as_of: date) -> DemoHistory:
    return read_demo_history(folder) or make_demo_history(folder, as_of)


def _results() -> Path:
    try:
        return results_root(read_golden(find_suite(_NEAR)))
    except InputError:
        return Path("results")

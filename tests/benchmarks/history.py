"""How long the history of a suite takes to read."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from evalnb.evaluation import evaluate
from evalnb.golden import read_golden
from evalnb.histories import history
from evalnb.results import write_run
from evalnb.systems import load_system
from tests.benchmarks.figures import Figure, Sizes, report
from tests.suites import REPOSITORY

N_RUNS = 1_000


def measure(sizes: Sizes) -> list[Figure]:
    """Read 1,000 runs of golden/support, from the disk's cache."""
    golden = read_golden(REPOSITORY / "golden" / "support")
    begun = datetime(2026, 1, 1, tzinfo=UTC)
    with tempfile.TemporaryDirectory() as kept:
        root = Path(kept)
        first = root / "first"
        first.mkdir()
        run = evaluate(
            golden, load_system(golden), run_id="first", as_of=begun.date(), progress="none"
        )
        write_run(first, run)
        manifest = json.loads((first / "run.json").read_text())
        for number in range(N_RUNS):
            name = f"{begun + timedelta(hours=4 * number):%Y%m%dT%H%M%SZ}-{number:06x}"
            folder = root / golden.settings.name / name
            folder.mkdir(parents=True)
            shutil.copy(first / "report.json", folder)
            (folder / "run.json").write_text(json.dumps({**manifest, "run_id": name}))
        taken = []
        for _ in range(sizes.rounds):
            start = time.perf_counter()
            found = history(golden, root)
            taken.append(time.perf_counter() - start)
    assert found["run_id"].nunique() == N_RUNS
    return [Figure(f"history of {N_RUNS:,} runs", min(taken), 2, "s")]


if __name__ == "__main__":
    report(measure)

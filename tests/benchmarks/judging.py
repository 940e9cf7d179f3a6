"""A full live run beside its two phases alone: a case is judged as soon as its rules pass."""

from __future__ import annotations

import json
import sys
import time
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalnb.evaluation import evaluate
from evalnb.frames import to_records
from evalnb.golden import read_golden
from evalnb.judges import suite_judges
from evalnb.panel import Panel
from evalnb.rescoring import rescore
from evalnb.systems import load_system
from tests.benchmarks.figures import Figure, Sizes, report
from tests.benchmarks.live import live_run
from tests.benchmarks.processes import interleaved, python, standin, take, workplace
from tests.benchmarks.suite_files import CONCURRENCY, make_suite

if TYPE_CHECKING:
    from evalnb.golden import GoldenSet
    from evalnb.runs import Run
    from tests.benchmarks.processes import StandInProcess, Taken

_LATENCY_MS = 500
_JUDGING = '[judging]\njudges = ["axes"]\nmodel = "claude-haiku-5-5"\nalways = ["common", "edge"]\n'


def measure(sizes: Sizes) -> list[Figure]:
    """Measure the system alone, the judge alone and both in one run, then stored verdicts."""
    with workplace() as folder, standin() as api:
        suite = make_suite(folder / "bench", sizes.cases)
        (suite / "suite.toml").write_text(f'name = "bench"\n{_JUDGING}')
        api.set(latency=_LATENCY_MS)
        taken = take(python("-m", "tests.benchmarks.judging", suite, sizes.many), api.url)
        clean_s, faulty_s = _with_faults(suite, folder, api, sizes)
    found = json.loads(taken.output.splitlines()[-1])
    longer = max(found["system_s"], found["judge_s"])
    return [
        Figure(
            f"full live run of {sizes.cases:,} cases, {_LATENCY_MS} ms / longer phase alone",
            found["full_s"] / longer,
            1.1,
        ),
        Figure("the system alone, wall", found["system_s"], unit="s"),
        Figure("the judge alone, wall", found["judge_s"], unit="s"),
        Figure(f"{sizes.many:,} stored verdicts into scores, CPU", found["panel_s"], 2, "s"),
        Figure("full live run, 10% 429, 5% 529, 2% broken JSON / clean", faulty_s / clean_s, 1.5),
        Figure("the same with faults, wall", faulty_s, unit="s"),
    ]


def _with_faults(
    suite: Path, folder: Path, api: StandInProcess, sizes: Sizes
) -> tuple[float, float]:
    """Return the wall seconds of a full run without faults and with them, the best of rounds."""

    def run(name: str, faults: dict[str, float]) -> Taken:
        api.set(latency=50, faults=faults, retry_after=0.1)
        results = folder / f"{name}-{len(list(folder.iterdir()))}"
        return live_run(suite, results, api, "--tier", "full", "--yes")

    best = interleaved(
        sizes.rounds,
        clean=lambda: run("clean", {}),
        faulty=lambda: run("faulty", {"429": 0.1, "529": 0.05, "bad_json": 0.02}),
    )
    return best["clean"].wall_s, best["faulty"].wall_s


def _main(suite: Path, n_verdicts: int) -> None:
    golden = read_golden(suite)
    system, day = load_system(golden), date(2026, 6, 1)
    shared: dict[str, Any] = {"as_of": day, "concurrency": CONCURRENCY, "mode": "live"}
    evaluate(golden.slice(0, 64), system, run_id="warm", progress="none", tier="full", **shared)
    started = time.perf_counter()
    alone = evaluate(golden, system, run_id="system", progress="none", **shared)
    system_s = time.perf_counter() - started
    started = time.perf_counter()
    rescore(golden, alone, run_id="judge", **shared)
    judge_s = time.perf_counter() - started
    started = time.perf_counter()
    full = evaluate(golden, system, run_id="full", progress="none", tier="full", **shared)
    full_s = time.perf_counter() - started
    print(
        json.dumps(
            {
                "system_s": system_s,
                "judge_s": judge_s,
                "full_s": full_s,
                "panel_s": _panel_s(golden, full, n_verdicts),
            }
        )
    )


def _panel_s(golden: GoldenSet, run: Run, n: int) -> float:
    """Return the CPU seconds of making scores of `n` stored verdicts."""
    verdicts, outputs = run.verdicts, to_records(run.outputs)
    judges = suite_judges(golden)
    started, done = time.process_time(), 0
    while done < n:
        panel = Panel(golden.settings.judging, judges, verdicts)
        for output in outputs:
            panel.scores(golden[output["case_id"]], output)
        done += len(verdicts)
    return (time.process_time() - started) * n / done


if __name__ == "__main__":
    if len(sys.argv) > 2:
        _main(Path(sys.argv[1]), int(sys.argv[2]))
    else:
        report(measure)

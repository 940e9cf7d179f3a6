"""Scoring, gate and reports from the stored outputs of a run, with the CPU seconds of each step.

python -m tests.benchmarks.rescore SUITE RUN FOLDER
"""

from __future__ import annotations

import gc
import json
import sys
import time
from datetime import date
from pathlib import Path

from pydantic_core import from_json

from evalnb.baseline import pass_rates, read_baseline
from evalnb.frames import MISSES, OUTPUTS
from evalnb.gate import decide, exit_code, outcome
from evalnb.golden import read_golden
from evalnb.results import write_run
from evalnb.runs import Run
from evalnb.scoring import score, slices, summarize


class _Steps:
    """CPU seconds by step, the imports first."""

    def __init__(self) -> None:
        self.cpu_s = {"imports": time.process_time()}

    def done(self, name: str) -> None:
        """Note the end of a step."""
        self.cpu_s[name] = time.process_time() - sum(self.cpu_s.values())


def main(suite: Path, run: Path, folder: Path) -> None:
    """Score a run again and write it to another folder."""
    steps = _Steps()
    golden = read_golden(suite)
    baseline = read_baseline(golden)
    steps.done("suite and baseline")
    manifest = json.loads((run / "run.json").read_text())
    with (run / "outputs.jsonl").open("rb") as lines:
        outputs = OUTPUTS.build(map(from_json, lines))
    steps.done("outputs")
    scores = score(golden, outputs)
    steps.done("score")
    results = summarize(golden, outputs, scores)
    steps.done("summarize")
    decision = decide(
        golden,
        scores,
        baseline,
        as_of=date(2026, 5, 31),
        outputs=outputs,
        mode=manifest.get("mode"),
    )
    steps.done("decide")
    rates = pass_rates(baseline.counts) if baseline else None
    found = Run(
        manifest=manifest,
        outputs=outputs,
        scores=scores,
        results=results,
        slices=slices(results, golden.settings.slices, rates),
        decision=decision,
        misses=MISSES.build([]),
        golden=golden,
        baseline=baseline,
        outcome=outcome(decision),
        exit_code=exit_code(decision),
    )
    steps.done("slices")
    folder.mkdir(parents=True)
    write_run(folder, found)
    steps.done("reports")
    n_anthropic = sum(name.partition(".")[0] == "anthropic" for name in sys.modules)
    print(json.dumps({"cpu_s": steps.cpu_s, "anthropic_modules": n_anthropic}))


if __name__ == "__main__":
    gc.set_threshold(50_000, 20, 100)  # this and the freezing as the command line has it
    main(*map(Path, sys.argv[1:]))
    gc.freeze()

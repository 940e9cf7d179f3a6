"""Ten shards into one run: reading, gate and reports, at two sizes."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic_core import from_json

from evalnb.frames import MISSES, OUTPUTS, SCORES, VERDICTS
from evalnb.golden import read_golden
from evalnb.runs import Scored
from evalnb.shard_files import write_shard
from evalnb.shards import Shard
from tests.benchmarks.figures import Figure, Sizes, report
from tests.benchmarks.processes import evalnb, newest_run, standin, take, take_run, workplace
from tests.benchmarks.suite_files import make_suite

_SHARDS = 10


def measure(sizes: Sizes) -> list[Figure]:
    """Measure `evalnb merge` over shards of one run."""
    figures = []
    with workplace() as folder, standin() as api:
        for n in (sizes.cases, sizes.cases * _SHARDS):
            suite = make_suite(folder / f"bench-{n}", n)
            take_run(suite, "live", folder / f"whole-{n}", url=api.url)
            run = newest_run(folder / f"whole-{n}")
            shards = _split(suite, run, folder / f"shards-{n}")
            taken = [
                take(evalnb("merge", suite, *shards, "--results", folder / f"merged-{n}-{number}"))
                for number in range(sizes.rounds)
            ]
            best = min(taken, key=lambda one: one.wall_s)
            name = f"merge of {_SHARDS} shards of {n:,} cases in all"
            figures += [
                Figure(f"{name}, wall", best.wall_s, 3, "s"),
                Figure("the same, CPU", best.cpu_s, unit="s"),
                Figure("the same, peak memory", best.peak_mib, unit="MiB"),
            ]
    return figures


def _split(suite: Path, run: Path, folder: Path) -> list[Path]:
    """Write a run as the shards that it would have been."""
    golden = read_golden(suite)
    manifest = json.loads((run / "run.json").read_text())
    about = manifest | {"mode": "replay", "judge_repeats": None}
    outputs, scores = _records(run / "outputs.jsonl"), _records(run / "scores.jsonl")
    folders = []
    for number in range(1, _SHARDS + 1):
        shard = Shard(number, _SHARDS)
        mine = {case.id for case in shard.cases_of(golden)}
        scored = Scored(
            about | {"run_id": f"shard-{number}"},
            OUTPUTS.build(row for row in outputs if row["case_id"] in mine),
            SCORES.build(row for row in scores if row["case_id"] in mine),
            VERDICTS.empty(),
            MISSES.empty(),
        )
        folders.append(folder / f"{number}")
        write_shard(folders[-1], golden, shard, scored)
    return folders


def _records(path: Path) -> list[dict[str, object]]:
    with path.open("rb") as lines:
        return [from_json(line) for line in lines]


if __name__ == "__main__":
    report(measure)

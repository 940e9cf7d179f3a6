"""Which cassettes a suite uses."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import pandas as pd

from evalnb.baseline import read_baseline
from evalnb.cassettes import Cassettes
from evalnb.comparing.judged import judge_of_pairs
from evalnb.judging import judge_outputs
from evalnb.pairs import judge_pairs
from evalnb.probes import (
    NothingToProbeError,
    load_probes,
    probe_judges,
    probed_judges,
    probed_outputs,
)
from evalnb.runner import run
from evalnb.systems import suite_systems

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from evalnb.golden import GoldenSet

__all__ = ["cassettes_frame"]


def cassettes_frame(golden: GoldenSet, cassettes: Cassettes) -> pd.DataFrame:
    """List cassettes with the systems that ask for them.

    Every system in the suite's `systems`, and the one that `suite.toml` names, is replayed over
    every case, as often as anything is recorded, and judged, to see what is asked for. What the
    probes ask of the baseline's answers is used by `(probes)`, what a judge of pairs is asked of two
    systems, or of one and the baseline, by `(pairs)`.

    Parameters
    ----------
    golden : a suite's golden set
    cassettes : of the suite; its `misses` then say what could not be replayed

    Returns
    -------
    key, model, n_responses, used_by : a row a file, `used_by` a list of system names
    """
    keys = cassettes.keys()
    recorded = {key: cassettes.read(key) for key in keys}
    repeats = max((repeat for _, entries in recorded.values() for repeat, _ in entries), default=1)
    used: dict[str, list[str]] = {key: [] for key in keys}
    answers = []
    for system in suite_systems(golden):
        replay = Cassettes(cassettes.folder)
        outputs = run(golden, system, repeats=repeats, progress="none", cassettes=replay)
        answers.append(outputs)
        # Nothing follows from a verdict: one that is missing hides no request.
        verdicts = Cassettes(cassettes.folder)
        judge_outputs(golden, outputs, cassettes=verdicts)
        for key in (replay.used | verdicts.used) & used.keys():
            used[key].append(system.name)
        # A repeat that was never recorded asks for nothing that another repeat does not.
        cassettes.misses.extend(miss for miss in replay.misses if miss.kind == "request")
    for key in _used_by_probes(golden, cassettes.folder) & used.keys():
        used[key].append("(probes)")
    for key in _used_by_pairs(golden, answers, cassettes.folder) & used.keys():
        used[key].append("(pairs)")
    frame = pd.DataFrame(
        {
            "key": keys,
            "model": [(recorded[key][0].get("body") or {}).get("model") for key in keys],
            "n_responses": [len(recorded[key][1]) for key in keys],
            "used_by": [used[key] for key in keys],
        }
    )
    return frame.astype({"key": "string", "model": "string", "n_responses": "Int64"})


def _used_by_probes(golden: GoldenSet, folder: Path) -> set[str]:
    baseline = None if golden.folder is None else read_baseline(golden)
    if baseline is None:
        return set()
    replay = Cassettes(folder)
    probed = probed_outputs(golden, baseline.outputs)
    try:
        probe_judges(golden, probed, probed_judges(golden), load_probes(golden), cassettes=replay)
    except NothingToProbeError:
        return set()
    return replay.used


def _used_by_pairs(golden: GoldenSet, answers: Sequence[pd.DataFrame], folder: Path) -> set[str]:
    replay = Cassettes(folder)
    baseline = None if golden.folder is None else read_baseline(golden)
    sides = [*answers, *([] if baseline is None else [baseline.outputs])]
    judge = judge_of_pairs(golden)
    for one, other in combinations(sides, 2):
        judge_pairs(golden, one, other, judge, cassettes=replay)
    return replay.used

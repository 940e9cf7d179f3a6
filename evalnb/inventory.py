"""Which cassettes a suite uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from evalnb.cassettes import Cassettes
from evalnb.judging import judge_outputs
from evalnb.runner import run
from evalnb.systems import suite_systems

if TYPE_CHECKING:
    from evalnb.golden import GoldenSet

__all__ = ["cassettes_frame"]


def cassettes_frame(golden: GoldenSet, cassettes: Cassettes) -> pd.DataFrame:
    """List cassettes with the systems that ask for them.

    Every system in the suite's `systems`, and the one that `suite.toml` names, is replayed over
    every case, as often as anything is recorded, and judged, to see what is asked for.

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
    for system in suite_systems(golden):
        replay = Cassettes(cassettes.folder)
        outputs = run(golden, system, repeats=repeats, progress="none", cassettes=replay)
        # Nothing follows from a verdict: one that is missing hides no request.
        verdicts = Cassettes(cassettes.folder)
        judge_outputs(golden, outputs, cassettes=verdicts)
        for key in (replay.used | verdicts.used) & used.keys():
            used[key].append(system.name)
        # A repeat that was never recorded asks for nothing that another repeat does not.
        cassettes.misses.extend(miss for miss in replay.misses if miss.kind == "request")
    frame = pd.DataFrame(
        {
            "key": keys,
            "model": [(recorded[key][0].get("body") or {}).get("model") for key in keys],
            "n_responses": [len(recorded[key][1]) for key in keys],
            "used_by": [used[key] for key in keys],
        }
    )
    return frame.astype({"key": "string", "model": "string", "n_responses": "Int64"})

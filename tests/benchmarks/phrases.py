"""How long it takes to find what changed between 2,000 and 2,000 answers.

python -m tests.benchmarks.phrases
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from evalnb.phrases import phrase_changes
from tests.benchmarks.figures import Figure, report
from tests.phrases.answers import planted, recorded

if TYPE_CHECKING:
    from tests.benchmarks.figures import Sizes

_TARGET_S = 5.0


def measure(sizes: Sizes) -> list[Figure]:
    """Time answers of about 75 words, three recorded ones each, on both sides."""
    sides = [_answers(name, sizes.cases, seed) for seed, name in enumerate(("run_a", "run_b"))]
    changed = planted(sides[1], "order number", "inquiry number", 0.3, np.random.default_rng(2))
    phrase_changes(sides[0].head(20), changed.head(20))  # what it imports is not timed
    wall, cpu = [], []
    for _ in range(sizes.rounds):
        started, used = time.perf_counter(), time.process_time()
        found = phrase_changes(sides[0], changed).changes
        wall.append(time.perf_counter() - started)
        cpu.append(time.process_time() - used)
    if found.loc[0, "phrase"] not in ("order number", "inquiry number"):
        raise RuntimeError(f"what was planted was not found: {found}")
    what = f"phrases of {sizes.cases:,} × {sizes.cases:,} answers"
    return [
        Figure(what, min(wall), _TARGET_S, "s"),
        Figure(f"{what}, CPU", min(cpu), _TARGET_S, "s"),
    ]


def _answers(name: str, n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    texts = recorded(name)["text"].to_numpy("object")
    drawn = rng.choice(texts, size=(n, 3))
    return pd.DataFrame(
        {
            "case_id": [f"case-{number}" for number in range(n)],
            "repeat": 1,
            "text": [" ".join(row) for row in drawn],
        }
    )


if __name__ == "__main__":
    report(measure)

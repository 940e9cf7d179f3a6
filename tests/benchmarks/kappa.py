"""The bootstrap of kappa beside a loop over scikit-learn."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
from sklearn.metrics import cohen_kappa_score

from evalnb.stats.kappa import cohen_kappa
from evalnb.stats.resampling import RESAMPLES
from tests.benchmarks.figures import Figure, Sizes, report

if TYPE_CHECKING:
    from collections.abc import Callable

_ITEMS = 1_000
_LOOPED = 20
"""How many resamples by scikit-learn take 0.1 s where all 10,000 take 53 s."""

_LEVELS = [1, 2, 3, 4, 5]


def measure(sizes: Sizes) -> list[Figure]:
    """Measure the interval of kappa, and the same resamples one after another."""
    rng = np.random.default_rng(0)
    human = rng.integers(1, 6, _ITEMS)
    judge = np.clip(human + rng.integers(-1, 2, _ITEMS), 1, 5)
    few = 100 if sizes.rounds > 1 else 20

    def ours() -> None:
        cohen_kappa(human, judge, levels=_LEVELS, method="bootstrap")

    def loop() -> None:
        for _ in range(few):
            drawn = rng.integers(0, _ITEMS, _ITEMS)
            cohen_kappa_score(human[drawn], judge[drawn], labels=_LEVELS, weights="quadratic")

    ours_s, one_s = _best_s(sizes.rounds, ours), _best_s(sizes.rounds, loop) / few
    name = f"{RESAMPLES:,} resamples of kappa over {_ITEMS:,} items"
    return [
        Figure(name, ours_s, 0.1, "s"),
        Figure(f"{name} / {_LOOPED} by a loop over scikit-learn", ours_s / (_LOOPED * one_s), 1),
        Figure(f"all of them by such a loop, from {few}", RESAMPLES * one_s, unit="s"),
    ]


def _best_s(rounds: int, call: Callable[[], None]) -> float:
    """Return the wall seconds of the fastest of some calls, the first for warming up."""
    call()
    taken = []
    for _ in range(3 * rounds):
        started = time.perf_counter()
        call()
        taken.append(time.perf_counter() - started)
    return min(taken)


if __name__ == "__main__":
    report(measure)

"""How surely a changed wording is found, and how often one is found that is none.

python -m tests.benchmarks.phrases_power

Two recordings of the same system, 60 cases with three repeats each. Into the answers of one a
phrase is planted in the place of another, in some of those that hold it. What is told apart from
chance is then looked for at the level of the gate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from evalnb.phrases import phrase_changes
from tests.benchmarks.figures import Figure, report
from tests.phrases.answers import planted, recorded

if TYPE_CHECKING:
    from tests.benchmarks.figures import Sizes

OLD, NEW = "order number", "inquiry number"
LEVEL = 0.01
SHARES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
_TARGETS = {0.3: 0.05}


def measure(sizes: Sizes) -> list[Figure]:
    """Return how often a planted phrase is missed, and how often chance is taken for a change."""
    rounds = sizes.cases // 10
    one, two = recorded("run_a"), recorded("run_b")
    figures = []
    for words, base in (("the same answers", one), ("another recording", two)):
        for share in SHARES:
            missed = 1 - power(one, base, share, rounds)
            name = f"planted in {share:.0%} of {words}: missed"
            target = _TARGETS.get(share) if base is one else None
            figures.append(Figure(name, missed, target, "of runs"))
    for level in (0.05, LEVEL):
        rate = false_alarms(one, two, level, 2 * rounds)
        # What chance adds to a true rate of `level`, two standard errors.
        most = level + 2 * (level * (1 - level) / (2 * rounds)) ** 0.5
        figures.append(
            Figure(f"same system, level {level:g}: anything found", rate, most, "of runs")
        )
    study = phrase_changes(one, two, level=LEVEL)
    if study.smallest_rate is not None:
        figures.append(
            Figure("smallest rate that is found", study.smallest_rate, None, "of answers")
        )
    return figures


def power(first: pd.DataFrame, second: pd.DataFrame, share: float, rounds: int) -> float:
    """Return in how many rounds a phrase planted in the second side is found."""
    found = 0
    for seed in range(rounds):
        changed = planted(second, OLD, NEW, share, np.random.default_rng(seed))
        rows = phrase_changes(first, changed, level=LEVEL).changes
        found += bool(({*rows["phrase"]} | {*rows["replaced_by"].dropna()}) & {OLD, NEW})
    return found / rounds


def false_alarms(first: pd.DataFrame, second: pd.DataFrame, level: float, rounds: int) -> float:
    """Return in how many rounds anything is found between halves of what one system answered.

    The answers of both recordings to a case are dealt to two sides anew in each round.
    """
    pool = pd.concat([first, second], ignore_index=True).sort_values("case_id", kind="stable")
    each = len(pool) // pool["case_id"].nunique()
    alarms = 0
    for seed in range(rounds):
        order = (
            np.random.default_rng(seed).random((pool["case_id"].nunique(), each)).argsort(axis=1)
        )
        dealt = pool.assign(repeat=order.ravel())
        halves = dealt["repeat"] < each // 2
        alarms += not phrase_changes(dealt[halves], dealt[~halves], level=level).changes.empty
    return alarms / rounds


if __name__ == "__main__":
    report(measure)

"""How often the whole gate blocks a live run, with all rules on and suspect cases asked again.

Two rules score each of 60 simulated cases near a pass rate of 0.9; four languages and three categories
are slices, a floor lies at 0.95 of each true mean, tokens and time vary and may not grow at all, and
an older baseline stands behind the last. The texts are real: each repeat draws one of the six
answers that a model gave to its case. What looks worse is asked again on both sides, as live.

python -m tests.benchmarks.whole_gate [--quick]
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from evalnb.baseline import Baseline, count
from evalnb.cases import Case
from evalnb.confirmation import Confirmation
from evalnb.frames import OUTPUTS, SCORES
from evalnb.gate import decide, outcome, suspect_cases
from evalnb.golden import GoldenSet, SuiteSettings
from evalnb.stats.levels import ALPHA
from tests.benchmarks.figures import Figure, report
from tests.phrases.answers import planted, recorded

if TYPE_CHECKING:
    from evalnb.stats.values import Floats
    from tests.benchmarks.figures import Sizes

_RATE, _SPREAD = 0.9, 3.5
"""Beta(3.15, 0.35): a mean of 0.9, and 0.07 as the variance of a case's repeats."""
_CASES = 60
_REPEATS = (1, 3, 5)
_TOKENS_SD, _TIME_SD = 0.15, 0.4
_SCORERS = ("exact", "keywords")
_TODAY = date(2026, 6, 1)
_OLD, _NEW = "order number", "inquiry number"


@dataclass(frozen=True)
class Change:
    """What is another in the candidate, and how far the last baseline had fallen already."""

    name: str
    drop: float = 0.0
    fallen_before: float = 0.0
    rewording: float = 0.0


CHANGES = (
    Change("none"),
    Change("drop of 0.05", 0.05),
    Change("drop of 0.10", 0.10),
    Change("drop of 0.15", 0.15),
    Change("drop of 0.10, of which 0.05 before the last baseline", 0.10, fallen_before=0.05),
    Change("a phrase replaced in 30% of its answers", rewording=0.30),
)


NONE, SMALL, DROP, LARGE, STEPS, WORDING = CHANGES
_DESIGNS = (
    *((repeats, NONE) for repeats in _REPEATS),
    (1, DROP),
    *((3, change) for change in (SMALL, DROP, LARGE, STEPS, WORDING)),
    (5, DROP),
)


@dataclass
class Blocked:
    """What of the simulated runs was blocked, by which rules, and how often cases were asked again."""

    repeats: int
    change: Change
    runs: int
    blocked: int = 0
    asked_again: int = 0
    rules: Counter[str] = field(default_factory=Counter)

    def figure(self) -> Figure:
        """Return the share of runs blocked, named after the shares of the rules behind it."""
        by = [f"{rule} {n / self.runs:.1%}" for rule, n in self.rules.most_common()]
        told = ", ".join(
            [f"{self.runs} runs", f"asked again {self.asked_again / self.runs:.0%}", *by]
        )
        name = f"{_CASES} × {self.repeats}, {self.change.name}: blocked ({told})"
        return Figure(name, self.blocked / self.runs, None, "of runs")


def measure(sizes: Sizes) -> list[Figure]:
    """Measure the whole gate under no change and under stated ones."""
    sizes_of = {True: sizes.many // 200, False: sizes.many // 500}
    plan = [(repeats, change, sizes_of[change is NONE]) for repeats, change in _DESIGNS]
    with ProcessPoolExecutor() as pool:
        found = list(pool.map(simulate, *zip(*plan, strict=True)))
    unchanged = [each for each in found if each.change == NONE]
    runs = sum(each.runs for each in unchanged)
    share = sum(each.blocked for each in unchanged) / runs
    name = f"all unchanged runs together, {runs} of them: blocked"
    return [*(each.figure() for each in found), Figure(name, share, ALPHA, "of runs")]


def simulate(repeats: int, change: Change, n_runs: int) -> Blocked:
    """Let the gate decide on so many runs, each beside baselines of its own."""
    world = _World(repeats)
    found = Blocked(repeats, change, n_runs)
    for number in range(n_runs):
        rng = np.random.default_rng([repeats, CHANGES.index(change), number])
        truth = np.stack([world.rates(rng) for _ in _SCORERS])
        last, now = truth, truth * (1 - change.drop / _RATE)
        if change.fallen_before:
            last = truth * (1 - change.fallen_before / _RATE)
        sizes = rng.lognormal(5, 0.8, _CASES)
        first, before, run = (world.run(rng, rates, sizes) for rates in (truth, last, now))
        scores, outputs = run
        if change.rewording:
            outputs = planted(outputs, _OLD, _NEW, change.rewording, rng)
        manifest = {"golden_version": world.golden.version}
        oldest = Baseline({**manifest, "run_id": "first"}, count(first[0]), first[1])
        baseline = Baseline(manifest, count(before[0]), before[1], oldest)
        suspects = suspect_cases(world.golden, scores, baseline, as_of=_TODAY)
        confirmation = None
        if suspects:
            found.asked_again += 1
            sides = [world.run(rng, rates, sizes, suspects) for rates in (last, now)]
            confirmation = Confirmation(sides[0][0], sides[1][0], sides[0][1], sides[1][1])
        decision = decide(
            world.golden, scores, baseline, as_of=_TODAY, outputs=outputs, mode="live",
            confirmation=confirmation,
        )  # fmt: skip
        found.blocked += outcome(decision) == "fail"
        found.rules.update(set(decision.loc[decision["outcome"] == "fail", "rule"]))
    return found


class _World:
    """A suite, and the answers that a model gave to its cases."""

    def __init__(self, repeats: int) -> None:
        answers = pd.concat([recorded("run_a"), recorded("run_b")])
        self._texts = [list(texts) for _, texts in answers.groupby("case_id")["text"]]
        self._repeats = repeats
        assert len(self._texts) >= _CASES
        gate = {
            "floors": {"(case)": 0.95 * _RATE**2, "exact": 0.95 * _RATE},
            "max_output_tokens_ratio": 1.0,
            "max_latency_ratio": 1.0,
        }
        cases = (
            Case(
                id=f"c{number}",
                input="Hi",
                expected_exact="x",
                language=f"l{number % 4}",
                category=f"k{number % 3}",
            )
            for number in range(_CASES)
        )
        settings = SuiteSettings.model_validate({"gate": gate, "slices": ["language", "category"]})
        self.golden = GoldenSet(tuple(cases), settings)

    def rates(self, rng: np.random.Generator) -> Floats:
        """Draw how often each case passes."""
        return np.asarray(rng.beta(_RATE * _SPREAD, (1 - _RATE) * _SPREAD, _CASES))

    def run(
        self,
        rng: np.random.Generator,
        rates: Floats,
        sizes: Floats,
        only: list[str] | None = None,
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Draw scores and outputs of a run, of some cases alone if they are named."""
        passed = rng.random((self._repeats, _CASES, len(_SCORERS))) < rates.T
        ids = [case.id for case in self.golden]
        keys = pd.MultiIndex.from_product(
            [range(1, self._repeats + 1), ids, _SCORERS], names=["repeat", "case_id", "scorer"]
        ).to_frame(index=False)
        scores = keys.assign(passed=passed.ravel(), value=passed.ravel().astype(float), tier="rule")
        rows = keys[keys["scorer"] == _SCORERS[0]].drop(columns="scorer").reset_index(drop=True)
        tokens = np.tile(sizes, self._repeats) * rng.lognormal(0, _TOKENS_SD, len(rows))
        outputs = rows.assign(
            text=[
                rng.choice(texts) for _ in range(self._repeats) for texts in self._texts[:_CASES]
            ],
            output_tokens=tokens.round().astype(int) + 1,
            latency_ms=tokens * 10 * rng.lognormal(0, _TIME_SD, len(rows)),
        )
        if only is not None:
            scores, outputs = (frame[frame["case_id"].isin(only)] for frame in (scores, outputs))
        return (
            SCORES.check(scores.reindex(columns=list(SCORES.columns)).assign(reason="as drawn")),
            OUTPUTS.check(outputs.reindex(columns=list(OUTPUTS.columns))),
        )


if __name__ == "__main__":
    report(measure)

"""How often the gate blocks a live run: where nothing changed, and where a drop of a stated size is.

Simulated suites near a pass rate of 0.9, whose cases differ in how hard they are. Rules with fixed
thresholds stand beside it, on the same runs.

"gate, confirmed" asks again on both sides, as live runs do: a first look at 10%, fresh repeats at 30%.

python -m tests.benchmarks.operating_characteristics [--quick] [--figure PATH]
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalnb.baseline import Baseline, count
from evalnb.cases import Case
from evalnb.frames import OUTPUTS, SCORES
from evalnb.gate import decide, outcome
from evalnb.golden import GoldenSet, SuiteSettings
from evalnb.planning import Plan
from evalnb.stats.drops import decide_drops
from evalnb.stats.levels import ALPHA, CONFIRMATION, FIRST_STAGE, MARGIN
from evalnb.stats.levels import SCORES as SCORES_LEVEL
from evalnb.stats.mcnemar import mcnemar
from evalnb.stats.paired_sets import PAIRED_SCORES
from tests.benchmarks.figures import QUICK, Figure, Sizes, table

if TYPE_CHECKING:
    from evalnb.stats.values import Floats

_RATE, _SPREAD = 0.9, 3.5
"""Beta(3.15, 0.35): a mean of 0.9, and 0.07 as the variance of a case's repeats."""
_LANGUAGES = 4
_DROPS = (0.0, 0.05, 0.10, 0.15)
_DESIGNS = ((60, 1), (60, 3), (60, 5), (200, 3))
_RULES = (
    "gate",
    "gate, confirmed",
    "mean drop > 0.02",
    "< 0.95 × baseline",
    "any case flips",
    "majority flags",
)
_TOKENS_SD, _TIME_SD = 0.15, 0.4


@dataclass(frozen=True)
class Characteristic:
    """The share of simulated runs that a rule blocks."""

    cases: int
    repeats: int
    change: str
    rule: str
    blocked: float
    runs: int

    @property
    def error(self) -> float:
        """Standard error of the share."""
        return math.sqrt(self.blocked * (1 - self.blocked) / self.runs)


def measure(sizes: Sizes) -> list[Figure]:
    """Measure what the gate promises."""
    n_runs = sizes.many // 50
    figures = []
    for cases, repeats in _DESIGNS[:3]:
        found = whole_gate(cases, repeats, n_runs // 2)
        name = f"unchanged runs blocked by all rules of the gate, {cases} cases × {repeats}"
        figures.append(Figure(f"{name}, {found.runs} runs", found.blocked, ALPHA, "of runs"))
    for cases, repeats in _DESIGNS:
        drop, found = promised(cases, repeats, n_runs)
        name = (
            f"runs that miss a drop of {drop:.3f}, promised in 8 of 10, {cases} cases × {repeats}"
        )
        figures.append(Figure(name, 1 - found.blocked, 0.2, "of runs"))
    return figures


def whole_gate(cases: int, repeats: int, n_runs: int) -> Characteristic:
    """Return how often all rules together block a run in which nothing changed.

    Two rules score each case, four languages and three categories are slices, both floors lie at
    0.95 of the true mean; tokens and time vary, with limits at once the baseline's.
    """
    golden = _suite(cases)
    rng = np.random.default_rng(cases * 1_000 + repeats)
    blocked = 0
    for _ in range(n_runs):
        rates = np.stack([_rates(rng, cases), _rates(rng, cases)])
        sizes = rng.lognormal(5, 0.8, cases)
        before, now = (_run(rng, rates, sizes, repeats) for _ in range(2))
        baseline = Baseline({"golden_version": golden.version}, count(before[0]), before[1])
        decision = decide(
            golden, now[0], baseline, as_of=date(2026, 6, 1), outputs=now[1], mode="live"
        )
        blocked += outcome(decision) == "fail"
    return Characteristic(cases, repeats, "none", "whole gate", blocked / n_runs, n_runs)


def compared(
    cases: int, repeats: int, drop: float, n_runs: int, where: str = "everywhere"
) -> list[Characteristic]:
    """Return how often the paired tests and each of the fixed rules block.

    The tests are of the pass rate of cases, in the suite and in four languages. A drop is of the
    whole suite's pass rate: `everywhere` takes the same share of each case's rate, `one language`
    takes all of it from one.
    """
    seed = [cases, repeats, round(drop * 1_000), len(where)]
    rng, again = np.random.default_rng(seed), np.random.default_rng([*seed, 1])
    hits = dict.fromkeys(_RULES, 0)
    for _ in range(n_runs):
        rates = _rates(rng, cases)
        sides = rates, _fallen(rates, drop, where)
        before, now = (rng.binomial(repeats, side).astype("float64") for side in sides)
        for name, blocks in _CHECKS.items():
            hits[name] += blocks(before, now, repeats)
        suspects = _suspects(before, now, repeats)
        if len(suspects):
            was, is_now = (again.binomial(repeats, side).astype("float64") for side in sides)
            hits[_RULES[1]] += _confirmed(suspects, was, is_now, repeats)
    change = "none" if not drop else f"{drop:g} {where}"
    return [
        Characteristic(cases, repeats, change, name, hit / n_runs, n_runs)
        for name, hit in hits.items()
    ]


def promised(cases: int, repeats: int, n_runs: int) -> tuple[float, Characteristic]:
    """Return the smallest drop that a plan promises, and how often the gate finds it."""
    within = _RATE * (1 - _RATE) * _SPREAD / (_SPREAD + 1)
    tests = 1 + _LANGUAGES
    planned = Plan(cases, repeats, _RATE, within, 0.0, tests, MARGIN, "as simulated")
    drop = planned.smallest_drop(cases, repeats)
    assert drop is not None
    return drop, compared(cases, repeats, drop, n_runs)[0]


def _rates(rng: np.random.Generator, cases: int) -> Floats:
    return np.asarray(rng.beta(_RATE * _SPREAD, (1 - _RATE) * _SPREAD, cases))


def _fallen(rates: Floats, drop: float, where: str) -> Floats:
    if where == "everywhere":
        return np.asarray(rates * (1 - drop / _RATE))
    hit = np.arange(len(rates)) % _LANGUAGES == 0
    return np.asarray(np.where(hit, rates * max(1 - drop * _LANGUAGES / _RATE, 0.0), rates))


def _gate(before: Floats, now: Floats, repeats: int) -> bool:
    found = decide_drops(_pairs(before, now, repeats), alpha=SCORES_LEVEL)
    return bool((found["outcome"] == "fail").any())


def _suspects(before: Floats, now: Floats, repeats: int) -> pd.DataFrame:
    """Return what a first look finds, to be asked again on both sides."""
    found = decide_drops(_pairs(before, now, repeats), alpha=FIRST_STAGE)
    return found.loc[found["outcome"] == "fail", ["scorer", "slice"]]


def _confirmed(suspects: pd.DataFrame, before: Floats, now: Floats, repeats: int) -> bool:
    pairs = _pairs(before, now, repeats).merge(suspects, on=["scorer", "slice"])
    found = decide_drops(pairs, alpha=CONFIRMATION)
    return bool((found["outcome"] == "fail").any())


def _pairs(before: Floats, now: Floats, repeats: int) -> pd.DataFrame:
    cases = len(before)
    whole = pd.DataFrame(
        {
            "case_id": [f"c{number}" for number in range(cases)],
            "cluster": None,
            "scorer": "(case)",
            "slice": "all",
            "baseline": before / repeats,
            "candidate": now / repeats,
            "repeats": repeats,
        }
    )
    sliced = whole.assign(slice=[f"language={number % _LANGUAGES}" for number in range(cases)])
    return PAIRED_SCORES.check(pd.concat([whole, sliced]))


def _mean_drop(before: Floats, now: Floats, repeats: int) -> bool:
    return bool((before - now).mean() / repeats > MARGIN + 1e-9)


def _ratio(before: Floats, now: Floats, _: int) -> bool:
    return bool(now.mean() < 0.95 * before.mean() - 1e-9)


def _any_flip(before: Floats, now: Floats, repeats: int) -> bool:
    return bool(((before == repeats) & (now < repeats)).any())


def _majority(before: Floats, now: Floats, repeats: int) -> bool:
    was, is_now = before > repeats / 2, now > repeats / 2
    p = mcnemar(int((is_now & ~was).sum()), int((was & ~is_now).sum()), alternative="less")
    return p <= ALPHA


_CHECKS: dict[str, Callable[[Floats, Floats, int], bool]] = dict(
    zip(
        (_RULES[0], *_RULES[2:]),
        (_gate, _mean_drop, _ratio, _any_flip, _majority),
        strict=True,
    )
)


def _suite(cases: int) -> GoldenSet:
    gate = {
        "floors": {"(case)": 0.95 * _RATE**2, "exact": 0.95 * _RATE},
        "max_output_tokens_ratio": 1.0,
        "max_latency_ratio": 1.0,
    }
    return GoldenSet(
        tuple(
            Case(
                id=f"c{number}",
                input="Hi",
                expected_exact="x",
                language=f"l{number % _LANGUAGES}",
                category=f"k{number % 3}",
            )
            for number in range(cases)
        ),
        SuiteSettings.model_validate({"gate": gate, "slices": ["language", "category"]}),
    )


def _run(
    rng: np.random.Generator, rates: Floats, sizes: Floats, repeats: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw the scores of two rules, and outputs."""
    n = rates.shape[1]
    passed = rng.random((repeats, n, 2)) < rates.T
    keys = pd.MultiIndex.from_product(
        [range(1, repeats + 1), [f"c{number}" for number in range(n)], ["exact", "keywords"]],
        names=["repeat", "case_id", "scorer"],
    ).to_frame(index=False)
    scores = keys.assign(passed=passed.ravel(), value=passed.ravel().astype(float), tier="rule")
    rows = keys[keys["scorer"] == "exact"].drop(columns="scorer").reset_index(drop=True)
    tokens = np.tile(sizes, repeats) * rng.lognormal(0, _TOKENS_SD, len(rows))
    outputs = rows.assign(
        output_tokens=tokens.round().astype(int) + 1,
        latency_ms=tokens * 10 * rng.lognormal(0, _TIME_SD, len(rows)),
    )
    return (
        SCORES.check(scores.reindex(columns=list(SCORES.columns)).assign(reason="as drawn")),
        OUTPUTS.check(outputs.reindex(columns=list(OUTPUTS.columns))),
    )


def _compared(n_runs: int) -> list[Characteristic]:
    found = [
        row
        for cases, repeats in _DESIGNS
        for drop in _DROPS
        for row in compared(cases, repeats, drop, n_runs)
    ]
    return found + compared(200, 3, 0.05, n_runs, "one language")


def _shown(found: list[Characteristic]) -> str:
    """Return a Markdown table, a row a design and change, a column a rule."""
    lines = [
        f"| cases × repeats | drop | {' | '.join(_RULES)} |",
        f"|---|---|{'---:|' * len(_RULES)}",
    ]
    for start in range(0, len(found), len(_RULES)):
        rows = found[start : start + len(_RULES)]
        shares = " | ".join(f"{row.blocked:.1%}" for row in rows)
        lines.append(f"| {rows[0].cases} × {rows[0].repeats} | {rows[0].change} | {shares} |")
    return "\n".join(lines)


def _draw(found: list[Characteristic], path: Path) -> None:
    """Write a figure: the share of runs that are blocked, by drop, a panel a design."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    mpl.rcParams |= {
        "svg.fonttype": "none",
        "svg.hashsalt": "evalnb",
    }  # texts stay texts, ids the same
    figure, axes = plt.subplots(1, len(_DESIGNS), figsize=(13, 3.4), sharey=True)
    even = [row for row in found if not row.change.endswith("one language")]
    for axis, design in zip(axes, _DESIGNS, strict=True):
        for rule in _RULES:
            shares = [
                row.blocked
                for row in even
                if (row.cases, row.repeats) == design and row.rule == rule
            ]
            axis.plot(
                _DROPS,
                shares,
                marker="o",
                label=rule,
                linewidth=3 if rule.startswith("gate") else 1,
            )
        axis.axhline(ALPHA, color="grey", linestyle=":")
        axis.set(title=f"{design[0]} cases × {design[1]}", xlabel="drop of the pass rate")
    axes[0].set(ylabel="share of runs blocked", ylim=(0, 1))
    axes[-1].legend(fontsize="small")
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _main() -> None:
    parser = argparse.ArgumentParser(description="Simulate what the gate blocks.")
    parser.add_argument("--quick", action="store_true", help="few runs")
    parser.add_argument("--figure", type=Path, help="write a figure to this file")
    options: Any = parser.parse_args()
    sizes = QUICK if options.quick else Sizes()
    found = _compared(sizes.many // 50)
    print(_shown(found), flush=True)
    figures = measure(sizes)
    print(table(figures))
    rows = [asdict(row) for row in found] + [asdict(figure) for figure in figures]
    print(json.dumps(rows, ensure_ascii=False))
    if options.figure:
        _draw(found, options.figure)


if __name__ == "__main__":
    _main()

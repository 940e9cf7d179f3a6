"""How long the gate's statistics take: a large live run decided, two runs compared, a plan."""

from __future__ import annotations

import json
import sys
import time
from datetime import date
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from evalnb.baseline import Baseline, count
from evalnb.cases import Case
from evalnb.frames import OUTPUTS, SCORES
from evalnb.gate import decide
from evalnb.golden import GoldenSet, SuiteSettings
from evalnb.planning import describe_power, plan
from evalnb.slicing import Slices
from evalnb.stats.comparison import compare_runs
from tests.benchmarks.figures import Figure, Sizes, report
from tests.benchmarks.processes import python, take

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_REPEATS, _SCORERS = 5, 5
_LANGUAGES, _CATEGORIES = ("en", "de", "fr", "ja"), 12


def measure(sizes: Sizes) -> list[Figure]:
    """Measure each in a process of its own, loading what it needs."""
    what = f"{sizes.cases:,} cases × {_REPEATS} repeats × {_SCORERS} scorers"
    found = {
        name: json.loads(
            take(python("-m", "tests.benchmarks.gate_statistics", name, sizes.cases)).output
        )
        for name in _STEPS
    }
    return [
        Figure(f"all rules of a live run, {what}, CPU", found["decide"], 3, "s"),
        Figure(f"two runs compared, {what}, CPU", found["compare"], 3, "s"),
        Figure(f"the same with 1% of the scores missing, {what}, CPU", found["missing"], 3, "s"),
        Figure("power of a planned run and cases for a drop, CPU", found["power"], 5, "s"),
    ]


def _suite(n: int) -> GoldenSet:
    cases = (
        Case(
            id=f"c{number}",
            input="Hi",
            expected_exact="x",
            language=_LANGUAGES[number % len(_LANGUAGES)],
            category=f"topic {number % _CATEGORIES}",
        )
        for number in range(n)
    )
    return GoldenSet(tuple(cases), SuiteSettings(slices=["language", "category"]))


def _scores(n: int, seed: int) -> pd.DataFrame:
    """Make scores of a system whose cases pass with the same chances in every run."""
    rates = np.random.default_rng(1).beta(9, 1, (1, n, _SCORERS))
    passed = np.random.default_rng(seed).random((_REPEATS, n, _SCORERS)) < rates
    keys = pd.MultiIndex.from_product(
        [
            range(1, _REPEATS + 1),
            [f"c{i}" for i in range(n)],
            [f"rule {i}" for i in range(_SCORERS)],
        ],
        names=["repeat", "case_id", "scorer"],
    ).to_frame(index=False)
    frame = keys.assign(passed=passed.ravel(), value=passed.ravel().astype(float), tier="rule")
    return SCORES.check(frame.reindex(columns=list(SCORES.columns)).assign(reason="as drawn"))


def _outputs(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = pd.MultiIndex.from_product(
        [[f"c{i}" for i in range(n)], range(1, _REPEATS + 1)], names=["case_id", "repeat"]
    ).to_frame(index=False)
    size = len(rows)
    return OUTPUTS.check(
        rows.assign(
            output_tokens=rng.integers(50, 400, size), latency_ms=rng.lognormal(6, 0.5, size)
        ).reindex(columns=list(OUTPUTS.columns))
    )


def _decide(n: int) -> float:
    golden, before, now = _suite(n), _scores(n, 2), _scores(n, 3)
    baseline = Baseline({"golden_version": golden.version}, count(before), _outputs(n, 4))
    outputs = _outputs(n, 5)
    return _cpu_s(
        decide, golden, now, baseline, as_of=date(2026, 6, 1), outputs=outputs, mode="live"
    )


def _compare(n: int, *, missing: bool = False) -> float:
    places, before, now = Slices(_suite(n)).places(), _scores(n, 2), _scores(n, 3)
    if missing:
        lost = np.random.default_rng(6).random(len(now)) < 0.01
        now = now.assign(
            value=now["value"].mask(lost), na_reason=now["na_reason"].mask(lost, "server")
        )
    return _cpu_s(compare_runs, before, now, slices=places)


def _power(n: int) -> float:
    golden = _suite(n)
    baseline = Baseline({}, count(_scores(n, 2)), OUTPUTS.empty())
    return _cpu_s(lambda: describe_power(plan(golden, baseline), 0.02))


def _cpu_s(function: Callable[..., Any], *arguments: Any, **options: Any) -> float:
    started = time.process_time()
    function(*arguments, **options)
    return time.process_time() - started


_STEPS: dict[str, Callable[[int], float]] = {
    "decide": _decide,
    "compare": _compare,
    "missing": lambda n: _compare(n, missing=True),
    "power": _power,
}

if __name__ == "__main__":
    if len(sys.argv) > 2:
        print(json.dumps(_STEPS[sys.argv[1]](int(sys.argv[2]))))
    else:
        report(measure)

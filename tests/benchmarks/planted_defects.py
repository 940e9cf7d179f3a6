"""Defects planted in a scripted shop, through the real chain: run, score, gate, report, acceptance.

The shop's answers are scripted and noisy, one in fifty fails; no model is asked. Its releases are prompt
files, so that what looks worse is asked again on both sides.

python -m tests.benchmarks.planted_defects [--quick]
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.acceptance import accept_baseline
from evalnb.evaluation import evaluate
from evalnb.frames import to_records
from evalnb.golden import read_golden
from evalnb.results import write_run
from evalnb.systems import load_system
from tests.benchmarks.figures import QUICK, Figure, Sizes
from tests.suites import make_suite
from tests.upstreams import AnsweringUpstream, message

if TYPE_CHECKING:
    from evalnb.runs import Run

_LANGUAGES, _OF_EACH = ("en", "de", "fr", "ja"), 8
_MODEL = "claude-haiku-5-5"
_PROMPT = 'model = "{model}"\nmax_tokens = 300\nsystem = "Release {release}."\n'
_SETTINGS = """\
repeats = 3
slices = ["language"]

[gate]
max_output_tokens_ratio = 1.05
max_latency_ratio = 1000.0
"""
"""The shop answers as fast as the machine that it is on: its times say nothing."""

_ANSWER = "Your parcel arrives on Monday."
_NOISE = 0.02


@dataclass
class Shop(AnsweringUpstream):
    """Answers a case, and fails as planted.

    Attributes
    ----------
    rng : of the noise
    broken : case ids that fail from the second release on
    growth : how many times as long the answers of a release are as those of the one before
    model : what answers
    """

    rng: np.random.Generator
    broken: frozenset[str] = frozenset()
    growth: float = 1.0
    model: str = _MODEL

    def __post_init__(self) -> None:
        super().__init__(self._answer)

    def _answer(self, body: dict[str, Any], _: int) -> dict[str, Any]:
        found = re.search(r"\d+", body["system"])
        release = int(found.group()) if found else 1
        case_id = body["messages"][0]["content"].partition(":")[0]
        fails = self.rng.random() < _NOISE or (release > 1 and case_id in self.broken)
        tokens = 100 * self.growth ** (release - 1) * self.rng.lognormal(0, 0.01)
        # The words stay as they are, so that the rule for wording has nothing to say.
        return message(
            f"{_ANSWER}!" if fails else _ANSWER,
            model=self.model,
            usage={"input_tokens": 50, "output_tokens": round(tokens)},
        )


class Chain:
    """A suite of 32 cases in four languages, with its runs and its baseline."""

    def __init__(self, folder: Path, shop: Shop) -> None:
        self.shop = shop
        cases = [
            {"id": f"{language}-{n}", "language": language, "tools": [],
             "input": f"{language}-{n}: where is my parcel?", "expected_exact": _ANSWER}
            for language in _LANGUAGES
            for n in range(_OF_EACH)
        ]  # fmt: skip
        self.suite = folder / "golden" / "shop"
        make_suite(self.suite, cases, _SETTINGS)
        self._n_runs = 0

    def run(self, release: int, mode: Any = "live") -> Run:
        """Run a release, as the command line does."""
        prompt = self.suite / "systems" / "v1.toml"
        prompt.write_text(_PROMPT.format(model=_MODEL, release=release))
        golden = read_golden(self.suite)
        self._n_runs += 1
        self.folder = self.suite.parents[1] / "results" / "shop" / f"run-{self._n_runs:03}"
        self.folder.mkdir(parents=True)
        run = evaluate(
            golden, load_system(golden), run_id=self.folder.name, folder=self.folder,
            as_of=date(2026, 6, 1), mode=mode, progress="none", concurrency=1,
            upstream=None if mode == "replay" else self.shop,
        )  # fmt: skip
        write_run(self.folder, run)
        return run

    def accept(self) -> None:
        """Accept the last run."""
        accept_baseline(
            read_golden(self.suite), self.folder, reason="reviewed",
            now=datetime(2026, 6, 1, tzinfo=UTC), environment={},
        )  # fmt: skip


def nothing(folder: Path, rng: np.random.Generator) -> Run:
    """A new release without a defect."""
    chain = Chain(folder, Shop(rng))
    chain.run(1)
    chain.accept()
    return chain.run(2)


def twice(folder: Path, rng: np.random.Generator) -> Run:
    """The same recorded run a second time."""
    chain = Chain(folder, Shop(rng))
    chain.run(1, "record")
    chain.accept()
    return chain.run(1, "replay")


def one_language(folder: Path, rng: np.random.Generator) -> Run:
    """A release that fails in five of the eight German cases."""
    chain = Chain(folder, Shop(rng, frozenset(f"de-{n}" for n in range(5))))
    chain.run(1)
    chain.accept()
    return chain.run(2)


def token_creep(folder: Path, rng: np.random.Generator) -> Run:
    """Releases of which each is 2% longer than the last, and is accepted while it passes."""
    chain = Chain(folder, Shop(rng, growth=1.02))
    run = chain.run(1)
    for release in range(2, 6):
        chain.accept()
        run = chain.run(release)
        if run.exit_code:
            break
    return run


def dead_case(folder: Path, rng: np.random.Generator) -> Run:
    """A release in which one case fails, recorded."""
    chain = Chain(folder, Shop(rng, frozenset({"fr-3"})))
    chain.run(1, "record")
    chain.accept()
    # Only what the release changed: the noise of a second recording would be regressions too.
    chain.shop.rng = _Quiet(rng.bit_generator)
    return chain.run(2, "record")


def silent_model_change(folder: Path, rng: np.random.Generator) -> Run:
    """Another model behind the same name."""
    chain = Chain(folder, Shop(rng))
    chain.run(1)
    chain.accept()
    chain.shop.model = f"{_MODEL}-20260901"
    return chain.run(1)


class _Quiet(np.random.Generator):
    """A source of noise in which nothing fails by chance."""

    def random(self, *_: Any, **__: Any) -> Any:
        return 1.0


Planting = Callable[[Path, np.random.Generator], "Run"]
PLANTED: dict[Planting, str | None] = {
    nothing: None,
    twice: None,
    one_language: "drift",
    token_creep: "creep",
    dead_case: "regression",
    silent_model_change: "model_changed",
}
"""What is planted, and the rule that is to block it."""


@dataclass(frozen=True)
class Found:
    """What a planted defect came to."""

    exit_code: int
    rules: frozenset[str]
    reason: str


def plant(planting: Planting, folder: Path, seed: int) -> Found:
    """Plant a defect and say what blocks."""
    run = planting(folder, np.random.default_rng(seed))
    blocking = [row for row in to_records(run.decision) if row["outcome"] == "fail"]
    rules = frozenset(row["rule"] for row in blocking)
    wanted = PLANTED[planting]
    own = [row for row in blocking if row["rule"] == wanted]
    own.sort(key=lambda row: row.get("estimate", 0.0))
    return Found(run.exit_code, rules, own[0]["reason"] if own else "")


def measure(sizes: Sizes) -> list[Figure]:
    """Count the defects that are not blocked for their own reason, and what is blocked without any."""
    found = _all(2 if sizes == QUICK else 10)
    missed = sum(
        wanted not in one.rules for name, wanted in PLANTED.items() if wanted for one in found[name]
    )
    cried = sum(
        one.exit_code != 0 for name, rule in PLANTED.items() if not rule for one in found[name]
    )
    return [
        Figure("planted defects that were not blocked for their own reason", missed, 0, "runs"),
        Figure("runs blocked though nothing was planted", cried, 0, "runs"),
    ]


def _all(n: int) -> dict[Planting, list[Found]]:
    found: dict[Planting, list[Found]] = {}
    for planting in PLANTED:
        for seed in range(n):
            with tempfile.TemporaryDirectory() as folder:
                found.setdefault(planting, []).append(plant(planting, Path(folder), seed))
    return found


def _table(found: dict[Planting, list[Found]]) -> str:
    lines = ["| planted | blocked | by its rule | among others |", "|---|---:|---|---|"]
    for planting, runs in found.items():
        wanted = PLANTED[planting]
        blocked = sum(run.exit_code == 1 for run in runs)
        own = sum(wanted in run.rules for run in runs)
        others = sorted(set().union(*(run.rules for run in runs)) - {wanted})
        by = f"`{wanted}`, {own} of {len(runs)}" if wanted else ""
        what = (planting.__doc__ or "").rstrip(".")
        listed = ", ".join(f"`{rule}`" for rule in others)
        lines.append(f"| {what} | {blocked} of {len(runs)} | {by} | {listed} |")
    return "\n".join(lines)


def _main() -> None:
    parser = argparse.ArgumentParser(description="Plant defects and see what blocks them.")
    parser.add_argument("--quick", action="store_true", help="few runs")
    found = _all(2 if parser.parse_args().quick else 10)
    print(_table(found))
    for planting, runs in found.items():
        for reason in dict.fromkeys(run.reason for run in runs[:1] if run.reason):
            print(f"{planting.__name__}: {reason}")


if __name__ == "__main__":
    _main()

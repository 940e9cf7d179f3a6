"""The two sides of a comparison: a run, the baseline, or a system replayed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evalnb.baseline import count, read_baseline
from evalnb.errors import InputError, name_hint
from evalnb.golden import find_suite, read_golden
from evalnb.places import place
from evalnb.results import read_run
from evalnb.runner import run
from evalnb.runs import check_suite
from evalnb.scoring import score
from evalnb.systems import is_named, load_system, suite_systems

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from evalnb.golden import GoldenSet

__all__ = ["BASELINE_SIDE", "Side", "open_side", "open_sides", "suite_of"]

BASELINE_SIDE = "baseline"
"""Names the suite's accepted run."""


@dataclass(frozen=True)
class Side:
    """One of two sides.

    Attributes
    ----------
    name : what it is called
    counts : a baseline frame of its scores
    outputs : an outputs frame
    scores : a scores frame with the reasons; None of a baseline, which keeps counts alone
    """

    name: str
    counts: pd.DataFrame
    outputs: pd.DataFrame
    scores: pd.DataFrame | None = None


def suite_of(sides: Sequence[str], suite: str = "") -> GoldenSet:
    """Find the suite that sides are of.

    Parameters
    ----------
    sides : as for `open_side`; a run names its suite, a prompt file stands in one
    suite : its folder, where neither says

    Raises
    ------
    InputError
        If none of them says.
    """
    if suite:
        return read_golden(find_suite(suite))
    for side in sides:
        path = place(side)
        if (path / "run.json").is_file():
            name = read_run(path).manifest["suite"]
            return read_golden(find_suite(f"golden/{name}"))
        if path.suffix == ".toml" and path.is_file():
            return read_golden(path.resolve().parent.parent)
    raise InputError(
        f"none of {', '.join(map(repr, sides))} says which suite they are of: give it, such as "
        "`--suite golden/support`"
    )


def open_side(golden: GoldenSet, which: str) -> Side:
    """Open one side.

    Parameters
    ----------
    golden : the suite
    which : a run's folder; `baseline`; else a system as `evalnb.load_system` knows it, such as
        `v2`, whose recorded answers are replayed

    Raises
    ------
    InputError
        If it cannot be used, is a run of another suite, or is the baseline and there is none.
    """
    path = place(which)
    if which == BASELINE_SIDE:
        return _baseline(golden)
    if (path / "run.json").is_file():
        return _run(golden, path)
    if not is_named(golden, which):
        known = [BASELINE_SIDE, *dict.fromkeys(system.name for system in suite_systems(golden))]
        kind = "is a folder without a run.json" if path.is_dir() else "is not there"
        raise InputError(
            f"{which!r} {kind}, and names no system of the suite {golden.settings.name}: give the "
            f"folder of a run, or a system. {name_hint(which, known)}"
        )
    system = load_system(golden, which)
    outputs = run(golden, system, progress="none", repeats=golden.settings.repeats)
    scores = score(golden, outputs)
    return Side(system.name, count(scores), outputs, scores)


def open_sides(golden: GoldenSet, which: Sequence[str]) -> list[Side]:
    """Open several sides, those of one name called as they were asked for.

    Parameters
    ----------
    golden : the suite
    which : each as for `open_side`; what is named twice is opened once

    Raises
    ------
    InputError
        If one cannot be used.
    """
    opened = {name: open_side(golden, name) for name in dict.fromkeys(which)}
    names = [side.name for side in opened.values()]
    return [
        replace(opened[name], name=name) if names.count(opened[name].name) > 1 else opened[name]
        for name in which
    ]


def _baseline(golden: GoldenSet) -> Side:
    baseline = read_baseline(golden)
    if baseline is None:
        raise InputError("the suite has no baseline yet: `evalnb baseline accept` makes one")
    return Side(BASELINE_SIDE, baseline.counts, baseline.outputs)


def _run(golden: GoldenSet, folder: Path) -> Side:
    found = read_run(folder)
    check_suite(golden, found)
    name = f"{found.manifest['system']}, run {found.manifest['run_id']}"
    return Side(name, count(found.scores), found.outputs, found.scores)

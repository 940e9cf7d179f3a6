"""Thresholds as runs in which nothing changed suggest them, and their way into `suite.toml`."""

from __future__ import annotations

import difflib
import json
import math
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.baseline import CASE
from evalnb.errors import InputError
from evalnb.frames import to_records
from evalnb.jsontext import write_atomically
from evalnb.noise import TOKENS, aa_differences, aa_runs
from evalnb.past_runs import past_runs
from evalnb.stats.levels import MARGIN

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd

    from evalnb.golden import GoldenSet
    from evalnb.stats.values import Floats

__all__ = ["FEWEST_RUNS", "Suggestion", "suggest_thresholds", "with_thresholds", "write_thresholds"]

FEWEST_RUNS = 6
"""With fewer runs a 95th percentile of their differences is the largest of a handful."""

_SHARE = 0.95
_SCALE = 1000
_FLOORS = "gate.floors"


@dataclass(frozen=True)
class Suggestion:
    """What A/A runs suggest.

    Attributes
    ----------
    runs : how many
    tables : table of `suite.toml`, `gate` or `gate.floors`, to its keys with their values
    before, after : text of `suite.toml`
    """

    runs: int
    tables: Mapping[str, Mapping[str, float]]
    before: str
    after: str

    def diff(self) -> list[str]:
        """Return the change of `suite.toml`, in the form of `diff -u`; empty without any."""
        before, after = self.before.splitlines(), self.after.splitlines()
        return list(difflib.unified_diff(before, after, "suite.toml", "suite.toml", lineterm=""))


def suggest_thresholds(golden: GoldenSet, root: Path | None = None) -> Suggestion:
    """Suggest margin, token ratio and floors from the runs in which nothing changed.

    Parameters
    ----------
    golden, root : as for `evalnb.noise.noise_floor`

    Returns
    -------
    `margin` is the 95th percentile of the drops of the pass rate from one run to the next, at least
    the usual one; `max_output_tokens_ratio` the same of the ratios; a floor is the mean of all runs
    less the 95th percentile of its own drops. Floors are only ever raised; those of judges and of
    what is not scored in each run are left alone.

    Raises
    ------
    InputError
        If there are fewer than six such runs.
    """
    if golden.folder is None:
        raise InputError("only a suite has thresholds: give a suite's folder, not a JSONL file")
    runs = aa_runs(past_runs(golden, root))
    n_runs = runs["run_id"].nunique()
    if n_runs < FEWEST_RUNS:
        raise InputError(
            f"thresholds are suggested from {FEWEST_RUNS} live runs or more in which nothing changed; "
            f"of the present system there are {n_runs} at the end of the list. Run it again"
        )
    apart = _drops(aa_differences(runs))
    gate = {"margin": max(_up(_most(apart[CASE])), MARGIN)} if CASE in apart else {}
    if TOKENS in apart:
        gate["max_output_tokens_ratio"] = max(_up(math.exp(_most(-apart[TOKENS]))), 1.0)
    settings = golden.settings.gate
    floors = {
        name: floor
        for name, floor in _floors(runs, apart).items()
        if floor > settings.floors.get(name, 0.0)
    }
    tables = {"gate": gate, _FLOORS: floors}
    text = (golden.folder / "suite.toml").read_text(encoding="utf-8")
    return Suggestion(n_runs, tables, text, with_thresholds(text, tables))


def write_thresholds(golden: GoldenSet, found: Suggestion) -> Path:
    """Write a suggestion into `suite.toml`, for a commit that somebody reviews.

    Raises
    ------
    InputError
        If the file changed since the suggestion was made.
    """
    if golden.folder is None:
        raise InputError("only a suite has thresholds: give a suite's folder, not a JSONL file")
    path = golden.folder / "suite.toml"
    if path.read_text(encoding="utf-8") != found.before:
        raise InputError(f"{path} changed meanwhile: ask for the suggestion again")
    write_atomically(path, found.after.encode())
    return path


def with_thresholds(text: str, tables: Mapping[str, Mapping[str, float]]) -> str:
    r"""Set keys of TOML tables and leave all other lines as they are.

    Parameters
    ----------
    text : of a TOML file
    tables : table to its keys and values

    Raises
    ------
    InputError
        If the file has these tables in another form, such as in one line.

    Examples
    --------
    >>> print(with_thresholds('[gate]\nmargin = 0.02  # agreed', {"gate": {"margin": 0.03}}))
    [gate]
    margin = 0.03  # agreed
    """
    wanted = tomllib.loads(text)
    for table, values in tables.items():
        place: dict[str, Any] = wanted
        for part in table.split(".") if values else ():
            place = place.setdefault(part, {})
        place |= values
        text = _with_table(text, table, values) if values else text
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        found = None
    if found != wanted:
        raise InputError(
            "suite.toml states its thresholds in a form that is not changed here: write "
            f"[gate] and [gate.floors] as tables of their own, or edit by hand: {dict(tables)}"
        )
    return text


def _with_table(text: str, table: str, values: Mapping[str, float]) -> str:
    lines = text.splitlines()
    header = f"[{table}]"
    start = next((n for n, line in enumerate(lines) if _bare(line) == header), None)
    if start is None:
        lines += ["", header]
        start = len(lines) - 1
    end = next(
        (n for n in range(start + 1, len(lines)) if lines[n].lstrip().startswith("[")), len(lines)
    )
    own = {_key(line): n for n, line in enumerate(lines[:end]) if n > start and "=" in line}
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    added = []
    for name, value in values.items():
        line = f"{name if name.isidentifier() else json.dumps(name)} = {value:g}"
        if "." not in line.rpartition("=")[2]:
            line += ".0"
        if name in own:
            _, mark, comment = lines[own[name]].partition("#")
            lines[own[name]] = f"{line}  #{comment}" if mark else line
        else:
            added.append(line)
    lines[end:end] = added
    return "\n".join(lines) + ("\n" if text.endswith("\n") else "")


def _bare(line: str) -> str:
    return line.partition("#")[0].strip()


def _key(line: str) -> str:
    return line.partition("=")[0].strip().strip("\"'")


def _drops(differences: pd.DataFrame) -> dict[str, Floats]:
    """Return measure to how far it fell in each pair of runs."""
    return {
        str(measure): -rows["difference"].to_numpy("float64")
        for measure, rows in differences.groupby("measure", sort=False)
    }


def _most(values: Floats) -> float:
    return float(np.quantile(values, _SHARE))


def _floors(runs: pd.DataFrame, drops: Mapping[str, Floats]) -> dict[str, float]:
    scorers: dict[str, list[float]] = {}
    for row in to_records(runs):
        if row["n_scored"]:
            scorers.setdefault(CASE, []).append(row["n_passed"] / row["n_scored"])
        for name, value in row["mean_scores"].items():
            scorers.setdefault(name, []).append(value)
    return {
        name: math.floor((float(np.mean(values)) - max(_most(drops[name]), 0.0)) * _SCALE) / _SCALE
        for name, values in sorted(scorers.items())
        if name in drops and float(np.mean(values)) > max(_most(drops[name]), 0.0)
    }


def _up(value: float) -> float:
    return math.ceil(value * _SCALE - 1e-9) / _SCALE
